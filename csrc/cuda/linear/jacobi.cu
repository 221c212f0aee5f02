/* Weighted Jacobi with Chebyshev extrapolation, in two modes.
 *
 * One launch per sweep: each reads the matrix and the vectors from memory, the matrix from the L2 cache if it fits. One cooperative
 * launch for all sweeps: the threads of a row keep its entries, right-hand side and last two iterates in registers. A sweep then only
 * gathers the neighbours' values, writes its own and synchronises the grid. */
#include "cuda/linear/ends.cuh"
#include "cuda/linear/sweeps.cuh"

#include <cooperative_groups.h>

/* Entries of a row in the registers of each of its threads. */
enum { KEPT = 5 };

/* The next iterate of one number: sum = sum over j != i of a_ij d_j. `before` counts unless omega is 1. */
static __device__ __forceinline__ real relaxed(real r, real sum, real diagonal, real weight, real omega, real d, real before) {
    real hat = weight / diagonal * (r - sum - diagonal * d) + d;
    return omega != (real)1 ? omega * (hat - before) + before : hat;
}

/* ---- one launch per sweep ------------------------------------------------------------------------------------------------------ */

/* GATHERS: r is the sum over the corners of the row, and is stored too; MOVES: the only sweep. Both for W = 3. */
template <int W, bool GATHERS, bool MOVES>
static __global__ void first_sweep_kernel(int n, int width, const real *diagonal, pd_residual<GATHERS> residual, real weight, real omega,
                                          pd_iterate_rows next, pd_mover<MOVES> move) {
    pd_let_next_begin();
    const pd_row row = pd_row_of((int)blockIdx.x * PD_ROWS, n);
    const auto place = residual.begin(row);
    const bool active = row.inside && row.lane < W, free = move.is_free(active, row.i);
    pd_wait_for_launch_before();
    const real scale = row.inside ? omega * (weight / diagonal[row.i]) : (real)0;
#pragma unroll 1
    for (int first = 0; first < pd_width<W>(width); first += W) {
        const size_t j = active ? pd_row_begin<W>(width, row.i) + (size_t)(first + row.lane) : 0;
        const real d = scale * residual(row, place, active, j);
        pd_write_row<W>(next, row.inside, row.i, first, row.lane, active ? d : (real)0);
        if (GATHERS && MOVES) __syncwarp(); // the row's offset has been read
        move(free, j, d);
    }
}

static __global__ void first_coupled_sweep_kernel(int n, const real *inverses, const real *r, real weight, pd_iterate_rows next) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    pd_let_next_begin();
    pd_wait_for_launch_before();
    if (i >= n) return;
    real move[3];
    for (size_t c = 0; c < 3; c++) move[c] = weight * r[3 * (size_t)i + c];
    pd_vertex_project(inverses + 9 * (size_t)i, move);
    for (int c = 0; c < next.stride; c++)
        next.rows[pd_number_at(next, i, c)] = c == 0 ? move[0] : c == 1 ? move[1] : c == 2 ? move[2] : (real)0;
}

/* Minimum of resident blocks per multiprocessor. */
template <int W, bool PADDED> constexpr int SWEEP_BLOCKS = W == 1 ? 4 : pd_padded_row_blocks_held(W, PADDED);

/* PADDED: the rows of d are; MOVES: the last sweep of an iteration. from_zero != 0: `last` counts as zero, with any contents. No kernel
 * writes the entries, so they are read before the previous launch has ended. */
template <int W, bool PADDED, bool MOVES>
static __global__ void __launch_bounds__(PD_THREADS, (SWEEP_BLOCKS<W, PADDED>))
    sweep_kernel(pd_matrix A, int width, const real *r, real weight, real omega, int from_zero, pd_iterate_rows d, pd_iterate_rows last,
                 pd_iterate_rows next, pd_mover<MOVES> move) {
    pd_let_next_begin();
    d.stride = PADDED ? (int)PD_PADDED : pd_width<W>(width); // a constant for three columns
    const pd_row row = pd_row_of((int)blockIdx.x * PD_ROWS, A.n);
    pd_entries<real> entries = pd_entries_of<real>(A, row);
    if (entries.at < entries.end) pd_read_entries(A, entries);
    const bool free = move.is_free(row.inside && row.lane < W, row.i);
    pd_wait_for_launch_before();
    const real diagonal = row.inside ? A.diagonal[row.i] : (real)1;
#pragma unroll 1
    for (int first = 0; first < pd_width<W>(width); first += W) {
        const bool active = row.inside && row.lane < W;
        const int column = first + row.lane;
        // the row's own data are loaded together with those of its entries
        real right = active ? r[pd_row_begin<W>(width, row.i) + (size_t)column] : (real)0;
        real own = active ? d.rows[pd_number_at(d, row.i, column)] : (real)0;
        real before = !active || omega == (real)1 || from_zero ? (real)0 : last.rows[pd_number_at(last, row.i, column)];
        real sum = pd_off_diagonal_from<W, PADDED, true, real>(A, row, entries, width, first, d.rows), value;
        if (W == 3 && A.coupling) {
            real hat = weight * pd_coupled_move(A, row.i, row, right - sum, diagonal, own) + own;
            value = omega != (real)1 ? omega * (hat - before) + before : hat;
        } else
            value = relaxed(right, sum, diagonal, weight, omega, own, before);
        pd_write_row<W>(next, row.inside, row.i, first, row.lane, value);
        move(free, pd_row_begin<W>(width, row.i) + (size_t)column, value);
    }
}

