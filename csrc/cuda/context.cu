/* Context, memory and graphs of the CUDA backend. device.cu has the failures before the first kernel.
 *
 * All data of a context are on its device. Each call of the runtime first makes this device current for the thread. */
#include "cuda/context.cuh"

#include <stdlib.h>
#include <string.h>

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

/* Reads a switch for measurements and diagnosis: the variable is unset, "on" or "off". */
static pd_status is_on(const char *variable, int *on, pd_error *error) {
    const char *text = getenv(variable);
    *on = !text || !text[0] || strcmp(text, "on") == 0;
    if (*on || strcmp(text, "off") == 0) return PD_OK;
    return pd_fail(error, PD_ERROR_VALUE, "%s: expected 'on' or 'off', got '%.60s'", variable, text);
}

pd_status pd_context_create(pd_context **out, pd_place place, pd_error *error) {
    *out = NULL;
    int count = 0;
    pd_status status = pd_device_count(&count, error);
    if (status) return status;
    if (count == 0) return PD_ERROR_DEVICE; // the error has a text already
    if (place.device < 0 || place.device >= count)
        return pd_fail(error, PD_ERROR_DEVICE, "device: 'cuda:%d' is not available, of %d the last is 'cuda:%d'", place.device, count,
                       count - 1);
    pd_context *context = (pd_context *)calloc(1, sizeof *context);
    if (!context) return pd_fail(error, PD_ERROR_MEMORY, "out of memory for a context");
    context->device = place.device;
    context->threads = place.threads > 0 ? place.threads : 1;
    status = sweeps_way(&context->sweeps, error);
    if (!status) status = is_on("PDGPU_OVERLAP", &context->overlaps, error);
    if (!status) status = is_on("PDGPU_GRAPHS", &context->graphs, error);
    if (status) {
        free(context);
        return status;
    }
    cudaError_t code = pd_device_use(context);
    if (code == cudaSuccess) code = cudaDeviceGetAttribute(&context->multiprocessors, cudaDevAttrMultiProcessorCount, context->device);
    int major = 0;
    if (code == cudaSuccess) code = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, context->device);
    context->overlaps = context->overlaps && major >= 9;
    if (code == cudaSuccess) code = cudaStreamCreateWithFlags(&context->stream, cudaStreamNonBlocking);
    for (int m = 0; m < PD_MARK_COUNT && code == cudaSuccess; m++) code = cudaEventCreate(&context->marks[m]);
    if (code == cudaSuccess) code = cudaMalloc((void **)&context->index, sizeof(int));
    if (code == cudaSuccess) code = cudaMalloc((void **)&context->arrived, sizeof(unsigned));
    if (code == cudaSuccess) code = cudaMemsetAsync(context->arrived, 0, sizeof(unsigned), pd_stream_for_others(context));
    if (code == cudaSuccess) code = cudaMallocHost((void **)&context->staging, PD_STAGED_BYTES);
    if (code != cudaSuccess) {
        status = pd_cuda_failure(context, code, "making a context");
        if (error) *error = context->error;
        pd_context_destroy(context);
        return status;
    }
    *out = context;
    return PD_OK;
}

void pd_context_destroy(pd_context *context) {
    if (!context) return;
    pd_device_use(context);
    if (context->stream) cudaStreamSynchronize(context->stream);
    pd_solver_destroy(context);
    cudaFree(context->index);
    cudaFree(context->arrived);
    cudaFreeHost(context->staging);
    for (int m = 0; m < PD_MARK_COUNT; m++)
        if (context->marks[m]) cudaEventDestroy(context->marks[m]);
    if (context->stream) cudaStreamDestroy(context->stream);
    cudaGetLastError();
    free(context);
}

pd_error *pd_context_error(pd_context *context) { return &context->error; }

int pd_context_threads(const pd_context *context) { return context->threads; }

pd_counts pd_context_counts(const pd_context *context) { return context->counts; }

pd_tally *pd_context_tally(pd_context *context) { return &context->tally; }

pd_location pd_context_location(const pd_context *context) {
    pd_location slot = {1, context->device, context->stream};
    return slot;
}

/* Synchronises the device. Fetched data are then in place. */
static cudaError_t synchronise(pd_context *context) {
    cudaError_t code = cudaStreamSynchronize(context->stream);
    for (int i = 0; i < context->n_fetches && code == cudaSuccess; i++)
        memcpy(context->fetches[i].target, context->staging + context->fetches[i].from, context->fetches[i].bytes);
    context->n_fetches = 0;
    return code;
}

