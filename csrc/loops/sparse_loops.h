/* A sparse factor of a symmetric positive definite matrix that lies in backend memory, where the backend has a library for it: a part of
 * backend.h, under the same rules, that linear/factor.h and the Schur complement include. Where there is none the host's stands in
 * (sparse/cholesky.h), and vectors go there and back. */
#ifndef PD_LOOPS_SPARSE_LOOPS_H
#define PD_LOOPS_SPARSE_LOOPS_H

#include "loops/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pd_sparse_factor pd_sparse_factor;

/* The name and version of the library; empty where there is none, and the four functions below are not called. */
void pd_sparse_library(char text[64]);
int pd_sparse_factor_there(void);

/* Orders and analyses n unknowns: the upper triangle by columns, rows ascending, the diagonal last.
 *   column_start  H [n+1]      rows  H [column_start[n]]
 *   places        H [n] in which row of the vectors of a solve an unknown stands, of `width` numbers, each a right-hand side
 *   directions    H [n,3] or NULL: then an unknown is the coordinate along its direction in a row of three numbers, and those of a row,
 *                 orthonormal, stand one after the other; there is one right-hand side
 * Errors: PD_ERROR_MEMORY, PD_ERROR_DEVICE with the library's word. */
pd_status pd_sparse_factor_create(pd_sparse_factor **out, pd_context *context, int n, const int *column_start, const int *rows,
                                  const int *places, int width, const double *directions);
/* Factorises with these values, H [column_start[n]]; the analysis is kept. Waits. Errors: PD_ERROR_SINGULAR where the matrix is not
 * positive definite, or so near to it that the library took another in its place. */
pd_status pd_sparse_factor_refresh(pd_context *context, pd_sparse_factor *self, const double *values);
/* d = A^-1 r in the rows of `places`, zero in all others.   r, d  B [n_rows,width] */
pd_status pd_sparse_factor_solve(pd_context *context, pd_sparse_factor *self, int n_rows, const real *r, real *d);
void pd_sparse_factor_destroy(pd_sparse_factor *self, pd_context *context); /* NULL is allowed */

#ifdef __cplusplus
}
#endif

#endif
