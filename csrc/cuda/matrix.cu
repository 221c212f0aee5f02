/* Loops over the rows of a sparse matrix that acts on every column of a vector alike: one thread per row, columns in turn.
 *
 * Each column walks the row again: with three columns, which is what a simulation has, the row stays in the cache. */
#include "cuda/context.cuh"

/* (A x)_i without the diagonal term, one column. */
static __device__ __forceinline__ real off_diagonal(const pd_matrix &A, int i, int width, int c, const real *x) {
    real sum = 0;
    for (int s = A.row_start[i]; s < A.row_start[i + 1]; s++) sum += A.values[s] * x[(size_t)width * (size_t)A.columns[s] + (size_t)c];
    return sum;
}

static __global__ void matrix_multiply_kernel(pd_matrix A, int width, const real *x, real *y) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= A.n) return;
    for (int c = 0; c < width; c++) {
        size_t j = (size_t)width * (size_t)i + (size_t)c;
        y[j] = off_diagonal(A, i, width, c, x) + A.diagonal[i] * x[j];
    }
}

pd_status pd_matrix_multiply(pd_context *context, const pd_matrix *matrix, int width, const real *x, real *y) {
    PD_LAUNCH(context, matrix_multiply_kernel, matrix->n, *matrix, width, x, y);
    return PD_OK;
}

static __global__ void apply_diagonal_kernel(int n, int width, const real *diagonal, int inverse, const real *x, real *y) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= n) return;
    real scale = inverse ? 1 / diagonal[i] : diagonal[i];
    size_t begin = (size_t)width * (size_t)i;
    for (size_t j = begin; j < begin + (size_t)width; j++) y[j] = scale * x[j];
}

pd_status pd_apply_diagonal(pd_context *context, const pd_matrix *matrix, int width, int inverse, const real *x, real *y) {
    PD_LAUNCH(context, apply_diagonal_kernel, matrix->n, matrix->n, width, matrix->diagonal, inverse, x, y);
    return PD_OK;
}

static __global__ void correction_kernel(pd_matrix A, int width, real scale, const real *r, const real *d, real *q) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= A.n) return;
    for (int c = 0; c < width; c++) {
        size_t j = (size_t)width * (size_t)i + (size_t)c;
        q[j] = scale / A.diagonal[i] * (r[j] - off_diagonal(A, i, width, c, d) - A.diagonal[i] * d[j]);
    }
}

pd_status pd_matrix_correction(pd_context *context, const pd_matrix *matrix, int width, double scale, const real *r, const real *d,
                               real *q) {
    PD_LAUNCH(context, correction_kernel, matrix->n, *matrix, width, (real)scale, r, d, q);
    return PD_OK;
}

/* One block per PD_SUM_BLOCK rows; partial sums of one quantity after those of the other. */
static __global__ void residual_kernel(pd_matrix A, int width, const real *r, const real *d, const real *target, double *partial) {
    int end = (int)(blockIdx.x + 1) * PD_SUM_BLOCK < A.n ? (int)(blockIdx.x + 1) * PD_SUM_BLOCK : A.n;
    double residual = 0.0, distance = 0.0;
    for (int i = (int)blockIdx.x * PD_SUM_BLOCK + (int)threadIdx.x; i < end; i += PD_THREADS)
        for (int c = 0; c < width; c++) {
            size_t j = (size_t)width * (size_t)i + (size_t)c;
            double defect = (double)r[j] - (double)A.diagonal[i] * (double)d[j];
            for (int s = A.row_start[i]; s < A.row_start[i + 1]; s++)
                defect -= (double)A.values[s] * (double)d[(size_t)width * (size_t)A.columns[s] + (size_t)c];
            residual += defect * defect;
            double difference = target ? (double)d[j] - (double)target[j] : 0.0;
            distance += difference * difference;
        }
    residual = pd_block_sum(residual);
    distance = pd_block_sum(distance);
    if (threadIdx.x == 0) {
        partial[2 * (size_t)blockIdx.x] = residual;
        partial[2 * (size_t)blockIdx.x + 1] = distance;
    }
}

pd_status pd_matrix_residual(pd_context *context, const pd_matrix *matrix, int width, const real *r, const real *d, const real *target,
                             double *out) {
    unsigned blocks = pd_sum_blocks(matrix->n);
    PD_LAUNCH_BLOCKS(context, residual_kernel, blocks, *matrix, width, r, d, target, matrix->partial_sums);
    return pd_add_partial_sums(context, matrix->partial_sums, blocks, 2, out);
}

