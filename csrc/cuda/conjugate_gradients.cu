/* The passes of preconditioned conjugate gradients; scalars stay on the device. */
#include "cuda/block_sum.cuh"
#include "cuda/rows.cuh"

/* Rows of a partial sum: a multiple of three, so that no 3x3 block of the preconditioner is cut. */
enum { ROWS = PD_SUM_BLOCK / 3 * 3 };

static unsigned row_blocks(int n) { return (unsigned)((n + ROWS - 1) / ROWS); }

/* partial [blocks,width]; a partial sum covers ROWS rows, which PD_ROWS at a time are walked. */
template <int W> static __global__ void product_kernel(pd_matrix A, int width, const real *p, real *q, double *partial) {
    int begin = (int)blockIdx.x * ROWS, end = begin + ROWS < A.n ? begin + ROWS : A.n;
    for (int first = 0; first < width; first += W) {
        double pq = 0.0; // of column first + lane
        for (int round = begin; round < end; round += PD_ROWS) {
            pd_row row = pd_row_of(round, end);
            real sum = pd_off_diagonal<W>(A, row, width, first, p);
            if (W == 3 && A.coupling)
                sum += pd_project_lanes(A.coupling, row.i, row, row.inside && row.lane < 3 ? p[3 * (size_t)row.i + row.lane] : (real)0);
            if (!row.inside || row.lane >= W) continue;
            size_t j = (size_t)width * (size_t)row.i + (size_t)(first + row.lane);
            q[j] = sum += A.diagonal[row.i] * p[j];
            pq += (double)p[j] * (double)sum;
        }
        for (int c = 0; c < W; c++) {
            double column = pd_block_sum((int)threadIdx.x % PD_LANES == c ? pq : 0.0);
            if (threadIdx.x == 0) partial[(size_t)blockIdx.x * (size_t)width + (size_t)(first + c)] = column;
        }
    }
}

pd_status pd_pcg_product(pd_context *context, const pd_matrix *matrix, int width, const real *p, real *q, double *sums) {
    unsigned blocks = row_blocks(matrix->n);
    PD_LAUNCH_BY_WIDTH(context, product_kernel, width, blocks, *matrix, width, p, q, matrix->partial_sums);
    return pd_add_partial_sums(context, matrix->partial_sums, blocks, (unsigned)width, sums);
}

static __global__ void join_columns_kernel(int width, double *sums) {
    double total = 0.0;
    if (blockIdx.x != 0 || threadIdx.x != 0) return;
    for (int c = 0; c < width; c++) total += sums[c];
    for (int c = 0; c < width; c++) sums[c] = total;
}

pd_status pd_join_columns(pd_context *context, int width, double *sums) {
    PD_LAUNCH_BLOCKS(context, join_columns_kernel, 1, width, sums);
    return PD_OK;
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

/* The numbers of a block's rows in one run, neighbouring threads side by side; a stride that is a multiple of the width keeps every thread
 * in its column. Wider vectors than a block has threads take their columns in turn. partial [blocks,2,width] */
static __global__ void advance_kernel(int n, int width, pd_preconditioner M, int start, const double *sums, const real *p, const real *q,
                                      real *d, real *r, double *partial) {
    int rows = (int)blockIdx.x * ROWS + ROWS < n ? ROWS : n - (int)blockIdx.x * ROWS;
    int columns = width < PD_THREADS ? width : PD_THREADS, stride = PD_THREADS / columns * columns, t = (int)threadIdx.x;
    for (int first = 0; first < width; first += columns) {
        int among = width - first < columns ? width - first : columns, own = t % columns, active = t < stride && own < among;
        size_t column = (size_t)(first + own), begin = (size_t)blockIdx.x * ROWS;
        real alpha = start || !active ? (real)0 : quotient(sums + width, sums, (int)column);
        for (int i = t / columns; active && i < rows; i += stride / columns) {
            size_t j = (size_t)width * (begin + (size_t)i) + column;
            d[j] = start ? (real)0 : d[j] + alpha * p[j];
            if (!start) r[j] -= alpha * q[j];
        }
        if (M.block == 3) __syncthreads(); // a 3x3 block reads rows of other threads
        double rz = 0.0, rr = 0.0;
        for (int i = t / columns; active && i < rows; i += stride / columns) {
            size_t j = (size_t)width * (begin + (size_t)i) + column;
            rz += (double)r[j] * (double)preconditioned(M, width, r, j);
            rr += (double)r[j] * (double)r[j];
        }
        for (int c = 0; c < among; c++) {
            double z = pd_block_sum(active && own == c ? rz : 0.0), squares = pd_block_sum(active && own == c ? rr : 0.0);
            if (t != 0) continue;
            partial[2 * (size_t)width * (size_t)blockIdx.x + (size_t)(first + c)] = z;
            partial[2 * (size_t)width * (size_t)blockIdx.x + (size_t)(width + first + c)] = squares;
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

static __global__ void update_kernel(long long count, int width, pd_preconditioner M, int start, const double *sums, const real *r,
                                     real *p) {
    long long t = (long long)blockIdx.x * PD_THREADS + threadIdx.x;
    if (t >= count) return;
    size_t j = (size_t)t;
    real z = preconditioned(M, width, r, j);
    p[j] = start ? z : z + quotient(sums + width, sums + 2 * width, (int)(j % (size_t)width)) * p[j];
}

pd_status pd_pcg_redirect(pd_context *context, const pd_matrix *matrix, int width, const pd_preconditioner *M, int start, const real *r,
                          real *p, const double *sums) {
    long long count = (long long)matrix->n * width;
    PD_LAUNCH(context, update_kernel, count, count, width, *M, start, sums, r, p);
    return PD_OK;
}
