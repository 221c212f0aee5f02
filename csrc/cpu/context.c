/* Context and memory of the CPU backend. Backend memory is ordinary memory, aligned for vector loads. */
#include "cpu/context.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

/* MAX_THREADS: more than any machine has. */
enum { HUGE_PAGE = 1 << 21, MAX_THREADS = 1024 };

pd_status pd_context_create(pd_context **out, pd_place place, pd_error *error) {
    *out = NULL;
    if (place.device != 0) return pd_fail(error, PD_ERROR_DEVICE, "device: %d is not available; the CPU is device 0", place.device);
    if (place.threads > MAX_THREADS)
        return pd_fail(error, PD_ERROR_VALUE, "threads: must be at most %d, got %d", MAX_THREADS, place.threads);
    *out = calloc(1, sizeof **out);
    if (!*out) return pd_fail(error, PD_ERROR_MEMORY, "out of memory for a context");
    (*out)->threads = place.threads > 0 ? place.threads : 1;
    return PD_OK;
}

void pd_context_destroy(pd_context *context) { free(context); }

pd_error *pd_context_error(pd_context *context) { return &context->error; }

int pd_context_threads(const pd_context *context) { return context->threads; }

pd_location pd_context_location(const pd_context *context) {
    (void)context;
    return (pd_location){0, 0, NULL};
}

pd_status pd_context_synchronise(pd_context *context) {
    context->counts.waits++;
    return PD_OK;
}

pd_counts pd_context_counts(const pd_context *context) { return context->counts; }

pd_tally *pd_context_tally(pd_context *context) { return &context->tally; }

pd_status pd_device_count(int *count, pd_error *error) {
    (void)error;
    *count = 1;
    return PD_OK;
}

pd_status pd_device_name(int device, char name[256], pd_error *error) {
    if (device != 0) return pd_fail(error, PD_ERROR_VALUE, "device: %d is out of range for 1 device", device);
    memcpy(name, "cpu", 4);
    return PD_OK;
}

/* The compiler and its version, for which the bits of a result hold. */
#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "an unknown compiler"
#endif

void pd_device_versions(char text[256]) { snprintf(text, 256, "%s", COMPILER); }

pd_status pd_mark(pd_context *context, int which) {
    context->marks[which] = pd_seconds();
    return PD_OK;
}

pd_status pd_marked_seconds(pd_context *context, int from, int to, double *seconds) {
    *seconds = context->marks[to] - context->marks[from];
    return PD_OK;
}

/* Copies `source`, or zeros if it is NULL, in pieces. The kernel maps pages at their first access, which is too slow on one thread for
 * many gigabytes. */
static void move_bytes(const pd_context *context, void *target, const void *source, size_t bytes) {
    enum { PIECE = 1 << 22 };
    int pieces = (int)(bytes / PIECE + 1);
#pragma omp parallel for num_threads(pd_threads(context, pieces - 1, PIECE / 20)) schedule(static)
    for (int p = 0; p < pieces; p++) {
        size_t first = (size_t)p * PIECE, size = bytes - first < PIECE ? bytes - first : PIECE;
        if (source)
            memcpy((char *)target + first, (const char *)source + first, size);
        else
            memset((char *)target + first, 0, size);
    }
    (void)context;
}

pd_status pd_memory_create(pd_context *context, void **out, size_t bytes) {
    size_t rounded = (bytes / 64 + 1) * 64;
    *out = aligned_alloc(rounded < HUGE_PAGE ? 64 : HUGE_PAGE, rounded < HUGE_PAGE ? rounded : (rounded / HUGE_PAGE + 1) * HUGE_PAGE);
    if (!*out) return pd_fail(&context->error, PD_ERROR_MEMORY, "out of memory: %zu bytes asked for", bytes);
#ifdef MADV_HUGEPAGE
    // large arrays in pages of 2 MB: far fewer page faults at the first access, and fewer TLB misses later
    if (rounded >= HUGE_PAGE) madvise(*out, rounded, MADV_HUGEPAGE);
#endif
    move_bytes(context, *out, NULL, rounded);
    context->counts.allocations++;
    return PD_OK;
}

void pd_memory_destroy(pd_context *context, void *memory) {
    (void)context;
    free(memory);
}

pd_status pd_memory_copy(pd_context *context, void *target, const void *source, size_t bytes) {
    if (bytes) move_bytes(context, target, source, bytes);
    return PD_OK;
}

pd_status pd_memory_upload(pd_context *context, void *target, const void *source, size_t bytes) {
    context->counts.waits++;
    return pd_memory_copy(context, target, source, bytes);
}

pd_status pd_memory_download(pd_context *context, void *target, const void *source, size_t bytes) {
    context->counts.waits++;
    return pd_memory_copy(context, target, source, bytes);
}

pd_status pd_memory_fetch(pd_context *context, void *target, const void *source, size_t bytes) {
    return pd_memory_copy(context, target, source, bytes);
}

pd_status pd_pinned_create(pd_context *context, void **out, size_t bytes) {
    *out = malloc(bytes + 1);
    return *out ? PD_OK : pd_fail(&context->error, PD_ERROR_MEMORY, "out of memory: %zu bytes asked for", bytes);
}

void pd_pinned_destroy(pd_context *context, void *memory) {
    (void)context;
    free(memory);
}

pd_status pd_memory_send(pd_context *context, void *target, const void *source, size_t bytes) {
    return pd_memory_copy(context, target, source, bytes);
}

pd_status pd_memory_receive(pd_context *context, void *target, const void *source, size_t bytes) {
    return pd_memory_copy(context, target, source, bytes);
}

int pd_fetches_at_once(const pd_context *context) {
    (void)context;
    return 1;
}

pd_status pd_memory_clear(pd_context *context, void *target, size_t bytes) {
    if (bytes) move_bytes(context, target, NULL, bytes); // an empty array may have no memory
    return PD_OK;
}

/* ---- graphs: on the CPU a loop is a function call -------------------------------------------------------------------------- */

int pd_can_capture(const pd_context *context) {
    (void)context;
    return 0;
}

pd_status pd_capture_begin(pd_context *context) {
    return pd_fail(&context->error, PD_ERROR_UNSUPPORTED, "graphs: the CPU backend has none");
}

pd_status pd_capture_end(pd_context *context, pd_graph **out) {
    *out = NULL;
    return pd_capture_begin(context);
}

void pd_capture_refused(pd_context *context) { context->counts.refused++; }

pd_status pd_graph_launch(pd_context *context, const pd_graph *graph) {
    (void)graph;
    return pd_capture_begin(context);
}

int pd_graph_nodes(const pd_graph *graph) {
    (void)graph;
    return 0;
}

void pd_graph_destroy(pd_context *context, pd_graph *graph) { (void)context, (void)graph; }
