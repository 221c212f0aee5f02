/* What a CUDA context holds, and the sum over a block. Everything runs on the context's own stream. */
#ifndef PD_CUDA_CONTEXT_CUH
#define PD_CUDA_CONTEXT_CUH

#include "backend.h"
#include "cuda/launch.cuh"

struct pd_context {
    cudaStream_t stream;
    int threads; /* of the host, for what the host does: the triangular solves of a direct solver */
    int *index;  /* device: one integer for searches */
    pd_error error;
};

/* Records a failed runtime call, and takes it back from the runtime, so that the next launch is not blamed for it. */
pd_status pd_cuda_failure(pd_context *context, cudaError_t code, const char *what);

/* Blocks of a reduction: each covers PD_SUM_BLOCK items, so that the model's partial sums have room. */
static inline unsigned pd_sum_blocks(int n) { return (unsigned)((n + PD_SUM_BLOCK - 1) / PD_SUM_BLOCK); }

/* Sums partial[0 .. blocks) of each of `count` interleaved sums into out[0 .. count), in a fixed order. */
pd_status pd_add_partial_sums(pd_context *context, const double *partial, unsigned blocks, unsigned count, double *out);

/* The sum of `value` over a block's threads, for thread 0; a fixed tree, so the same bits in every run. */
static __device__ __forceinline__ double pd_block_sum(double value) {
    __shared__ double warps[PD_THREADS / 32];
    for (int shift = 16; shift > 0; shift /= 2) value += __shfl_down_sync(0xffffffffu, value, shift);
    __syncthreads(); // the last sum may still be read
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    value = threadIdx.x < PD_THREADS / 32 ? warps[threadIdx.x] : 0.0;
    if (threadIdx.x < 32)
        for (int shift = PD_THREADS / 64; shift > 0; shift /= 2) value += __shfl_down_sync(0xffffffffu, value, shift);
    return value;
}

#endif