pd_status pd_context_synchronise(pd_context *context) {
    cudaError_t code = pd_device_use(context);
    context->counts.waits++;
    context->tally.waits++;
    if (code == cudaSuccess) code = synchronise(context);
    return code == cudaSuccess ? PD_OK : pd_cuda_failure(context, code, "waiting for the device");
}

pd_status pd_mark(pd_context *context, int which) {
    cudaError_t code = pd_device_use(context);
    if (code == cudaSuccess) code = cudaEventRecord(context->marks[which], pd_stream_for_others(context));
    return code == cudaSuccess ? PD_OK : pd_cuda_failure(context, code, "a mark");
}

pd_status pd_marked_seconds(pd_context *context, int from, int to, double *seconds) {
    float milliseconds = 0;
    cudaError_t code = pd_device_use(context);
    if (code == cudaSuccess) code = cudaEventElapsedTime(&milliseconds, context->marks[from], context->marks[to]);
    *seconds = 1e-3 * (double)milliseconds;
    return code == cudaSuccess ? PD_OK : pd_cuda_failure(context, code, "reading the marks");
}

/* ---- memory ------------------------------------------------------------------------------------------------------------------ */

pd_status pd_memory_create(pd_context *context, void **out, size_t bytes) {
    cudaError_t code = pd_device_use(context);
    *out = NULL;
    context->counts.allocations++;
    if (code == cudaSuccess) code = cudaMalloc(out, bytes ? bytes : 1);
    if (code != cudaSuccess) {
        size_t left = 0, total = 0;
        *out = NULL;
        // an allocation also reports the error of an earlier kernel
        if (code != cudaErrorMemoryAllocation) return pd_cuda_failure(context, code, "allocation");
        cudaMemGetInfo(&left, &total);
        cudaGetLastError();
        return pd_fail(&context->error, PD_ERROR_MEMORY, "out of device memory: %zu bytes asked for, %zu free of %zu", bytes, left, total);
    }
    return pd_memory_clear(context, *out, bytes);
}

void pd_memory_destroy(pd_context *context, void *memory) {
    if (!memory) return;
    pd_device_use(context);
    synchronise(context);
    cudaFree(memory);
    cudaGetLastError();
}

static pd_status copy(pd_context *context, void *target, const void *source, size_t bytes, cudaMemcpyKind kind, const char *what) {
    if (!bytes) return PD_OK;
    cudaError_t code = pd_device_use(context);
    if (code == cudaSuccess) code = cudaMemcpyAsync(target, source, bytes, kind, pd_stream_for_others(context));
    return code == cudaSuccess ? PD_OK : pd_cuda_failure(context, code, what);
}

/* Synchronises, since host memory that is not pinned may be freed or read right after the return. */
static pd_status copy_and_synchronise(pd_context *context, void *target, const void *source, size_t bytes, cudaMemcpyKind kind,
                                      const char *what) {
    pd_status status = copy(context, target, source, bytes, kind, what);
    if (!bytes) return status;
    context->counts.waits++;
    context->tally.waits++;
    cudaError_t code = status ? cudaSuccess : synchronise(context);
    return code == cudaSuccess ? status : pd_cuda_failure(context, code, what);
}

pd_status pd_memory_upload(pd_context *context, void *target, const void *source, size_t bytes) {
    return copy_and_synchronise(context, target, source, bytes, cudaMemcpyHostToDevice, "upload");
}

pd_status pd_memory_download(pd_context *context, void *target, const void *source, size_t bytes) {
    return copy_and_synchronise(context, target, source, bytes, cudaMemcpyDeviceToHost, "download");
}

pd_status pd_pinned_create(pd_context *context, void **out, size_t bytes) {
    cudaError_t code = pd_device_use(context);
    *out = NULL;
    if (code == cudaSuccess) code = cudaMallocHost(out, bytes ? bytes : 1);
    if (code == cudaSuccess) return PD_OK;
    *out = NULL;
    if (code != cudaErrorMemoryAllocation) return pd_cuda_failure(context, code, "pinned memory");
    cudaGetLastError();
    return pd_fail(&context->error, PD_ERROR_MEMORY, "out of pinned memory: %zu bytes asked for", bytes);
}

void pd_pinned_destroy(pd_context *context, void *memory) {
    if (!memory) return;
    pd_device_use(context);
    synchronise(context);
    cudaFreeHost(memory);
    cudaGetLastError();
}

pd_status pd_memory_send(pd_context *context, void *target, const void *source, size_t bytes) {
    return copy(context, target, source, bytes, cudaMemcpyHostToDevice, "upload");
}

