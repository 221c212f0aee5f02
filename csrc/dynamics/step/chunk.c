/* Chunks of iterations, and the graphs that replay them; see chunk.h. */
#include "dynamics/step/chunk.h"

#include "base/clock.h"
#include "dynamics/contact/step_limiter.h"
#include "dynamics/response.h"
#include "dynamics/rigid/rigid.h"

#include <stdlib.h>
#include <string.h>

/* LONGEST limits the length of a graph, and the delay of a Ctrl-C. PLACES and NODES limit the memory: with an accelerator every chunk of a
 * step may have its own weights, and one iteration may be a thousand sweeps. Further chunks run as loops. */
enum { LONGEST = 16, PLACES = 64, NODES = 32768 };

/* The key of a chunk: all data that its loops depend on. */
typedef struct chunk {
    int n;
    int first; /* iteration 0 of a step, which may differ in a method */
    pd_device_read device_read;
    real weights[LONGEST][2]; /* alpha and beta of pd_advance */
} chunk;

typedef struct table {
    int n;
    chunk chunks[PLACES];
    pd_graph *graphs[PLACES]; /* NULL: occurred once */
    pd_tally work[PLACES];    /* of each graph */
} table;

struct pd_chunks {
    table kept[2];   /* of recorded runs, and of others: one long record fills a table */
    int revision;    /* of the linear solver at the time of capture */
    int refused;     /* a capture failed: all chunks run as loops until the graphs are discarded */
    long long nodes; /* of all graphs */
    pd_error reason; /* of the last refusal; empty text: none */
};

pd_status pd_chunks_create(pd_chunks **out, pd_error *error) {
    *out = calloc(1, sizeof **out);
    return *out ? PD_OK : pd_fail(error, PD_ERROR_MEMORY, "out of memory for the graphs of a simulation");
}

void pd_chunks_forget(pd_chunks *chunks, pd_context *context) {
    for (int t = 0; t < 2; t++) {
        for (int i = 0; i < chunks->kept[t].n; i++) {
            pd_graph_destroy(context, chunks->kept[t].graphs[i]);
            chunks->kept[t].graphs[i] = NULL;
        }
        chunks->kept[t].n = 0;
    }
    chunks->nodes = 0;
    chunks->refused = 0;
}

void pd_chunks_destroy(pd_chunks *chunks, pd_context *context) {
    if (!chunks) return;
    pd_chunks_forget(chunks, context);
    free(chunks);
}

const char *pd_chunks_refusal(const pd_chunks *chunks) { return chunks->reason.text; }

/* Tells whether an accelerator changes the correction of the method. */
static int applies(const pd_simulation *self) { return self->accelerator && self->accelerator->apply; }

static int capturable(const pd_simulation *self) {
    const pd_accelerator *accelerator = self->accelerator;
    if (self->problem->response->waits) return 0;
    if (self->problem->rigid || self->problem->custom) return 0; // bodies move on the host, and functions of the caller run there
    if (applies(self) && !(accelerator->capturable && accelerator->capturable(self->accelerator_memory))) return 0;
    return pd_can_capture(self->problem->context) && self->method->capturable && self->method->capturable(self->method_memory);
}

int pd_chunk_length(const pd_simulation *self, int recording) {
    int every = self->settings.check_every, n = every - self->iterate.number % every,
        left = self->settings.iterations - self->iterate.number;
    if (recording || self->limiter.x || !capturable(self)) return 1;
    if (n > left) n = left;
    const pd_contact_response *response = self->problem->response;
    int due = response->every ? response->every(self->problem) : 0;
    if (due > 0 && n > due - self->iterate.number % due) n = due - self->iterate.number % due;
    return n < LONGEST ? n : LONGEST;
}

static pd_status reset(pd_simulation *self) {
    return self->accelerator ? self->accelerator->reset(self->accelerator_memory, self->problem) : PD_OK;
}

pd_status pd_chunks_begin(pd_simulation *self) {
    self->iterate.replaced = 0;
    return reset(self);
}

