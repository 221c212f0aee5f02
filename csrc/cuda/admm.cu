/* The local step of ADMM, one thread per element and one launch per kind. */
#include "elements/admm.h"

#include "cuda/context.cuh"

#define PD_ADMM_KERNEL(KIND, name, k, d, count, ...)                                                                                       \
    static __global__ void name##_admm_kernel(pd_elements g, real inverse_h, const real *x_t, const real *x, const real *weights, real *u, \
                                              real *f) {                                                                                   \
        int e = (int)(blockIdx.x * PD_THREADS + threadIdx.x);                                                                              \
        if (e >= g.n) return;                                                                                                              \
        const real *rest = g.rest + (size_t)e * PD_REST_COUNT(k, d);                                                                       \
        const int *vertices = g.vertices + (size_t)e * (k);                                                                                \
        real at[3 * (k)], F[3 * (d)], Ft[3 * (d)] = {0}, P[3 * (d)], scale = g.damping ? g.damping[e] * inverse_h : 0;                     \
        for (int i = 0; i < 3 * (k); i++) at[i] = x[3 * (size_t)vertices[i / 3] + (size_t)(i % 3)];                                        \
        pd_element_deformation(k, d, at, rest, F);                                                                                         \
        for (int i = 0; i < 3 * (k); i++) at[i] = x_t[3 * (size_t)vertices[i / 3] + (size_t)(i % 3)];                                      \
        if (scale > 0) pd_element_deformation(k, d, at, rest, Ft);                                                                         \
        pd_admm_local_##name(F, g.parameters + (size_t)e * (count), weights[e], scale,                                                     \
                             g.damping ? g.damping_hessian + (size_t)e * 9 * (d) * (d) : NULL, Ft, u + (size_t)e * 3 * (d), P);            \
        pd_element_forces_from_gradient(k, d, rest, P, f + (size_t)e * 3 * (k));                                                           \
    }
PD_ELEMENT_TABLE(PD_ADMM_KERNEL)

pd_status pd_admm_local(pd_context *context, const pd_model *model, const pd_step_data *step, const real *x, const real *offset,
                        real *const *weights, real *const *duals, real *residual) {
    for (int kind = 0; kind < model->n_kinds; kind++) {
        const pd_elements g = model->kinds[kind];
        real *f = model->corner_forces + 3 * (size_t)g.first_corner;
        switch (g.kind) {
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: PD_LAUNCH(context, name##_admm_kernel, g.n, g, (real)step->inverse_h, step->x_t, x, weights[kind], duals[kind], f); break;
            PD_ELEMENT_TABLE(PD_CASE)
#undef PD_CASE
        default: break;
        }
    }
    return pd_gather_forces(context, model, step, offset, residual);
}
