/* The pair of a vertex with a panel, for the loops of both backends.
 *
 * A panel is a convex part of a plane face of several triangles that keeps its shape (python/pdgpu/contact/flat_faces.py). Its distance
 * to a vertex is the least of those of its triangles, and has a continuous gradient, since the panel is convex. So only the pair with the
 * nearest triangle has a term in the contact potential, the first of several. A sum over all triangles would count a vertex near a
 * common edge twice. The other pairs stay in the list for step limits and displacement bounds, with a negative weight. */
#ifndef PD_UPDATES_CONTACT_PANEL_UPDATE_H
#define PD_UPDATES_CONTACT_PANEL_UPDATE_H

#include "updates/contact/contact_update.h"

/* The order of a pair among those of its vertex with its panel. A triangle below the vertex is the nearest one, also where rounding gives
 * a neighbour the same distance. A NaN comes first: its pair must have a term. */
PD_FUNCTION real pd_panel_update_order_of(real distance, real n_free) {
    const real inside = 2; /* free parameters of the closest point, geometry/pair.h */
    if (!(distance >= 0)) return (real)-2;
    return n_free == inside ? (real)-1 : distance;
}

/* The same for pair p. */
PD_FUNCTION real pd_panel_update_order(const pd_contact_pairs *pairs, const int *panels, const real *x, int p) {
    real at[12];
    if (panels[p] < 0) return 0;
    pd_contact_update_corners(x, pairs->points + 4 * (size_t)p, 4, at);
    pd_nearest nearest = pd_contact_nearest_of(PD_VERTEX_TRIANGLE, at);
    return pd_panel_update_order_of(nearest.distance, nearest.n_free);
}

/* Tells whether pair p of a panel has the term. The pairs of a vertex are neighbours in the list, by ascending triangle. */
PD_FUNCTION int pd_panel_update_counts(const pd_contact_pairs *pairs, const int *panels, const real *order, int n, int p) {
    int vertex = pairs->points[4 * (size_t)p];
    for (int q = p - 1; q >= 0 && pairs->points[4 * (size_t)q] == vertex; q--)
        if (panels[q] == panels[p] && order[q] <= order[p]) return 0;
    for (int q = p + 1; q < n && pairs->kind[q] == PD_VERTEX_TRIANGLE && pairs->points[4 * (size_t)q] == vertex; q++)
        if (panels[q] == panels[p] && order[q] < order[p]) return 0;
    return 1;
}

/* Sets the sign of the weight of pair p, and the weight of its record unless NULL. */
PD_FUNCTION void pd_panel_update_weight(const pd_contact_pairs *pairs, const int *panels, const real *order, int n, real *weight,
                                        pd_contact_record *records, int p) {
    if (panels[p] < 0) return;
    real size = pd_fabs(weight[p]);
    weight[p] = pd_panel_update_counts(pairs, panels, order, n, p) ? size : -size;
    if (records) records[p].weight = pd_contact_update_weight(weight[p]);
}

#endif