/* The sweep from zero, with the gather and, if it is the only one, the move. */
template <int W, bool GATHERS, bool MOVES>
static pd_status first_sweep(pd_context *context, const pd_matrix *matrix, int width, pd_residual<GATHERS> residual, real scale, real omega,
                             pd_iterate_rows next, pd_mover<MOVES> move) {
    PD_LAUNCH_OVERLAPPING(context, (first_sweep_kernel<W, GATHERS, MOVES>), pd_row_blocks(matrix->n), matrix->n, width, matrix->diagonal,
                          residual, scale, omega, next, move);
    return PD_OK;
}

/* Tells whether a sweep writes the last iterate and can include the move: it needs padded rows, as those before the last are. */
static bool moves_within(const pd_sweep_ends &ends, int k, int n_sweeps, pd_iterate_rows d) {
    return ends.move && k == n_sweeps - 1 && pd_is_padded(d);
}

static pd_status launches(pd_context *context, const pd_matrix *matrix, int width, const real *r, real weight, const double *omega,
                          int n_sweeps, int from_zero, pd_sweep_ends ends, const pd_iterates &iterates) {
    const unsigned blocks = pd_row_blocks(matrix->n);
    const bool gathers = ends.gather && from_zero && !matrix->coupling;
    bool moved = false;
    pd_status status = gathers ? PD_OK : pd_gather_now(context, ends.gather);
    for (int k = 0; k < n_sweeps && !status; k++) {
        const pd_iterate_rows d = iterates.at(k), last = iterates.at(k - 1), next = iterates.at(k + 1);
        if (k == 0 && from_zero && matrix->coupling)
            PD_LAUNCH_OVERLAPPING(context, first_coupled_sweep_kernel, pd_thread_blocks(matrix->n), matrix->n, matrix->inverses, r,
                                  (real)omega[0] * weight, next);
        else if (k == 0 && gathers) {
            const pd_gathered gathered = pd_gathered_of(*ends.gather);
            moved = ends.move && n_sweeps == 1;
            status = moved ? first_sweep<3, true, true>(context, matrix, 3, gathered, weight, (real)omega[0], next, pd_moves_of(*ends.move))
                           : first_sweep<3, true, false>(context, matrix, 3, gathered, weight, (real)omega[0], next, {});
        } else if (k == 0 && from_zero)
            status = width == 3 ? first_sweep<3, false, false>(context, matrix, 3, {r}, weight, (real)omega[0], next, {})
                                : first_sweep<1, false, false>(context, matrix, width, {r}, weight, (real)omega[0], next, {});
        else if (moves_within(ends, k, n_sweeps, d)) {
            moved = true;
            PD_LAUNCH_OVERLAPPING(context, (sweep_kernel<3, true, true>), blocks, *matrix, width, r, weight, (real)omega[k],
                                  from_zero && k == 1, d, last, next, pd_moves_of(*ends.move));
        } else {
            auto kernel = sweep_kernel<1, false, false>;
            if (width == 3) kernel = pd_is_padded(d) ? sweep_kernel<3, true, false> : sweep_kernel<3, false, false>;
            PD_LAUNCH_OVERLAPPING(context, kernel, blocks, *matrix, width, r, weight, (real)omega[k], from_zero && k == 1, d, last, next,
                                  pd_stays{});
        }
    }
    return status || moved ? status : pd_move_now(context, ends.move, iterates.at(n_sweeps).rows);
}

/* ---- one launch for all ----------------------------------------------------------------------------------------------------------- */

