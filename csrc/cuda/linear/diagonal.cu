/* Loops over the changing diagonal of a matrix, and over the affected rows of an aggregated operator; see matrix_loops.h.
 *
 * This file is compiled without contraction of a*b + c, here and for the CPU: both give the same bits in double. */
#include "cuda/append.cuh"
#include "updates/linear/preconditioner.h"

#define PD_LANES_WAIT()                  __syncwarp()
#define PD_LANES_COUNT(has, lane, total) lanes_count(has, lane, total)

static __device__ __forceinline__ int lanes_count(int has, int lane, int *total) {
    unsigned lanes = __ballot_sync(PD_ALL_LANES, has);
    *total = __popc(lanes);
    return __popc(lanes & ((1u << lane) - 1u));
}

#include "updates/linear/aggregated_row.h"

static __global__ void diagonal_sum_kernel(int n, const double *base, const double *added, double *total) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i < n) total[i] = base[i] + (added ? added[i] : 0.0);
}

pd_status pd_diagonal_sum(pd_context *context, int n, const double *base, const double *added, double *total) {
    PD_LAUNCH(context, diagonal_sum_kernel, n, n, base, added, total);
    return PD_OK;
}

static __global__ void diagonal_round_kernel(int n, const double *total, const int *rows, real *rounded) {
    int t = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (t < n) rounded[t] = (real)total[rows ? rows[t] : t];
}

pd_status pd_diagonal_round(pd_context *context, int n, const double *total, const int *rows, real *rounded) {
    PD_LAUNCH(context, diagonal_round_kernel, n, n, total, rows, rounded);
    return PD_OK;
}

static __global__ void scalar_inverse_kernel(int n, const double *total, real *inverse) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i < n) inverse[i] = (real)(1.0 / total[i]);
}

static __global__ void block_inverse_kernel(int n, const double *blocks, const double *total, real *inverse) {
    int b = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (b >= n) return;
    double found[9];
    pd_inverse_on_diagonal(blocks + 9 * (size_t)b, total + 3 * (size_t)b, found);
#pragma unroll
    for (int i = 0; i < 9; i++) inverse[9 * (size_t)b + (size_t)i] = (real)found[i];
}

static __global__ void coupled_inverse_kernel(int n, const double *total, const real *coupling, real *inverses) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i < n) pd_coupled_inverse(total[i], coupling + 9 * (size_t)i, inverses + 9 * (size_t)i);
}

pd_status pd_coupled_inverses(pd_context *context, int n, const double *total, const real *coupling, real *inverses) {
    PD_LAUNCH(context, coupled_inverse_kernel, n, n, total, coupling, inverses);
    return PD_OK;
}

pd_status pd_diagonal_inverses(pd_context *context, int n, const double *blocks, const double *total, const pd_block_inverses *M) {
    if (M->block == 1)
        PD_LAUNCH(context, scalar_inverse_kernel, n, n, total, M->inverse);
    else
        PD_LAUNCH(context, block_inverse_kernel, n / 3, n / 3, blocks, total, M->inverse);
    return PD_OK;
}

static __global__ void compare_kernel(int n, const double *total, double *last, unsigned char *marks) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= n) return;
    marks[i] = total[i] != last[i];
    last[i] = total[i];
}

pd_status pd_diagonal_compare(pd_context *context, int n, const double *total, double *last, unsigned char *marks) {
    PD_LAUNCH(context, compare_kernel, n, n, total, last, marks);
    return PD_OK;
}

static __global__ void spread_kernel(int n, const int *row_start, const int *columns, const unsigned char *marks, unsigned char *wider) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= n) return;
    unsigned char mark = marks[i];
    for (int s = row_start[i]; s < row_start[i + 1] && !mark; s++) mark = marks[columns[s]];
    wider[i] = mark;
}

pd_status pd_marks_spread(pd_context *context, int n, const int *row_start, const int *columns, const unsigned char *marks,
                          unsigned char *wider) {
    PD_LAUNCH(context, spread_kernel, n, n, row_start, columns, marks, wider);
    return PD_OK;
}

/* ---- rows of an aggregated operator ------------------------------------------------------------------------------------------------- */

/* A warp computes a row. This limits the warps, and so their scratch memory. */
enum { MOST_WORKERS = 8192 };
#define PD_MOST_ROW_MEMORY ((size_t)64 << 20)

size_t pd_row_scratch(const pd_context *context, int n, int largest_support, int *workers) {
    size_t bytes = pd_row_memory_bytes(n, largest_support, 0), fitting = PD_MOST_ROW_MEMORY / bytes / PD_WARPS * PD_WARPS;
    size_t wanted = ((size_t)n + PD_WARPS - 1) / PD_WARPS * PD_WARPS;
    (void)context;
    if (fitting > (size_t)MOST_WORKERS) fitting = MOST_WORKERS;
    if (fitting > wanted) fitting = wanted;
    *workers = fitting < (size_t)PD_WARPS ? PD_WARPS : (int)fitting;
    return (size_t)*workers * bytes;
}

static __global__ void refresh_rows_kernel(pd_row_polynomial polynomial, pd_block_matrix P, const double *diagonal,
                                           const unsigned char *marks) {
    int worker = (int)(blockIdx.x * PD_WARPS + threadIdx.x / PD_WARP);
    size_t bytes = pd_row_memory_bytes(P.n, polynomial.largest_support, 0);
    pd_row_memory memory = pd_row_memory_at((char *)polynomial.scratch + (size_t)worker * bytes, P.n, polynomial.largest_support, 0);
    for (int t = worker; t < P.n; t += polynomial.workers)
        if (marks[P.rows[t]]) pd_aggregated_row(&polynomial, &P, diagonal, t, &memory, pd_lane(), PD_WARP);
}

pd_status pd_refresh_rows(pd_context *context, const pd_row_polynomial *polynomial, const pd_block_matrix *P, const double *diagonal,
                          const unsigned char *marks) {
    PD_LAUNCH_BLOCKS(context, refresh_rows_kernel, (unsigned)polynomial->workers / PD_WARPS, *polynomial, *P, diagonal, marks);
    return PD_OK;
}
