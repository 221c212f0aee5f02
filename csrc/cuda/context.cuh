/* What a CUDA context holds, and how a kernel is launched.
 *
 * Everything runs on the context's own stream. A launch is checked where it is made; the loop returns PD_ERROR_DEVICE with the
 * runtime's text in the context, and the process stays usable. */
#ifndef PD_CUDA_CONTEXT_CUH
#define PD_CUDA_CONTEXT_CUH

#include "backend.h"

#include <cuda_runtime.h>

struct pd_context {
    cudaStream_t stream;
    int threads;   /* of the host, for what the host does: the triangular solves of a direct solver */
    int *index;    /* device: one integer for searches */
    int capturing; /* between pd_capture_begin and pd_capture_end: the stream records and runs nothing */
    pd_counts counts;
    pd_error error;
};

enum { PD_THREADS = 256, PD_DEVICE = 0 };

/* Records a failed runtime call, and takes it back from the runtime, so that the next launch is not blamed for it. PD_ERROR_MEMORY where
 * memory ran out, else PD_ERROR_DEVICE; the text says so where the device's context is lost for good. */
pd_status pd_cuda_failure(pd_context *context, cudaError_t code, const char *what);

static inline unsigned pd_grid(long long items) { return (unsigned)((items + PD_THREADS - 1) / PD_THREADS); }

/* Blocks of a reduction: each covers PD_SUM_BLOCK items, so that the model's partial sums have room. */
static inline unsigned pd_sum_blocks(int n) { return (unsigned)((n + PD_SUM_BLOCK - 1) / PD_SUM_BLOCK); }

/* Launches kernel<<<blocks>>>(arguments) and returns from the calling loop where that failed; no blocks, no launch. */
#define PD_LAUNCH_BLOCKS(context, kernel, blocks, ...)                                 \
    do {                                                                               \
        if ((blocks) > 0) {                                                            \
            kernel<<<blocks, PD_THREADS, 0, (context)->stream>>>(__VA_ARGS__);         \
            cudaError_t code_ = cudaGetLastError();                                    \
            if (code_ != cudaSuccess) return pd_cuda_failure(context, code_, #kernel); \
        }                                                                              \
    } while (0)

/* The same with one thread for each of n items. */
#define PD_LAUNCH(context, kernel, n, ...) PD_LAUNCH_BLOCKS(context, kernel, pd_grid(n), __VA_ARGS__)

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
