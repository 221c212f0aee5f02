/* The passes of preconditioned conjugate gradients; scalars stay on the device. Each launch overlaps the end of the previous one. A
 * product reads its first entries during the overlap: none of the three kernels writes the matrix, and after the copy of a right-hand
 * side the first launch is an ordinary one. */
#include "updates/linear/conjugate_end.h"

#include "cuda/block_sum.cuh"
#include "cuda/linear/rows.cuh"

/* Rows of a partial sum: a multiple of three, so that no 3x3 block of the preconditioner is cut. */
enum { ROWS = PD_SUM_BLOCK / 3 * 3 };

static unsigned row_blocks(int n) { return (unsigned)((n + ROWS - 1) / ROWS); }

/* The target of a launch's sums. arrived: NULL if another launch adds up the partial sums. */
struct sums_of_blocks {
    double *partial, *sums;
    unsigned *arrived;
};

static sums_of_blocks sums_into(const pd_context *context, unsigned blocks, double *partial, double *sums) {
    return {partial, sums, blocks <= PD_BLOCKS_OF_LAST ? context->arrived : nullptr};
}

/* A search direction is internal, and a row reads those of its neighbours. Three columns are padded to four, as iterates of Jacobi
 * (sweeps.cuh), so that a neighbour is one read. */
static __host__ __device__ __forceinline__ int direction_stride(int width) { return width == 3 ? PD_PADDED : width; }

size_t pd_pcg_direction_bytes(int n, int width) { return (size_t)n * (size_t)direction_stride(width) * sizeof(real); }

/* partial [blocks,width]; a partial sum covers ROWS rows, PD_ROWS at a time. */
template <int W>
static __global__ void __launch_bounds__(PD_THREADS, pd_row_blocks_held(W))
    product_kernel(pd_matrix A, int width, const real *p, real *q, sums_of_blocks out) {
    pd_let_next_begin();
    int begin = (int)blockIdx.x * ROWS, end = begin + ROWS < A.n ? begin + ROWS : A.n;
    bool waits = true;
#pragma unroll 1
    for (int first = 0; first < pd_width<W>(width); first += W) {
        double pq = 0.0; // of column first + lane
        for (int round = begin; round < end; round += PD_ROWS) {
            pd_row row = pd_row_of(round, end);
            pd_entries<real> entries = pd_entries_of<real>(A, row);
            if (entries.at < entries.end) pd_read_entries(A, entries);
            int active = row.inside && row.lane < W;
            size_t j = active ? pd_row_begin<W>(width, row.i) + (size_t)(first + row.lane) : 0;
            size_t of_p = active ? (size_t)direction_stride(pd_width<W>(width)) * (size_t)row.i + (size_t)(first + row.lane) : 0;
            real diagonal = active ? A.diagonal[row.i] : (real)0; // loaded together with the entries
            if (waits) pd_wait_for_launch_before();
            waits = false;
            real own = active ? p[of_p] : (real)0;
            real sum = pd_off_diagonal_from<W, W == 3, true, real>(A, row, entries, width, first, p);
            if (W == 3 && A.coupling) sum += pd_project_lanes(A.coupling, row.i, row, own);
            if (!active) continue;
            q[j] = sum += diagonal * own;
            pq += (double)own * (double)sum;
        }
        for (int c = 0; c < W; c++) {
            double column = pd_block_sum((int)threadIdx.x % PD_LANES == c ? pq : 0.0);
            if (threadIdx.x == 0) out.partial[(size_t)blockIdx.x * (size_t)width + (size_t)(first + c)] = column;
        }
    }
    if (!out.arrived || !pd_last_block(out.arrived)) return;
    for (int c = 0; c < width; c++) {
        double total = pd_partial_sum(out.partial, gridDim.x, (unsigned)width, (unsigned)c);
        if (threadIdx.x == 0) out.sums[c] = total;
    }
}

