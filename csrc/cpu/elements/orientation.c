/* The limit of moves by tets that must not invert, on the CPU; see orientation_loops.h. */
#include "loops/orientation_loops.h"

#include "cpu/context.h"
#include "updates/elements/orientation_update.h"

enum { NANOSECONDS = 60 };

pd_status pd_orientation_shortfall(pd_context *context, const pd_model *model, const real *x_0, const real *x_1, double *shortfall) {
    double most = 0.0;
    for (int kind = 0; kind < model->n_kinds; kind++) {
        const pd_elements *g = &model->kinds[kind];
        if (!g->is_oriented) continue;
#pragma omp parallel for num_threads(pd_threads(context, g->n, NANOSECONDS)) schedule(static) reduction(max : most)
        for (int e = 0; e < g->n; e++) most = pd_most_of(most, pd_orientation_update(g, x_0, x_1, e));
    }
    *shortfall = most;
    return PD_OK;
}