/* The weights of the next n moves. */
static void next_weights(pd_simulation *self, int n, double (*weights)[2]) {
    const pd_accelerator *accelerator = self->accelerator;
    for (int j = 0; j < n; j++) {
        weights[j][0] = -1.0, weights[j][1] = 0.0;
        if (accelerator && accelerator->weights) accelerator->weights(self->accelerator_memory, weights[j]);
    }
}

/* The correction of the method, then of the accelerator. A method that goes back (iterate->replaced) restarts the sequence, in a chunk of
 * one iteration. */
static pd_status find_correction(pd_simulation *self, double weights[2]) {
    pd_iterate *iterate = &self->iterate;
    const int replaced = iterate->replaced;
    pd_status status = self->method->correction(self->method_memory, self->problem, iterate);
    if (!status && iterate->replaced && !replaced) {
        status = reset(self);
        next_weights(self, 1, (double(*)[2])weights);
    }
    if (status || iterate->stalled || !applies(self)) return status;
    iterate->beyond = 1; // a correction of the accelerator keeps no vertex within its bound
    return self->accelerator->apply(self->accelerator_memory, self->problem, iterate);
}

/* The loops of a chunk, with the weights of its n moves. */
static pd_status run_loops(pd_simulation *self, int n, pd_device_read device_read, double (*weights)[2], double seconds[2]) {
    const pd_problem *problem = self->problem;
    const pd_contact_response *response = problem->response;
    pd_iterate *iterate = &self->iterate;
    pd_status status = PD_OK;
    for (int j = 0; j < n; j++) {
        pd_device_read report = j == n - 1 ? device_read : PD_DEVICE_READ_NONE;
        double start = pd_seconds(), middle;
        if (j) iterate->number++;
        iterate->stalled = iterate->displaced = 0;
        iterate->fraction = 1.0;
        iterate->cut = 0;
        iterate->setup = 0.0;
        // without a report, the method may make the move while it computes the correction
        const int within = self->method->moves && !report && !response->advance && !problem->rigid && !applies(self);
        const pd_move move = {problem->model,     &problem->step, weights[j][0],  weights[j][1],
                              iterate->increment, iterate->x,     iterate->offset};
        iterate->move = within ? &move : NULL;
        iterate->first = j == 0;
        iterate->last = j == n - 1 || self->accelerator; // the accelerator reads the previous step
        status = find_correction(self, weights[j]);
        iterate->evaluated = 0;
        const int moved = self->method->commits || (within && !iterate->move);
        iterate->move = NULL;
        middle = pd_seconds();
        seconds[0] += middle - start - iterate->setup;
        if (iterate->stalled || moved) iterate->replaced = 0;
        if (status || iterate->stalled) return status;
        if (moved) continue;
        if (problem->rigid) PD_TRY(pd_rigid_spread(problem, iterate->x, 1.0, iterate->correction));
        // a method that went back starts from elsewhere than where the iteration began
        if (problem->model->is_oriented && iterate->replaced) PD_TRY(pd_step_limiter_keep(self));
        if (response->advance)
            PD_TRY(response->advance(self, weights[j], report != PD_DEVICE_READ_NONE));
        else
            PD_TRY(pd_iterate_advance(problem, iterate, &problem->step, weights[j], report != PD_DEVICE_READ_NONE));
        iterate->replaced = 0;
        if (report == PD_DEVICE_READ_GRADIENT)
            PD_TRY(pd_dot(problem->context, problem->model, iterate->gradient, iterate->gradient, problem->scalars + 2));
        seconds[1] += pd_seconds() - middle;
    }
done:
    return status;
}

/* Captures a chunk. After a failure, for lack of memory or because of an operation that no graph can contain, *out is NULL and nothing has
 * run. The same loops then run without a graph, so that a persistent error, such as a lost device, occurs there again. The refusal is
 * counted, and its reason stored. */
