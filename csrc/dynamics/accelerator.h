/* The interface of an outer acceleration to the common frame (frame.c): a table of functions over its own private memory. The iterations
 * of a method are a fixed-point map, x_{k+1} = x_k - d_k. An accelerator turns its iterates into a sequence that converges faster. It
 * uses the vectors x and d, and does not depend on the method or on contact.
 *
 *     create -> { reset, { weights, correction of the method, apply, move } } -> destroy */
#ifndef PD_DYNAMICS_ACCELERATOR_H
#define PD_DYNAMICS_ACCELERATOR_H

#include "dynamics/method.h"

/* The iteration of a method, to its accelerator. */
typedef struct pd_accelerated {
    int minimises_potential; /* each of its steps lowers G */
    pd_carried x;            /* of the positions: values NULL, and the weights of their rows */
    int n_carried;
    pd_carried carried[PD_KIND_COUNT];
} pd_accelerated;

typedef struct pd_accelerator {
    const char *name;         /* of the setting of a solver for it: a dict of its options, or None */
    const pd_option *options; /* its settings */
    size_t settings_size;     /* bytes of the structure of the settings */

    /* Allocates its memory, including all that a step needs. `settings`, the filled structure, is valid during the call, the problem as
     * long as *self; so are the arrays of the iteration. The caller destroys a partial *self after a failure. */
    pd_status (*create)(void **self, const pd_problem *problem, const pd_accelerated *iteration, const void *settings);
    void (*destroy)(void *self, const pd_problem *problem); /* NULL is allowed for self */
    /* Starts a new sequence with the next iteration: at the begin of a step, or if the iterate is not the result of the accelerator's
     * last move. Not within a captured graph: it may change memory of the device. */
    pd_status (*reset)(void *self, const pd_problem *problem);
    /* weights [2] of the next move, increment = weights[0] correction + weights[1] increment (pd_advance), from numbers on the host only.
     * Called before the correction is known, and n times in a row for n moves without the host in between. A reset discards the rest.
     * NULL: -1 and 0. */
    void (*weights)(void *self, double weights[2]);
    /* Replaces iterate->correction, that of the method at x, before the move, and the values of the iteration's arrays. Rows of fixed
     * vertices are ignored. An accelerator that finds its last x worse than the one before returns there by its correction. NULL: the
     * correction is that of the method, and move and correction may be fused. */
    pd_status (*apply)(void *self, const pd_problem *problem, const pd_iterate *iterate);
    /* Tells whether apply can be captured into a graph: without synchronisation, and with constant pointers and numbers. Data that
     * change between iterations are then in its device memory. NULL: it cannot. */
    int (*capturable)(const void *self);
} pd_accelerator;

#endif