/* Adds the entries of a row in a thread's registers to sum. */
template <int W, bool PADDED>
static __device__ __forceinline__ void add_kept(const real (&values)[KEPT], const int (&columns)[KEPT], const real *d, real (&sum)[W]) {
    real v[KEPT][W];
#pragma unroll
    for (int e = 0; e < KEPT; e++) pd_read_columns<W, PADDED>(d, W, columns[e], 0, v[e]);
#pragma unroll
    for (int e = 0; e < KEPT; e++)
#pragma unroll
        for (int c = 0; c < W; c++) sum[c] += values[e] * v[e][c];
}

/* Adds the other entries, from begin on. */
template <int W, bool PADDED>
static __device__ __forceinline__ void add_others(const pd_matrix &A, int begin, int end, const real *d, real (&sum)[W]) {
#pragma unroll 1
    for (int s = begin; s < end; s += PD_LANES) {
        real v[W];
        pd_read_columns<W, PADDED>(d, W, A.columns[s], 0, v);
#pragma unroll
        for (int c = 0; c < W; c++) sum[c] += A.values[s] * v[c];
    }
}

/* The registers of a thread limit the number of rows that stay: 64 in float, 80 in double.
 *
 * W = width. The first rows of the grid stay in registers. If the grid has fewer groups of lanes than rows, the others are read again in
 * every sweep. GATHERS, MOVES: as above; the gathered vector is r. */
template <int W, bool GATHERS, bool MOVES>
static __global__ void __launch_bounds__(PD_THREADS, sizeof(real) == sizeof(float) ? 4 : 3)
    jacobi_kernel(pd_matrix A, const real *r, real weight, pd_omegas omega, int from_zero, const pd_iterates iterates,
                  pd_residual<GATHERS> residual, pd_mover<MOVES> move) {
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    int groups = (int)gridDim.x * PD_ROWS;
    pd_row row = pd_row_of((int)blockIdx.x * PD_ROWS, A.n);
    int active = row.inside && row.lane < W;
    size_t j = active ? (size_t)W * (size_t)row.i + (size_t)row.lane : 0;

    // the row in registers: entries past its end are zero
    int begin = row.inside ? A.row_start[row.i] : 0, end = row.inside ? A.row_start[row.i + 1] : 0, columns[KEPT];
    real values[KEPT];
#pragma unroll
    for (int e = 0; e < KEPT; e++) {
        int s = begin + e * PD_LANES + row.lane;
        values[e] = s < end ? A.values[s] : (real)0;
        columns[e] = s < end ? A.columns[s] : row.inside ? row.i : 0;
    }
    real diagonal = row.inside ? A.diagonal[row.i] : (real)1, right = residual(row, residual.begin(row), active, j);
    if constexpr (GATHERS)
        for (int first = groups; first < A.n; first += groups) {
            const pd_row other = pd_row_of(first + (int)blockIdx.x * PD_ROWS, A.n);
            residual(other, residual.begin(other)); // to r, which the same thread reads again
        }
    real own = active && !from_zero ? iterates.even[j] : (real)0, before = active && !from_zero ? iterates.odd[j] : (real)0;

    for (int k = 0; k < iterates.sweeps; k++) {
        const pd_iterate_rows d = iterates.at(k), last = iterates.at(k - 1), next = iterates.at(k + 1);
        const bool zero = from_zero && k == 0, padded = W == 3 && pd_is_padded(d);
        real sum[W];
#pragma unroll
        for (int c = 0; c < W; c++) sum[c] = 0;
        if (!zero && padded) {
            add_kept<W, true>(values, columns, d.rows, sum);
            add_others<W, true>(A, begin + KEPT * PD_LANES + row.lane, end, d.rows, sum);
        } else if (!zero) {
            add_kept<W, false>(values, columns, d.rows, sum);
            add_others<W, false>(A, begin + KEPT * PD_LANES + row.lane, end, d.rows, sum);
        }
        pd_add_lanes<PD_LANES>(sum);
        real value = zero ? omega.at[0] * (weight / diagonal) * right
                          : relaxed(right, pd_of_lane(sum, row.lane), diagonal, weight, omega.at[k], own, before);
        pd_write_row<W>(next, row.inside, row.i, 0, row.lane, value);
        before = own;
        own = value;

#pragma unroll 1
        for (int first = groups; first < A.n; first += groups) {
            pd_row other = pd_row_of(first + (int)blockIdx.x * PD_ROWS, A.n);
            pd_entries<real> entries = pd_entries_of<real>(A, other);
            real others = zero     ? (real)0
                          : padded ? pd_off_diagonal_from<W, W == 3, false, real>(A, other, entries, W, 0, d.rows)
                                   : pd_off_diagonal_from<W, false, false, real>(A, other, entries, W, 0, d.rows);
            real scale = other.inside ? A.diagonal[other.i] : (real)1, away = 0;
            if (other.inside && other.lane < W) {
                real there = r[(size_t)W * (size_t)other.i + (size_t)other.lane];
                away = zero ? omega.at[0] * (weight / scale) * there
                            : relaxed(there, others, scale, weight, omega.at[k], d.rows[pd_number_at(d, other.i, other.lane)],
                                      from_zero && k == 1 ? (real)0 : last.rows[pd_number_at(last, other.i, other.lane)]);
            }
            pd_write_row<W>(next, other.inside, other.i, 0, other.lane, away);
        }
        if (k + 1 < iterates.sweeps) grid.sync();
    }

    // each thread moves the values that it has written
    if constexpr (MOVES) {
        if (GATHERS) __syncwarp(); // the rows' offsets have been read
        move(move.is_free(active, row.i), j, own);
        const pd_iterate_rows found = iterates.at(iterates.sweeps);
        for (int first = groups; first < A.n; first += groups) {
            const pd_row other = pd_row_of(first + (int)blockIdx.x * PD_ROWS, A.n);
            const bool free = move.is_free(other.inside && other.lane < W, other.i);
            if (free) move(free, (size_t)W * (size_t)other.i + (size_t)other.lane, found.rows[pd_number_at(found, other.i, other.lane)]);
        }
    }
}

