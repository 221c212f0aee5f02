/* The passes of preconditioned conjugate gradients; scalars stay on the device. */
#include "cuda/context.cuh"

/* Rows of a partial sum: a multiple of three, so that no 3x3 block of the preconditioner is cut. */
enum { ROWS = PD_SUM_BLOCK / 3 * 3 };

static unsigned row_blocks(int n) { return (unsigned)((n + ROWS - 1) / ROWS); }

static __global__ void product_kernel(pd_matrix A, int width, const real *p, real *q, double *partial) {
    int end = (int)(blockIdx.x + 1) * ROWS < A.n ? (int)(blockIdx.x + 1) * ROWS : A.n;
    for (int c = 0; c < width; c++) {
        double pq = 0.0;
        for (int i = (int)blockIdx.x * ROWS + (int)threadIdx.x; i < end; i += PD_THREADS) {
            size_t j = (size_t)width * (size_t)i + (size_t)c;
            real sum = A.diagonal[i] * p[j];
            for (int s = A.row_start[i]; s < A.row_start[i + 1]; s++)
                sum += A.values[s] * p[(size_t)width * (size_t)A.columns[s] + (size_t)c];
            q[j] = sum;
            pq += (double)p[j] * (double)sum;
        }
        pq = pd_block_sum(pq);
        if (threadIdx.x == 0) partial[(size_t)blockIdx.x * (size_t)width + (size_t)c] = pq;
    }
}

pd_status pd_pcg_product(pd_context *context, const pd_matrix *matrix, int width, const real *p, real *q, double *sums) {
    unsigned blocks = row_blocks(matrix->n);
    PD_LAUNCH_BLOCKS(context, product_kernel, blocks, *matrix, width, p, q, matrix->partial_sums);
    return pd_add_partial_sums(context, matrix->partial_sums, blocks, (unsigned)width, sums);
}

static __device__ __forceinline__ real preconditioned(const pd_preconditioner &M, int width, const real *r, size_t j) {
    if (M.block == 1) return M.inverse[j / (size_t)width] * r[j];
    const real *row = M.inverse + 3 * j, *v = r + j / 3 * 3;
    return row[0] * v[0] + row[1] * v[1] + row[2] * v[2];
}

/* numerator / denominator per column, 0 where the denominator is not positive. */
static __device__ __forceinline__ real quotient(const double *numerator, const double *denominator, int c) {
    return denominator[c] > 0.0 ? (real)(numerator[c] / denominator[c]) : (real)0;
}

static __global__ void advance_kernel(int n, int width, pd_preconditioner M, int start, const double *sums, const real *p, const real *q,
                                      real *d, real *r, double *partial) {
    int first = (int)blockIdx.x * ROWS, last = first + ROWS < n ? first + ROWS : n;
    for (int c = 0; c < width; c++) {
        real alpha = start ? (real)0 : quotient(sums + width, sums, c);
        for (int i = first + (int)threadIdx.x; i < last; i += PD_THREADS) {
            size_t j = (size_t)width * (size_t)i + (size_t)c;
            d[j] = start ? (real)0 : d[j] + alpha * p[j];
            if (!start) r[j] -= alpha * q[j];
        }
    }
    __syncthreads(); // a 3x3 block reads rows of other threads
    for (int c = 0; c < width; c++) {
        double rz = 0.0, rr = 0.0;
        for (int i = first + (int)threadIdx.x; i < last; i += PD_THREADS) {
            size_t j = (size_t)width * (size_t)i + (size_t)c;
            rz += (double)r[j] * (double)preconditioned(M, width, r, j);
            rr += (double)r[j] * (double)r[j];
        }
        rz = pd_block_sum(rz);
        rr = pd_block_sum(rr);
        if (threadIdx.x == 0) {
            partial[2 * (size_t)width * (size_t)blockIdx.x + (size_t)c] = rz;
            partial[2 * (size_t)width * (size_t)blockIdx.x + (size_t)(width + c)] = rr;
        }
    }
}

/* rz and rr anew from sums[4 width ..], rz before from rz. */
static __global__ void shift_sums_kernel(int width, double *sums) {
    int c = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (c >= width) return;
    sums[2 * width + c] = sums[width + c];
    sums[width + c] = sums[4 * width + c];
    sums[3 * width + c] = sums[5 * width + c];
}

pd_status pd_pcg_advance(pd_context *context, const pd_matrix *matrix, int width, const pd_preconditioner *M, int start, const real *p,
                         const real *q, real *d, real *r, double *sums) {
    unsigned blocks = row_blocks(matrix->n);
    PD_LAUNCH_BLOCKS(context, advance_kernel, blocks, matrix->n, width, *M, start, sums, p, q, d, r, matrix->partial_sums);
    pd_status status = pd_add_partial_sums(context, matrix->partial_sums, blocks, 2 * (unsigned)width, sums + 4 * (size_t)width);
    if (status) return status;
    PD_LAUNCH(context, shift_sums_kernel, width, width, sums);
    return PD_OK;
}

static __global__ void turn_kernel(int n, int width, pd_preconditioner M, int start, const double *sums, const real *r, real *p) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= n) return;
    for (int c = 0; c < width; c++) {
        size_t j = (size_t)width * (size_t)i + (size_t)c;
        real z = preconditioned(M, width, r, j);
        p[j] = start ? z : z + quotient(sums + width, sums + 2 * width, c) * p[j];
    }
}

pd_status pd_pcg_turn(pd_context *context, const pd_matrix *matrix, int width, const pd_preconditioner *M, int start, const real *r,
                      real *p, const double *sums) {
    PD_LAUNCH(context, turn_kernel, matrix->n, matrix->n, width, *M, start, sums, r, p);
    return PD_OK;
}
