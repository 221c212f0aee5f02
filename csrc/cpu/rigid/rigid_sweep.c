/* Sweeps over groups of rigid bodies, the groups of a colour in parallel. */
#include "cpu/rigid/pair_lanes.h"
#include "updates/rigid/rigid_descent.h"

enum { BODY_NANOSECONDS = 20000 };

pd_status pd_sweep_bodies(pd_context *context, const pd_model *model, const pd_step_data *step, const pd_body_sweep *sweep, int first,
                          int n) {
#pragma omp parallel for num_threads(pd_threads(context, n, BODY_NANOSECONDS)) schedule(dynamic, 1)
    for (int k = first; k < first + n; k++) pd_group_update(model, sweep, step, sweep->order[k]);
    return PD_OK;
}
