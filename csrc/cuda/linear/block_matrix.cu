/* Loops over a sparse operator in blocks of neighbouring rows; see pd_block_matrix in matrix_loops.h.
 *
 * After Lan et al. [2022, Appendix A]: a CUDA block takes the 16 rows of neighbouring vertices and loads the columns they share into
 * shared memory once. Several threads share the sum of a row, 16 here and 4 in the paper, since they read adjacent entries together. One
 * pass does all columns of the vectors, so that an entry, 6 bytes in float, is read once. Coefficients go directly to the thread that
 * uses them: each serves one row only, so shared memory would save nothing. Positions in shared memory have a stride of 3 numbers for
 * three columns, without conflicts among 32 banks.
 *
 * As for Jacobi there are two modes for many sweeps: one launch each, or one cooperative launch. There a block keeps the coefficients of
 * 128 entries per row in registers and its list of columns in shared memory. */
#include "loops/matrix_loops.h"

#include "cuda/linear/ends.cuh"
#include "cuda/linear/sweeps.cuh"

#include <cooperative_groups.h>

/* Threads of a row; columns that fit into shared memory; entries in the registers of a thread. */
enum { ROW_LANES = PD_THREADS / PD_BLOCK_ROWS, LIST = 1024, KEPT = 8 };

/* A thread's slot in a block of rows. */
struct block_row {
    int slot, lane, inside, begin, end, list_begin, list_length;
};

static __device__ __forceinline__ block_row row_of(const pd_block_matrix &P, int block) {
    block_row row;
    row.slot = block * PD_BLOCK_ROWS + (int)threadIdx.x / ROW_LANES;
    row.lane = (int)threadIdx.x % ROW_LANES;
    row.inside = row.slot < P.n;
    row.begin = row.inside ? P.entry_start[P.segment_start[row.slot]] : 0;
    row.end = row.inside ? P.entry_start[P.segment_start[row.slot + 1]] : 0;
    row.list_begin = P.list_start[block];
    row.list_length = P.list_start[block + 1] - row.list_begin;
    return row;
}

/* Shared memory of a block: columns of its list, and the list. Not part of the templates, since a C++ compiler gives variables in those
 * no section of their own (launch.cuh). */
static __device__ __forceinline__ real *shared_columns() {
    __shared__ real x[LIST * 3];
    return x;
}

static __device__ __forceinline__ int *shared_list() {
    __shared__ int list[LIST];
    return list;
}

/* x [list,W] = columns first .. first + W - 1 of `in` at the block's list, by all threads of the block. PADDED: the rows of `in` are. */
template <int W, bool PADDED>
static __device__ __forceinline__ void load_list(const int *list, int length, int width, int first, const real *in, real *x) {
    if (PADDED)
        for (int k = (int)threadIdx.x; k < length; k += PD_THREADS) {
            const pd_padded_row row = pd_read_record((const pd_padded_row *)in + list[k]);
#pragma unroll
            for (int c = 0; c < W; c++) x[W * k + c] = row.c[c];
        }
    else
        for (int k = (int)threadIdx.x; k < length * W; k += PD_THREADS)
            x[k] = in[(size_t)width * (size_t)list[k / W] + (size_t)(first + k % W)];
}

/* Adds this thread's share of the entries begin .. end of a row to sum. x NULL: the list is too long for shared memory. */
template <int W>
static __device__ __forceinline__ void add_entries(const pd_block_matrix &P, const block_row &row, int begin, int first, pd_iterate_rows in,
                                                   const real *x, real (&sum)[W]) {
#pragma unroll 2
    for (int e = begin + row.lane; e < row.end; e += ROW_LANES) {
        int k = P.local[e];
        const real *v = x ? x + W * k : in.rows + pd_number_at(in, P.list[row.list_begin + k], first);
        real a = P.values[e];
#pragma unroll
        for (int c = 0; c < W; c++) sum[c] += a * v[c];
    }
}

/* Adds up the shares of a row's threads in a fixed order. Returns that of column `lane`, for lanes below W. */
template <int W> static __device__ __forceinline__ real row_sum(real (&sum)[W], int lane) {
#pragma unroll
    for (int shift = ROW_LANES / 2; shift > 0; shift /= 2)
#pragma unroll
        for (int c = 0; c < W; c++) sum[c] += __shfl_xor_sync(0xffffffffu, sum[c], shift, ROW_LANES);
    real value = sum[0];
#pragma unroll
    for (int c = 1; c < W; c++) value = lane == c ? sum[c] : value;
    return value;
}

static __device__ __forceinline__ real extrapolated(real hat, real omega, real gamma, int plain, real d, real previous) {
    return plain ? hat : omega * (gamma * (hat - d) + d - previous) + previous;
}

