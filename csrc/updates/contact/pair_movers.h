/* The number of corners of a pair that move at once in a sweep over vertices, for the loops of both backends. */
#ifndef PD_UPDATES_CONTACT_PAIR_MOVERS_H
#define PD_UPDATES_CONTACT_PAIR_MOVERS_H

#include "loops/friction_loops.h"
#include "updates/contact/contact_update.h"

/* Tells whether vertices may have embedded points. A loop without them defines 0 before the include: in a kernel the unused code would
 * cost registers and stack. */
#ifndef PD_UPDATE_CARRIES
#define PD_UPDATE_CARRIES 1
#endif

/* The number of corners of a pair that move at once with vertex `vertex`. */
PD_FUNCTION real pd_vertex_update_partners(const pd_vertex_sweep *sweep, const pd_model *model, const int *points, int vertex) {
    return pd_contact_update_partners(sweep->colours, model->n_vertices, points, sweep->colours[vertex]);
}

/* The same for embedded points: k is the sum of the absolute weights that vertices of the colour have in corners of the pair. A vertex
 * with the weight w in a corner has the share w/k of the energy, at x + k d there [Jensen's inequality, as above]. The slope is w times
 * that of the corner, the curvature w k times. A negative weight moves the other way. */
PD_FUNCTION real pd_vertex_update_carriers(const pd_vertex_sweep *sweep, const pd_embedding *embedding, const int *points, int vertex) {
    real sum = 0;
    for (int j = 0; j < 4; j++) {
        if (points[j] < 0 || points[j] >= embedding->n_points) continue;
        const int *rows = embedding->rows + 4 * (size_t)points[j];
        for (int c = 0; c < 4; c++)
            if (rows[c] >= 0 && sweep->colours[rows[c]] == sweep->colours[vertex])
                sum += pd_fabs(embedding->weights[4 * (size_t)points[j] + (size_t)c]);
    }
    return sum;
}

/* >= 1: the displacement of a corner to assume in the energies of its pairs, relative to that of the vertex. */
PD_FUNCTION real pd_vertex_update_movers(const pd_vertex_sweep *sweep, const pd_contact_sweep *contact, int n_vertices, const int *points,
                                         int vertex) {
    (void)contact;
    if (!sweep) return 1;
#if PD_UPDATE_CARRIES
    if (contact->embedding.start) return pd_max(pd_vertex_update_carriers(sweep, &contact->embedding, points, vertex), (real)1);
#endif
    return pd_contact_update_partners(sweep->colours, n_vertices, points, sweep->colours[vertex]);
}

#endif
