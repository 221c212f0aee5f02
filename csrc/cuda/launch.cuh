/* How a kernel is started: every launch of the backend goes through here.
 *
 * A launch is checked where it is made; the loop returns PD_ERROR_DEVICE with the runtime's text in the context. No blocks, no launch.
 * The launches use the runtime's typed function and not the <<< >>> of the language, so that a C++ compiler reads them too: tests/cuda/on_host
 * puts a stand-in in the place of the runtime and runs the same kernels on the CPU. */
#ifndef PD_CUDA_LAUNCH_CUH
#define PD_CUDA_LAUNCH_CUH

#include <cuda_runtime.h>

#include <utility>

enum { PD_THREADS = 256 };

/* Blocks that hold one thread for each of n items. */
static inline unsigned pd_thread_blocks(long long items) { return (unsigned)((items + PD_THREADS - 1) / PD_THREADS); }

template <typename... Parameters, typename... Arguments>
static inline cudaError_t pd_launch(cudaStream_t stream, bool cooperative, unsigned blocks, unsigned threads, void (*kernel)(Parameters...),
                                    Arguments &&...arguments) {
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(threads);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = cooperative ? 1 : 0;
    return cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...);
}

#define PD_LAUNCH_CHECKED(context, cooperative, kernel, blocks, threads, ...)                                                  \
    do {                                                                                                                       \
        if ((blocks) > 0) {                                                                                                    \
            cudaError_t code_ = pd_device_use(context);                                                                        \
            if (code_ == cudaSuccess) code_ = pd_launch((context)->stream, cooperative, blocks, threads, kernel, __VA_ARGS__); \
            if (code_ != cudaSuccess) return pd_cuda_failure(context, code_, #kernel);                                         \
        }                                                                                                                      \
    } while (0)

/* Starts `kernel` and returns from the calling loop where that failed. */
#define PD_LAUNCH_SHAPE(context, kernel, blocks, threads, ...) PD_LAUNCH_CHECKED(context, false, kernel, blocks, threads, __VA_ARGS__)
#define PD_LAUNCH_BLOCKS(context, kernel, blocks, ...)         PD_LAUNCH_SHAPE(context, kernel, blocks, PD_THREADS, __VA_ARGS__)
/* One thread for each of n items. */
#define PD_LAUNCH(context, kernel, n, ...) PD_LAUNCH_BLOCKS(context, kernel, pd_thread_blocks(n), __VA_ARGS__)
/* All blocks are resident at once and may wait for each other with cooperative_groups::this_grid().sync(). */
#define PD_LAUNCH_COOPERATIVE(context, kernel, blocks, threads, ...) PD_LAUNCH_CHECKED(context, true, kernel, blocks, threads, __VA_ARGS__)

#endif