/* ---- one launch per sweep ---------------------------------------------------------------------------------------------------------- */

/* next <- P in + add, extrapolated between d and the previous iterate, `last`, which counts as zero if from_zero is nonzero. PADDED: the
 * rows of `in` are; MOVES: the last sweep of an iteration. Kernels write only the operator's values, so its other data are read before
 * the previous launch has ended. */
template <int W, bool PADDED, bool MOVES>
static __global__ void block_sweep_kernel(pd_block_matrix P, int width, pd_iterate_rows in, const real *add, real omega, real gamma,
                                          int plain, int from_zero, pd_iterate_rows d, pd_iterate_rows last, pd_iterate_rows next,
                                          pd_mover<MOVES> move) {
    real *x = shared_columns();
    pd_let_next_begin();
    block_row row = row_of(P, (int)blockIdx.x);
    const int shared = row.list_length <= LIST, columns = W == 3 ? 3 : width, i = row.inside ? P.rows[row.slot] : 0;
    const bool active = row.inside && row.lane < W, free = move.is_free(active, i), starts = plain || from_zero;
    pd_wait_for_launch_before();
#pragma unroll 1
    for (int first = 0; first < columns; first += W) {
        real sum[W];
#pragma unroll
        for (int c = 0; c < W; c++) sum[c] = 0;
        __syncthreads(); // the previous columns are still read
        if (shared) load_list<W, PADDED>(P.list + row.list_begin, row.list_length, columns, first, in.rows, x);
        __syncthreads();
        add_entries<W>(P, row, row.begin, first, in, shared ? x : nullptr, sum);
        real total = row_sum<W>(sum, row.lane), value = 0;
        const int column = first + row.lane;
        if (active)
            value = extrapolated(total + add[(size_t)columns * (size_t)i + (size_t)column], omega, gamma, plain,
                                 d.rows[pd_number_at(d, i, column)], starts ? (real)0 : last.rows[pd_number_at(last, i, column)]);
        pd_write_row<W>(next, row.inside, i, first, row.lane, value);
        move(free, (size_t)columns * (size_t)i + (size_t)column, value);
    }
}

/* last.rows NULL: the previous iterate was zero. */
static pd_status one_sweep(pd_context *context, const pd_block_matrix *P, int width, pd_iterate_rows in, const real *add, double omega,
                           double gamma, pd_iterate_rows d, pd_iterate_rows last, pd_iterate_rows next, const pd_move *move) {
    const int plain = omega == 1.0 && gamma == 1.0;
    if (move) {
        auto kernel = pd_is_padded(in) ? block_sweep_kernel<3, true, true> : block_sweep_kernel<3, false, true>;
        PD_LAUNCH_OVERLAPPING(context, kernel, (unsigned)P->n_blocks, *P, width, in, add, (real)omega, (real)gamma, plain, !last.rows, d,
                              last, next, pd_moves_of(*move));
        return PD_OK;
    }
    auto kernel = block_sweep_kernel<1, false, false>;
    if (width == 3) kernel = pd_is_padded(in) ? block_sweep_kernel<3, true, false> : block_sweep_kernel<3, false, false>;
    PD_LAUNCH_OVERLAPPING(context, kernel, (unsigned)P->n_blocks, *P, width, in, add, (real)omega, (real)gamma, plain, !last.rows, d, last,
                          next, pd_stays{});
    return PD_OK;
}

pd_status pd_block_sweep(pd_context *context, const pd_block_matrix *P, int width, const real *in, const real *add, double omega,
                         double gamma, const real *d, real *previous) {
    return one_sweep(context, P, width, {(real *)in, width}, add, omega, gamma, {(real *)d, width}, {previous, width}, {previous, width},
                     NULL);
}

/* ---- one launch for all ------------------------------------------------------------------------------------------------------------- */

/* Iterate k; iterate 0 may be the constant term. */
static __host__ __device__ __forceinline__ pd_iterate_rows iterate(int k, const pd_iterates &iterates, const real *add, int from_constant) {
    return from_constant && k == 0 ? pd_iterate_rows{(real *)add, iterates.width} : iterates.at(k);
}

/* W = width. The first block of rows of a CUDA block stays in registers and shared memory. If the grid has fewer blocks, the other rows
 * are read again in every sweep. MOVES: the last sweep of an iteration. */
