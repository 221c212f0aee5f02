/* The sum over a block. A header of its own: CUB takes nvcc five seconds, in every file that includes it. */
#ifndef PD_CUDA_BLOCK_SUM_CUH
#define PD_CUDA_BLOCK_SUM_CUH

#include "cuda/launch.cuh"

#include <cub/block/block_reduce.cuh>

/* The sum of `value` over a block's threads, for thread 0; in a fixed order, so the same bits in every run. */
static __device__ __forceinline__ double pd_block_sum(double value) {
    using Reduce = cub::BlockReduce<double, PD_THREADS, cub::BLOCK_REDUCE_WARP_REDUCTIONS>;
    __shared__ typename Reduce::TempStorage storage;
    __syncthreads(); // the last sum may still be read
    return Reduce(storage).Sum(value);
}

/* The sum of partial[0 .. blocks) of the `which`-th of `count` interleaved sums, for thread 0 of the block that asks: its threads stride
 * over them, always in the same order, four of them on the way at a time. */
static __device__ __forceinline__ double pd_partial_sum(const double *partial, unsigned blocks, unsigned count, unsigned which) {
    double part[4] = {0.0, 0.0, 0.0, 0.0};
#pragma unroll 1
    for (unsigned first = threadIdx.x; first < blocks; first += 4 * PD_THREADS)
#pragma unroll
        for (unsigned u = 0; u < 4; u++) {
            unsigned b = first + u * PD_THREADS;
            part[u] += b < blocks ? partial[(size_t)b * count + which] : 0.0;
        }
    return pd_block_sum((part[0] + part[1]) + (part[2] + part[3]));
}

/* Most blocks whose partial sums the last one of them adds up itself: every thread has four of a sum, which it reads at once. Where there
 * are more, the sums are shared out among blocks, and a launch of their own is the lesser cost. Counted, not measured. */
enum { PD_BLOCKS_OF_LAST = 4 * PD_THREADS };

/* Whether this block is the last of its launch to come here: all its threads learn it, and see what thread 0 of every block wrote before.
 * `arrived` is the context's; every block of the launch comes here once. */
static __device__ __forceinline__ bool pd_last_block(unsigned *arrived) {
    __shared__ bool last;
    __syncthreads(); // the previous answer has been read
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(arrived, 1u) == gridDim.x - 1;
        if (last) *arrived = 0;
        __threadfence();
    }
    __syncthreads();
    return last;
}

#endif
