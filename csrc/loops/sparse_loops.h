/* A sparse factor of a symmetric positive definite matrix in backend memory, for a backend with a library: a part of backend.h with the
 * same rules, which linear/factor.h and the Schur complement include. Without a library the host's factor replaces it
 * (sparse/cholesky.h), and vectors are transferred. */
#ifndef PD_LOOPS_SPARSE_LOOPS_H
#define PD_LOOPS_SPARSE_LOOPS_H

#include "loops/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pd_sparse_factor pd_sparse_factor;

/* The name and version of the library; empty without one: then the four functions below must not be called. */
void pd_sparse_library(char text[64]);
int pd_sparse_factor_there(void);

/* Orders and analyses n unknowns: the upper triangle by columns, rows ascending, the diagonal last.
 *   column_start  H [n+1]      rows  H [column_start[n]]
 *   places        H [n] row of an unknown in the vectors of a solve, of `width` numbers, each a right-hand side
 *   directions    H [n,3] or NULL: an unknown is the coordinate along its direction in a row of three numbers. Those of a row are
 *                 orthonormal and in sequence; there is one right-hand side
 * Errors: PD_ERROR_MEMORY, PD_ERROR_DEVICE with the library's name of the error. */
pd_status pd_sparse_factor_create(pd_sparse_factor **out, pd_context *context, int n, const int *column_start, const int *rows,
                                  const int *places, int width, const double *directions);
/* Factorises with these values, H [column_start[n]]; the analysis is kept. Synchronises. Errors: PD_ERROR_SINGULAR if the matrix is not
 * positive definite, or so nearly that the library has modified it. */
pd_status pd_sparse_factor_refresh(pd_context *context, pd_sparse_factor *self, const double *values);
/* d = A^-1 r in the rows of `places`, zero in all others.   r, d  B [n_rows,width] */
pd_status pd_sparse_factor_solve(pd_context *context, pd_sparse_factor *self, int n_rows, const real *r, real *d);
void pd_sparse_factor_destroy(pd_sparse_factor *self, pd_context *context); /* NULL is allowed */

#ifdef __cplusplus
}
#endif

#endif
