/* Loops over the rows of a sparse matrix that acts on x, y and z alike: one thread per row. */
#include "cuda/context.cuh"

static __device__ __forceinline__ void off_diagonal(const int *row_start, const int *columns, const real *values, int i, const real *d,
                                                    real row[3]) {
    real s0 = 0, s1 = 0, s2 = 0;
    for (int s = row_start[i]; s < row_start[i + 1]; s++) {
        const real *x = d + 3 * (size_t)columns[s];
        real a = values[s];
        s0 += a * x[0];
        s1 += a * x[1];
        s2 += a * x[2];
    }
    row[0] = s0, row[1] = s1, row[2] = s2;
}

static __global__ void matrix_multiply_kernel(pd_matrix A, const real *x, real *y) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= A.n) return;
    real row[3];
    off_diagonal(A.row_start, A.columns, A.values, i, x, row);
    for (int c = 0; c < 3; c++) y[3 * (size_t)i + (size_t)c] = row[c] + A.diagonal[i] * x[3 * (size_t)i + (size_t)c];
}

pd_status pd_matrix_multiply(pd_context *context, const pd_matrix *matrix, const real *x, real *y) {
    PD_LAUNCH(context, matrix_multiply_kernel, matrix->n, *matrix, x, y);
    return PD_OK;
}

static __global__ void apply_diagonal_kernel(int n, const real *diagonal, int inverse, const real *x, real *y) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= n) return;
    real scale = inverse ? 1 / diagonal[i] : diagonal[i];
    for (size_t j = 3 * (size_t)i; j < 3 * (size_t)i + 3; j++) y[j] = scale * x[j];
}

pd_status pd_apply_diagonal(pd_context *context, const pd_matrix *matrix, int inverse, const real *x, real *y) {
    PD_LAUNCH(context, apply_diagonal_kernel, matrix->n, matrix->n, matrix->diagonal, inverse, x, y);
    return PD_OK;
}

static __global__ void first_sweep_kernel(int n, const real *diagonal, const real *r, real weight, real omega, real *next) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= n) return;
    for (size_t j = 3 * (size_t)i; j < 3 * (size_t)i + 3; j++) next[j] = omega * (weight / diagonal[i] * r[j]);
}

static __global__ void sweep_kernel(pd_matrix A, const real *r, real weight, real omega, const real *d, const real *previous, real *next) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= A.n) return;
    real row[3], diagonal = A.diagonal[i], scale = weight / diagonal;
    off_diagonal(A.row_start, A.columns, A.values, i, d, row);
    for (int c = 0; c < 3; c++) {
        size_t j = 3 * (size_t)i + (size_t)c;
        real relaxed = scale * (r[j] - row[c] - diagonal * d[j]) + d[j];
        next[j] = omega * (relaxed - previous[j]) + previous[j];
    }
}

pd_status pd_jacobi_sweeps(pd_context *context, const pd_matrix *matrix, const real *residual, double weight, const double *omegas,
                           int n_sweeps, real *direction, real *scratch) {
    // three buffers take turns, so that the last sweep writes `direction`; from d = 0 the first needs no product
    real *buffers[3] = {scratch, scratch + 3 * (size_t)matrix->n, direction};
    int shift = (2 - (n_sweeps - 1) % 3 + 3) % 3;
    pd_status status = pd_memory_clear(context, buffers[(shift + 2) % 3], (size_t)matrix->n * 3 * sizeof(real));
    if (status) return status;
    PD_LAUNCH(context, first_sweep_kernel, matrix->n, matrix->n, matrix->diagonal, residual, (real)weight, (real)omegas[0], buffers[shift]);
    for (int k = 1; k < n_sweeps; k++) {
        real *next = buffers[(shift + k) % 3], *d = buffers[(shift + k - 1) % 3], *previous = buffers[(shift + k + 1) % 3];
        PD_LAUNCH(context, sweep_kernel, matrix->n, *matrix, residual, (real)weight, (real)omegas[k], d, previous, next);
    }
    return PD_OK;
}
