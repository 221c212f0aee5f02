/* Iterations without the host in between: the work of the frame between two readbacks.
 *
 * If the backend can capture and the method's correction runs on the device only, a repeated chunk, in this step or the next, is captured
 * into a graph and replayed: one launch for all kernels of its iterations. Otherwise a chunk is one iteration, and its loops are called
 * directly. Nothing that changes between steps is an argument of a loop (positions, loads and targets are in fixed buffers, h is
 * constant), so a graph is valid until a setting changes. */
#ifndef PD_DYNAMICS_STEP_CHUNK_H
#define PD_DYNAMICS_STEP_CHUNK_H

#include "dynamics/step/frame.h"

/* Allocates the graphs of a simulation. Errors: PD_ERROR_MEMORY. */
pd_status pd_chunks_create(pd_chunks **out, pd_error *error);
void pd_chunks_destroy(pd_chunks *chunks, pd_context *context); /* NULL is allowed */
/* Drops all graphs, after a change of settings. */
void pd_chunks_forget(pd_chunks *chunks, pd_context *context);

/* The reason of the last refused capture; "": none. It outlasts pd_chunks_forget. */
const char *pd_chunks_refusal(const pd_chunks *chunks);

/* The number of iterations from self->iterate.number on in one chunk: up to the next readback, or one. */
int pd_chunk_length(const pd_simulation *self, int recording);

/* The results of the last move of a chunk in the scalars of the problem, for the host to read back. */
typedef enum pd_device_read {
    PD_DEVICE_READ_NONE,
    PD_DEVICE_READ_MOVES,   /* [2] |step|^2 and the number of changed coordinates */
    PD_DEVICE_READ_GRADIENT /* [3] and |gradient|^2 at the start of the last correction, for a method that fills the gradient */
} pd_device_read;

/* Begins iterations without a predecessor: resets the accelerator. */
pd_status pd_chunks_begin(pd_simulation *self);

/* Runs n iterations from self->iterate.number on: correction, acceleration, move. seconds [2]: of the directions, of the moves; all in
 * the first for a graph, since a launch does not synchronise. If self->iterate.stalled is 1 afterwards, the last iteration has not
 * moved. */
pd_status pd_chunk_run(pd_simulation *self, int n, pd_device_read device_read, int recording, double seconds[2]);

#endif
