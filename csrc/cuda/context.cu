/* Context and memory of the CUDA backend.
 *
 * Everything lives on device 0. Which device is current belongs to the thread, and other libraries in the process change it, so
 * the memory functions set it: everything an algorithm does begins with one of them, and its launches follow on the same thread. */
#include "cuda/context.cuh"

#include <stdlib.h>
#include <string.h>

enum { PD_DEVICE = 0 };

pd_status pd_cuda_failure(pd_context *context, cudaError_t code, const char *what) {
    cudaGetLastError();
    return pd_fail(&context->error, PD_ERROR_DEVICE, "CUDA: %s failed: %s", what, cudaGetErrorString(code));
}

pd_status pd_device_count(int *count, pd_error *error) {
    (void)error;
    // no driver and no device are no error: there is nothing to use
    if (cudaGetDeviceCount(count) != cudaSuccess) {
        cudaGetLastError();
        *count = 0;
    }
    return PD_OK;
}

pd_status pd_device_name(int device, char name[256], pd_error *error) {
    cudaDeviceProp properties;
    cudaError_t code = cudaGetDeviceProperties(&properties, device);
    if (code != cudaSuccess) {
        cudaGetLastError();
        return pd_fail(error, PD_ERROR_DEVICE, "device: %d: %s", device, cudaGetErrorString(code));
    }
    memcpy(name, properties.name, sizeof properties.name);
    return PD_OK;
}

/* PDGPU_JACOBI; see pd_sweeps_way. */
static pd_status sweeps_way(pd_sweeps_way *out, pd_error *error) {
    const char *way = getenv("PDGPU_JACOBI");
    *out = PD_SWEEPS_BY_SIZE;
    if (!way || !way[0]) return PD_OK;
    if (strcmp(way, "persistent") == 0)
        *out = PD_SWEEPS_PERSISTENT;
    else if (strcmp(way, "launches") == 0)
        *out = PD_SWEEPS_LAUNCHES;
    else
        return pd_fail(error, PD_ERROR_VALUE, "PDGPU_JACOBI: expected 'persistent' or 'launches', got '%.60s'", way);
    return PD_OK;
}

pd_status pd_context_create(pd_context **out, int threads, pd_error *error) {
    *out = NULL;
    int count = 0;
    cudaError_t code = cudaGetDeviceCount(&count);
    if (code != cudaSuccess || count == 0) {
        cudaGetLastError();
        return pd_fail(error, PD_ERROR_DEVICE, "device: no CUDA device can be used (%s)",
                       code != cudaSuccess ? cudaGetErrorString(code) : "there is none");
    }
    pd_context *context = (pd_context *)calloc(1, sizeof *context);
    if (!context) return pd_fail(error, PD_ERROR_MEMORY, "out of memory for a context");
    context->threads = threads > 0 ? threads : 1;
    pd_status status = sweeps_way(&context->sweeps, error);
    if (status) {
        free(context);
        return status;
    }
    code = cudaSetDevice(PD_DEVICE);
    if (code == cudaSuccess) code = cudaDeviceGetAttribute(&context->multiprocessors, cudaDevAttrMultiProcessorCount, PD_DEVICE);
    if (code == cudaSuccess) code = cudaStreamCreateWithFlags(&context->stream, cudaStreamNonBlocking);
    if (code == cudaSuccess) code = cudaMalloc((void **)&context->index, sizeof(int));
    if (code != cudaSuccess) {
        pd_context_destroy(context);
        cudaGetLastError();
        return pd_fail(error, PD_ERROR_DEVICE, "device: the CUDA context could not be made: %s", cudaGetErrorString(code));
    }
    *out = context;
    return PD_OK;
}

void pd_context_destroy(pd_context *context) {
    if (!context) return;
    if (context->stream) cudaStreamSynchronize(context->stream);
    cudaFree(context->index);
    if (context->stream) cudaStreamDestroy(context->stream);
    free(context);
}

pd_error *pd_context_error(pd_context *context) { return &context->error; }

int pd_context_threads(const pd_context *context) { return context->threads; }

pd_status pd_memory_create(pd_context *context, void **out, size_t bytes) {
    cudaError_t code = cudaSetDevice(PD_DEVICE);
    *out = NULL;
    if (code == cudaSuccess) code = cudaMalloc(out, bytes ? bytes : 1);
    if (code != cudaSuccess) {
        size_t left = 0, total = 0;
        *out = NULL;
        // an allocation also reports what an earlier kernel did wrong
        if (code != cudaErrorMemoryAllocation) return pd_cuda_failure(context, code, "allocation");
        cudaMemGetInfo(&left, &total);
        cudaGetLastError();
        return pd_fail(&context->error, PD_ERROR_MEMORY, "out of device memory: %zu bytes asked for, %zu free of %zu", bytes, left, total);
    }
    return pd_memory_clear(context, *out, bytes);
}

void pd_memory_destroy(pd_context *context, void *memory) {
    if (!memory) return;
    cudaSetDevice(PD_DEVICE);
    cudaStreamSynchronize(context->stream);
    cudaFree(memory);
}

static pd_status copy(pd_context *context, void *target, const void *source, size_t bytes, cudaMemcpyKind kind, const char *what) {
    if (!bytes) return PD_OK;
    cudaError_t code = cudaSetDevice(PD_DEVICE);
    if (code == cudaSuccess) code = cudaMemcpyAsync(target, source, bytes, kind, context->stream);
    // host memory may be freed or read as soon as this returns
    if (code == cudaSuccess && kind != cudaMemcpyDeviceToDevice) code = cudaStreamSynchronize(context->stream);
    return code == cudaSuccess ? PD_OK : pd_cuda_failure(context, code, what);
}

pd_status pd_memory_upload(pd_context *context, void *target, const void *source, size_t bytes) {
    return copy(context, target, source, bytes, cudaMemcpyHostToDevice, "upload");
}

pd_status pd_memory_download(pd_context *context, void *target, const void *source, size_t bytes) {
    return copy(context, target, source, bytes, cudaMemcpyDeviceToHost, "download");
}

pd_status pd_memory_copy(pd_context *context, void *target, const void *source, size_t bytes) {
    return copy(context, target, source, bytes, cudaMemcpyDeviceToDevice, "copy");
}

pd_status pd_memory_clear(pd_context *context, void *target, size_t bytes) {
    if (!bytes) return PD_OK;
    cudaError_t code = cudaSetDevice(PD_DEVICE);
    if (code == cudaSuccess) code = cudaMemsetAsync(target, 0, bytes, context->stream);
    return code == cudaSuccess ? PD_OK : pd_cuda_failure(context, code, "clear");
}
