/* A stand-in for the CUDA runtime, for tests where there is no GPU: a C++ compiler builds the kernels of csrc/cuda against it, and
 * device.cpp runs them on the CPU. A block's threads are fibers with real barriers and shuffles; blocks run one after the other in a scrambled
 * order, those of a cooperative launch in turns. Only what the backend uses is here; what is used wrongly ends the process with a message.
 *
 * There are two devices. "Device memory" can be touched by kernels and by the runtime's copies of its own device only: host code that reads it stops with a segmentation fault, as
 * it would with a GPU. Fresh device and shared memory is filled with NaN. */
#ifndef PD_ON_HOST_CUDA_RUNTIME_H
#define PD_ON_HOST_CUDA_RUNTIME_H

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <tuple>
#include <utility>

using std::isfinite;
using std::isnan;
using std::max;
using std::min;

// ---- the language ------------------------------------------------------------------------------------------------------------

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__    __attribute__((noinline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
// one section for all shared variables, so that a block's copy of them can be put away while another block runs
#define __shared__ static __attribute__((section("pd_shared")))

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
enum { warpSize = 32 };

#define PD_VECTOR(name, type)                                                               \
    struct alignas(2 * sizeof(type)) name##2 { type x, y; };                                \
    struct name##3 { type x, y, z; };                                                       \
    struct alignas(sizeof(type) == 8 ? 16 : 4 * sizeof(type)) name##4 { type x, y, z, w; }; \
    static inline name##2 make_##name##2(type x, type y) { return {x, y}; }                 \
    static inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }      \
    static inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
PD_VECTOR(float, float)
PD_VECTOR(double, double)
PD_VECTOR(int, int)
#undef PD_VECTOR

// ---- what the threads of a block do together ---------------------------------------------------------------------------------------

void pd_on_host_barrier();
void pd_on_host_warp_barrier(unsigned mask);
/* Leaves `bytes` at `mine` for the warp and fetches those of lane `from`. */
void pd_on_host_exchange(unsigned mask, int from, void *mine, size_t bytes);
unsigned pd_on_host_ballot(unsigned mask, int predicate);
int pd_on_host_lane();

static inline void __syncthreads() { pd_on_host_barrier(); }
static inline void __syncwarp(unsigned mask = 0xffffffffu) { pd_on_host_warp_barrier(mask); }
static inline void __threadfence() {}

/* In a launch that overlaps the one before it: everything up to here runs before that one does (pd_on_host_launch). */
void cudaGridDependencySynchronize();
static inline void cudaTriggerProgrammaticLaunchCompletion() {}

/* A lane outside its segment of `width` lanes keeps its own value. */
template <typename T> static inline T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
    int lane = pd_on_host_lane(), begin = lane / width * width;
    pd_on_host_exchange(mask, begin + from % width, &value, sizeof value);
    return value;
}
template <typename T> static inline T __shfl_down_sync(unsigned mask, T value, unsigned shift, int width = 32) {
    int lane = pd_on_host_lane(), from = lane + (int)shift;
    pd_on_host_exchange(mask, from < (lane / width + 1) * width ? from : lane, &value, sizeof value);
    return value;
}
template <typename T> static inline T __shfl_xor_sync(unsigned mask, T value, int with, int width = 32) {
    int lane = pd_on_host_lane(), from = lane ^ with;
    pd_on_host_exchange(mask, from / width == lane / width ? from : lane, &value, sizeof value);
    return value;
}
static inline unsigned __ballot_sync(unsigned mask, int predicate) { return pd_on_host_ballot(mask, predicate); }
static inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
static inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) == mask; }

static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
template <typename T> static inline T __ldg(const T *p) { return *p; }
static inline float __frcp_rn(float x) { return 1.0f / x; }
static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }

// fibers do not run at the same time, so these are atomic
template <typename T> static inline T atomicAdd(T *p, T v) { return std::exchange(*p, (T)(*p + v)); }
template <typename T> static inline T atomicOr(T *p, T v) { return std::exchange(*p, (T)(*p | v)); }
template <typename T> static inline T atomicMin(T *p, T v) { return std::exchange(*p, v < *p ? v : *p); }
template <typename T> static inline T atomicMax(T *p, T v) { return std::exchange(*p, v > *p ? v : *p); }

