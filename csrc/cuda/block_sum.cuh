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

#endif
