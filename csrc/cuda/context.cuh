/* What a CUDA context holds, and the sum over a block. Everything runs on the context's own stream. */
#ifndef PD_CUDA_CONTEXT_CUH
#define PD_CUDA_CONTEXT_CUH

#include "backend.h"
#include "cuda/launch.cuh"

#include <cub/block/block_reduce.cuh>

struct pd_context {
    cudaStream_t stream;
    int threads;   /* of the host, for what the host does: the triangular solves of a direct solver */
    int *index;    /* device: one integer for searches */
    int capturing; /* between pd_capture_begin and pd_capture_end: the stream records and runs nothing */
    cudaEvent_t marks[2];
    pd_counts counts;
    pd_error error;
};

enum { PD_DEVICE = 0 };

/* Records a failed runtime call, and takes it back from the runtime, so that the next launch is not blamed for it. PD_ERROR_MEMORY where
 * memory ran out, else PD_ERROR_DEVICE; the text says so where the device's context is lost for good. */
pd_status pd_cuda_failure(pd_context *context, cudaError_t code, const char *what);

/* Blocks of a reduction: each covers PD_SUM_BLOCK items, so that the model's partial sums have room. */
static inline unsigned pd_sum_blocks(int n) { return (unsigned)((n + PD_SUM_BLOCK - 1) / PD_SUM_BLOCK); }

/* Sums partial[0 .. blocks) of each of `count` interleaved sums into out[0 .. count), in a fixed order. */
pd_status pd_add_partial_sums(pd_context *context, const double *partial, unsigned blocks, unsigned count, double *out);

/* The sum of `value` over a block's threads, for thread 0; in a fixed order, so the same bits in every run. */
static __device__ __forceinline__ double pd_block_sum(double value) {
    using Reduce = cub::BlockReduce<double, PD_THREADS, cub::BLOCK_REDUCE_WARP_REDUCTIONS>;
    __shared__ typename Reduce::TempStorage storage;
    __syncthreads(); // the last sum may still be read
    return Reduce(storage).Sum(value);
}

#endif
