/* Dense Cholesky factorisation through LAPACK; see dense_cholesky.h. */
#include "sparse/dense_cholesky.h"

#ifdef PD_HAVE_CHOLMOD

#include "sparse/serial_blas.h"

#include <stddef.h>
#include <string.h>

/* LAPACK as Fortran has it; the lengths of the strings come last. */
extern void dpotrf_(const char *triangle, const int *n, double *a, const int *lda, int *info, size_t length);
extern void dpotrs_(const char *triangle, const int *n, const int *n_columns, const double *a, const int *lda, double *b, const int *ldb,
                    int *info, size_t length);
extern void dlauum_(const char *triangle, const int *n, double *a, const int *lda, int *info, size_t length);

pd_status pd_dense_cholesky_factor(double *H, int n, pd_error *error) {
    int info = 0;
    pd_blas_call call = pd_blas_begin();
    dpotrf_("L", &n, H, &n, &info, 1);
    pd_blas_end(&call);
    if (info <= 0) return PD_OK;
    if (error) error->vertex = info - 1;
    return pd_fail(error, PD_ERROR_SINGULAR, "a dense matrix of %d rows is not positive definite at row %d", n, info - 1);
}

void pd_dense_cholesky_solve(const double *L, int n, double *b, int n_columns) {
    int info = 0;
    pd_blas_call call = pd_blas_begin();
    dpotrs_("L", &n, &n_columns, L, &n, b, &n, &info, 1);
    pd_blas_end(&call);
}

void pd_dense_square(double *S, const double *L, int n, long long ld) {
    size_t size = (size_t)n, last = size * size - 1;
    int info = 0;
    // LAPACK has U U^T: from the other end L is an upper triangle, and so is the product
    memset(S, 0, size * size * sizeof *S);
    for (size_t j = 0; j < size; j++)
        for (size_t i = j; i < size; i++) S[last - (i + j * size)] = L[i + j * (size_t)ld];
    pd_blas_call call = pd_blas_begin();
    dlauum_("U", &n, S, &n, &info, 1);
    pd_blas_end(&call);
    for (size_t k = 0; k < size * size / 2; k++) {
        double swap = S[k];
        S[k] = S[last - k];
        S[last - k] = swap;
    }
}

#else

pd_status pd_dense_cholesky_factor(double *H, int n, pd_error *error) {
    (void)H, (void)n;
    return pd_fail(error, PD_ERROR_UNSUPPORTED, "this build of pdgpu leaves LAPACK out (PDGPU_CHOLMOD=OFF)");
}

void pd_dense_cholesky_solve(const double *L, int n, double *b, int n_columns) { (void)L, (void)n, (void)b, (void)n_columns; }

void pd_dense_square(double *S, const double *L, int n, long long ld) { (void)S, (void)L, (void)n, (void)ld; }

#endif
