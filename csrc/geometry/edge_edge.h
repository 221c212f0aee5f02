/* Closest points of two edges.
 *
 * Either both closest points are interior, or one is an end: five candidates, and the nearest is taken. So parallel edges, edges without
 * length and overlapping collinear edges need no special cases. */
#ifndef PD_GEOMETRY_EDGE_EDGE_H
#define PD_GEOMETRY_EDGE_EDGE_H

#include "geometry/nearest.h"

/* The gap a0 + s e - (b0 + t f) of the points of two edges with parameters s and t. */
typedef struct pd_edge_places {
    real s, t;
    real inside_a, inside_b; /* 1 if the parameter is at neither end, else 0 */
    pd_vector gap;
    real square;
} pd_edge_places;

/* For a parameter s at an end of A, the nearest parameter of B. */
PD_LANE_FUNCTION pd_edge_places pd_edge_places_on_b(real s, pd_on_segment b) {
    pd_edge_places out;
    out.s = s, out.inside_a = 0, out.t = b.place, out.inside_b = b.inside;
    out.gap = b.gap, out.square = b.square;
    return out;
}

/* For a parameter t of B, the nearest parameter of A. Its gap has the opposite direction. */
PD_LANE_FUNCTION pd_edge_places pd_edge_places_on_a(real t, real inside_b, pd_on_segment a) {
    pd_edge_places out;
    out.s = a.place, out.inside_a = a.inside, out.t = t, out.inside_b = inside_b;
    out.gap = pd_vector_scale(-1, a.gap), out.square = a.square;
    return out;
}

/* b if may_win and it is nearer than a. */
PD_LANE_FUNCTION pd_edge_places pd_edge_places_nearer(pd_edge_places a, int may_win, pd_edge_places b) {
    int wins = may_win & (b.square < a.square);
    a.s = wins ? b.s : a.s, a.t = wins ? b.t : a.t;
    a.inside_a = wins ? b.inside_a : a.inside_a, a.inside_b = wins ? b.inside_b : a.inside_b;
    a.gap = pd_vector_choose(wins, b.gap, a.gap);
    a.square = wins ? b.square : a.square;
    return a;
}

/* Feature, weights and their slopes. */
PD_LANE_FUNCTION void pd_edge_edge_set_places(pd_nearest *out, real s, real t, real inside_a, real inside_b) {
    real both = inside_a * inside_b, only_b = inside_b - both;
    real end_a = s < 1 ? (real)0 : (real)1, end_b = t < 1 ? (real)0 : (real)1;
    out->weights = pd_per_corner_of((real)1 - s, s, t - (real)1, -t);
    out->first = pd_per_corner_of(-inside_a, inside_a, only_b, -only_b);
    out->second = pd_per_corner_of(0, 0, both, -both);
    out->n_free = inside_a + inside_b;
    real of_ends = inside_b > 0 ? (real)6 + end_a : (real)2 * end_a + end_b;
    out->feature = inside_a > 0 ? (inside_b > 0 ? (real)8 : (real)4 + end_b) : of_ends;
}

/* x: a0, a1, b0, b1, m, of a size that admits products of four. */
PD_LANE_FUNCTION pd_nearest pd_edge_edge_nearest(pd_points4 x) {
    pd_vector e = pd_vector_subtract(x.b, x.a), f = pd_vector_subtract(x.d, x.c), n = pd_vector_cross(e, f);
    pd_vector g00 = pd_vector_subtract(x.a, x.c), g01 = pd_vector_subtract(x.a, x.d); /* the gaps of the ends */
    pd_vector g10 = pd_vector_subtract(x.b, x.c), g11 = pd_vector_subtract(x.b, x.d);
    real ee = pd_vector_dot(e, e), ff = pd_vector_dot(f, f), square = pd_vector_dot(n, n), sizes = ee * ff;
    real s = pd_vector_dot(pd_vector_cross(f, g00), n), t = pd_vector_dot(pd_vector_cross(e, g00), n);
    int inside = (square > PD_PARALLEL * PD_PARALLEL * sizes) & (s > 0) & (t > 0) & (s < square) & (t < square);
    int trusted = square > PD_TRUSTED_SINE * PD_TRUSTED_SINE * sizes;
    s = s / square, t = t / square;
    int met = inside & trusted & (s > 0) & (t > 0) & (s < 1) & (t < 1); /* otherwise a parameter was rounded to an end */

    /* each end against the other edge */
    pd_edge_places best = pd_edge_places_on_b(0, pd_nearest_on_segment(g00, g01, f, ff));
    best = pd_edge_places_nearer(best, 1, pd_edge_places_on_b(1, pd_nearest_on_segment(g10, g11, f, ff)));
    pd_vector q = pd_vector_scale(-1, g00), r = pd_vector_scale(-1, g10);
    best = pd_edge_places_nearer(best, 1, pd_edge_places_on_a(0, 0, pd_nearest_on_segment(q, r, e, ee)));
    q = pd_vector_scale(-1, g01), r = pd_vector_scale(-1, g11);
    best = pd_edge_places_nearer(best, 1, pd_edge_places_on_a(1, 0, pd_nearest_on_segment(q, r, e, ee)));

    /* Nearly parallel: the parameters have errors of 1 / sine^2. Replacing each by the best one for the other makes the error of the
     * distance quadratic. */
    pd_on_segment on_b = pd_nearest_on_segment(pd_vector_along(g00, s, e), pd_vector_along(g01, s, e), f, ff);
    int late = on_b.place > (real)0.5;
    real from_end = late ? (real)1 - on_b.place : -on_b.place;
    q = pd_vector_scale(-1, pd_vector_along(pd_vector_choose(late, g01, g00), from_end, f));
    r = pd_vector_scale(-1, pd_vector_along(pd_vector_choose(late, g11, g10), from_end, f));
    best = pd_edge_places_nearer(best, inside & !met, pd_edge_places_on_a(on_b.place, on_b.inside, pd_nearest_on_segment(q, r, e, ee)));

    pd_nearest out;
    pd_edge_edge_set_places(&out, met ? s : best.s, met ? t : best.t, met ? (real)1 : best.inside_a, met ? (real)1 : best.inside_b);
    pd_nearest_set_gap(&out, best.gap, best.square, met, n, square, pd_vector_dot(g00, n));
    out.along = pd_vector_choose(ee >= ff, e, f);
    out.perpendicular = n, out.trusted = trusted;
    return out;
}

PD_FUNCTION_APART void pd_edge_edge_closest(const real x[12], pd_closest *out) {
    pd_nearest nearest = pd_edge_edge_nearest(pd_points4_load(x));
    pd_nearest_write(&nearest, out);
}

#endif
