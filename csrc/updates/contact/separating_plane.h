/* The separating plane of the two primitives of a pair, for the loops of both backends.
 *
 * Its normal n is that of the two closest points. With s_j = n . x_j, let A be the minimum over the first primitive and B the maximum
 * over the second. Both primitives are on their sides, and A - B apart along n: a lower bound of their distance, for any rounding of n.
 * If no corner moves more than a share of A - B beyond its own side, straight moves of all corners at once cannot bring the two into
 * contact, for any moves along the plane: the hulls of both paths are on two sides of it. */
#ifndef PD_UPDATES_CONTACT_SEPARATING_PLANE_H
#define PD_UPDATES_CONTACT_SEPARATING_PLANE_H

#include "updates/contact/contact_update.h"

/* s_j - A for a corner of the first primitive, B - s_j for one of the second, at least 0; and A - B. */
typedef struct pd_side_heights {
    real a, b, c, d, margin; /* m */
} pd_side_heights;

/* `normal` is a unit vector. Differences from the first corner lose no digits far from the origin. */
PD_LANE_FUNCTION pd_side_heights pd_side_heights_of(int kind, pd_points4 x, pd_vector normal, real distance) {
    pd_side_heights out;
    real b = pd_vector_dot(normal, pd_vector_subtract(x.b, x.a)), c = pd_vector_dot(normal, pd_vector_subtract(x.c, x.a));
    real d = pd_vector_dot(normal, pd_vector_subtract(x.d, x.a));
    int edges = kind == PD_EDGE_EDGE;
    real low = edges ? pd_min(b, (real)0) : (real)0, high = edges ? pd_max(c, d) : b;
    if (kind == PD_VERTEX_EDGE || kind == PD_VERTEX_TRIANGLE) high = pd_max(high, c);
    if (kind == PD_VERTEX_TRIANGLE) high = pd_max(high, d);
    out.a = -low, out.b = edges ? b - low : high - b, out.c = high - c, out.d = high - d;
    out.margin = low - high;
    if (kind == PD_VERTEX_PLANE) out.a = out.b = out.c = out.d = 0, out.margin = distance;
    return out;
}

/* The plane of a pair. Each corner may move `share` beyond its side: half of `fraction` of the gap or of `most`, the smaller one, m. The
 * gap is reduced by `rounding`. The share is <= 0 if rounding could close the gap, minus infinity for a closed gap. */
PD_FUNCTION void pd_separating_plane_set(pd_side_heights heights, real separation, double rounding, double fraction, double most,
                                         const real normal[3], pd_separating_plane *out) {
    double gap = (double)heights.margin - (double)separation, share = 0.5 * fraction * (gap - rounding);
    const real high[4] = {heights.a, heights.b, heights.c, heights.d};
    share = 0.5 * most < share ? 0.5 * most : share;
    if (!(gap > 0)) share = -(double)INFINITY; // also for a NaN coordinate
    for (int c = 0; c < 3; c++) out->normal[c] = normal[c];
    for (int j = 0; j < 4; j++) out->slacks[j] = share > 0 ? pd_max(high[j], (real)0) + (real)share : (real)0;
    out->share = (real)share;
}

/* The plane of pair p, with each corner also limited to half of its slack if `within_slack`; returns the distance, m. */
PD_FUNCTION real pd_contact_update_plane(const pd_contact_pairs *pairs, const real *x, double rounding, double fraction, int within_slack,
                                         int p, pd_separating_plane *out) {
    int kind = pairs->kind[p];
    real at[12], normal[3];
    pd_contact_update_corners(x, pairs->points + 4 * (size_t)p, pd_contact_corners(kind), at);
    pd_nearest nearest = pd_contact_nearest_of(kind, at);
    double most = within_slack ? (double)pd_contact_update_slack(pairs, nearest.distance, rounding, p) : (double)INFINITY;
    pd_vector_store(nearest.normal, normal);
    pd_separating_plane_set(pd_side_heights_of(kind, pd_points4_load(at), nearest.normal, nearest.distance), pairs->separation[p], rounding,
                            fraction, most, normal, out);
    return nearest.distance;
}

/* m */
PD_FUNCTION double pd_plane_along(const pd_separating_plane *plane, const double move[3]) {
    return (double)plane->normal[0] * move[0] + (double)plane->normal[1] * move[1] + (double)plane->normal[2] * move[2];
}

/* 1 for a corner of the first primitive of a pair, -1 for one of the second. */
PD_FUNCTION double pd_corner_side(int kind, int corner) { return corner == 0 || (corner == 1 && kind == PD_EDGE_EDGE) ? 1.0 : -1.0; }

/* The fraction of its path from x_0 to x_1 that point i can move; `outer` m: a bound of the displacement for any planes. curved: for any
 * path of that length, inside the ball that touches the nearest plane's share. */
PD_FUNCTION double pd_contact_update_displacement_bound(const pd_incidence *incidence, const int *kind, const pd_separating_plane *planes,
                                                        double outer, int curved, const real *x_0, const real *x_1, int i) {
    double move[3], length, fraction;
    for (int c = 0; c < 3; c++) move[c] = (double)x_1[3 * (size_t)i + (size_t)c] - (double)x_0[3 * (size_t)i + (size_t)c];
    length = sqrt(move[0] * move[0] + move[1] * move[1] + move[2] * move[2]);
    if (length == 0.0) return 1.0;
    if (!(length < (double)INFINITY)) return 0.0; // a NaN coordinate
    fraction = length <= outer ? 1.0 : outer > 0.0 ? outer / length : 0.0;
    for (int r = incidence->start[i]; r < incidence->start[i + 1]; r++) {
        int pair = incidence->roles[r] / 4, corner = incidence->roles[r] % 4;
        double approach = -pd_corner_side(kind[pair], corner) * pd_plane_along(planes + pair, move),
               slack = (double)planes[pair].slacks[corner];
        if (!(planes[pair].share > 0)) return 0.0; // rounding could close the gap on any path
        if (curved) approach = length, slack = (double)planes[pair].share;
        if (!(fraction * approach <= slack)) fraction = approach > 0.0 ? slack / approach : 0.0;
    }
    return fraction;
}

#endif
