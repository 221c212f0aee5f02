/* The local step of ADMM, one thread per element and one launch per kind. */
#include "updates/elements/admm_update.h"

#include "cuda/context.cuh"

#define PD_ADMM_KERNEL(KIND, name, k, d, count, ...)                                                                                       \
    static __global__ void name##_admm_kernel(pd_elements g, real inverse_h, const real *x_t, const real *x, const real *weights, real *u, \
                                              real *f) {                                                                                   \
        int e = (int)(blockIdx.x * PD_THREADS + threadIdx.x);                                                                              \
        if (e < g.n) pd_admm_update_##name(&g, inverse_h, x_t, x, weights[e], e, u + (size_t)e * 3 * (d), f + (size_t)e * 3 * (k));        \
    }
PD_FORMULA_TABLE(PD_ADMM_KERNEL)

pd_status pd_admm_local(pd_context *context, const pd_model *model, const pd_step_data *step, const real *x, const real *offset,
                        real *const *weights, real *const *duals, real *residual) {
    for (int kind = 0; kind < model->n_kinds; kind++) {
        const pd_elements g = model->kinds[kind];
        real *f = model->corner_forces + 3 * (size_t)g.first_corner;
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: PD_LAUNCH(context, name##_admm_kernel, g.n, g, (real)step->inverse_h, step->x_t, x, weights[kind], duals[kind], f); break;
        PD_SWITCH(g.kind, PD_FORMULA_TABLE, PD_CASE)
#undef PD_CASE
    }
    return pd_gather_forces(context, model, step, offset, residual);
}
