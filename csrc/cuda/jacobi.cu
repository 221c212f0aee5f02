/* Weighted Jacobi with Chebyshev extrapolation, in two ways.
 *
 * One launch per sweep: each reads the matrix and the vectors from memory, the matrix from the L2 cache where it fits.
 * One cooperative launch for all sweeps: every row has threads of its own that keep its entries, its right-hand side and its last two
 * iterates in registers, so that a sweep only gathers the neighbours' values, writes its own and waits for the grid. */
#include "cuda/rows.cuh"
#include "cuda/sweeps.cuh"
#include "updates/time_step.h"

#include <cooperative_groups.h>

/* Entries of a row that each of its threads keeps. */
enum { KEPT = 5 };

/* The next iterate of one number: sum = sum over j != i of a_ij d_j. `before` counts where omega is not 1. */
static __device__ __forceinline__ real relaxed(real r, real sum, real diagonal, real weight, real omega, real d, real before) {
    real hat = weight / diagonal * (r - sum - diagonal * d) + d;
    return omega != (real)1 ? omega * (hat - before) + before : hat;
}

/* ---- one launch per sweep ------------------------------------------------------------------------------------------------------ */

static __global__ void first_sweep_kernel(size_t count, int width, const real *diagonal, const real *r, real weight, real omega,
                                          real *next) {
    size_t j = (size_t)blockIdx.x * PD_THREADS + threadIdx.x;
    pd_let_next_begin();
    if (j < count) next[j] = omega * (weight / diagonal[j / (size_t)width]) * r[j];
}

static __global__ void first_coupled_sweep_kernel(int n, const real *inverses, const real *r, real weight, real *next) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    pd_let_next_begin();
    if (i >= n) return;
    real move[3];
    for (size_t c = 0; c < 3; c++) move[c] = weight * r[3 * (size_t)i + c];
    pd_vertex_project(inverses + 9 * (size_t)i, move);
    for (size_t c = 0; c < 3; c++) next[3 * (size_t)i + c] = move[c];
}

/* from_zero != 0: `previous` counts as zero, whatever it holds. Matrix and right-hand side are there before the sweep before has ended; not
 * `previous`, which the one before that may still write. */
template <int W>
static __global__ void __launch_bounds__(PD_THREADS, W == 3 ? PD_ROW_BLOCKS : 4)
    sweep_kernel(pd_matrix A, int width, const real *r, real weight, real omega, int from_zero, const real *d, real *previous) {
    pd_let_next_begin();
    const pd_row row = pd_row_of((int)blockIdx.x * PD_ROWS, A.n);
    pd_entries<real> entries = pd_entries_of<real>(A, row);
    if (entries.at < entries.end) pd_read_entries(A, entries);
    const real diagonal = row.inside ? A.diagonal[row.i] : (real)1;
    bool waits = true;
    for (int first = 0; first < width; first += W) {
        int active = row.inside && row.lane < W;
        size_t j = active ? pd_row_begin<W>(width, row.i) + (size_t)(first + row.lane) : 0;
        // what the row itself has is on its way while its entries are
        real right = active ? r[j] : (real)0;
        if (waits) pd_wait_for_launch_before();
        waits = false;
        real own = active ? d[j] : (real)0, before = !active || omega == (real)1 || from_zero ? (real)0 : previous[j];
        real sum = pd_off_diagonal_from<W, true, real>(A, row, entries, width, first, d), next;
        if (W == 3 && A.coupling) {
            real hat = weight * pd_coupled_move(A, row.i, row, right - sum, diagonal, own) + own;
            next = omega != (real)1 ? omega * (hat - before) + before : hat;
        } else
            next = relaxed(right, sum, diagonal, weight, omega, own, before);
        if (active) previous[j] = next;
    }
}

static pd_status launches(pd_context *context, const pd_matrix *matrix, int width, const real *r, real weight, const double *omega,
                          int n_sweeps, int from_zero, real *buffers[2]) {
    for (int k = 0; k < n_sweeps; k++) {
        real *d = buffers[0], *next = buffers[1];
        long long count = (long long)matrix->n * width;
        if (k == 0 && from_zero && matrix->coupling)
            PD_LAUNCH(context, first_coupled_sweep_kernel, matrix->n, matrix->n, matrix->inverses, r, (real)omega[0] * weight, next);
        else if (k == 0 && from_zero)
            PD_LAUNCH(context, first_sweep_kernel, count, (size_t)count, width, matrix->diagonal, r, weight, (real)omega[0], next);
        else if (k == 0)
            PD_LAUNCH_BY_WIDTH(context, sweep_kernel, width, pd_row_blocks(matrix->n), *matrix, width, r, weight, (real)omega[k], 0, d,
                               next);
        else
            PD_LAUNCH_OVERLAPPING_BY_WIDTH(context, sweep_kernel, width, pd_row_blocks(matrix->n), *matrix, width, r, weight,
                                           (real)omega[k], from_zero && k == 1, d, next);
        pd_swap_buffers(buffers);
    }
    return PD_OK;
}

