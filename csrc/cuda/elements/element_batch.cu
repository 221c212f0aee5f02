/* Batches of single elements, for pdgpu.elements; one thread per element. No step uses this file: large functions are calls, for a
 * shorter compilation. */
#define PD_CALL_LARGE_FUNCTIONS
#include "updates/elements/element_batch_update.h"

#include "cuda/context.cuh"

#define PD_BATCH_KERNEL(KIND, name, k, d, count, ...)                                                                          \
    static __global__ void name##_batch_kernel(int quantity, pd_hessian_filter filter, int n, const real *x, const real *rest, \
                                               const real *parameters, real *out) {                                            \
        int e = (int)(blockIdx.x * PD_THREADS + threadIdx.x);                                                                  \
        if (e < n) pd_batch_update_##name(quantity, filter, (size_t)e, x, rest, parameters, out);                              \
    }
PD_ELEMENT_TABLE(PD_BATCH_KERNEL)

#define PD_PROJECT_KERNEL(KIND, name, k, d, count, ...)                                                                       \
    static __global__ void name##_project_kernel(int n, const real *x, const real *rest, const real *parameters, real *out) { \
        int e = (int)(blockIdx.x * PD_THREADS + threadIdx.x);                                                                 \
        if (e < n) pd_projection_update_##name((size_t)e, x, rest, parameters, out);                                          \
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

pd_status pd_element_batch(pd_context *context, int kind, int quantity, pd_hessian_filter filter, int n, const real *x, const real *rest,
                           const real *parameters, real *out) {
    if (quantity == PD_BATCH_PROJECTION) return project_batch(context, kind, n, x, rest, parameters, out);
    switch (kind) {
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: PD_LAUNCH(context, name##_batch_kernel, n, quantity, filter, n, x, rest, parameters, out); return PD_OK;
        PD_ELEMENT_TABLE(PD_CASE)
#undef PD_CASE
    default: return pd_fail(&context->error, PD_ERROR_VALUE, "kind: %d is not an element kind", kind);
    }
}
