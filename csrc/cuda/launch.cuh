/* Kernel launches: all launches of the backend use this file.
 *
 * Each launch is checked. On failure the loop returns PD_ERROR_DEVICE with the runtime's text in the context. Zero blocks: no launch.
 * Launches use the runtime's typed function and not <<< >>>, so that a C++ compiler accepts them: tests/cuda/on_host replaces the
 * runtime by a stand-in and runs the same kernels on the CPU. */
#ifndef PD_CUDA_LAUNCH_CUH
#define PD_CUDA_LAUNCH_CUH

#include <cuda_runtime.h>

#include <utility>

enum { PD_THREADS = 256 };

/* Blocks with one thread for each of n items. */
static inline unsigned pd_thread_blocks(long long items) { return (unsigned)((items + PD_THREADS - 1) / PD_THREADS); }

/* Programmatic dependent launch, from compute capability 9.0 on. An overlapping launch begins when all blocks of the previous one on the
 * stream have called pd_let_next_begin or have ended. Before pd_wait_for_launch_before it may only read data that no kernel still
 * running may write. All threads do all other reads and writes after the wait. So the end of one launch is the end of all before it.
 *
 * In a sequence that begins with an ordinary launch, such as the colours of a sweep, a kernel may read before the wait the data that
 * none of them writes. A kernel that may overlap any other, such as a sweep of Jacobi, may only read data that no kernel ever writes: the
 * entries of a matrix, the corners of a vertex. Launches do not overlap on devices without support, after a copy or a graph, and before
 * an ordinary launch.
 *
 * The wait is volatile and clobbers memory, so that the compiler moves no read across it. benchmarks/gpu_kernel_instructions.py counts
 * the reads before it in the machine code. */
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

/* Launches `kernel` and returns from the calling loop on failure. */
#define PD_LAUNCH_SHAPE(context, kernel, blocks, threads, ...) \
    PD_LAUNCH_CHECKED(context, PD_LAUNCH_ORDINARY, kernel, blocks, threads, __VA_ARGS__)
#define PD_LAUNCH_BLOCKS(context, kernel, blocks, ...) PD_LAUNCH_SHAPE(context, kernel, blocks, PD_THREADS, __VA_ARGS__)
/* One thread for each of n items. */
#define PD_LAUNCH(context, kernel, n, ...) PD_LAUNCH_BLOCKS(context, kernel, pd_thread_blocks(n), __VA_ARGS__)
/* All blocks are resident at once and may synchronise with cooperative_groups::this_grid().sync(). */
#define PD_LAUNCH_COOPERATIVE(context, kernel, blocks, threads, ...) \
    PD_LAUNCH_CHECKED(context, PD_LAUNCH_AT_ONCE, kernel, blocks, threads, __VA_ARGS__)
/* May begin before the end of the previous launch, if the device supports it; see pd_wait_for_launch_before. */
#define PD_LAUNCH_OVERLAPPING(context, kernel, blocks, ...)                                                                           \
    PD_LAUNCH_CHECKED(context, (context)->overlaps && (context)->after_launch ? PD_LAUNCH_EARLY : PD_LAUNCH_ORDINARY, kernel, blocks, \
                      PD_THREADS, __VA_ARGS__)

#endif
