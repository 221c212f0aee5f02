/* Second derivatives of elements, for the damping matrix. */
#ifndef PD_CUDA_ELEMENTS_ELEMENT_HESSIAN_CUH
#define PD_CUDA_ELEMENTS_ELEMENT_HESSIAN_CUH

#include "loops/element_loops.h"

/* damping_hessian of every damped kind, at x_t. */
pd_status pd_damping_hessians(pd_context *context, const pd_model *model, const real *x_t);

#endif
