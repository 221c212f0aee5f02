/* One pair, or one vertex, of the forward step of the two-way interior point method, for both backends. */
#ifndef PD_UPDATES_CONTACT_TWO_WAY_FORWARD_H
#define PD_UPDATES_CONTACT_TWO_WAY_FORWARD_H

#include "loops/two_way_loops.h"
#include "updates/contact/contact_update.h"

/* The slab of pair p. With any unit vector n, all of the first is beyond max n.x of the second by its width. As long as all corners stay at
 * least half of the separation from its middle along n, all other points do, for any other moves. So a corner that is not at the slab may
 * use its distance to the slab, and half of the difference of width and separation: an edge that touches by one end may fall with the
 * other.
 *
 * If the slab of a bad normal has less than half of the gap, bounds are negative and only the distance counts. The same holds, without an
 * evaluation of the pair, if no corner moves as far as the distance allows in any direction. */
PD_FUNCTION void pd_two_way_update_slab(const pd_contact_pairs *pairs, const pd_two_way_gaps *gaps, const real *points, const real *y,
                                        int p) {
    real at[12], *bound = gaps->displacement_bound + 4 * (size_t)p;
    int kind = pairs->kind[p], first = kind == PD_EDGE_EDGE ? 2 : 1, corners = kind == PD_VERTEX_PLANE ? 2 : pd_contact_corners(kind);
    const int *rows = pairs->points + 4 * (size_t)p;
    double separation = (double)pairs->separation[p], gap = (double)gaps->distance[p] - separation - gaps->rounding;
    double along[4] = {0, 0, 0, 0}, least = INFINITY, most = -INFINITY, farthest = 0.0, certain = 0.5 * gaps->fraction * gap;
    for (int j = 0; j < 4; j++) bound[j] = (real)-1;
    if (gap >= gaps->farthest) return;
    for (int j = 0; j < corners; j++) {
        double square = pd_move_square(y + 3 * (size_t)rows[j], points + 3 * (size_t)rows[j]);
        farthest = pd_most_of(farthest, square);
    }
    if (certain > 0.0 && farthest <= certain * certain) return;
    pd_contact_update_corners(points, rows, pd_contact_corners(kind), at);
    pd_vector n = pd_vector_load(gaps->normal + 3 * (size_t)p);
    if (!(pd_vector_dot(n, n) > 0)) n = pd_contact_nearest_of(kind, at).normal; // otherwise that of the rows, at the same points
    double length = sqrt((double)n.x * (double)n.x + (double)n.y * (double)n.y + (double)n.z * (double)n.z);
    for (int j = 0; j < corners; j++) {
        along[j] = ((double)n.x * ((double)at[3 * j] - (double)at[0]) + (double)n.y * ((double)at[3 * j + 1] - (double)at[1]) +
                    (double)n.z * ((double)at[3 * j + 2] - (double)at[2])) /
                   length;
        if (j < first)
            least = pd_least_of(least, along[j]);
        else
            most = pd_most_of(most, along[j]);
    }
    double width = least - most, least_width = separation + 0.5 * ((double)gaps->distance[p] - separation) - 2.0 * gaps->rounding;
    if (!(width >= separation && width >= least_width)) return;
    pd_vector_store(n, gaps->normal + 3 * (size_t)p);
    for (int j = 0; j < 4; j++) {
        double more = j >= corners ? 0.0 : (j < first ? along[j] - least : most - along[j]) - gaps->rounding;
        double here = 0.5 * (width - separation - gaps->rounding) + (more > 0.0 ? more : 0.0);
        bound[j] = here > 0.0 ? (real)(gaps->fraction * here) : (real)0;
    }
}

/* The fraction of its path from x to y that point i can move. */
PD_FUNCTION double pd_two_way_update_fraction(const pd_contact_pairs *pairs, const pd_incidence *incidence, const pd_two_way_gaps *gaps,
                                              const real *x, const real *y, int i) {
    double move[3], square = pd_move_square(y + 3 * (size_t)i, x + 3 * (size_t)i), whole = sqrt(square);
    if (square == 0.0) return 1.0;
    if (!(whole < INFINITY)) return 0.0; // a NaN target is not approached either
    double fraction = 0.5 * gaps->fraction * (gaps->farthest - gaps->rounding) / whole;
    for (size_t a = 0; a < 3; a++) move[a] = (double)y[3 * (size_t)i + a] - (double)x[3 * (size_t)i + a];
    for (int r = incidence->start[i]; r < incidence->start[i + 1]; r++) {
        size_t role = (size_t)incidence->roles[r], p = role / 4;
        double gap = (double)gaps->displacement_bound[role], towards = whole;
        if (gap >= 0.0) {
            const real *n = gaps->normal + 3 * p;
            towards = (double)n[0] * move[0] + (double)n[1] * move[1] + (double)n[2] * move[2];
            if ((int)(role % 4) < (pairs->kind[p] == PD_EDGE_EDGE ? 2 : 1)) towards = -towards;
        } else {
            gap = 0.5 * gaps->fraction * ((double)gaps->distance[p] - (double)pairs->separation[p] - gaps->rounding);
        }
        if (!(towards <= 0.0) && !(fraction * towards <= gap)) fraction = towards > 0.0 && gap > 0.0 ? gap / towards : 0.0;
    }
    return fraction >= 1.0 ? 1.0 : fraction > 0.0 ? fraction : 0.0;
}

PD_FUNCTION void pd_two_way_update_forward(const pd_contact_pairs *pairs, const pd_incidence *incidence, const pd_two_way_gaps *gaps,
                                           const real *points, const real *y, int i, real *x) {
    double fraction = pd_two_way_update_fraction(pairs, incidence, gaps, points, y, i);
    for (size_t c = 3 * (size_t)i; c < 3 * (size_t)i + 3; c++)
        x[c] = fraction == 1.0 ? y[c] : fraction > 0.0 ? points[c] + (real)fraction * (y[c] - points[c]) : points[c];
}

#endif
