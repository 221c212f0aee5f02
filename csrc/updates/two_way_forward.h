/* One pair, or one vertex, of the forward step of the two-way interior point method, for both backends. */
#ifndef PD_TWO_WAY_FORWARD_H
#define PD_TWO_WAY_FORWARD_H

#include "loops/two_way_loops.h"
#include "updates/contact_update.h"

/* The slab of pair p: with any unit vector n, all of the first lies beyond max n.x of the second by `width`, and while no corner of either moves by more
 * than s towards the other along n, they stay width - 2 s apart, wherever else they go: above the separation, if the width is. Where the normal is so
 * bad that the slab has less than half of the gap, the width is below 0 and the distance counts alone. */
PD_FUNCTION void pd_two_way_update_slab(const pd_contact_pairs *pairs, const real *distance, double rounding, const real *points, int p,
                                        real *normal, real *width) {
    real at[12];
    int kind = pairs->kind[p], first = kind == PD_EDGE_EDGE ? 2 : 1, corners = kind == PD_VERTEX_PLANE ? 2 : pd_contact_corners(kind);
    double least = INFINITY, most = -INFINITY;
    pd_contact_update_corners(points, pairs->points + 4 * (size_t)p, pd_contact_corners(kind), at);
    pd_vector n = pd_contact_closest(kind, at).normal;
    for (int j = 0; j < corners; j++) {
        double along = (double)n.x * ((double)at[3 * j] - (double)at[0]) + (double)n.y * ((double)at[3 * j + 1] - (double)at[1]) +
                       (double)n.z * ((double)at[3 * j + 2] - (double)at[2]);
        if (j < first)
            least = along < least ? along : least;
        else
            most = along > most ? along : most;
    }
    double length = sqrt((double)n.x * (double)n.x + (double)n.y * (double)n.y + (double)n.z * (double)n.z),
           found = (least - most) / length;
    pd_vector_store(n, normal + 3 * (size_t)p);
    double separation = (double)pairs->separation[p], least_width = separation + 0.5 * ((double)distance[p] - separation) - 2.0 * rounding;
    width[p] = found >= separation && found >= least_width ? (real)found : (real)-1;
}

/* The part of its way from x to y that point i can go. */
PD_FUNCTION double pd_two_way_update_part(const pd_contact_pairs *pairs, const pd_incidence *incidence, const pd_two_way_gaps *gaps,
                                          const real *x, const real *y, int i) {
    double move[3], square = pd_move_square(y + 3 * (size_t)i, x + 3 * (size_t)i);
    if (!(square > 0.0)) return 1.0;
    double part = 0.5 * gaps->fraction * (gaps->farthest - gaps->rounding) / sqrt(square);
    for (size_t a = 0; a < 3; a++) move[a] = (double)y[3 * (size_t)i + a] - (double)x[3 * (size_t)i + a];
    for (int r = incidence->start[i]; r < incidence->start[i + 1]; r++) {
        size_t p = (size_t)(incidence->roles[r] / 4);
        int corner = incidence->roles[r] % 4;
        double gap = (double)gaps->distance[p], towards = sqrt(square);
        if (gaps->width[p] >= 0) {
            const real *n = gaps->normal + 3 * p;
            gap = (double)gaps->width[p];
            towards = (double)n[0] * move[0] + (double)n[1] * move[1] + (double)n[2] * move[2];
            if (corner < (pairs->kind[p] == PD_EDGE_EDGE ? 2 : 1)) towards = -towards;
        }
        gap = 0.5 * gaps->fraction * (gap - (double)pairs->separation[p] - gaps->rounding);
        if (towards > 0.0 && part * towards > gap) part = gap > 0.0 ? gap / towards : 0.0;
    }
    return part < 1.0 ? part > 0.0 ? part : 0.0 : 1.0;
}

PD_FUNCTION void pd_two_way_update_forward(const pd_contact_pairs *pairs, const pd_incidence *incidence, const pd_two_way_gaps *gaps,
                                           const real *points, const real *y, int i, real *x) {
    double part = pd_two_way_update_part(pairs, incidence, gaps, points, y, i);
    for (size_t c = 3 * (size_t)i; c < 3 * (size_t)i + 3; c++) x[c] = part == 1.0 ? y[c] : points[c] + (real)part * (y[c] - points[c]);
}

#endif