pd_status pd_memory_receive(pd_context *context, void *target, const void *source, size_t bytes) {
    return copy(context, target, source, bytes, cudaMemcpyDeviceToHost, "download");
}

pd_status pd_memory_fetch(pd_context *context, void *target, const void *source, size_t bytes) {
    const pd_fetch *last = context->n_fetches ? &context->fetches[context->n_fetches - 1] : NULL;
    size_t from = last ? (last->from + last->bytes + 15) / 16 * 16 : 0;
    if (context->n_fetches == PD_MOST_FETCHES || from + bytes > PD_STAGED_BYTES)
        return pd_fail(&context->error, PD_ERROR_VALUE, "%zu bytes are more than can be asked for before the next wait", bytes);
    cudaError_t code = pd_device_use(context);
    if (code == cudaSuccess)
        code = cudaMemcpyAsync(context->staging + from, source, bytes, cudaMemcpyDeviceToHost, pd_stream_for_others(context));
    if (code != cudaSuccess) return pd_cuda_failure(context, code, "asking for numbers");
    context->fetches[context->n_fetches++] = {target, from, bytes};
    return PD_OK;
}

int pd_fetches_at_once(const pd_context *context) {
    (void)context;
    return 0;
}

pd_status pd_memory_copy(pd_context *context, void *target, const void *source, size_t bytes) {
    return copy(context, target, source, bytes, cudaMemcpyDeviceToDevice, "copy");
}

pd_status pd_memory_fill(pd_context *context, void *target, int byte, size_t bytes) {
    if (!bytes) return PD_OK;
    cudaError_t code = pd_device_use(context);
    if (code == cudaSuccess) code = cudaMemsetAsync(target, byte, bytes, pd_stream_for_others(context));
    return code == cudaSuccess ? PD_OK : pd_cuda_failure(context, code, "clear");
}

pd_status pd_memory_clear(pd_context *context, void *target, size_t bytes) { return pd_memory_fill(context, target, 0, bytes); }

/* ---- graphs ------------------------------------------------------------------------------------------------------------------ */

struct pd_graph {
    cudaGraphExec_t executable;
    size_t nodes;
};

int pd_can_capture(const pd_context *context) { return context->graphs; }

pd_status pd_capture_begin(pd_context *context) {
    cudaError_t code = pd_device_use(context);
    // relaxed: other threads and libraries of this process may allocate meanwhile; this thread does not
    if (code == cudaSuccess) code = cudaStreamBeginCapture(pd_stream_for_others(context), cudaStreamCaptureModeRelaxed);
    if (code != cudaSuccess) return pd_cuda_failure(context, code, "beginning a capture");
    context->capturing = 1;
    return PD_OK;
}

pd_status pd_capture_end(pd_context *context, pd_graph **out) {
    cudaGraph_t recorded = NULL;
    pd_status status = PD_OK;
    *out = NULL;
    context->capturing = 0;
    cudaError_t code = cudaStreamEndCapture(pd_stream_for_others(context), &recorded);
    if (code != cudaSuccess || !recorded) return pd_cuda_failure(context, code ? code : cudaErrorStreamCaptureInvalidated, "a capture");
    pd_graph *graph = (pd_graph *)calloc(1, sizeof *graph);
    if (!graph) {
        status = pd_fail(&context->error, PD_ERROR_MEMORY, "out of memory for a graph");
        goto done;
    }
    code = cudaGraphGetNodes(recorded, NULL, &graph->nodes);
    if (code == cudaSuccess) code = cudaGraphInstantiate(&graph->executable, recorded, 0);
    if (code != cudaSuccess) {
        free(graph);
        status = pd_cuda_failure(context, code, "making a graph");
        goto done;
    }
    context->counts.captures++;
    *out = graph;
done:
    cudaGraphDestroy(recorded);
    return status;
}

void pd_capture_refused(pd_context *context) { context->counts.refused++; }

pd_status pd_graph_launch(pd_context *context, const pd_graph *graph) {
    cudaError_t code = pd_device_use(context);
    if (code == cudaSuccess) code = cudaGraphLaunch(graph->executable, pd_stream_for_others(context));
    context->counts.launches++;
    return code == cudaSuccess ? PD_OK : pd_cuda_failure(context, code, "launch of a graph");
}

int pd_graph_nodes(const pd_graph *graph) { return (int)graph->nodes; }

void pd_graph_destroy(pd_context *context, pd_graph *graph) {
    if (!graph) return;
    pd_device_use(context);
    cudaStreamSynchronize(context->stream);
    cudaGraphExecDestroy(graph->executable);
    cudaGetLastError();
    free(graph);
}
