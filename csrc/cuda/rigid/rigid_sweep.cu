/* Sweeps over groups of rigid bodies, one thread per group and one launch per colour. */
#define PD_CALL_LARGE_FUNCTIONS
#include "updates/rigid/rigid_descent.h"

#include "cuda/context.cuh"

/* Its arguments stay in constant memory: without __grid_constant__ every thread copies all of them to its stack. */
static __global__ void sweep_bodies_kernel(const __grid_constant__ pd_model model, const __grid_constant__ pd_step_data step,
                                           const __grid_constant__ pd_body_sweep sweep, int first, int n) {
    int k = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (k < n) pd_group_update(&model, &sweep, &step, sweep.order[first + k]);
}

pd_status pd_sweep_bodies(pd_context *context, const pd_model *model, const pd_step_data *step, const pd_body_sweep *sweep, int first,
                          int n) {
    PD_LAUNCH(context, sweep_bodies_kernel, n, *model, *step, *sweep, first, n);
    return PD_OK;
}
