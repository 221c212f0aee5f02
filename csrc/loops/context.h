/* The context of a backend, its memory and its graphs, which all loops need. The rules of backend.h hold. */
#ifndef PD_LOOPS_CONTEXT_H
#define PD_LOOPS_CONTEXT_H

#include "base/real.h"
#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- context and memory ------------------------------------------------------------------------------------------- */

typedef struct pd_context pd_context;

/* The place of a context: its device (0 on the CPU), and its number of host threads. */
typedef struct pd_place {
    int device, threads; /* >= 0, >= 1 */
} pd_place;

/* All work and memory of a context is on its device. Another context, of another device or the same, may be used in between, by the same
 * thread or another. Errors: PD_ERROR_DEVICE for a missing device, PD_ERROR_MEMORY. */
pd_status pd_context_create(pd_context **out, pd_place place, pd_error *error);
void pd_context_destroy(pd_context *context);    /* NULL is allowed */
pd_error *pd_context_error(pd_context *context); /* the text of failing loops */
int pd_context_threads(const pd_context *context);

/* The location of backend memory, for other libraries that read it in place. */
typedef struct pd_location {
    int on_device; /* 0: host memory */
    int device;    /* number of the device */
    void *stream;  /* NULL on the host */
} pd_location;
pd_location pd_context_location(const pd_context *context);

/* Synchronises: returns when the device has finished all work of the context. */
pd_status pd_context_synchronise(pd_context *context);

/* Events in the sequence of loops, and the device seconds (the CPU: host seconds) between the last two of their kinds. An event does not
 * synchronise and is not captured. The seconds are valid after a synchronisation that follows the later event. */
enum { PD_MARK_BEGIN, PD_MARK_MIDDLE, PD_MARK_END, PD_MARK_COUNT };
pd_status pd_mark(pd_context *context, int which);
pd_status pd_marked_seconds(pd_context *context, int from, int to, double *seconds);

/* Counts of the calls to a context since its creation. */
typedef struct pd_counts {
    long long waits;              /* synchronisations: uploads, downloads, pd_context_synchronise; the CPU counts the same calls */
    long long allocations;        /* pd_memory_create */
    long long captures, launches; /* of graphs */
    long long refused;            /* pd_capture_refused */
} pd_counts;
pd_counts pd_context_counts(const pd_context *context);

/* The work of a step so far, in machine-independent units. The host counts it in the functions that do the work, so it is the same on every
 * device and for any number of threads; a graph adds the counts of its loops (dynamics/step/chunk.c). */
typedef struct pd_tally {
    long long potentials, gradients, hessians; /* of G, over all elements */
    long long products;                        /* of A or H with a vector of all vertices */
    long long factorizations, solves;          /* of a sparse or dense matrix; forwards and backwards through a factor, once for [n,3] */
    long long projections;                     /* local steps over all elements */
    long long sweeps;                          /* over all vertices, rows of A or constraints */
    long long searches, ccd_pairs;             /* searches for neighbour pairs; pairs whose time of impact was computed */
    long long launches, waits;                 /* of kernels, for the device; 0 on the CPU */
    int counting;                              /* 0 outside steps, and while a step is recorded: counts of that time are reset */
} pd_tally;
pd_tally *pd_context_tally(pd_context *context);
/* Stops counting, and returns the counts for pd_tally_resume: records and stopping rules are no part of a step. */
static inline pd_tally pd_tally_pause(pd_context *context) {
    pd_tally *tally = pd_context_tally(context), before = *tally;
    tally->counting = 0;
    return before;
}
static inline void pd_tally_resume(pd_context *context, const pd_tally *before) { *pd_context_tally(context) = *before; }
static inline void pd_tally_add(pd_tally *tally, const pd_tally *more) {
    tally->potentials += more->potentials, tally->gradients += more->gradients, tally->hessians += more->hessians;
    tally->products += more->products, tally->factorizations += more->factorizations, tally->solves += more->solves;
    tally->projections += more->projections, tally->sweeps += more->sweeps, tally->searches += more->searches;
    tally->ccd_pairs += more->ccd_pairs, tally->launches += more->launches, tally->waits += more->waits;
}

