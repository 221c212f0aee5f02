/* The rigid bodies of a scene in a sweep of Vertex Block Descent: of each, one after the other, G is minimised by one Newton step with the
 * 6x6 block of its Hessian [Chen et al. 2024, Sec. 6.2]. What a body asks for are its own elements and pairs, and nothing of the rest of
 * the scene. */
#ifndef PD_DYNAMICS_METHODS_RIGID_DESCENT_H
#define PD_DYNAMICS_METHODS_RIGID_DESCENT_H

#include "dynamics/method.h"
#include "loops/friction_loops.h"

typedef struct pd_rigid_descent pd_rigid_descent;

/* *out = NULL where no body is rigid. Errors: PD_ERROR_MEMORY. */
pd_status pd_rigid_descent_create(pd_rigid_descent **out, const pd_problem *problem);
void pd_rigid_descent_destroy(pd_rigid_descent *self, pd_context *context); /* NULL is allowed */

/* iterate->direction of the vertices is known; adds that of the bodies, from where the vertices have gone. They move colour after colour,
 * bodies of a colour sharing no term of G. With contact each goes as far as nothing touches while the others stay, or as its displacement
 * bound allows, and iterate->beyond says whether one has left that.
 *   bounds  of pd_contact_reach where the iteration began; not read without contact */
pd_status pd_rigid_descent_bodies(pd_rigid_descent *self, const pd_problem *problem, const pd_contact_sweep *bounds, pd_iterate *iterate);

#endif
