/* The forces that contact has to balance in a step: inertia, elasticity, damping and load, without contact. */
#ifndef PD_DYNAMICS_CONTACT_BALANCE_H
#define PD_DYNAMICS_CONTACT_BALANCE_H

#include "dynamics/step/frame.h"

/* forces = elastic and damping forces at x, N; zero rows at fixed vertices. Those of rigid bodies are documented in rigid.h. `zeros` B
 * [n,3] scratch. */
pd_status pd_balance_elastic(const pd_problem *problem, const real *x, real *zeros, real *forces);
/* *load = |M (y - x_t)|/h^2, quasistatic |m load|, N: the rate of change of momentum by inertia and load. Uses the scratch of the
 * problem. */
pd_status pd_balance_load(pd_simulation *self, double *load);
/* For the begin of a step at problem->x_t, and for its end, which enables pd_simulation_unbalanced. */
pd_status pd_balance_begin(pd_simulation *self);
void pd_balance_end(pd_simulation *self);

#endif
