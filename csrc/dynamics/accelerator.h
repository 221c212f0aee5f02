/* What an outer acceleration contributes to the common frame (frame.c): a table of functions over memory of its own, which no other file
 * looks into. The iterations of a method are a fixed-point map, x_{k+1} = x_k - d_k. An accelerator makes of its iterates a sequence that
 * converges sooner. It sees vectors x and d, and knows neither the method nor contact.
 *
 *     create -> { reset, { weights, direction of the method, apply, move } } -> destroy */
#ifndef PD_DYNAMICS_ACCELERATOR_H
#define PD_DYNAMICS_ACCELERATOR_H

#include "base/option.h"
#include "dynamics/problem/problem.h"

typedef struct pd_accelerator {
    const char *name;         /* of the setting of a solver that asks for it: a dict of its options, or None */
    const pd_option *options; /* its settings */
    size_t settings_size;     /* bytes of the structure that they fill */

    /* Memory of its own, and all that a step needs. `settings`, the filled structure, lasts for the call, and the problem as long as *self.
     * A *self that is half made after a failure is destroyed. */
    pd_status (*create)(void **self, const pd_problem *problem, const void *settings);
    void (*destroy)(void *self, const pd_problem *problem); /* NULL is allowed for self */
    /* The next iteration is the first of a sequence. The iterate is not where the last move of the accelerator put it, or a step begins. */
    void (*reset)(void *self);
    /* weights [2] of the next move, step = weights[0] direction + weights[1] step (pd_advance), of numbers of the host alone. It is called
     * before the direction is known, and n times in a row for n moves that follow one another without the host. A reset discards the rest.
     * NULL: -1 and 0. */
    void (*weights)(void *self, double weights[2]);
    /* Replaces direction B [n_vertices,3], that of the method at x, before the move. Its rows at fixed vertices have no meaning. An
     * accelerator that finds its last x worse than the one before goes back by its direction. NULL: the direction is that of the method,
     * and move and direction may be fused. */
    pd_status (*apply)(void *self, const pd_problem *problem, const real *x, real *direction);
    /* Whether apply can be captured into a graph: it waits for nothing and passes the same pointers and numbers every time. What changes
     * from one iteration to the next lies in its memory on the device then. NULL: it cannot. */
    int (*capturable)(const void *self);
} pd_accelerator;

#endif