static pd_status capture(pd_simulation *self, int n, pd_device_read device_read, double (*weights)[2], pd_graph **out, pd_tally *work) {
    pd_context *context = self->problem->context;
    pd_tally *tally = pd_context_tally(context);
    const pd_tally before = *tally;
    double seconds[2] = {0.0, 0.0};
    int begin = self->iterate.number;
    *out = NULL;
    pd_status status = pd_capture_begin(context);
    pd_error reason = *pd_context_error(context);
    if (status) goto failed;
    *tally = (pd_tally){0};
    status = run_loops(self, n, device_read, weights, seconds);
    *work = *tally;
    *tally = before;
    self->iterate.number = begin;
    if (status) reason = *pd_context_error(context); // the error at the end of the capture is only a consequence
    // a started capture must end, also after an error
    pd_status ended = pd_capture_end(context, out);
    if (status && !ended) {
        pd_graph_destroy(context, *out);
        *out = NULL;
    }
    if (!status && ended) reason = *pd_context_error(context);
    if (!status) status = ended;
    if (!status) return PD_OK;
failed:
    if (!reason.text[0]) pd_fail(&reason, status, "a loop failed in a capture");
    self->chunks->refused = 1;
    self->chunks->reason = reason;
    pd_capture_refused(context);
    if (status != PD_ERROR_DEVICE && status != PD_ERROR_MEMORY) return status;
    pd_context_error(context)->text[0] = 0; // otherwise a later error without a text would get this one
    return PD_OK;
}

/* The slot of a chunk in its table; a new chunk is entered. -1: the table is full. */
static int slot_of(table *kept, const chunk *wanted, int *known) {
    for (int i = 0; i < kept->n; i++) {
        *known = memcmp(&kept->chunks[i], wanted, sizeof *wanted) == 0;
        if (*known) return i;
    }
    *known = 0;
    if (kept->n == PLACES) return -1;
    kept->chunks[kept->n] = *wanted;
    return kept->n++;
}

pd_status pd_chunk_run(pd_simulation *self, int n, pd_device_read device_read, int recording, double seconds[2]) {
    double weights[LONGEST][2];
    seconds[0] = seconds[1] = 0.0;
    if (self->iterate.replaced) {
        pd_status status = reset(self);
        if (status) return status;
    }
    next_weights(self, n, weights);
    if (!capturable(self)) return run_loops(self, n, device_read, weights, seconds);
    self->iterate.evaluated = 0; // a graph is replayed at other iterates

    int revision = self->method->linear ? pd_linear_revision(self->method->linear(self->method_memory)) : 0;
    if (revision != self->chunks->revision) pd_chunks_forget(self->chunks, self->problem->context);
    self->chunks->revision = revision;

    chunk wanted;
    double start = pd_seconds();
    memset(&wanted, 0, sizeof wanted); // compared as bytes
    wanted.n = n;
    wanted.first = self->iterate.number == 0;
    wanted.device_read = device_read;
    for (int j = 0; j < n; j++) {
        wanted.weights[j][0] = (real)weights[j][0];
        wanted.weights[j][1] = (real)weights[j][1];
    }
    // the first time as loops: a single occurrence is not worth a graph, and by the second time every kernel has been loaded
    table *kept = &self->chunks->kept[recording != 0];
    int known, slot = slot_of(kept, &wanted, &known);
    if (!known || (!kept->graphs[slot] && (self->chunks->refused || self->chunks->nodes >= NODES)))
        return run_loops(self, n, device_read, weights, seconds);
    pd_status status = PD_OK;
    self->iterate.stalled = 0;
    if (!kept->graphs[slot]) {
        PD_TRY(capture(self, n, device_read, weights, &kept->graphs[slot], &kept->work[slot]));
        if (!kept->graphs[slot]) return run_loops(self, n, device_read, weights, seconds);
        self->chunks->nodes += pd_graph_nodes(kept->graphs[slot]);
    }
    PD_TRY(pd_graph_launch(self->problem->context, kept->graphs[slot]));
    pd_tally_add(pd_context_tally(self->problem->context), &kept->work[slot]);
    self->iterate.replaced = 0;
    self->iterate.number += n - 1;
    seconds[0] = pd_seconds() - start;
done:
    return status;
}
