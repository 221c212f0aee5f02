/* Elements of materials of the caller: output of their deformation gradients, input of the results; one thread per element. */
#include "updates/elements/custom_update.h"

#include "cuda/context.cuh"

#define PD_CUSTOM_KERNELS(KIND, name, k, d, count, ...)                                                                                  \
    static __global__ void name##_deformation_kernel(pd_elements g, pd_element_part part, int stride, const real *x, const int *corners, \
                                                     real *F) {                                                                          \
        int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);                                                                            \
        if (i < part.n) pd_custom_update_deformation_##name(&g, part, stride, x, corners, i, F);                                         \
    }                                                                                                                                    \
    static __global__ void name##_store_kernel(pd_elements g, pd_element_part part, int from, int n, const real *values) {               \
        int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);                                                                            \
        if (i < part.n) pd_custom_update_store_##name(&g, part, from, n, values, i);                                                     \
    }
PD_CUSTOM_TABLE(PD_CUSTOM_KERNELS)

pd_status pd_custom_deformations(pd_context *context, const pd_elements *g, pd_element_part part, int stride, const real *x,
                                 const int *corners, real *F) {
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: PD_LAUNCH(context, name##_deformation_kernel, part.n, *g, part, stride, x, corners, F); break;
    PD_SWITCH(g->kind, PD_CUSTOM_TABLE, PD_CASE)
#undef PD_CASE
    return PD_OK;
}

pd_status pd_custom_store(pd_context *context, const pd_elements *g, pd_element_part part, int from, int count, const real *values) {
#define PD_CASE(KIND, name, k, d, count_, ...) \
    case KIND: PD_LAUNCH(context, name##_store_kernel, part.n, *g, part, from, count, values); break;
    PD_SWITCH(g->kind, PD_CUSTOM_TABLE, PD_CASE)
#undef PD_CASE
    return PD_OK;
}
