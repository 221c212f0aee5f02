/* How a kernel is started: every launch of the backend goes through here.
 *
 * A launch is checked where it is made; the loop returns PD_ERROR_DEVICE with the runtime's text in the context. No blocks, no launch.
 * The launches use the runtime's typed function and not the <<< >>> of the language, so that a C++ compiler reads them too:
 * tests/cuda/on_host replaces the runtime by a stand-in and runs the same kernels on the CPU. */
#ifndef PD_CUDA_LAUNCH_CUH
#define PD_CUDA_LAUNCH_CUH

#include <cuda_runtime.h>

#include <utility>

enum { PD_THREADS = 256 };

/* Blocks that hold one thread for each of n items. */
static inline unsigned pd_thread_blocks(long long items) { return (unsigned)((items + PD_THREADS - 1) / PD_THREADS); }

/* Programmatic dependent launch, from compute capability 9.0 on: a launch that overlaps begins when all blocks of the one before it on the
 * stream have said pd_let_next_begin, or are through. Until pd_wait_for_launch_before it may read what no kernel writes that can still be
 * running; everything else is read and written behind the wait, by all threads, so that the end of one launch is the end of all before it.
 * Kernels of which the first is an ordinary launch, such as the colours of a sweep, may read before the wait what none of them writes. One
 * that overlaps whatever comes before it, such as a sweep of Jacobi, may read only what no kernel ever writes: the entries of a matrix, the
 * corners of a vertex. Where the device cannot, behind a copy or a graph, and for the ordinary launch that follows, launches come one after
 * the other as ever.
 *
 * The wait is volatile and touches memory, so that no read is moved across it by the compiler; benchmarks/gpu_kernel_instructions.py counts
 * the reads that stand before it in the machine code. */
static __device__ __forceinline__ void pd_let_next_begin() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}

static __device__ __forceinline__ void pd_wait_for_launch_before() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
#endif
}

typedef enum pd_launch_way { PD_LAUNCH_ORDINARY, PD_LAUNCH_AT_ONCE, PD_LAUNCH_EARLY } pd_launch_way;

template <typename... Parameters, typename... Arguments>
static inline cudaError_t pd_launch(cudaStream_t stream, pd_launch_way way, unsigned blocks, unsigned threads,
                                    void (*kernel)(Parameters...), Arguments &&...arguments) {
    cudaLaunchAttribute attribute = {};
    if (way == PD_LAUNCH_AT_ONCE) {
        attribute.id = cudaLaunchAttributeCooperative;
        attribute.val.cooperative = 1;
    } else if (way == PD_LAUNCH_EARLY) {
        attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute.val.programmaticStreamSerializationAllowed = 1;
    }
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(threads);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = way == PD_LAUNCH_ORDINARY ? 0 : 1;
    return cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...);
}

#define PD_LAUNCH_CHECKED(context, way, kernel, blocks, threads, ...)                                                  \
    do {                                                                                                               \
        if ((blocks) > 0) {                                                                                            \
            cudaError_t code_ = pd_device_use(context);                                                                \
            if (code_ == cudaSuccess) code_ = pd_launch((context)->stream, way, blocks, threads, kernel, __VA_ARGS__); \
            if (code_ != cudaSuccess) return pd_cuda_failure(context, code_, #kernel);                                 \
            (context)->after_launch = 1;                                                                               \
            (context)->tally.launches++;                                                                               \
        }                                                                                                              \
    } while (0)

/* Starts `kernel` and returns from the calling loop where that failed. */
#define PD_LAUNCH_SHAPE(context, kernel, blocks, threads, ...) \
    PD_LAUNCH_CHECKED(context, PD_LAUNCH_ORDINARY, kernel, blocks, threads, __VA_ARGS__)
#define PD_LAUNCH_BLOCKS(context, kernel, blocks, ...) PD_LAUNCH_SHAPE(context, kernel, blocks, PD_THREADS, __VA_ARGS__)
/* One thread for each of n items. */
#define PD_LAUNCH(context, kernel, n, ...) PD_LAUNCH_BLOCKS(context, kernel, pd_thread_blocks(n), __VA_ARGS__)
/* All blocks are resident at once and may wait for each other with cooperative_groups::this_grid().sync(). */
#define PD_LAUNCH_COOPERATIVE(context, kernel, blocks, threads, ...) \
    PD_LAUNCH_CHECKED(context, PD_LAUNCH_AT_ONCE, kernel, blocks, threads, __VA_ARGS__)
/* May begin before the launch before it has ended, where the device can; see pd_wait_for_launch_before. */
#define PD_LAUNCH_OVERLAPPING(context, kernel, blocks, ...)                                                                           \
    PD_LAUNCH_CHECKED(context, (context)->overlaps && (context)->after_launch ? PD_LAUNCH_EARLY : PD_LAUNCH_ORDINARY, kernel, blocks, \
                      PD_THREADS, __VA_ARGS__)

#endif
