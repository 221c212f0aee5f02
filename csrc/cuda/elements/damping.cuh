/* The damping potential of a step by the damping matrix, for the loops over elements that compute parts of G. Requires pd_is_damped. */
#ifndef PD_CUDA_ELEMENTS_DAMPING_CUH
#define PD_CUDA_ELEMENTS_DAMPING_CUH

#include "loops/element_loops.h"

/* gradient [n,3] += D u/h, N; not at fixed vertices. */
pd_status pd_damping_add_gradient(pd_context *context, const pd_model *model, const pd_step_data *step, const real *x, real *gradient);

/* energies [PD_ENERGY_DAMPING] += u.D u/(2h), J. Uses partial_sums. */
pd_status pd_damping_add_energy(pd_context *context, const pd_model *model, const pd_step_data *step, const real *x, double *energies);

#endif
