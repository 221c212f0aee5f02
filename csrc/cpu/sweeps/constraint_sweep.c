/* Sweeps over constraints, colour by colour and kind by kind. Elements of a colour share no free vertex, so the bits do not depend on
 * the threads. */
#include "updates/sweeps/constraint_update.h"

#include "cpu/context.h"

#define PD_CONSTRAINT_SEGMENT(KIND, name, k, d, count, ...)                                                                  \
    static void segment_##name(pd_context *context, const pd_model *model, const pd_elements *g, const int *elements, int n, \
                               real compliance, real *multipliers, real *normals, real *positions, real *correction) {       \
        _Pragma("omp parallel for num_threads(pd_threads(context, n, 200)) schedule(static)") for (int i = 0; i < n; i++)    \
            pd_constraint_update_##name(model, g, elements[i], compliance, multipliers, normals, positions, correction);     \
    }
PD_FORMULA_TABLE(PD_CONSTRAINT_SEGMENT)

pd_status pd_sweep_constraints(pd_context *context, const pd_model *model, const pd_constraint_sweep *sweep, double compliance,
                               real *positions, real *correction) {
    for (int s = 0; s < sweep->n_segments; s++) {
        int kind = sweep->segment_kinds[s], n = sweep->segment_start[s + 1] - sweep->segment_start[s];
        const int *elements = sweep->elements + sweep->segment_start[s];
        const pd_elements *g = &model->kinds[kind];
        real *multipliers = sweep->multipliers[kind], *normals = sweep->normals[kind], a = (real)compliance;
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: segment_##name(context, model, g, elements, n, a, multipliers, normals, positions, correction); break;
        PD_SWITCH(g->kind, PD_FORMULA_TABLE, PD_CASE)
#undef PD_CASE
    }
    return PD_OK;
}
