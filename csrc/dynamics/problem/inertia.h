/* The inertial target y of a step, and the velocity at its end: for vertices y = x_t + h v + h^2 a, or that of another integrator
 * (dynamics/integrator/integrator.h), for rigid bodies their free motion. */
#ifndef PD_DYNAMICS_PROBLEM_INERTIA_H
#define PD_DYNAMICS_PROBLEM_INERTIA_H

#include "dynamics/problem/problem.h"

/* All vectors B [n,3]. Errors: those of rigid.h. */

/* x, offset = x - y and the predicted displacement of the step: pd_first_guess. */
pd_status pd_inertia_first_guess(const pd_problem *self, int guess, const real *v, const real *v_previous, int has_previous,
                                 const real *targets, real *x, real *offset);
/* offset = x - y for another x. */
pd_status pd_inertia_offset(const pd_problem *self, const real *x, const real *v, real *offset);
/* v and v_previous at the end of the step. */
pd_status pd_inertia_velocity(const pd_problem *self, const real *x, const real *offset, real *v, real *v_previous);

#endif