/* ---- one launch for all ----------------------------------------------------------------------------------------------------------- */

/* Registers of a thread are what limits the rows that stay: 64 in float and 80 in double leave room for 33,000 and 25,000 on 132
 * multiprocessors.
 *
 * W = width. The first rows of the grid are kept in registers; where the grid has fewer groups of lanes than there are rows, the others
 * are read anew in every sweep. */
template <int W>
static __global__ void __launch_bounds__(PD_THREADS, sizeof(real) == sizeof(float) ? 4 : 3)
    jacobi_kernel(pd_matrix A, const real *r, real weight, pd_omegas omega, int n_sweeps, int from_zero, real *d, real *next) {
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    int groups = (int)gridDim.x * PD_ROWS;
    pd_row row = pd_row_of((int)blockIdx.x * PD_ROWS, A.n);
    int active = row.inside && row.lane < W;
    size_t j = active ? (size_t)W * (size_t)row.i + (size_t)row.lane : 0;

    // the kept row: the entries past its end count nothing
    int begin = row.inside ? A.row_start[row.i] : 0, end = row.inside ? A.row_start[row.i + 1] : 0, columns[KEPT];
    real values[KEPT];
#pragma unroll
    for (int e = 0; e < KEPT; e++) {
        int s = begin + e * PD_LANES + row.lane;
        values[e] = s < end ? A.values[s] : (real)0;
        columns[e] = s < end ? A.columns[s] : row.inside ? row.i : 0;
    }
    real diagonal = row.inside ? A.diagonal[row.i] : (real)1, right = active ? r[j] : (real)0;
    real last = active && !from_zero ? d[j] : (real)0, before = active && !from_zero ? next[j] : (real)0;

    for (int k = 0; k < n_sweeps; k++) {
        int zero = from_zero && k == 0;
        real sum[W];
#pragma unroll
        for (int c = 0; c < W; c++) sum[c] = 0;
        if (!zero) {
#pragma unroll
            for (int e = 0; e < KEPT; e++)
#pragma unroll
                for (int c = 0; c < W; c++) sum[c] += values[e] * d[(size_t)W * (size_t)columns[e] + (size_t)c];
#pragma unroll 1
            for (int s = begin + KEPT * PD_LANES + row.lane; s < end; s += PD_LANES)
#pragma unroll
                for (int c = 0; c < W; c++) sum[c] += A.values[s] * d[(size_t)W * (size_t)A.columns[s] + (size_t)c];
        }
        pd_add_lanes<PD_LANES>(sum);
        real value = zero ? omega.at[0] * (weight / diagonal) * right
                          : relaxed(right, pd_of_lane(sum, row.lane), diagonal, weight, omega.at[k], last, before);
        if (active) next[j] = value;
        before = last;
        last = value;

#pragma unroll 1
        for (int first = groups; first < A.n; first += groups) {
            pd_row other = pd_row_of(first + (int)blockIdx.x * PD_ROWS, A.n);
            real others = zero ? (real)0 : pd_off_diagonal<W>(A, other, W, 0, d);
            if (!other.inside || other.lane >= W) continue;
            size_t at = (size_t)W * (size_t)other.i + (size_t)other.lane;
            real scale = A.diagonal[other.i];
            next[at] = zero ? omega.at[0] * (weight / scale) * r[at]
                            : relaxed(r[at], others, scale, weight, omega.at[k], d[at], from_zero && k == 1 ? (real)0 : next[at]);
        }
        real *swap = d;
        d = next;
        next = swap;
        if (k + 1 < n_sweeps) grid.sync();
    }
}

template <int W>
static pd_status one_launch(pd_context *context, const pd_matrix *matrix, const real *r, real weight, const double *omega, int n_sweeps,
                            int from_zero, unsigned blocks, real *buffers[2]) {
    return pd_launch_sweeps(omega, n_sweeps, buffers, [=](const pd_omegas &omegas, int first, int n) {
        PD_LAUNCH_COOPERATIVE(context, jacobi_kernel<W>, blocks, PD_THREADS, *matrix, r, weight, omegas, n, from_zero && first == 0,
                              buffers[0], buffers[1]);
        return PD_OK;
    });
}

pd_status pd_jacobi_sweeps(pd_context *context, const pd_matrix *matrix, int width, const real *residual, double weight,
                           const double *omega, int n_sweeps, int from_zero, real *buffers[2]) {
    unsigned blocks = pd_staying_blocks(context, pd_row_blocks(matrix->n), width, n_sweeps, jacobi_kernel<3>, jacobi_kernel<1>);
    if (!blocks || matrix->coupling) // no registers are left for blocks
        return launches(context, matrix, width, residual, (real)weight, omega, n_sweeps, from_zero, buffers);
    return width == 3 ? one_launch<3>(context, matrix, residual, (real)weight, omega, n_sweeps, from_zero, blocks, buffers)
                      : one_launch<1>(context, matrix, residual, (real)weight, omega, n_sweeps, from_zero, blocks, buffers);
}
