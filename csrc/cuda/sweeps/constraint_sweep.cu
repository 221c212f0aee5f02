/* Sweeps over constraints, one thread per element and one launch per colour and kind. */
#include "updates/sweeps/constraint_update.h"

#include "cuda/context.cuh"
#include "cuda/vertices.cuh"

#define PD_CONSTRAINT_SEGMENT(KIND, name, k, d, count, ...)                                                                        \
    static __global__ void name##_segment_kernel(pd_vertices vertices, pd_elements g, const int *elements, int n, real compliance, \
                                                 real *multipliers, real *normals, real *positions, real *correction) {            \
        const pd_model model = vertices.model();                                                                                   \
        int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);                                                                      \
        if (i < n) pd_constraint_update_##name(&model, &g, elements[i], compliance, multipliers, normals, positions, correction);  \
    }
PD_FORMULA_TABLE(PD_CONSTRAINT_SEGMENT)

pd_status pd_sweep_constraints(pd_context *context, const pd_model *model, const pd_constraint_sweep *sweep, double compliance,
                               real *positions, real *correction) {
    for (int s = 0; s < sweep->n_segments; s++) {
        int kind = sweep->segment_kinds[s], n = sweep->segment_start[s + 1] - sweep->segment_start[s];
        const int *elements = sweep->elements + sweep->segment_start[s];
        const pd_elements g = model->kinds[kind];
        real *multipliers = sweep->multipliers[kind], *normals = sweep->normals[kind], a = (real)compliance;
#define PD_CASE(KIND, name, k, d, count, ...)                                                                                   \
    case KIND:                                                                                                                  \
        PD_LAUNCH(context, name##_segment_kernel, n, pd_vertices_of(model), g, elements, n, a, multipliers, normals, positions, \
                  correction);                                                                                                  \
        break;
        PD_SWITCH(g.kind, PD_FORMULA_TABLE, PD_CASE)
#undef PD_CASE
    }
    return PD_OK;
}
