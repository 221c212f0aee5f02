/* The damping potential of a step by the damping matrix, for the loops over elements that compute parts of G. Requires pd_is_damped. */
#ifndef PD_CPU_ELEMENTS_DAMPING_H
#define PD_CPU_ELEMENTS_DAMPING_H

#include "loops/element_loops.h"

/* gradient [n,3] += D u/h, N; not at fixed vertices. */
void pd_damping_add_gradient(pd_context *context, const pd_model *model, const pd_step_data *step, const real *x, real *gradient);

/* u.D u/(2h), J. Uses partial_sums. */
double pd_damping_energy(pd_context *context, const pd_model *model, const pd_step_data *step, const real *x);

#endif
