/* Elements of materials of the caller: output of their deformation gradients, input of the results. */
#include "updates/elements/custom_update.h"

#include "cpu/context.h"

enum { NANOSECONDS = 30 };

#define PD_CUSTOM_LOOPS(KIND, name, k, d, count, ...)                                                                                  \
    static void deformations_##name(pd_context *context, const pd_elements *g, pd_element_part part, int stride, const real *x,        \
                                    const int *corners, real *F) {                                                                     \
        _Pragma("omp parallel for num_threads(pd_threads(context, part.n, NANOSECONDS)) schedule(static)") for (int i = 0; i < part.n; \
                                                                                                                i++)                   \
            pd_custom_update_deformation_##name(g, part, stride, x, corners, i, F);                                                    \
    }                                                                                                                                  \
    static void store_##name(pd_context *context, const pd_elements *g, pd_element_part part, int from, int n, const real *values) {   \
        _Pragma("omp parallel for num_threads(pd_threads(context, part.n, NANOSECONDS)) schedule(static)") for (int i = 0; i < part.n; \
                                                                                                                i++)                   \
            pd_custom_update_store_##name(g, part, from, n, values, i);                                                                \
    }
PD_CUSTOM_TABLE(PD_CUSTOM_LOOPS)

pd_status pd_custom_deformations(pd_context *context, const pd_elements *g, pd_element_part part, int stride, const real *x,
                                 const int *corners, real *F) {
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: deformations_##name(context, g, part, stride, x, corners, F); break;
    PD_SWITCH(g->kind, PD_CUSTOM_TABLE, PD_CASE)
#undef PD_CASE
    return PD_OK;
}

pd_status pd_custom_store(pd_context *context, const pd_elements *g, pd_element_part part, int from, int count, const real *values) {
#define PD_CASE(KIND, name, k, d, count_, ...) \
    case KIND: store_##name(context, g, part, from, count, values); break;
    PD_SWITCH(g->kind, PD_CUSTOM_TABLE, PD_CASE)
#undef PD_CASE
    return PD_OK;
}
