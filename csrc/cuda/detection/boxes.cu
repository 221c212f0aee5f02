/* Boxes and Morton keys on CUDA; see collision_loops.h. */
#include "cuda/context.cuh"
#include "cuda/detection/work.cuh"

#include "loops/collision_loops.h"

#include <cub/block/block_reduce.cuh>

static __global__ void boxes_kernel(pd_primitives primitives, const real *x_t0, const real *x_t1, real margin) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x), k = primitives.k;
    if (i >= primitives.n) return;
    real wide = primitives.radii ? margin + primitives.radii[i] : margin;
    primitives.boxes[i] = pd_box_of_primitive(x_t0, x_t1, primitives.corners + (size_t)i * (size_t)k, k, wide);
}

pd_status pd_primitive_boxes(pd_context *context, pd_primitives *primitives, const real *x_t0, const real *x_t1, real margin) {
    PD_LAUNCH(context, boxes_kernel, primitives->n, *primitives, x_t0, x_t1, margin);
    return PD_OK;
}

/* ---- the bounding box of all ------------------------------------------------------------------------------------------------- */

/* mean_size is a sum here. */
struct join_bounds {
    __device__ __forceinline__ pd_bound operator()(pd_bound a, const pd_bound &b) const {
        pd_box_add(&a.box, &b.box);
        a.mean_size += b.mean_size;
        return a;
    }
};

static __device__ __forceinline__ pd_bound bound_of_block(const pd_bound &mine) {
    using Reduce = cub::BlockReduce<pd_bound, PD_THREADS, cub::BLOCK_REDUCE_WARP_REDUCTIONS>;
    __shared__ typename Reduce::TempStorage storage;
    return Reduce(storage).Reduce(mine, join_bounds());
}

static __device__ __forceinline__ double longest_side(const pd_box &box) {
    double x = (double)box.high[0] - (double)box.low[0], y = (double)box.high[1] - (double)box.low[1],
           z = (double)box.high[2] - (double)box.low[2];
    return fmax(x, fmax(y, z));
}

/* partial [blocks]: of each block's part of the boxes */
static __global__ void partial_bounds_kernel(int n, const pd_box *boxes, pd_bound *partial) {
    pd_bound bound = {pd_box_empty(), 0.0};
    pd_part part = pd_part_of_block(n);
    for (int i = part.begin + (int)threadIdx.x; i < part.end; i += PD_THREADS) {
        pd_box box = boxes[i];
        bound = join_bounds()(bound, {box, longest_side(box)});
    }
    bound = bound_of_block(bound);
    if (threadIdx.x == 0) partial[blockIdx.x] = bound;
}

static __global__ void join_bounds_kernel(int n, unsigned blocks, const pd_bound *partial, pd_bound *out) {
    pd_bound bound = {pd_box_empty(), 0.0};
    for (unsigned b = threadIdx.x; b < blocks; b += PD_THREADS) bound = join_bounds()(bound, partial[b]);
    bound = bound_of_block(bound);
    if (threadIdx.x > 0) return;
    if (n > 0) bound.mean_size /= n;
    *out = bound;
}

pd_status pd_boxes_bound(pd_context *context, int n, const pd_box *boxes, const pd_work *work, pd_bound *bound) {
    pd_bound *partial = (pd_bound *)work->memory;
    unsigned blocks = pd_parts(n);
    PD_LAUNCH_BLOCKS(context, partial_bounds_kernel, blocks, n, boxes, partial);
    PD_LAUNCH_BLOCKS(context, join_bounds_kernel, 1u, n, blocks, partial, bound);
    return PD_OK;
}

/* ---- keys -------------------------------------------------------------------------------------------------------------------- */

static __global__ void morton_kernel(int n, int index_bits, int bits, const pd_box *boxes, const pd_bound *scene, uint64_t *keys) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i < n) keys[i] = pd_morton_code(&boxes[i], &scene->box, bits) << index_bits | (uint64_t)i;
}

pd_status pd_morton_keys(pd_context *context, int n, int index_bits, const pd_box *boxes, const pd_bound *scene, uint64_t *keys) {
    int bits = (64 - index_bits) / 3 < 21 ? (64 - index_bits) / 3 : 21;
    PD_LAUNCH(context, morton_kernel, n, n, index_bits, bits, boxes, scene, keys);
    return PD_OK;
}

static __global__ void items_kernel(int n, uint64_t mask, const uint64_t *keys, int *items) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i < n) items[i] = (int)(keys[i] & mask);
}

pd_status pd_key_items(pd_context *context, int n, int index_bits, const uint64_t *keys, int *items) {
    PD_LAUNCH(context, items_kernel, n, n, ((uint64_t)1 << index_bits) - 1, keys, items);
    return PD_OK;
}
