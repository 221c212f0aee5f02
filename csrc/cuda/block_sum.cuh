/* The sum over a block. A separate header, since CUB takes long to compile in every file that includes it. */
#ifndef PD_CUDA_BLOCK_SUM_CUH
#define PD_CUDA_BLOCK_SUM_CUH

#include "cuda/launch.cuh"

#include <cub/block/block_reduce.cuh>

/* The sum of `value` over a block's threads, for thread 0; in a fixed order, so the same bits in every run. */
static __device__ __forceinline__ double pd_block_sum(double value) {
    using Reduce = cub::BlockReduce<double, PD_THREADS, cub::BLOCK_REDUCE_WARP_REDUCTIONS>;
    __shared__ typename Reduce::TempStorage storage;
    __syncthreads(); // the previous sum may still be read
    return Reduce(storage).Sum(value);
}

/* The sum of partial[0 .. blocks) of the `which`-th of `count` interleaved sums, for thread 0 of the calling block. Its threads stride
 * over them in a fixed order, with four loads in flight. */
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

/* The maximum number of blocks whose partial sums the last one adds up: every thread reads four of a sum at once. For more blocks, a
 * separate launch divides the sums among blocks. The limit is from a count of operations, not from a measurement. */
enum { PD_BLOCKS_OF_LAST = 4 * PD_THREADS };

/* Tells whether this block is the last of its launch. All its threads get the result, and see the earlier writes of thread 0 of every
 * block. `arrived` is the context's. Every block of the launch calls it once. */
static __device__ __forceinline__ bool pd_last_block(unsigned *arrived) {
    __shared__ bool last;
    __syncthreads(); // the previous result has been read
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