/* Number of devices this backend can use, and the name of one; the CPU counts as one device. Where there is none, the text of
 * `error` says why; that is no failure. */
pd_status pd_device_count(int *count, pd_error *error);
pd_status pd_device_name(int device, char name[256], pd_error *error);
/* The software of the backend: versions of runtime and driver; on the CPU the compiler. */
void pd_device_versions(char text[256]);

/* Allocates zero-filled backend memory. Errors: PD_ERROR_MEMORY, with the size. */
pd_status pd_memory_create(pd_context *context, void **out /* B */, size_t bytes);
void pd_memory_destroy(pd_context *context, void *memory); /* NULL is allowed */
#define PD_MEMORIES_DESTROY(context, ...) \
    pd_memories_destroy(context, (void *const[]){__VA_ARGS__}, sizeof((void *const[]){__VA_ARGS__}) / sizeof(void *))
static inline void pd_memories_destroy(pd_context *context, void *const *memories, size_t n) {
    for (size_t i = 0; i < n; i++) pd_memory_destroy(context, memories[i]);
}
pd_status pd_memory_upload(pd_context *context, void *target /* B */, const void *source /* H */, size_t bytes);
pd_status pd_memory_download(pd_context *context, void *target /* H */, const void *source /* B */, size_t bytes);
/* Enqueues the transfer of a few numbers to target (H). They arrive by the next synchronisation of any kind, which several transfers
 * share; on the CPU, and wherever pd_fetches_at_once is nonzero, at the return. The target must stay valid until then. */
pd_status pd_memory_fetch(pd_context *context, void *target /* H */, const void *source /* B */, size_t bytes);
int pd_fetches_at_once(const pd_context *context);
pd_status pd_memory_copy(pd_context *context, void *target /* B */, const void *source /* B */, size_t bytes);
/* Host memory that a device can access, and asynchronous copies through it. Sent data must not change, and received data are valid,
 * until or after the next synchronisation; where pd_fetches_at_once is nonzero, at the return. */
pd_status pd_pinned_create(pd_context *context, void **out /* H */, size_t bytes);
void pd_pinned_destroy(pd_context *context, void *memory);
pd_status pd_memory_send(pd_context *context, void *target /* B */, const void *source /* H, pinned */, size_t bytes);
pd_status pd_memory_receive(pd_context *context, void *target /* H, pinned */, const void *source /* B */, size_t bytes);
pd_status pd_memory_clear(pd_context *context, void *target /* B */, size_t bytes);

/* ---- graphs ------------------------------------------------------------------------------------------------------- */

/* A recorded sequence of loops with fixed arguments, to be run as a whole: on a GPU one launch instead of one per kernel. Between begin
 * and end, loops, pd_memory_copy and pd_memory_clear are recorded and not run. Synchronisations and allocations (uploads, downloads,
 * pd_memory_create) are forbidden there. Arguments are stored by value, pointers as they are. */
typedef struct pd_graph pd_graph;

/* 0: this backend cannot capture, and the functions below must not be called. */
int pd_can_capture(const pd_context *context);
pd_status pd_capture_begin(pd_context *context);
/* Ends every begun capture, also one with a failed loop: *out = NULL then. */
pd_status pd_capture_end(pd_context *context, pd_graph **out);
/* Counts a failed capture, whose loops run without a graph. */
void pd_capture_refused(pd_context *context);
pd_status pd_graph_launch(pd_context *context, const pd_graph *graph);
int pd_graph_nodes(const pd_graph *graph);                   /* kernels, copies and clears in it */
void pd_graph_destroy(pd_context *context, pd_graph *graph); /* NULL is allowed */

#ifdef __cplusplus
}
#endif

#endif
