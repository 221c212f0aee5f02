/* The rigid bodies of a scene where all of it moves at once: of each a Newton step with the 6x6 block of its Hessian. In a sweep of Vertex
 * Block Descent, one after the other, they are those of rigid_descent.h. */
#ifndef PD_DYNAMICS_METHODS_RIGID_SWEEP_H
#define PD_DYNAMICS_METHODS_RIGID_SWEEP_H

#include "dynamics/method.h"

typedef struct pd_rigid_sweep pd_rigid_sweep;

/* *out = NULL where no body is rigid. Errors: PD_ERROR_MEMORY. */
pd_status pd_rigid_sweep_create(pd_rigid_sweep **out, const pd_problem *problem);
void pd_rigid_sweep_destroy(pd_rigid_sweep *self, pd_context *context); /* NULL is allowed */

/* iterate->direction of the vertices is known; adds that of the bodies, from where the iterate is, without a line search: for methods that
 * move all at once, and have a length for what comes of it. The block is exact; without the curvature of rotations and with the elements'
 * projected Hessians where it is not positive definite. With `diagonal` by the diagonal of the block alone, with the projected Hessians. */
pd_status pd_rigid_sweep_at_once(pd_rigid_sweep *self, const pd_problem *problem, pd_iterate *iterate, int diagonal);

#endif
