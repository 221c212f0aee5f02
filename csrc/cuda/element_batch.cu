/* Batches of single elements, for pdgpu.elements; one thread per element. No step comes here: large functions are calls, which compile
 * in half the time. */
#define PD_CALL_LARGE_FUNCTIONS
#include "elements/vertex_step.h"

#include "cuda/elements.cuh"

#define PD_BATCH_KERNEL(KIND, name, k, d, count, ...)                                                                                     \
    static __global__ void name##_batch_kernel(int quantity, int n, const real *x, const real *rest, const real *parameters, real *out) { \
        int e = (int)(blockIdx.x * PD_THREADS + threadIdx.x);                                                                             \
        if (e >= n) return;                                                                                                               \
        const real *r = rest + (size_t)e * PD_REST_COUNT(k, d), *p = parameters + (size_t)e * (count);                                    \
        real F[3 * (d)], P[3 * (d)], H[9 * (d) * (d)];                                                                                    \
        pd_element_deformation(k, d, x + (size_t)e * 3 * (k), r, F);                                                                      \
        switch (quantity) {                                                                                                               \
        case PD_BATCH_ENERGY: out[e] = pd_##name##_energy(F, p); break;                                                                   \
        case PD_BATCH_HESSIAN:                                                                                                            \
        case PD_BATCH_HESSIAN_PSD:                                                                                                        \
            pd_##name##_hessian(F, p, quantity == PD_BATCH_HESSIAN_PSD, H);                                                               \
            pd_element_hessian_from_F(k, d, r, H, out + (size_t)e * 9 * (k) * (k));                                                       \
            break;                                                                                                                        \
        case PD_BATCH_BLOCKS:                                                                                                             \
            for (int a = 0; a < (k); a++) {                                                                                               \
                real along[3] = {0, 0, 0};                                                                                                \
                if ((k) > 1) pd_element_corner_gradient(k, d, r, a, along);                                                               \
                pd_##name##_block(F, p, along, out + ((size_t)e * (k) + (size_t)a) * 9);                                                  \
            }                                                                                                                             \
            break;                                                                                                                        \
        default:                                                                                                                          \
            pd_##name##_gradient(F, p, P);                                                                                                \
            if (quantity == PD_BATCH_GRADIENT)                                                                                            \
                pd_element_forces_from_gradient(k, d, r, P, out + (size_t)e * 3 * (k));                                                   \
            else                                                                                                                          \
                for (int i = 0; i < 3 * (d); i++) out[(size_t)e * 3 * (d) + (size_t)i] = P[i];                                            \
        }                                                                                                                                 \
    }
PD_ELEMENT_TABLE(PD_BATCH_KERNEL)

#define PD_PROJECT_KERNEL(KIND, name, k, d, count, ...)                                                                       \
    static __global__ void name##_project_kernel(int n, const real *x, const real *rest, const real *parameters, real *out) { \
        int e = (int)(blockIdx.x * PD_THREADS + threadIdx.x);                                                                 \
        if (e >= n) return;                                                                                                   \
        real F[3 * (d)];                                                                                                      \
        pd_element_deformation(k, d, x + (size_t)e * 3 * (k), rest + (size_t)e * PD_REST_COUNT(k, d), F);                     \
        pd_##name##_projection(F, parameters + (size_t)e * (count), out + (size_t)e * 3 * (d));                               \
    }
PD_PROJECTIVE_TABLE(PD_PROJECT_KERNEL)

static pd_status project_batch(pd_context *context, int kind, int n, const real *x, const real *rest, const real *parameters, real *out) {
    switch (kind) {
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: PD_LAUNCH(context, name##_project_kernel, n, n, x, rest, parameters, out); return PD_OK;
        PD_PROJECTIVE_TABLE(PD_CASE)
#undef PD_CASE
    default: return pd_fail(&context->error, PD_ERROR_TYPE, "kind: %d has no projection", kind);
    }
}

pd_status pd_element_batch(pd_context *context, int kind, int quantity, int n, const real *x, const real *rest, const real *parameters,
                           real *out) {
    if (quantity == PD_BATCH_PROJECTION) return project_batch(context, kind, n, x, rest, parameters, out);
    switch (kind) {
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: PD_LAUNCH(context, name##_batch_kernel, n, quantity, n, x, rest, parameters, out); return PD_OK;
        PD_ELEMENT_TABLE(PD_CASE)
#undef PD_CASE
    default: return pd_fail(&context->error, PD_ERROR_VALUE, "kind: %d is not an element kind", kind);
    }
}
