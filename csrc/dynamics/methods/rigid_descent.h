/* The rigid bodies of a scene in a sweep of Vertex Block Descent. For each in sequence, Newton steps with the 6x6 block of its Hessian
 * minimise G [Chen et al. 2024, Sec. 6.2]. Bodies that joints connect are one block of the sweep (rigid/mechanisms.h). A block needs its
 * own elements and pairs only. */
#ifndef PD_DYNAMICS_METHODS_RIGID_DESCENT_H
#define PD_DYNAMICS_METHODS_RIGID_DESCENT_H

#include "dynamics/method.h"
#include "loops/friction_loops.h"

typedef struct pd_rigid_descent pd_rigid_descent;

/* *out = NULL without rigid bodies. Errors: PD_ERROR_MEMORY. */
pd_status pd_rigid_descent_create(pd_rigid_descent **out, const pd_problem *problem);
void pd_rigid_descent_destroy(pd_rigid_descent *self, pd_context *context); /* NULL is allowed */

/* Adds the correction of the bodies to that of the vertices in iterate->correction, from the moved vertices. Groups of bodies move colour by
 * colour; those of a colour share no term of G. With contact each moves up to its first contact while the others rest, or within its
 * displacement bounds. iterate->beyond tells whether one has left that bound.
 *   bounds  of pd_contact_bound_displacements at the begin of the iteration; not read without contact */
pd_status pd_rigid_descent_bodies(pd_rigid_descent *self, const pd_problem *problem, const pd_contact_sweep *bounds, pd_iterate *iterate);

#endif