static __global__ void matrix_dot_kernel(int n, int width, const real *x, const real *y, double *partial) {
    long long begin = (long long)blockIdx.x * PD_SUM_BLOCK * width, end = begin + (long long)PD_SUM_BLOCK * width;
    if (end > (long long)n * width) end = (long long)n * width;
    double sum = 0.0;
    for (long long i = begin + threadIdx.x; i < end; i += PD_THREADS) sum += (double)x[i] * (double)y[i];
    sum = pd_block_sum(sum);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

pd_status pd_matrix_dot(pd_context *context, const pd_matrix *matrix, int width, const real *x, const real *y, double *out) {
    unsigned blocks = pd_sum_blocks(matrix->n);
    PD_LAUNCH_BLOCKS(context, matrix_dot_kernel, blocks, matrix->n, width, x, y, matrix->partial_sums);
    return pd_add_partial_sums(context, matrix->partial_sums, blocks, 1, out);
}

/* ---- Jacobi and extrapolation -------------------------------------------------------------------------------------------------- */

static __global__ void first_sweep_kernel(int n, int width, const real *diagonal, const real *r, real weight, real omega, real *next) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= n) return;
    size_t begin = (size_t)width * (size_t)i;
    for (size_t j = begin; j < begin + (size_t)width; j++) next[j] = omega * (weight / diagonal[i]) * r[j];
}

static __global__ void sweep_kernel(pd_matrix A, int width, const real *r, real weight, real omega, int extrapolate, const real *d,
                                    real *previous) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= A.n) return;
    real diagonal = A.diagonal[i], scale = weight / diagonal;
    for (int c = 0; c < width; c++) {
        size_t j = (size_t)width * (size_t)i + (size_t)c;
        real relaxed = scale * (r[j] - off_diagonal(A, i, width, c, d) - diagonal * d[j]) + d[j];
        previous[j] = extrapolate ? omega * (relaxed - previous[j]) + previous[j] : relaxed;
    }
}

pd_status pd_jacobi_sweeps(pd_context *context, const pd_matrix *matrix, int width, const real *residual, double weight,
                           const double *omegas, int n_sweeps, int from_zero, real *buffers[2]) {
    for (int k = 0; k < n_sweeps; k++) {
        real *d = buffers[0], *next = buffers[1];
        if (k == 0 && from_zero) {
            PD_LAUNCH(context, first_sweep_kernel, matrix->n, matrix->n, width, matrix->diagonal, residual, (real)weight, (real)omegas[k],
                      next);
            // the next sweep reads this iterate, which was zero
            pd_status status = pd_memory_clear(context, d, (size_t)matrix->n * (size_t)width * sizeof(real));
            if (status) return status;
        } else
            PD_LAUNCH(context, sweep_kernel, matrix->n, *matrix, width, residual, (real)weight, (real)omegas[k], omegas[k] != 1.0, d, next);
        buffers[0] = next;
        buffers[1] = d;
    }
    return PD_OK;
}

static __global__ void extrapolate_kernel(size_t count, real omega, real gamma, int plain, const real *hat, const real *d, real *previous) {
    size_t j = (size_t)blockIdx.x * PD_THREADS + threadIdx.x;
    if (j < count) previous[j] = plain ? hat[j] : omega * (gamma * (hat[j] - d[j]) + d[j] - previous[j]) + previous[j];
}

pd_status pd_extrapolate(pd_context *context, const pd_matrix *matrix, int width, double omega, double gamma, const real *hat,
                         const real *d, real *previous) {
    size_t count = (size_t)matrix->n * (size_t)width;
    PD_LAUNCH(context, extrapolate_kernel, (long long)count, count, (real)omega, (real)gamma, omega == 1.0 && gamma == 1.0, hat, d,
              previous);
    return PD_OK;
}

/* ---- Gauss-Seidel ----------------------------------------------------------------------------------------------------------------- */

static __global__ void relax_kernel(pd_coloured_matrix C, int begin, int end, int width, const real *r, real omega, real *d) {
    int place = begin + (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (place >= end) return;
    real diagonal = C.matrix.diagonal[place];
    for (int c = 0; c < width; c++) {
        size_t j = (size_t)width * (size_t)C.rows[place] + (size_t)c;
        d[j] += omega / diagonal * (r[j] - off_diagonal(C.matrix, place, width, c, d) - diagonal * d[j]);
    }
}

pd_status pd_gauss_seidel_sweep(pd_context *context, const pd_coloured_matrix *coloured, int width, const real *residual, double omega,
                                int backward, real *d) {
    if (coloured->sequential)
        return pd_fail(&context->error, PD_ERROR_UNSUPPORTED, "order: the natural order is sequential and runs on the CPU only");
    for (int k = 0; k < coloured->n_colours; k++) {
        int colour = backward ? coloured->n_colours - 1 - k : k;
        int begin = coloured->colour_start[colour], end = coloured->colour_start[colour + 1];
        PD_LAUNCH(context, relax_kernel, end - begin, *coloured, begin, end, width, residual, (real)omega, d);
    }
    return PD_OK;
}
