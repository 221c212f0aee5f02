/* The work on one vertex in the loops over embedded points; see loops/embedding_loops.h. */
#ifndef PD_UPDATES_CONTACT_EMBEDDING_UPDATE_H
#define PD_UPDATES_CONTACT_EMBEDDING_UPDATE_H

#include "loops/embedding_loops.h"
#include "updates/elements/vertex_correction.h"

/* Row v of pd_embedding_gather. */
PD_FUNCTION void pd_embedding_update_gather(const pd_model *model, const pd_embedding *embedding, const real *forces, int v, real *out) {
    real sum[3] = {0, 0, 0};
    if (model->fixed[v]) return;
    for (int k = embedding->start[v]; k < embedding->start[v + 1]; k++)
        for (int c = 0; c < 3; c++) sum[c] += embedding->shares[k] * forces[3 * (size_t)embedding->points[k] + (size_t)c];
    if (model->subspace) pd_vertex_project(model->subspace + 9 * (size_t)v, sum);
    for (int c = 0; c < 3; c++) out[3 * (size_t)v + (size_t)c] += sum[c];
}

/* Row v of pd_embedding_bounds. */
PD_FUNCTION double pd_embedding_update_bound(const pd_model *model, const pd_embedding *embedding, const double *bounds, int v) {
    double sum = 0.0;
    if (model->fixed[v]) return sum;
    for (int k = embedding->start[v]; k < embedding->start[v + 1]; k++) {
        int point = embedding->points[k];
        sum += fabs((double)embedding->shares[k]) * (double)embedding->sizes[point] * bounds[point];
    }
    return sum;
}

/* Row v of pd_embedding_displacement_bounds. A vertex without points has no bound. */
PD_FUNCTION real pd_embedding_update_displacement_bound(const pd_embedding *embedding, const real *of_points, const unsigned char *marks,
                                                        int v, unsigned char *touching) {
    real least = (real)INFINITY;
    for (int k = embedding->start[v]; k < embedding->start[v + 1]; k++) {
        int point = embedding->points[k];
        real bound = of_points[point] / embedding->sizes[point];
        least = bound < least ? bound : least;
        if (marks[point]) *touching = 1;
    }
    return least;
}

#endif
