/* Dense Cholesky factorisation through LAPACK; see dense_cholesky.h. */
#include "sparse/dense_cholesky.h"

#ifdef PD_HAVE_CHOLMOD

#include "sparse/serial_blas.h"

#include <stddef.h>
#include <string.h>

/* BLAS and LAPACK by their Fortran interface; the lengths of the strings come last. */
extern void dpotrf_(const char *triangle, const int *n, double *a, const int *lda, int *info, size_t length);
extern void dtrsm_(const char *side, const char *triangle, const char *transpose, const char *unit, const int *m, const int *n,
                   const double *alpha, const double *a, const int *lda, double *b, const int *ldb, size_t length_1, size_t length_2,
                   size_t length_3, size_t length_4);
extern void dsyrk_(const char *triangle, const char *transpose, const int *n, const int *k, const double *alpha, const double *a,
                   const int *lda, const double *beta, double *c, const int *ldc, size_t length_1, size_t length_2);
extern void dpotrs_(const char *triangle, const int *n, const int *n_columns, const double *a, const int *lda, double *b, const int *ldb,
                    int *info, size_t length);
extern void dlauum_(const char *triangle, const int *n, double *a, const int *lda, int *info, size_t length);

/* Columns factorised together. A single call of dpotrf for all of H halves it recursively and is slower. */
static int block_of(int n) { return n < 1500 ? 64 : 192; }

pd_status pd_dense_cholesky_factor(double *H, int n, pd_error *error) {
    const double one = 1.0, minus = -1.0;
    int info = 0;
    pd_blas_call call = pd_blas_begin();
    for (int j = 0; j < n && info == 0; j += block_of(n)) {
        int width = n - j < block_of(n) ? n - j : block_of(n), below = n - j - width;
        double *diagonal = H + j + (size_t)j * (size_t)n, *under = diagonal + width;
        dpotrf_("L", &width, diagonal, &n, &info, 1);
        if (info > 0) info += j;
        if (info != 0 || below == 0) break;
        dtrsm_("R", "L", "T", "N", &below, &width, &one, diagonal, &n, under, &n, 1, 1, 1, 1);
        dsyrk_("L", "N", &below, &width, &minus, under, &n, &one, under + (size_t)width * (size_t)n, &n, 1, 1);
    }
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
    // LAPACK has U U^T: in reverse order L is an upper triangle, and so is the product
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
