/* The inertial target at the start of a step, and the velocity and history at its end, for all time integrators. */
#ifndef PD_DYNAMICS_STEP_STEP_TARGET_H
#define PD_DYNAMICS_STEP_STEP_TARGET_H

#include "dynamics/problem/problem.h"

/* Computes the target of the step from problem->x_t with the velocity v B [n,3], after damping and contact have been prepared there. A first
 * step needs the acceleration at x_t by the forces of G: one gradient. Uses trial_offset and trial_gradient as scratch. Without an
 * integrator it does nothing. */
pd_status pd_step_target_begin(const pd_problem *problem, const real *v);

/* v and v_previous after the step, and the history of the integrator. */
pd_status pd_step_target_end(const pd_problem *problem, const real *x, const real *offset, real *v, real *v_previous);

#endif
