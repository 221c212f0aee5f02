/* Loops over a sparse operator in blocks of neighbouring rows; see pd_block_matrix in backend.h.
 *
 * A CUDA block takes PD_BLOCK_ROWS rows: it loads the columns they share into shared memory once, its threads sum segments of rows,
 * and one thread per row adds the segments in order [Lan et al. 2022, Appendix A]. */
#include "cuda/context.cuh"

/* Columns that fit into shared memory at a time, and segments of a block summed at a time. */
enum { LIST = 1024, SEGMENTS = PD_THREADS };

static __global__ void block_sweep_kernel(pd_block_matrix P, int width, const real *in, const real *add, real omega, real gamma, int plain,
                                          const real *d, real *previous) {
    __shared__ real x[LIST];
    __shared__ real sums[SEGMENTS];
    int begin = P.list_start[blockIdx.x], length = P.list_start[blockIdx.x + 1] - begin;
    int first = (int)blockIdx.x * PD_BLOCK_ROWS, last = first + PD_BLOCK_ROWS < P.n ? first + PD_BLOCK_ROWS : P.n;
    int shared = length <= LIST;
    for (int c = 0; c < width; c++) {
        for (int k = (int)threadIdx.x; shared && k < length; k += PD_THREADS)
            x[k] = in[(size_t)width * (size_t)P.list[begin + k] + (size_t)c];
        real total = 0;
        int place = first + (int)threadIdx.x; // of the threads that own a row
        for (int round = P.segment_start[first]; round < P.segment_start[last]; round += SEGMENTS) {
            __syncthreads();
            int s = round + (int)threadIdx.x;
            real sum = 0;
            if (s < P.segment_start[last])
                for (int e = P.entry_start[s]; e < P.entry_start[s + 1]; e++) {
                    int k = P.local[e];
                    sum += P.values[e] * (shared ? x[k] : in[(size_t)width * (size_t)P.list[begin + k] + (size_t)c]);
                }
            sums[threadIdx.x] = sum;
            __syncthreads();
            if (place < last)
                for (int t = P.segment_start[place]; t < P.segment_start[place + 1]; t++)
                    if (t >= round && t < round + SEGMENTS) total += sums[t - round];
        }
        __syncthreads();
        if (place >= last) continue;
        size_t j = (size_t)width * (size_t)P.rows[place] + (size_t)c;
        real hat = total + add[j];
        previous[j] = plain ? hat : omega * (gamma * (hat - d[j]) + d[j] - previous[j]) + previous[j];
    }
}

pd_status pd_block_sweep(pd_context *context, const pd_block_matrix *P, int width, const real *in, const real *add, double omega,
                         double gamma, const real *d, real *previous) {
    PD_LAUNCH_BLOCKS(context, block_sweep_kernel, (unsigned)P->n_blocks, *P, width, in, add, (real)omega, (real)gamma,
                     omega == 1.0 && gamma == 1.0, d, previous);
    return PD_OK;
}

static __global__ void refresh_products_kernel(pd_path_products paths, pd_block_matrix P, const real *diagonal, real a, real b, real c,
                                               const int *places, int n_places) {
    int k = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (k >= n_places) return;
    int t = places[k], end = P.entry_start[P.segment_start[t + 1]];
    real inverse = 1 / diagonal[P.rows[t]];
    for (int e = P.entry_start[P.segment_start[t]]; e < end; e++) {
        real sum = 0;
        for (long long p = paths.path_start[e]; p < paths.path_start[e + 1]; p++) sum += paths.products[p] / diagonal[paths.via[p]];
        P.values[e] = a * (real)paths.own[e] + inverse * (b * paths.hops[e] + c * sum);
    }
}

pd_status pd_refresh_products(pd_context *context, const pd_path_products *paths, const pd_block_matrix *P, const real *diagonal, double a,
                              double b, double c, const int *places, int n_places) {
    PD_LAUNCH(context, refresh_products_kernel, n_places, *paths, *P, diagonal, (real)a, (real)b, (real)c, places, n_places);
    return PD_OK;
}
