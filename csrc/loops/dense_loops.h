/* A dense symmetric positive definite matrix of which a part changes: factorised again in place, in double for any `real`. The rules of
 * backend.h hold. */
#ifndef PD_LOOPS_DENSE_LOOPS_H
#define PD_LOOPS_DENSE_LOOPS_H

#include "loops/backend.h"
#include "sparse/cholesky.h"

#ifdef __cplusplus
extern "C" {
#endif

/* H = sigma + diag(added) + entries, and its factor: LAPACK on the CPU, cuSOLVER's potrf on CUDA. */
typedef struct pd_dense pd_dense;

/* Allocates n rows, 2 n^2 doubles in backend memory. `library` is borrowed. Errors: PD_ERROR_MEMORY with the bytes, PD_ERROR_DEVICE. */
pd_status pd_dense_create(pd_dense **out, pd_context *context, const pd_cholesky_functions *library, int n);
void pd_dense_destroy(pd_dense *self, pd_context *context); /* NULL is allowed */

/* sigma  H [n,n] by columns, only its lower triangle is read: one call. */
pd_status pd_dense_upload(pd_context *context, pd_dense *self, const double *sigma);

/* Additions to the lower triangle: values[k] at places[k] = row + n column. All H. */
typedef struct pd_dense_entries {
    int n, capacity; /* capacity: their maximum number, the same in every call */
    const long long *places;
    const double *values;
} pd_dense_entries;

/* Factorises H = sigma + diag(added) + entries. added  H [n] N/m, NULL: zero; entries  NULL: none, no place twice. Synchronises. The
 * first call with entries allocates memory for them. Errors: PD_ERROR_SINGULAR, error->vertex the row; PD_ERROR_MEMORY. */
pd_status pd_dense_factor(pd_context *context, pd_dense *self, const double *added, const pd_dense_entries *entries);

/* u = H^-1 g for three right-hand sides, both B [n,3]; u may be g. */
pd_status pd_dense_solve(pd_context *context, pd_dense *self, const real *g, real *u);

/* out_i = x of row rows[i].   rows B [n], out B [n,3] */
pd_status pd_rows_gather(pd_context *context, int n, const int *rows, const real *x, real *out);
/* Row rows[i] of out = x_i.   rows B [n], each once; x B [n,3] */
pd_status pd_rows_scatter(pd_context *context, int n, const int *rows, const real *x, real *out);

#ifdef __cplusplus
}
#endif

#endif
