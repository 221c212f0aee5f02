/* Dense symmetric positive definite matrices, in double: calls of LAPACK on one thread (serial_blas.h).
 *
 * H [n,n] is stored by columns; only its lower triangle is read. */
#ifndef PD_SPARSE_DENSE_CHOLESKY_H
#define PD_SPARSE_DENSE_CHOLESKY_H

#include "base/status.h"

/* H <- L with H = L L^T [LAPACK: dpotrf, of blocks on the diagonal].
 * Errors: PD_ERROR_SINGULAR, error->vertex the row; PD_ERROR_UNSUPPORTED in a build without CHOLMOD and its LAPACK. */
pd_status pd_dense_cholesky_factor(double *H, int n, pd_error *error);

/* b <- H^-1 b for n_columns right-hand sides, b [n_columns,n] [LAPACK: dpotrs]. */
void pd_dense_cholesky_solve(const double *L, int n, double *b, int n_columns);

/* S <- L L^T of a lower triangle L, leading dimension ld [LAPACK: dlauum]. S [n,n] is filled in its lower triangle, with zeros above. */
void pd_dense_square(double *S, const double *L, int n, long long ld);

#endif