template <int W, bool MOVES>
static __global__ void __launch_bounds__(PD_THREADS, sizeof(real) == sizeof(float) ? 3 : 2)
    block_sweeps_kernel(pd_block_matrix P, const real *add, pd_omegas omega, real gamma, int from_constant, const pd_iterates iterates,
                        pd_mover<MOVES> move) {
    real *x = shared_columns();
    int *list = shared_list();
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    block_row row = row_of(P, (int)blockIdx.x);
    const int i = row.inside ? P.rows[row.slot] : 0, active = row.inside && row.lane < W, kept = row.list_length <= LIST;
    size_t j = active ? (size_t)W * (size_t)i + (size_t)row.lane : 0;
    real values[KEPT], constant = active ? add[j] : (real)0, own = active ? iterate(0, iterates, add, from_constant).rows[j] : (real)0,
                       before = active && !from_constant ? iterates.odd[j] : (real)0;
    int local[KEPT];
#pragma unroll
    for (int k = 0; k < KEPT; k++) { // entries past the end of the row are zero
        int e = row.begin + k * ROW_LANES + row.lane;
        values[k] = e < row.end ? P.values[e] : (real)0;
        local[k] = e < row.end ? P.local[e] : 0;
    }
    for (int k = (int)threadIdx.x; kept && k < row.list_length; k += PD_THREADS) list[k] = P.list[row.list_begin + k];
    if (row.list_length == 0 && threadIdx.x < W) x[threadIdx.x] = 0; // value for entries past the end of a row
    __syncthreads();

    for (int s = 0; s < iterates.sweeps; s++) {
        const pd_iterate_rows d = iterate(s, iterates, add, from_constant), next = iterates.at(s + 1);
        const bool plain = omega.at[s] == (real)1 && gamma == (real)1, padded = W == 3 && pd_is_padded(d);
        real sum[W];
#pragma unroll
        for (int c = 0; c < W; c++) sum[c] = 0;
        if (kept && padded) load_list<W, W == 3>(list, row.list_length, W, 0, d.rows, x);
        if (kept && !padded) load_list<W, false>(list, row.list_length, W, 0, d.rows, x);
        __syncthreads();
        if (kept) {
#pragma unroll
            for (int k = 0; k < KEPT; k++)
#pragma unroll
                for (int c = 0; c < W; c++) sum[c] += values[k] * x[W * local[k] + c];
            add_entries<W>(P, row, row.begin + KEPT * ROW_LANES, 0, d, x, sum);
        } else
            add_entries<W>(P, row, row.begin, 0, d, nullptr, sum);
        real total = row_sum<W>(sum, row.lane);
        real value = extrapolated(total + constant, omega.at[s], gamma, plain, own, before);
        pd_write_row<W>(next, row.inside, i, 0, row.lane, value);
        before = own;
        own = value;
        __syncthreads(); // x is still read

        const pd_iterate_rows last = iterate(s - 1, iterates, add, from_constant);
#pragma unroll 1
        for (int block = (int)(blockIdx.x + gridDim.x); block < P.n_blocks; block += (int)gridDim.x) {
            block_row other = row_of(P, block);
            int shared = other.list_length <= LIST;
            const int *others = P.list + other.list_begin;
#pragma unroll
            for (int c = 0; c < W; c++) sum[c] = 0;
            if (shared && padded) load_list<W, W == 3>(others, other.list_length, W, 0, d.rows, x);
            if (shared && !padded) load_list<W, false>(others, other.list_length, W, 0, d.rows, x);
            __syncthreads();
            add_entries<W>(P, other, other.begin, 0, d, shared ? x : nullptr, sum);
            total = row_sum<W>(sum, other.lane);
            __syncthreads();
            const int there = other.inside ? P.rows[other.slot] : 0;
            if (other.inside && other.lane < W)
                total = extrapolated(total + add[(size_t)W * (size_t)there + (size_t)other.lane], omega.at[s], gamma, plain,
                                     d.rows[pd_number_at(d, there, other.lane)],
                                     plain || (from_constant && s == 0) ? (real)0 : last.rows[pd_number_at(last, there, other.lane)]);
            pd_write_row<W>(next, other.inside, there, 0, other.lane, total);
        }
        if (s + 1 < iterates.sweeps) grid.sync();
    }

    if constexpr (MOVES) { // each thread moves the values that it has written
        move(move.is_free(active, i), j, own);
        const pd_iterate_rows found = iterates.at(iterates.sweeps);
        for (int block = (int)(blockIdx.x + gridDim.x); block < P.n_blocks; block += (int)gridDim.x) {
            const block_row other = row_of(P, block);
            const int there = other.inside ? P.rows[other.slot] : 0;
            const bool free = move.is_free(other.inside && other.lane < W, there);
            if (free) move(free, (size_t)W * (size_t)there + (size_t)other.lane, found.rows[pd_number_at(found, there, other.lane)]);
        }
    }
}

