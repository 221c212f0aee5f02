/* The local step of ADMM: every element separately, then a gather of the corners at every vertex. */
#include "updates/elements/admm_update.h"

#include "cpu/context.h"

#define PD_ADMM_ELEMENTS(KIND, name, k, d, count, ...)                                                                                \
    static void local_##name(pd_context *context, const pd_elements *g, const pd_step_data *step, const real *x, const real *weights, \
                             real *u, real *f) {                                                                                      \
        _Pragma("omp parallel for num_threads(pd_threads(context, g->n, 500)) schedule(static)") for (int e = 0; e < g->n; e++)       \
            pd_admm_update_##name(g, (real)step->inverse_h, step->x_t, x, weights[e], e, u + (size_t)e * 3 * (d),                     \
                                  f + (size_t)e * 3 * (k));                                                                           \
    }
PD_FORMULA_TABLE(PD_ADMM_ELEMENTS)

pd_status pd_admm_local(pd_context *context, const pd_model *model, const pd_step_data *step, const real *x, const real *offset,
                        real *const *weights, real *const *duals, real *residual) {
    for (int kind = 0; kind < model->n_kinds; kind++) {
        const pd_elements *g = &model->kinds[kind];
        real *f = model->corner_forces + 3 * (size_t)g->first_corner;
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: local_##name(context, g, step, x, weights[kind], duals[kind], f); break;
        PD_SWITCH(g->kind, PD_FORMULA_TABLE, PD_CASE)
#undef PD_CASE
    }
    return pd_gather_forces(context, model, step, offset, residual);
}
