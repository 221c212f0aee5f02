/* Appending to a pair buffer: the lanes of a warp collect their pairs in shared memory and reserve a part of the buffer 32 at a time.
 *
 * Every lane of a warp must take part, with or without a pair: loops that append continue while any lane of their warp has work. So the
 * counter of a list, which all warps increment, is accessed once for 32 pairs, and these are written to adjacent places. */
#ifndef PD_CUDA_APPEND_CUH
#define PD_CUDA_APPEND_CUH

#include "cuda/context.cuh"

#include "loops/collision_loops.h"

enum { PD_WARP = 32, PD_WARPS = PD_THREADS / PD_WARP };

#define PD_ALL_LANES 0xffffffffu

static __device__ __forceinline__ int pd_lane() { return (int)(threadIdx.x % PD_WARP); }

/* The queue of a warp: up to 31 unwritten pairs, and one more per lane. */
static __device__ __forceinline__ uint64_t *pd_warp_queue() {
    __shared__ uint64_t queues[PD_WARPS][2 * PD_WARP];
    return queues[threadIdx.x / PD_WARP];
}

struct pd_appender {
    uint64_t *queue;
    int waiting; // number of pairs in the queue; the same in all lanes
};

static __device__ __forceinline__ pd_appender pd_append_begin() { return {pd_warp_queue(), 0}; }

/* Writes the first `count` <= 32 of the queue, which all lanes have filled. Afterwards it may be changed. */
static __device__ __forceinline__ void pd_append_write(const pd_appender &appender, int count, const pd_pair_buffer &out) {
    unsigned long long slot = 0;
    if (pd_lane() == 0) slot = atomicAdd((unsigned long long *)out.found, (unsigned long long)count);
    slot = __shfl_sync(PD_ALL_LANES, slot, 0) + (unsigned long long)pd_lane();
    if (pd_lane() < count && slot < out.capacity) out.keys[slot] = appender.queue[pd_lane()];
    __syncwarp();
}

/* Appends the keys of those lanes that have one. */
static __device__ __forceinline__ void pd_append(pd_appender &appender, bool has, uint64_t key, const pd_pair_buffer &out) {
    unsigned lanes = __ballot_sync(PD_ALL_LANES, has);
    if (!lanes) return;
    if (has) appender.queue[appender.waiting + __popc(lanes & ((1u << pd_lane()) - 1u))] = key;
    appender.waiting += __popc(lanes);
    if (appender.waiting < PD_WARP) return;
    __syncwarp();
    pd_append_write(appender, PD_WARP, out);
    appender.waiting -= PD_WARP;
    if (pd_lane() < appender.waiting) appender.queue[pd_lane()] = appender.queue[PD_WARP + pd_lane()];
    __syncwarp();
}

static __device__ __forceinline__ void pd_append_end(pd_appender &appender, const pd_pair_buffer &out) {
    __syncwarp();
    if (appender.waiting > 0) pd_append_write(appender, appender.waiting, out);
}

static __device__ __forceinline__ uint64_t pd_pair_key(const pd_pair_buffer &out, int first, int second) {
    return (uint64_t)first << out.second_bits | (uint64_t)second;
}

/* i and j are of the same kind. */
static __device__ __forceinline__ uint64_t pd_ordered_key(const pd_pair_buffer &out, int i, int j) {
    return pd_pair_key(out, i < j ? i : j, i < j ? j : i);
}

/* Blocks with one warp for each of n items. */
static inline unsigned pd_warp_blocks(long long n) { return pd_thread_blocks(n * PD_WARP); }

#endif
