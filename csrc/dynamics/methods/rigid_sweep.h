/* The rigid bodies of a scene in a method that moves all at once: for each a Newton step with the 6x6 block of its Hessian. Bodies that
 * joints connect are one block (rigid/mechanisms.h). rigid_descent.h has their sequential sweep in Vertex Block Descent. */
#ifndef PD_DYNAMICS_METHODS_RIGID_SWEEP_H
#define PD_DYNAMICS_METHODS_RIGID_SWEEP_H

#include "dynamics/method.h"

typedef struct pd_rigid_sweep pd_rigid_sweep;

/* *out = NULL without rigid bodies. Errors: PD_ERROR_MEMORY. */
pd_status pd_rigid_sweep_create(pd_rigid_sweep **out, const pd_problem *problem);
void pd_rigid_sweep_destroy(pd_rigid_sweep *self, pd_context *context); /* NULL is allowed */

/* Adds the correction of the bodies to that of the vertices in iterate->correction, at the iterate and without a line search: for methods
 * that move all at once with a common length. The block is exact. If it is not positive definite, it is taken without the curvature of
 * rotations and with the elements' projected Hessians. With `diagonal` only its diagonal, with the projected Hessians. */
pd_status pd_rigid_sweep_at_once(pd_rigid_sweep *self, const pd_problem *problem, pd_iterate *iterate, int diagonal);

#endif
