/* Loops over the rows of a sparse matrix that acts on x, y and z alike. */
#include "cpu/context.h"

/* row = (r - A d)_i without the diagonal term */
static inline void off_diagonal(const pd_matrix *A, int i, const real *d, real row[3]) {
    real s0 = 0, s1 = 0, s2 = 0;
    for (int s = A->row_start[i]; s < A->row_start[i + 1]; s++) {
        const real *x = d + 3 * (size_t)A->columns[s];
        real a = A->values[s];
        s0 += a * x[0];
        s1 += a * x[1];
        s2 += a * x[2];
    }
    row[0] = s0, row[1] = s1, row[2] = s2;
}

pd_status pd_matrix_multiply(pd_context *context, const pd_matrix *matrix, const real *x, real *y) {
#pragma omp parallel for num_threads(context->threads) schedule(static)
    for (int i = 0; i < matrix->n; i++) {
        real row[3];
        off_diagonal(matrix, i, x, row);
        for (size_t c = 0; c < 3; c++) y[3 * (size_t)i + c] = row[c] + matrix->diagonal[i] * x[3 * (size_t)i + c];
    }
    return PD_OK;
}

pd_status pd_apply_diagonal(pd_context *context, const pd_matrix *matrix, int inverse, const real *x, real *y) {
#pragma omp parallel for num_threads(context->threads) schedule(static)
    for (int i = 0; i < matrix->n; i++) {
        real scale = inverse ? 1 / matrix->diagonal[i] : matrix->diagonal[i];
        for (size_t j = 3 * (size_t)i; j < 3 * (size_t)i + 3; j++) y[j] = scale * x[j];
    }
    return PD_OK;
}

/* One sweep: next = omega (d^ - previous) + previous, with d^ = weight D^-1 (r - A d) + d. */
static void sweep(pd_context *context, const pd_matrix *A, const real *r, real weight, real omega, const real *d, const real *previous,
                  real *next) {
#pragma omp parallel for num_threads(context->threads) schedule(static)
    for (int i = 0; i < A->n; i++) {
        real row[3], scale = weight / A->diagonal[i];
        off_diagonal(A, i, d, row);
        for (int c = 0; c < 3; c++) {
            size_t j = 3 * (size_t)i + (size_t)c;
            real relaxed = scale * (r[j] - row[c] - A->diagonal[i] * d[j]) + d[j];
            next[j] = omega * (relaxed - previous[j]) + previous[j];
        }
    }
}

pd_status pd_jacobi_sweeps(pd_context *context, const pd_matrix *matrix, const real *residual, double weight, const double *omegas,
                           int n_sweeps, real *direction, real *scratch) {
    // three buffers take turns, so that the last sweep writes `direction`; from d = 0 the first needs no product
    size_t bytes = (size_t)matrix->n * 3 * sizeof(real);
    real *buffers[3] = {scratch, scratch + 3 * (size_t)matrix->n, direction};
    int shift = (2 - (n_sweeps - 1) % 3 + 3) % 3;
    real *first = buffers[shift % 3];
#pragma omp parallel for num_threads(context->threads) schedule(static)
    for (int i = 0; i < matrix->n; i++)
        for (int c = 0; c < 3; c++) {
            size_t j = 3 * (size_t)i + (size_t)c;
            first[j] = (real)omegas[0] * ((real)weight / matrix->diagonal[i] * residual[j]);
        }
    pd_memory_clear(context, buffers[(shift + 2) % 3], bytes);
    for (int k = 1; k < n_sweeps; k++) {
        // next k overwrites the buffer of iterate k-3; iterate -1 and -2 are zero
        real *next = buffers[(shift + k) % 3], *d = buffers[(shift + k - 1) % 3], *previous = buffers[(shift + k + 1) % 3];
        sweep(context, matrix, residual, (real)weight, (real)omegas[k], d, previous, next);
    }
    return PD_OK;
}
