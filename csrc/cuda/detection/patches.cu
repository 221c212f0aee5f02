/* Pairs through patches on CUDA, a warp for each patch or pair of patches; see collision_loops.h. */
#include "cuda/append.cuh"

static __device__ __forceinline__ int warp_number() { return (int)((blockIdx.x * PD_THREADS + threadIdx.x) / PD_WARP); }

static __device__ __forceinline__ void join_lanes(pd_box &box) {
    for (int shift = PD_WARP / 2; shift > 0; shift /= 2) {
        pd_box other;
#pragma unroll
        for (int axis = 0; axis < 3; axis++) {
            other.low[axis] = __shfl_xor_sync(PD_ALL_LANES, box.low[axis], shift);
            other.high[axis] = __shfl_xor_sync(PD_ALL_LANES, box.high[axis], shift);
        }
        pd_box_add(&box, &other);
    }
}

/* The box of a patch is that of its items of one kind; with `more`, joined with the previous box. */
static __global__ void patch_boxes_kernel(int n_patches, pd_primitives primitives, pd_patch_items items, int more, pd_box *boxes) {
    int patch = warp_number();
    if (patch >= n_patches) return; // the whole warp
    pd_box box = pd_box_empty();
    for (int i = items.start[patch] + pd_lane(); i < items.start[patch + 1]; i += PD_WARP)
        pd_box_add(&box, &primitives.boxes[items.items[i]]);
    join_lanes(box);
    if (pd_lane() > 0) return;
    if (more) pd_box_add(&box, &boxes[patch]);
    boxes[patch] = box;
}

pd_status pd_patch_boxes(pd_context *context, int n_patches, int n_kinds, const pd_primitives *kinds, const pd_patch_items *items,
                         pd_box *boxes) {
    for (int kind = 0; kind < n_kinds; kind++)
        PD_LAUNCH_BLOCKS(context, patch_boxes_kernel, pd_warp_blocks(n_patches), n_patches, kinds[kind], items[kind], kind > 0, boxes);
    return PD_OK;
}

static __global__ void listed_pairs_kernel(size_t n, const uint64_t *keys, pd_primitives first, pd_primitives second, pd_pair_buffer out) {
    size_t k = (size_t)blockIdx.x * PD_THREADS + threadIdx.x;
    uint64_t key = k < n ? keys[k] : 0;
    int i = (int)(key >> out.second_bits), j = (int)(key & (((uint64_t)1 << out.second_bits) - 1));
    bool pair = k < n && pd_boxes_overlap(&first.boxes[i], &second.boxes[j]) && pd_may_collide(&first, i, &second, j);
    pd_appender appender = pd_append_begin();
    pd_append(appender, pair, key, out);
    pd_append_end(appender, out);
}

pd_status pd_listed_pairs(pd_context *context, size_t n, const uint64_t *keys, const pd_primitives *first, const pd_primitives *second,
                          pd_pair_buffer *out) {
    PD_LAUNCH(context, listed_pairs_kernel, (long long)n, n, keys, *first, *second, *out);
    return PD_OK;
}

/* Tests each item of patch p of the first kind against all items of patch q of the second, one lane each. */
static __device__ __forceinline__ void pairs_of_patches(pd_appender &appender, int p, int q, const pd_primitives &first,
                                                        const pd_patch_items &first_items, const pd_primitives &second,
                                                        const pd_patch_items &second_items, bool same, const pd_pair_buffer &out) {
    int begin = second_items.start[q], end = second_items.start[q + 1];
    for (int a = first_items.start[p]; a < first_items.start[p + 1]; a++) {
        int i = first_items.items[a];
        pd_box box = first.boxes[i];
        for (int b = begin; b < end; b += PD_WARP) {
            int j = b + pd_lane() < end ? second_items.items[b + pd_lane()] : -1;
            bool pair = j >= 0 && pd_boxes_overlap(&box, &second.boxes[j]) && pd_may_collide(&first, i, &second, j);
            pd_append(appender, pair, same ? pd_ordered_key(out, i, j) : pd_pair_key(out, i, j), out);
        }
    }
}

static __global__ void patch_pairs_kernel(size_t n_patch_pairs, const uint64_t *patch_pairs, int patch_bits, pd_primitives first,
                                          pd_patch_items first_items, pd_primitives second, pd_patch_items second_items, int same,
                                          pd_pair_buffer out) {
    size_t k = ((size_t)blockIdx.x * PD_THREADS + threadIdx.x) / PD_WARP;
    if (k >= n_patch_pairs) return; // the whole warp
    int p = (int)(patch_pairs[k] >> patch_bits), q = (int)(patch_pairs[k] & (((uint64_t)1 << patch_bits) - 1));
    pd_appender appender = pd_append_begin();
    pairs_of_patches(appender, p, q, first, first_items, second, second_items, same, out);
    if (!same) pairs_of_patches(appender, q, p, first, first_items, second, second_items, same, out);
    pd_append_end(appender, out);
}

pd_status pd_patch_pairs(pd_context *context, size_t n_patch_pairs, const uint64_t *patch_pairs, int patch_bits, const pd_primitives *first,
                         const pd_patch_items *first_items, const pd_primitives *second, const pd_patch_items *second_items,
                         pd_pair_buffer *out) {
    PD_LAUNCH_BLOCKS(context, patch_pairs_kernel, pd_warp_blocks((long long)n_patch_pairs), n_patch_pairs, patch_pairs, patch_bits, *first,
                     *first_items, *second, *second_items, first == second, *out);
    return PD_OK;
}
