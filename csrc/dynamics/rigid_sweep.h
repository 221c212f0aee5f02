/* The rigid bodies of a scene in a sweep over blocks: of each, G is minimised by one Newton step with the 6x6 block of its Hessian. */
#ifndef PD_DYNAMICS_RIGID_SWEEP_H
#define PD_DYNAMICS_RIGID_SWEEP_H

#include "dynamics/method.h"

typedef struct pd_rigid_sweep pd_rigid_sweep;

/* *out = NULL where no body is rigid. Errors: PD_ERROR_MEMORY. */
pd_status pd_rigid_sweep_create(pd_rigid_sweep **out, const pd_problem *problem);
void pd_rigid_sweep_destroy(pd_rigid_sweep *self, pd_context *context); /* NULL is allowed */

/* iterate->direction of the vertices is known; adds that of the bodies, from where the vertices have gone. They move colour after colour, those of a
 * colour being no neighbours in the Hessian where the sweep begins; with contact each as far as nothing touches, so that what the iterate gets needs
 * no other guard (pd_iterate.limit). The block is exact, with contact that where the sweep begins; without the curvature of rotations and with
 * the elements' projected Hessians where it is not positive definite [Chen et al. 2024, Sec. 6.2: 6x6 blocks]. A line search shortens the step
 * until G falls. */
pd_status pd_rigid_sweep_bodies(pd_rigid_sweep *self, const pd_problem *problem, pd_iterate *iterate);
/* The same for methods that move all at once, and have a length for what comes of it: from where the iterate is, without a line search. With
 * `diagonal` by the diagonal of the block alone, with the projected Hessians. */
pd_status pd_rigid_sweep_at_once(pd_rigid_sweep *self, const pd_problem *problem, pd_iterate *iterate, int diagonal);

#endif
