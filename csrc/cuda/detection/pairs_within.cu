/* The neighbour pairs of a broad phase, one thread each. */
#include "cuda/append.cuh"
#include "updates/detection/pair_within.h"

static __global__ void pairs_within_kernel(size_t n, const uint64_t *count, const uint64_t *keys, pd_primitives first, pd_primitives second,
                                           pd_ways ways, pd_pair_buffer out) {
    size_t row = (size_t)blockIdx.x * PD_THREADS + threadIdx.x;
    pd_appender appender = pd_append_begin();
    n = pd_counted(n, count);
    uint64_t key = row < n ? keys[row] : 0;
    bool near = false;
    if (row < n) {
        int points[4];
        pd_vector from[4], to[4];
        real limit = pd_pair_within_of(key, out.second_bits, &first, &second, &ways, points);
        for (int j = 0; j < 4; j++)
            from[j] = pd_vector_load(ways.x_t0 + 3 * (size_t)points[j]), to[j] = pd_vector_load(ways.x_t1 + 3 * (size_t)points[j]);
        near =
            !(pd_pair_apart(first.k, pd_points4_of(from[0], from[1], from[2], from[3]), pd_points4_of(to[0], to[1], to[2], to[3])) > limit);
    }
    pd_append(appender, near, key, out);
    pd_append_end(appender, out);
}

pd_status pd_pairs_within(pd_context *context, size_t n, const uint64_t *count, const uint64_t *keys, const pd_primitives *first,
                          const pd_primitives *second, const pd_ways *ways, pd_pair_buffer *out) {
    PD_LAUNCH(context, pairs_within_kernel, n, n, count, keys, *first, *second, *ways, *out);
    return PD_OK;
}

static __global__ void most_kernel(const __grid_constant__ pd_watched_capacities capacities, uint64_t *most) {
    pd_update_most(&capacities, most);
}

pd_status pd_keep_most(pd_context *context, const pd_watched_capacities *capacities, uint64_t *most) {
    PD_LAUNCH_SHAPE(context, most_kernel, 1u, 1u, *capacities, most);
    return PD_OK;
}
