/* Iterations that follow one another without the host: what the frame asks for between two readbacks.
 *
 * Where the backend can capture and the method's direction runs on the device alone, a chunk that occurs again, in this step or the
 * next, is captured into a graph and replayed: one launch for all kernels of its iterations. Elsewhere a chunk is one iteration, and its
 * loops are called as they come. Nothing that changes from step to step is an argument of a loop (positions, loads and targets lie in
 * fixed buffers, h is a constant), so a graph serves until a setting changes. */
#ifndef PD_DYNAMICS_STEP_CHUNK_H
#define PD_DYNAMICS_STEP_CHUNK_H

#include "dynamics/step/frame.h"

/* Room for the graphs of a simulation. Errors: PD_ERROR_MEMORY. */
pd_status pd_chunks_create(pd_chunks **out, pd_error *error);
void pd_chunks_destroy(pd_chunks *chunks, pd_context *context); /* NULL is allowed */
/* Settings have changed: what was captured with the old ones is of no use. */
void pd_chunks_forget(pd_chunks *chunks, pd_context *context);

/* Why the last capture was refused; "": none was. It outlasts pd_chunks_forget. */
const char *pd_chunks_refusal(const pd_chunks *chunks);

/* Iterations from self->iterate.number on that run as one chunk: up to the next readback, or one. */
int pd_chunk_length(const pd_simulation *self, int recording);

/* What the last move of a chunk leaves in the scalars of the problem for the host to read back. */
typedef enum pd_readback {
    PD_READBACK_NONE,
    PD_READBACK_MOVES,   /* [2] |step|^2 and the number of coordinates that changed */
    PD_READBACK_GRADIENT /* [3] and |gradient|^2 where the last direction started, of a method that fills the gradient */
} pd_readback;

/* Iterations begin, and none came before: the accelerator is reset. */
void pd_chunks_begin(pd_simulation *self);

/* Runs n iterations from self->iterate.number on: direction, acceleration, move.
 * seconds [2]: of the directions, of the moves; all in the first where a graph was launched, since a launch does not wait.
 * Where self->iterate.stalled is left at 1, the last iteration has not moved. */
pd_status pd_chunk_run(pd_simulation *self, int n, pd_readback readback, int recording, double seconds[2]);

#endif
