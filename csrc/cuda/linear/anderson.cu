/* The loops of Anderson acceleration. Their scalars stay on the device, so a graph can contain them. */
#include "updates/linear/anderson_entry.h"

#include "cuda/block_sum.cuh"
#include "cuda/context.cuh"

/* Sum of a b over the rows of a block, of those that take part, for thread 0. */
static __device__ __forceinline__ double dot(const pd_anderson_part &part, size_t begin, size_t end, const real *a, const real *b) {
    double sum = 0.0;
    for (size_t e = begin + threadIdx.x; e < end; e += PD_THREADS) {
        size_t i = e / (size_t)part.width;
        if (part.fixed && part.fixed[i]) continue;
        double product = (double)a[e] * (double)b[e];
        sum += part.row_weights ? (double)part.row_weights[i] * product : product;
    }
    return part.scale * pd_block_sum(sum);
}

/* partial [blocks, sums]. A thread reads only numbers that it has written itself, so that no barrier is needed. */
static __global__ void record_kernel(pd_anderson_part part, int window, const pd_anderson_state *state) {
    const int first = (int)blockIdx.x * PD_SUM_BLOCK, last = first + PD_SUM_BLOCK < part.n ? first + PD_SUM_BLOCK : part.n;
    const size_t width = (size_t)part.width, size = (size_t)part.n * width, begin = width * (size_t)first, end = width * (size_t)last;
    const int begun = state->begun, stored = pd_anderson_stored(state, window), count = pd_anderson_sums(window);
    real *df = part.df + (size_t)state->next * size, *dg = part.dg + (size_t)state->next * size;
    double *partial = part.partial_sums + (size_t)blockIdx.x * (size_t)count;
    for (size_t e = begin + threadIdx.x; e < end; e += PD_THREADS) pd_anderson_record_entry(&part, e, begun, df, dg);
    for (int j = 0; j < window; j++) {
        const real *other = part.df + (size_t)j * size;
        double newest = j < stored ? dot(part, begin, end, df, other) : 0.0;
        double right = j < stored ? dot(part, begin, end, part.last_f, other) : 0.0;
        if (threadIdx.x == 0) partial[j] = newest, partial[window + j] = right;
    }
    double square = dot(part, begin, end, part.last_f, part.last_f);
    double positions = part.positions ? dot(part, begin, end, part.positions, part.positions) : 0.0;
    if (threadIdx.x == 0) partial[2 * window] = square, partial[2 * window + 1] = positions;
}

pd_status pd_anderson_record(pd_context *context, const pd_anderson_part *part, int window, const pd_anderson_state *state, double *sums) {
    unsigned blocks = pd_sum_blocks(part->n);
    PD_LAUNCH_BLOCKS(context, record_kernel, blocks, *part, window, state);
    return pd_add_partial_sums(context, part->partial_sums, blocks, (unsigned)pd_anderson_sums(window), sums);
}

static __global__ void find_kernel(pd_anderson_state *state, const double *sums, int n_parts, int window, double regularization,
                                   double growth) {
    if (blockIdx.x == 0 && threadIdx.x == 0) pd_anderson_advance(state, sums, n_parts, window, regularization, growth);
}

pd_status pd_anderson_find(pd_context *context, pd_anderson_state *state, const double *sums, int n_parts, int window,
                           double regularization, double growth) {
    PD_LAUNCH_SHAPE(context, find_kernel, 1, 1, state, sums, n_parts, window, regularization, growth);
    return PD_OK;
}

static __global__ void decide_kernel(pd_anderson_state *state, const double *energies, int n, int n_vertices, double stiffness_0,
                                     double stiffness_1) {
    if (blockIdx.x == 0 && threadIdx.x == 0) pd_anderson_accept(state, energies, n, n_vertices, stiffness_0, stiffness_1);
}

pd_status pd_anderson_decide(pd_context *context, pd_anderson_state *state, const double *energies, int n, int n_vertices,
                             const double stiffness[2]) {
    PD_LAUNCH_SHAPE(context, decide_kernel, 1, 1, state, energies, n, n_vertices, stiffness[0], stiffness[1]);
    return PD_OK;
}

static __global__ void combine_kernel(pd_anderson_part part, int window, const pd_anderson_state *state, real *out) {
    const size_t size = (size_t)part.n * (size_t)part.width, e = (size_t)blockIdx.x * PD_THREADS + threadIdx.x;
    real sum = 0;
    if (e >= size) return;
    for (int j = 0; j < window; j++) {
        double weight = state->weights[j];
        if (weight != 0.0) sum += (real)weight * part.dg[(size_t)j * size + e];
    }
    pd_anderson_combine_entry(&part, e, sum, out);
}

pd_status pd_anderson_combine(pd_context *context, const pd_anderson_part *part, int window, const pd_anderson_state *state, real *out) {
    long long count = (long long)part->n * part->width;
    PD_LAUNCH(context, combine_kernel, count, *part, window, state, out);
    return PD_OK;
}

static __global__ void take_kernel(const pd_anderson_state *state, long long count, const real *combined, real *correction) {
    const long long e = (long long)blockIdx.x * PD_THREADS + threadIdx.x;
    if (e < count && state->accepted) correction[e] = combined[e];
}

pd_status pd_anderson_take(pd_context *context, const pd_anderson_state *state, long long count, const real *combined, real *correction) {
    PD_LAUNCH(context, take_kernel, count, state, count, combined, correction);
    return PD_OK;
}
