/* The motion of pins and obstacles in a step with contact: the displacement of each towards its target before an iteration.
 *
 * Each obstacle, and the pins of each body, have their own length. A free motion arrives at once. Otherwise a motion takes a share of
 * its free path, and never closes a gap below a thousandth of the activation distance. It waits while a gap that it closes is below a
 * hundredth of that distance and has not opened since the last move of the motion. A motion that opens a gap always passes. */
#ifndef PD_DYNAMICS_CONTACT_PRESCRIBED_MOTION_H
#define PD_DYNAMICS_CONTACT_PRESCRIBED_MOTION_H

#include "dynamics/problem/problem.h"

typedef struct pd_prescribed pd_prescribed;

/* For a problem with a scene whose response limits moves. Errors: PD_ERROR_MEMORY. */
pd_status pd_prescribed_create(pd_prescribed **out, const pd_problem *problem);
void pd_prescribed_destroy(pd_prescribed *self, const pd_problem *problem); /* NULL is allowed */

/* Begins a step, without any move. */
void pd_prescribed_begin(pd_prescribed *self);

/* Tells whether any pin or obstacle is not at its target. Synchronises. */
pd_status pd_prescribed_moves(pd_prescribed *self, const pd_problem *problem, const real *targets, const real *x, int *moves);

/* Moves the pins of x and the obstacles towards their targets.
 *   targets  B [n,3] of the pins
 *   last     the fraction of its correction that the last iteration took, which also limits obstructed motions
 *   moved, arrived  H  out  whether anything has moved, and whether all is at its target. Synchronises. Errors: PD_ERROR_MEMORY. */
pd_status pd_prescribed_advance(pd_prescribed *self, const pd_problem *problem, const real *targets, double last, real *x, int *moved,
                                int *arrived);

#endif
