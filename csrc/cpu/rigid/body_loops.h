/* Shared parts of loops over rigid bodies, serial over the rows of a body. */
#ifndef PD_CPU_RIGID_BODY_LOOPS_H
#define PD_CPU_RIGID_BODY_LOOPS_H

#include "cpu/context.h"
#include "updates/rigid/rigid_update.h"

#include <limits.h>

/* The team of a loop over bodies of similar size, with the time per body and per row in nanoseconds. */
static inline int pd_bodies_team(const pd_context *context, const pd_bodies *bodies, int of_body, int of_row) {
    int rows = bodies->n_rows / (bodies->n > 0 ? bodies->n : 1);
    return pd_threads(context, bodies->n, of_body + of_row * (rows < 1000000 ? rows : 1000000));
}

static inline int pd_body_end(const pd_rigid_body *body) { return body->rows.first + body->rows.n; }

/* Records the first body that is no longer rigid; INT_MAX: none. */
static inline pd_status pd_bodies_note(const pd_bodies *bodies, int inverted) {
    if (inverted < *bodies->inverted) *bodies->inverted = inverted;
    return PD_OK;
}

#endif