/* All sweeps in persistent launches, one per 64 sweeps: *blocks of each, or 0 and nothing done if they cannot be resident. */
template <int W, bool MOVES>
static pd_status one_launch(pd_context *context, const pd_block_matrix *P, int width, const real *add, const double *omega, real gamma,
                            int n_sweeps, int from_to, const pd_move *moves, unsigned *blocks, real *buffers[2]) {
    pd_mover<MOVES> move;
    if constexpr (MOVES) move = pd_moves_of(*moves);
    auto kernel = block_sweeps_kernel<W, MOVES>;
    *blocks = pd_staying_blocks(context, (unsigned)P->n_blocks, width, n_sweeps, kernel);
    if (!*blocks) return PD_OK;
    pd_status status = pd_launch_sweeps(omega, n_sweeps, buffers, [&](const pd_omegas &omegas, int first, int n, int last) {
        const int from_constant = first == 0 && (from_to & PD_SWEEPS_FROM_CONSTANT), to_the_end = last && (from_to & PD_SWEEPS_TO_THE_END);
        PD_LAUNCH_COOPERATIVE(context, kernel, *blocks, PD_THREADS, *P, add, omegas, gamma, from_constant,
                              pd_iterates_of(buffers, P->scratch, P->n, W, n, to_the_end), move);
        return PD_OK;
    });
    return status || MOVES ? status : pd_move_now(context, moves, buffers[0]);
}

size_t pd_block_scratch(const pd_context *, const pd_block_matrix *P, int width) { return pd_iterates_scratch(P->n, width, 2); }

pd_status pd_block_sweeps(pd_context *context, const pd_block_matrix *P, int width, const real *add, const double *omegas, double gamma,
                          int n_sweeps, int from_to, const pd_move *move, real *buffers[2]) {
    auto stays = width == 3 ? one_launch<3, false> : one_launch<1, false>;
    if (move && pd_sweeps_fit(n_sweeps)) stays = one_launch<3, true>;
    unsigned blocks = 0;
    pd_status status = stays(context, P, width, add, omegas, (real)gamma, n_sweeps, from_to, move, &blocks, buffers);
    if (status || blocks) return status;
    const pd_iterates iterates = pd_iterates_of(buffers, P->scratch, P->n, width, n_sweeps, from_to & PD_SWEEPS_TO_THE_END);
    const int from_constant = from_to & PD_SWEEPS_FROM_CONSTANT;
    for (int k = 0; k < n_sweeps; k++) {
        const pd_iterate_rows d = iterate(k, iterates, add, from_constant), next = iterates.at(k + 1);
        const pd_iterate_rows last = from_constant && k == 0 ? pd_iterate_rows{NULL, width} : iterate(k - 1, iterates, add, from_constant);
        status = one_sweep(context, P, width, d, add, omegas[k], gamma, d, last, next, k == n_sweeps - 1 ? move : NULL);
        if (status) return status;
    }
    if (n_sweeps % 2) pd_swap_buffers(buffers);
    return n_sweeps > 0 ? PD_OK : pd_move_now(context, move, buffers[0]);
}

/* ---- coefficients from products --------------------------------------------------------------------------------------------------- */

/* ROW_LANES threads per slot; those of unmarked rows return. Neighbouring threads read adjacent entries. */
static __global__ void refresh_products_kernel(pd_path_products paths, pd_block_matrix P, const real *diagonal, real a, real b, real c,
                                               const unsigned char *marks) {
    int t = (int)((blockIdx.x * PD_THREADS + threadIdx.x) / ROW_LANES), lane = (int)threadIdx.x % ROW_LANES;
    if (t >= P.n || !marks[P.rows[t]]) return;
    int end = P.entry_start[P.segment_start[t + 1]];
    real inverse = 1 / diagonal[P.rows[t]];
    for (int e = P.entry_start[P.segment_start[t]] + lane; e < end; e += ROW_LANES) {
        real sum = 0;
        for (long long p = paths.path_start[e]; p < paths.path_start[e + 1]; p++) sum += paths.products[p] / diagonal[paths.via[p]];
        P.values[e] = a * (real)paths.own[e] + inverse * (b * paths.hops[e] + c * sum);
    }
}

pd_status pd_refresh_products(pd_context *context, const pd_path_products *paths, const pd_block_matrix *P, const real *diagonal, double a,
                              double b, double c, const unsigned char *marks) {
    PD_LAUNCH(context, refresh_products_kernel, (long long)P->n * ROW_LANES, *paths, *P, diagonal, (real)a, (real)b, (real)c, marks);
    return PD_OK;
}
