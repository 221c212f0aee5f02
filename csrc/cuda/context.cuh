/* The CUDA context. All work runs on the context's own stream. */
#ifndef PD_CUDA_CONTEXT_CUH
#define PD_CUDA_CONTEXT_CUH

#include "cuda/launch.cuh"
#include "loops/backend.h"

/* The launch mode of several sweeps of an iterative solver: one persistent launch if it is faster, always, or never. The environment
 * variable PDGPU_JACOBI=persistent|launches, read with the context, forces a mode for measurements and tests. */
typedef enum pd_sweeps_way { PD_SWEEPS_BY_SIZE, PD_SWEEPS_PERSISTENT, PD_SWEEPS_LAUNCHES } pd_sweeps_way;

/* Asynchronous transfers to the host go through staging memory, which the device writes while the host continues. */
enum { PD_MOST_FETCHES = 32, PD_STAGED_BYTES = 4096 };
struct pd_fetch {
    void *target;
    size_t from, bytes; /* in the staging memory */
};

struct pd_context {
    int device;
    cudaStream_t stream; /* of the device, as all that follows */
    pd_sweeps_way sweeps;
    int multiprocessors;
    int overlaps;      /* 1: launches may begin before the previous one has ended; PD_LAUNCH_OVERLAPPING. PDGPU_OVERLAP=off: 0 */
    int graphs;        /* 1: chunks of iterations may be captured. PDGPU_GRAPHS=off: 0 */
    int after_launch;  /* 1: the last work on the stream is a kernel; only then may a launch overlap */
    int threads;       /* of the host, for work on the host: the triangular solves of a direct solver */
    int *index;        /* device: one integer for searches */
    unsigned *arrived; /* device: blocks that have ended in a launch, for pd_last_block; 0 between launches */
    char *staging;     /* host, pinned: [PD_STAGED_BYTES] */
    pd_fetch fetches[PD_MOST_FETCHES];
    int n_fetches;
    struct cusolverDnContext *solver; /* cuSOLVER's handle, of dense.cu; NULL: not created yet */
    int capturing;                    /* between pd_capture_begin and pd_capture_end: the stream records without running */
    cudaEvent_t marks[PD_MARK_COUNT];
    pd_counts counts;
    pd_tally tally;
    pd_error error;
};

/* Makes the device of the context current before a call of the runtime. The current device is a property of the thread, and other
 * contexts and libraries change it. Between the begin and the end of a capture the thread makes no other calls, and this does nothing. */
static inline cudaError_t pd_device_use(const pd_context *context) {
    return context->capturing ? cudaSuccess : cudaSetDevice(context->device);
}

/* The stream for work that is no kernel of this backend: copies, events, graphs, libraries. The next launch begins after its end. */
static inline cudaStream_t pd_stream_for_others(pd_context *context) {
    context->after_launch = 0;
    return context->stream;
}

/* Fills backend memory with a byte. It reads no host memory, so that a capture can contain it. */
pd_status pd_memory_fill(pd_context *context, void *target, int byte, size_t bytes);

/* Calls a function of a library that uses the context's stream, and returns from the calling loop on failure. `success` is the library's
 * status, `failure` a function (context, status, what) that turns another one into a pd_status. */
#define PD_LIBRARY_CALL(context, success, failure, what, call)                  \
    do {                                                                        \
        cudaError_t used_ = pd_device_use(context);                             \
        if (used_ != cudaSuccess) return pd_cuda_failure(context, used_, what); \
        pd_stream_for_others(context);                                          \
        auto code_ = (call);                                                    \
        if (code_ != (success)) return failure(context, code_, what);           \
    } while (0)

/* Records a failed runtime call, and clears it in the runtime, so that the next launch does not report it. PD_ERROR_MEMORY if out of
 * memory, otherwise PD_ERROR_DEVICE. The text says if the device's context is lost. */
pd_status pd_cuda_failure(pd_context *context, cudaError_t code, const char *what);

/* Blocks of PD_THREADS threads of a kernel that can be resident at once; 0 if unknown. */
template <typename Kernel> static inline unsigned pd_resident_blocks(const pd_context *context, Kernel kernel) {
    int blocks = 0;
    if (pd_device_use(context) != cudaSuccess ||
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, PD_THREADS, 0) != cudaSuccess) {
        cudaGetLastError();
        return 0;
    }
    return (unsigned)(blocks * context->multiprocessors);
}

/* Blocks of a reduction: each covers PD_SUM_BLOCK items, which bounds the number of partial sums. */
static inline unsigned pd_sum_blocks(int n) { return (unsigned)((n + PD_SUM_BLOCK - 1) / PD_SUM_BLOCK); }

/* Sums partial[0 .. blocks) of each of `count` interleaved sums into out[0 .. count), in a fixed order. */
pd_status pd_add_partial_sums(pd_context *context, const double *partial, unsigned blocks, unsigned count, double *out);

/* Destroys the context's handle of cuSOLVER, which has its own stream; see dense.cu. */
void pd_solver_destroy(pd_context *context);

#endif
