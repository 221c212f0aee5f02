/* The forces that contact has to balance in a step: inertia, elasticity, damping and load, without contact. */
#ifndef PD_DYNAMICS_CONTACT_BALANCE_H
#define PD_DYNAMICS_CONTACT_BALANCE_H

#include "dynamics/step/frame.h"

/* forces = elastic and damping forces at x, N; zero rows at fixed vertices. Of rigid bodies as rigid.h says. `zeros` B [n,3] scratch. */
pd_status pd_balance_elastic(const pd_problem *problem, const real *x, real *zeros, real *forces);
/* *load = |M (y - x_t)|/h^2, quasistatic |m load|, N: the rate of change of momentum that inertia and load ask for. Uses the scratch of the
 * problem. */
pd_status pd_balance_load(pd_simulation *self, double *load);
/* A step begins at problem->x_t; it has ended, so that pd_simulation_unbalanced has an answer. */
pd_status pd_balance_begin(pd_simulation *self);
void pd_balance_end(pd_simulation *self);

#endif