/* All sweeps in persistent launches, one per 64 sweeps: *blocks of each, or 0 and nothing done if they cannot be resident. */
template <int W, bool GATHERS, bool MOVES>
static pd_status one_launch(pd_context *context, const pd_matrix *matrix, int width, const real *r, real weight, const double *omega,
                            int n_sweeps, int from_to, pd_sweep_ends ends, unsigned *blocks, real *buffers[2]) {
    pd_residual<GATHERS> residual;
    pd_mover<MOVES> move;
    if constexpr (GATHERS)
        residual = pd_gathered_of(*ends.gather);
    else
        residual = {r};
    if constexpr (MOVES) move = pd_moves_of(*ends.move);
    auto kernel = jacobi_kernel<W, GATHERS, MOVES>;
    *blocks = pd_staying_blocks(context, pd_row_blocks(matrix->n), width, n_sweeps, kernel);
    if (!*blocks) return PD_OK;
    pd_status status = GATHERS ? PD_OK : pd_gather_now(context, ends.gather);
    if (!status)
        status = pd_launch_sweeps(omega, n_sweeps, buffers, [&](const pd_omegas &omegas, int first, int n, int last) {
            const int from_zero = (from_to & PD_SWEEPS_FROM_ZERO) && first == 0, to_the_end = last && (from_to & PD_SWEEPS_TO_THE_END);
            PD_LAUNCH_COOPERATIVE(context, kernel, *blocks, PD_THREADS, *matrix, r, weight, omegas, from_zero,
                                  pd_iterates_of(buffers, matrix->iterates, matrix->n, W, n, to_the_end), residual, move);
            return PD_OK;
        });
    return status || MOVES ? status : pd_move_now(context, ends.move, buffers[0]);
}

size_t pd_iterates_scratch(int n, int width, int iterates) { return width == 3 ? (size_t)iterates * (size_t)n * sizeof(pd_padded_row) : 0; }

pd_status pd_jacobi_sweeps(pd_context *context, const pd_matrix *matrix, int width, const real *residual, double weight,
                           const double *omega, int n_sweeps, int from_to, pd_sweep_ends ends, real *buffers[2]) {
    const bool within = pd_sweeps_fit(n_sweeps), gathers = within && ends.gather && (from_to & PD_SWEEPS_FROM_ZERO);
    auto stays = width == 3 ? one_launch<3, false, false> : one_launch<1, false, false>;
    if (within && ends.move)
        stays = gathers ? one_launch<3, true, true> : one_launch<3, false, true>;
    else if (gathers)
        stays = one_launch<3, true, false>;
    unsigned blocks = 0;
    pd_status status = PD_OK;
    if (!matrix->coupling) // blocks would exceed the registers
        status = stays(context, matrix, width, residual, (real)weight, omega, n_sweeps, from_to, ends, &blocks, buffers);
    if (status || blocks) return status;
    status = launches(context, matrix, width, residual, (real)weight, omega, n_sweeps, from_to & PD_SWEEPS_FROM_ZERO, ends,
                      pd_iterates_of(buffers, matrix->iterates, matrix->n, width, n_sweeps, from_to & PD_SWEEPS_TO_THE_END));
    if (n_sweeps % 2) pd_swap_buffers(buffers);
    return status;
}
