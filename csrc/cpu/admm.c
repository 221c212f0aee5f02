/* The local step of ADMM: every element by itself, then every vertex gathers its corners. */
#include "elements/admm.h"

#include "cpu/context.h"

#define PD_ADMM_ELEMENTS(KIND, name, k, d, count, ...)                                                                                \
    static void local_##name(pd_context *context, const pd_elements *g, const pd_step_data *step, const real *x, const real *weights, \
                             real *u, real *f) {                                                                                      \
        _Pragma("omp parallel for num_threads(pd_threads(context, g->n, 500)) schedule(static)") for (int e = 0; e < g->n; e++) {     \
            const real *rest = g->rest + (size_t)e * PD_REST_COUNT(k, d);                                                             \
            const int *vertices = g->vertices + (size_t)e * (k);                                                                      \
            real at[3 * (k)], F[3 * (d)], Ft[3 * (d)] = {0}, P[3 * (d)];                                                              \
            real scale = g->damping ? g->damping[e] * (real)step->inverse_h : 0;                                                      \
            for (int i = 0; i < 3 * (k); i++) at[i] = x[3 * (size_t)vertices[i / 3] + (size_t)(i % 3)];                               \
            pd_element_deformation(k, d, at, rest, F);                                                                                \
            for (int i = 0; i < 3 * (k); i++) at[i] = step->x_t[3 * (size_t)vertices[i / 3] + (size_t)(i % 3)];                       \
            if (scale > 0) pd_element_deformation(k, d, at, rest, Ft);                                                                \
            pd_admm_local_##name(F, g->parameters + (size_t)e * (count), weights[e], scale,                                           \
                                 g->damping ? g->damping_hessian + (size_t)e * 9 * (d) * (d) : NULL, Ft, u + (size_t)e * 3 * (d), P); \
            pd_element_forces_from_gradient(k, d, rest, P, f + (size_t)e * 3 * (k));                                                  \
        }                                                                                                                             \
    }
PD_ELEMENT_TABLE(PD_ADMM_ELEMENTS)

pd_status pd_admm_local(pd_context *context, const pd_model *model, const pd_step_data *step, const real *x, const real *offset,
                        real *const *weights, real *const *duals, real *residual) {
    for (int kind = 0; kind < model->n_kinds; kind++) {
        const pd_elements *g = &model->kinds[kind];
        real *f = model->corner_forces + 3 * (size_t)g->first_corner;
        switch (g->kind) {
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: local_##name(context, g, step, x, weights[kind], duals[kind], f); break;
            PD_ELEMENT_TABLE(PD_CASE)
#undef PD_CASE
        default: break;
        }
    }
    return pd_gather_forces(context, model, step, offset, residual);
}