// ---- the runtime -----------------------------------------------------------------------------------------------------------------

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInitializationError = 3,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInsufficientDriver = 35,
    cudaErrorInvalidDeviceFunction = 98,
    cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101,
    cudaErrorNoKernelImageForDevice = 209,
    cudaErrorECCUncorrectable = 214,
    cudaErrorUnsupportedPtxVersion = 222,
    cudaErrorInvalidResourceHandle = 400,
    cudaErrorNotReady = 600,
    cudaErrorIllegalAddress = 700,
    cudaErrorLaunchTimeout = 702,
    cudaErrorContextIsDestroyed = 709,
    cudaErrorAssert = 710,
    cudaErrorHardwareStackError = 714,
    cudaErrorIllegalInstruction = 715,
    cudaErrorMisalignedAddress = 716,
    cudaErrorInvalidAddressSpace = 717,
    cudaErrorInvalidPc = 718,
    cudaErrorLaunchFailure = 719,
    cudaErrorCooperativeLaunchTooLarge = 720,
    cudaErrorStreamCaptureUnsupported = 900,
    cudaErrorStreamCaptureInvalidated = 901
};
enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum cudaStreamCaptureMode { cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed };
enum { cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2 };
enum cudaDeviceAttr {
    cudaDevAttrMaxSharedMemoryPerBlock = 8,
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrCooperativeLaunch = 95
};
enum cudaLaunchAttributeID { cudaLaunchAttributeCooperative = 2, cudaLaunchAttributeProgrammaticStreamSerialization = 6 };
union cudaLaunchAttributeValue {
    int cooperative, programmaticStreamSerializationAllowed;
};
struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    cudaLaunchAttributeValue val;
};
typedef struct pd_on_host_stream *cudaStream_t;
typedef struct pd_on_host_graph *cudaGraph_t, *cudaGraphExec_t;
typedef struct pd_on_host_event *cudaEvent_t;
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned numAttrs;
};
struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem;
    int multiProcessorCount, major, minor, l2CacheSize;
};

const char *cudaGetErrorString(cudaError_t);
const char *cudaGetErrorName(cudaError_t);
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
cudaError_t cudaDriverGetVersion(int *);
cudaError_t cudaRuntimeGetVersion(int *);
cudaError_t cudaGetDeviceCount(int *);
cudaError_t cudaGetDevice(int *);
cudaError_t cudaSetDevice(int);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *, int);
cudaError_t cudaDeviceGetAttribute(int *, cudaDeviceAttr, int);
cudaError_t cudaMalloc(void **, size_t);
cudaError_t cudaFree(void *);
cudaError_t cudaMallocHost(void **, size_t);
cudaError_t cudaFreeHost(void *);
cudaError_t cudaMemGetInfo(size_t *, size_t *);
cudaError_t cudaMemcpyAsync(void *, const void *, size_t, cudaMemcpyKind, cudaStream_t);
cudaError_t cudaMemsetAsync(void *, int, size_t, cudaStream_t);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *, unsigned);
cudaError_t cudaStreamSynchronize(cudaStream_t);
cudaError_t cudaStreamDestroy(cudaStream_t);
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode);
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t *);
typedef struct pd_on_host_node *cudaGraphNode_t;
cudaError_t cudaGraphGetNodes(cudaGraph_t, cudaGraphNode_t *, size_t *); // their number only
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *, cudaGraph_t, unsigned long long = 0);
cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t);
cudaError_t cudaGraphDestroy(cudaGraph_t);
#define cudaGraphExecDestroy cudaGraphDestroy
cudaError_t cudaEventCreate(cudaEvent_t *);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *, unsigned);
cudaError_t cudaEventDestroy(cudaEvent_t);
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t);
cudaError_t cudaEventSynchronize(cudaEvent_t);
cudaError_t cudaEventElapsedTime(float *, cudaEvent_t, cudaEvent_t);
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned = 0);

/* Blocks that can be resident on one multiprocessor: one, and there are three of these. */
template <typename K> static inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, K, int, size_t) {
    *blocks = 1;
    return cudaSuccess;
}
template <typename K> static inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int *grid, int *block, K, size_t = 0, int = 0) {
    *grid = 3, *block = 256;
    return cudaSuccess;
}

cudaError_t pd_on_host_launch(const cudaLaunchConfig_t &config, std::function<void()> thread);

template <typename... P, typename... A>
static inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(P...), A &&...a) {
    return pd_on_host_launch(*config, [kernel, arguments = std::tuple<P...>(std::forward<A>(a)...)]() { std::apply(kernel, arguments); });
}

#endif