pd_status pd_pcg_product(pd_context *context, const pd_matrix *matrix, int width, const real *p, real *q, double *sums) {
    unsigned blocks = row_blocks(matrix->n);
    sums_of_blocks out = sums_into(context, blocks, matrix->partial_sums, sums);
    PD_LAUNCH_OVERLAPPING_BY_WIDTH(context, product_kernel, width, blocks, *matrix, width, p, q, out);
    return out.arrived ? PD_OK : pd_add_partial_sums(context, matrix->partial_sums, blocks, (unsigned)width, sums);
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

/* Number j of M^-1 r, in row i of `width` numbers. A 3x3 block has one row of the inverse per number. */
static __device__ __forceinline__ real preconditioned(const pd_block_inverses &M, const real *r, size_t i, size_t j) {
    if (M.block == 1) return M.inverse[i] * r[j];
    if (M.block == 0) return M.inverse[j];
    const real *row = M.inverse + 3 * j, *v = r + j / 3 * 3;
    return row[0] * v[0] + row[1] * v[1] + row[2] * v[2];
}

/* numerator / denominator per column; 0 unless the denominator is positive. */
static __device__ __forceinline__ real quotient(const double *numerator, const double *denominator, int c) {
    return denominator[c] > 0.0 ? (real)(numerator[c] / denominator[c]) : (real)0;
}

/* New rz and rr, in sums[width ..] and sums[3 width ..], and the previous rz, in sums[2 width ..]: number k of [rz, rr]. */
static __device__ __forceinline__ void renew(int width, int k, double total, double *sums) {
    if (k < width) sums[2 * width + k] = sums[width + k];
    sums[k < width ? width + k : 2 * width + k] = total;
}

/* By one thread, after the sums of a system of one column. `applied`: after a separately applied preconditioner, which gave this r.z. */
static __device__ __forceinline__ void end_by_itself(const pd_pcg_end &end, int start, int applied, double rz, const double *sums) {
    if (!end.why) return;
    pd_conjugate_renew(end.why, start, sums[0], sums[3], end.norm);
    if (applied) *end.why = pd_preconditioned_end(*end.why, rz, sums[3]);
}

/* The numbers of a block's rows in sequence, one thread each. The stride is a multiple of the width, so a thread stays in its column.
 * Vectors wider than a block take their columns in turn. partial [blocks,2,width]; moves 0: d and r are not changed. */
template <int W, int moves>
static __device__ __forceinline__ void advance(int n, int any_width, pd_block_inverses M, int start, const real *p, const real *q, real *d,
                                               real *r, sums_of_blocks out, pd_pcg_end end) {
    const int width = pd_width<W>(any_width);
    pd_let_next_begin();
    pd_wait_for_launch_before();
    const double *sums = out.sums;
    const bool ended = end.why && *end.why != PD_PCG_GOES_ON;
    int rows = (int)blockIdx.x * ROWS + ROWS < n ? ROWS : n - (int)blockIdx.x * ROWS;
    int columns = width < PD_THREADS ? width : PD_THREADS, stride = PD_THREADS / columns * columns, t = (int)threadIdx.x;
    for (int first = 0; first < width; first += columns) {
        int among = width - first < columns ? width - first : columns, own = t % columns, active = t < stride && own < among;
        size_t column = (size_t)(first + own), begin = (size_t)blockIdx.x * ROWS;
        real alpha = !moves || start || ended || !active ? (real)0 : quotient(sums + width, sums, (int)column);
#pragma unroll 3
        for (int i = t / columns; moves && active && i < rows; i += stride / columns) {
            size_t j = (size_t)width * (begin + (size_t)i) + column;
            d[j] = start ? (real)0 : d[j] + alpha * p[(size_t)direction_stride(width) * (begin + (size_t)i) + column];
            if (!start) r[j] -= alpha * q[j];
        }
        if (M.block == 3) __syncthreads(); // a 3x3 block reads rows of other threads
        double rz = 0.0, rr = 0.0;
#pragma unroll 3
        for (int i = t / columns; active && i < rows; i += stride / columns) {
            size_t j = (size_t)width * (begin + (size_t)i) + column;
            rz += (double)r[j] * (double)preconditioned(M, r, begin + (size_t)i, j);
            rr += (double)r[j] * (double)r[j];
        }
        for (int c = 0; c < among; c++) {
            double z = pd_block_sum(active && own == c ? rz : 0.0), squares = pd_block_sum(active && own == c ? rr : 0.0);
            if (t != 0) continue;
            out.partial[2 * (size_t)width * (size_t)blockIdx.x + (size_t)(first + c)] = z;
            out.partial[2 * (size_t)width * (size_t)blockIdx.x + (size_t)(width + first + c)] = squares;
        }
    }
    if (!out.arrived || !pd_last_block(out.arrived)) return;
    for (int k = 0; k < 2 * width; k++) { // every block has read the previous sums
        double total = pd_partial_sum(out.partial, gridDim.x, 2 * (unsigned)width, (unsigned)k);
        if (threadIdx.x == 0) renew(width, k, total, out.sums);
    }
    if (threadIdx.x == 0) end_by_itself(end, start, !moves, out.sums[1], out.sums);
}

template <int W>
static __global__ void advance_kernel(int n, int width, pd_block_inverses M, int start, const real *p, const real *q, real *d, real *r,
                                      sums_of_blocks out, pd_pcg_end end) {
    advance<W, 1>(n, width, M, start, p, q, d, r, out, end);
}

template <int W>
static __global__ void measure_kernel(int n, int width, int start, const real *r, const real *z, sums_of_blocks out, pd_pcg_end end) {
    advance<W, 0>(n, width, {0, const_cast<real *>(z)}, start, nullptr, nullptr, nullptr, const_cast<real *>(r), out, end);
}

static __global__ void renew_kernel(int width, int start, int applied, double *sums, pd_pcg_end end) {
    int k = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (k < 2 * width) renew(width, k, sums[4 * width + k], sums);
    if (k == 1) end_by_itself(end, start, applied, sums[4], sums); // for one column this is the thread of r.r
}

/* Adds up the partial sums after a launch with more blocks than its last one handles. */
static pd_status renew_sums(pd_context *context, const sums_of_blocks &out, unsigned blocks, int width, int start, int applied,
                            pd_pcg_end end) {
    if (out.arrived) return PD_OK;
    pd_status status = pd_add_partial_sums(context, out.partial, blocks, 2 * (unsigned)width, out.sums + 4 * (size_t)width);
    if (status) return status;
    PD_LAUNCH(context, renew_kernel, 2LL * width, width, start, applied, out.sums, end);
    return PD_OK;
}

pd_status pd_pcg_advance(pd_context *context, const pd_matrix *matrix, int width, const pd_block_inverses *M, int start, const real *p,
                         const real *q, real *d, real *r, double *sums, pd_pcg_end end) {
    unsigned blocks = row_blocks(matrix->n);
    sums_of_blocks out = sums_into(context, blocks, matrix->partial_sums, sums);
    PD_LAUNCH_OVERLAPPING_BY_WIDTH(context, advance_kernel, width, blocks, matrix->n, width, *M, start, p, q, d, r, out, end);
    return renew_sums(context, out, blocks, width, start, 0, end);
}

pd_status pd_pcg_measure(pd_context *context, const pd_matrix *matrix, int width, int start, const real *r, const real *z, double *sums,
                         pd_pcg_end end) {
    unsigned blocks = row_blocks(matrix->n);
    sums_of_blocks out = sums_into(context, blocks, matrix->partial_sums, sums);
    PD_LAUNCH_OVERLAPPING_BY_WIDTH(context, measure_kernel, width, blocks, matrix->n, width, start, r, z, out, end);
    return renew_sums(context, out, blocks, width, start, 1, end);
}

/* A thread per number of p. The padding is written too, so that sectors are written whole. */
template <int W>
static __global__ void update_kernel(long long count, int any_width, pd_block_inverses M, int start, const double *sums, const real *r,
                                     real *p) {
    const int width = pd_width<W>(any_width);
    pd_let_next_begin();
    pd_wait_for_launch_before();
    long long t = (long long)blockIdx.x * PD_THREADS + threadIdx.x;
    if (t >= count) return;
    // The stride is a constant for three columns: a division by a variable costs more than the reads.
    size_t stride = (size_t)direction_stride(width);
    size_t i = (size_t)t / stride;
    int c = (int)((size_t)t - i * stride);
    if (c >= width) {
        p[t] = 0;
        return;
    }
    real z = preconditioned(M, r, i, (size_t)width * i + (size_t)c);
    p[t] = start ? z : z + quotient(sums + width, sums + 2 * width, c) * p[t];
}

pd_status pd_pcg_redirect(pd_context *context, const pd_matrix *matrix, int width, const pd_block_inverses *M, int start, const real *r,
                          real *p, const double *sums) {
    long long count = (long long)matrix->n * direction_stride(width);
    PD_LAUNCH_OVERLAPPING_BY_WIDTH(context, update_kernel, width, pd_thread_blocks(count), count, width, *M, start, sums, r, p);
    return PD_OK;
}

/* A thread per number of d; sums NULL: alpha is 1. */
template <int W>
static __global__ void move_kernel(long long count, int any_width, const real *p, const real *q, real *d, real *r, const double *sums,
                                   pd_pcg_end end) {
    const int width = pd_width<W>(any_width);
    pd_let_next_begin();
    pd_wait_for_launch_before();
    long long j = (long long)blockIdx.x * PD_THREADS + threadIdx.x;
    if (j >= count || (end.why && *end.why != PD_PCG_GOES_ON)) return;
    size_t i = (size_t)j / (size_t)width;
    int c = (int)((size_t)j - i * (size_t)width);
    real alpha = sums ? quotient(sums + width, sums, c) : (real)1;
    d[j] += alpha * p[(size_t)direction_stride(width) * i + (size_t)c];
    if (q) r[j] -= alpha * q[j];
}

pd_status pd_pcg_move(pd_context *context, const pd_matrix *matrix, int width, const real *p, const real *q, real *d, real *r,
                      const double *sums, pd_pcg_end end) {
    long long count = (long long)matrix->n * width;
    PD_LAUNCH_OVERLAPPING_BY_WIDTH(context, move_kernel, width, pd_thread_blocks(count), count, width, p, q, d, r, sums, end);
    return PD_OK;
}

template <int W>
static __global__ void combine_kernel(long long count, int any_width, pd_block_inverses M, real scale, real keep, const real *r, real *p) {
    const int width = pd_width<W>(any_width);
    pd_let_next_begin();
    pd_wait_for_launch_before();
    long long t = (long long)blockIdx.x * PD_THREADS + threadIdx.x;
    if (t >= count) return;
    size_t stride = (size_t)direction_stride(width), i = (size_t)t / stride;
    int c = (int)((size_t)t - i * stride);
    real z = c < width ? scale * preconditioned(M, r, i, (size_t)width * i + (size_t)c) : (real)0;
    p[t] = c < width && keep != 0 ? z + keep * p[t] : z;
}

pd_status pd_pcg_combine(pd_context *context, const pd_matrix *matrix, int width, const pd_block_inverses *M, double scale, double keep,
                         const real *r, real *p) {
    long long count = (long long)matrix->n * direction_stride(width);
    PD_LAUNCH_OVERLAPPING_BY_WIDTH(context, combine_kernel, width, pd_thread_blocks(count), count, width, *M, (real)scale, (real)keep, r,
                                   p);
    return PD_OK;
}
