/* Closest points of a vertex and a vertex, an edge, a triangle.
 *
 * A triangle is three segments and, if the vertex projects into it, a plane; the nearest of them is taken. So a triangle without area
 * needs no special case. Corners in m as in pair.h, shifted so that rounding is relative to the pair's size, and of a size that admits
 * products of four. */
#ifndef PD_GEOMETRY_VERTEX_TRIANGLE_H
#define PD_GEOMETRY_VERTEX_TRIANGLE_H

#include "geometry/nearest.h"

PD_LANE_FUNCTION pd_nearest pd_vertex_vertex_nearest(pd_vector p, pd_vector a) {
    pd_nearest out;
    pd_vector gap = pd_vector_subtract(p, a), none = pd_vector_of(0, 0, 0);
    out.weights = pd_per_corner_of(1, -1, 0, 0);
    out.first = out.second = pd_per_corner_of(0, 0, 0, 0);
    out.n_free = out.feature = 0;
    pd_nearest_set_gap(&out, gap, pd_vector_dot(gap, gap), 0, none, 0, 0);
    out.along = out.perpendicular = none, out.trusted = 0;
    return out;
}

PD_LANE_FUNCTION pd_nearest pd_vertex_edge_nearest(pd_vector p, pd_vector e0, pd_vector e1) {
    pd_nearest out;
    pd_vector e = pd_vector_subtract(e1, e0), none = pd_vector_of(0, 0, 0);
    pd_on_segment at = pd_nearest_on_segment(pd_vector_subtract(p, e0), pd_vector_subtract(p, e1), e, pd_vector_dot(e, e));
    out.weights = pd_per_corner_of(1, at.place - (real)1, -at.place, 0);
    out.first = pd_per_corner_of(0, at.inside, -at.inside, 0);
    out.second = pd_per_corner_of(0, 0, 0, 0);
    out.n_free = at.inside;
    out.feature = at.inside > 0 ? (real)2 : at.place < 1 ? (real)0 : (real)1;
    pd_nearest_set_gap(&out, at.gap, at.square, 0, none, 0, 0);
    out.along = e, out.perpendicular = none, out.trusted = 0;
    return out;
}

/* The nearest of a triangle's sides and face. */
typedef struct pd_triangle_part {
    pd_per_corner weights, first;
    real flat; /* 1 for the face */
    real n_free, feature;
    pd_vector gap, along;
    real square;
} pd_triangle_part;

/* The side from corner `start` to `end`: the slopes of its weights, 1 at the start and -1 at the end, and their features. */
PD_LANE_FUNCTION pd_triangle_part pd_triangle_side(pd_on_segment at, pd_vector along, pd_per_corner start, pd_per_corner end, real side,
                                                   real start_feature, real end_feature) {
    pd_triangle_part out;
    real rest = at.place - (real)1, kept = at.inside;
    out.weights =
        pd_per_corner_of(1, rest * start.b - at.place * end.b, rest * start.c - at.place * end.c, rest * start.d - at.place * end.d);
    out.first = pd_per_corner_of(0, kept * (start.b - end.b), kept * (start.c - end.c), kept * (start.d - end.d));
    out.n_free = kept, out.flat = 0;
    out.feature = kept > 0 ? side : at.place < 1 ? start_feature : end_feature;
    out.gap = at.gap, out.along = along, out.square = at.square;
    return out;
}

PD_LANE_FUNCTION pd_triangle_part pd_triangle_nearer(pd_triangle_part a, int may_win, pd_triangle_part b) {
    int wins = may_win & (b.square < a.square);
    a.weights = pd_per_corner_choose(wins, b.weights, a.weights), a.first = pd_per_corner_choose(wins, b.first, a.first);
    a.flat = wins ? b.flat : a.flat;
    a.n_free = wins ? b.n_free : a.n_free, a.feature = wins ? b.feature : a.feature;
    a.gap = pd_vector_choose(wins, b.gap, a.gap), a.along = pd_vector_choose(wins, b.along, a.along);
    a.square = wins ? b.square : a.square;
    return a;
}

PD_LANE_FUNCTION pd_nearest pd_vertex_triangle_nearest(pd_vector p, pd_vector t0, pd_vector t1, pd_vector t2) {
    pd_vector q = pd_vector_subtract(p, t0), q1 = pd_vector_subtract(p, t1), q2 = pd_vector_subtract(p, t2);
    pd_vector e = pd_vector_subtract(t1, t0), f = pd_vector_subtract(t2, t0), n = pd_vector_cross(e, f);
    pd_vector side1 = pd_vector_subtract(t2, t1), side2 = pd_vector_scale(-1, f);
    real ee = pd_vector_dot(e, e), ff = pd_vector_dot(f, f), square = pd_vector_dot(n, n), sizes = ee * ff;
    real w1 = pd_vector_dot(pd_vector_cross(q, f), n), w2 = pd_vector_dot(pd_vector_cross(e, q), n);
    int inside = (square > PD_PARALLEL * PD_PARALLEL * sizes) & (w1 > 0) & (w2 > 0) & (w1 + w2 < square);
    int trusted = square > PD_TRUSTED_SINE * PD_TRUSTED_SINE * sizes, met = inside & trusted;
    w1 = w1 / square, w2 = w2 / square;

    pd_triangle_part face;
    face.weights = pd_per_corner_of(1, -((real)1 - w1 - w2), -w1, -w2);
    face.first = pd_per_corner_of(0, 1, -1, 0);
    face.flat = 1, face.n_free = 2, face.feature = 6;
    face.gap = pd_vector_along(pd_vector_along(q, -w1, e), -w2, f), face.along = e;
    face.square = met ? (real)-1 : pd_vector_dot(face.gap, face.gap);

    pd_per_corner c0 = pd_per_corner_of(0, 1, 0, 0), c1 = pd_per_corner_of(0, 0, 1, 0), c2 = pd_per_corner_of(0, 0, 0, 1);
    pd_triangle_part best = pd_triangle_side(pd_nearest_on_segment(q, q1, e, ee), e, c0, c1, 3, 0, 1);
    pd_on_segment at = pd_nearest_on_segment(q1, q2, side1, pd_vector_dot(side1, side1));
    best = pd_triangle_nearer(best, 1, pd_triangle_side(at, side1, c1, c2, 4, 1, 2));
    best = pd_triangle_nearer(best, 1, pd_triangle_side(pd_nearest_on_segment(q2, q, side2, ff), side2, c2, c0, 5, 2, 0));
    /* In a sliver the weights of the face are rounding noise, but still those of a point of it. The face is taken only if it is nearer. */
    best = pd_triangle_nearer(best, inside, face);

    pd_nearest out;
    out.weights = best.weights, out.first = best.first;
    out.second = pd_per_corner_of(0, best.flat, 0, -best.flat);
    out.n_free = best.n_free, out.feature = best.feature;
    pd_nearest_set_gap(&out, best.gap, best.square, met, n, square, pd_vector_dot(q, n));
    out.along = best.along, out.perpendicular = n, out.trusted = trusted;
    return out;
}

PD_FUNCTION_APART void pd_vertex_vertex_closest(const real x[6], pd_closest *out) {
    pd_nearest nearest = pd_vertex_vertex_nearest(pd_vector_load(x), pd_vector_load(x + 3));
    pd_nearest_write(&nearest, out);
}

PD_FUNCTION_APART void pd_vertex_edge_closest(const real x[9], pd_closest *out) {
    pd_nearest nearest = pd_vertex_edge_nearest(pd_vector_load(x), pd_vector_load(x + 3), pd_vector_load(x + 6));
    pd_nearest_write(&nearest, out);
}

PD_FUNCTION_APART void pd_vertex_triangle_closest(const real x[12], pd_closest *out) {
    pd_nearest nearest = pd_vertex_triangle_nearest(pd_vector_load(x), pd_vector_load(x + 3), pd_vector_load(x + 6), pd_vector_load(x + 9));
    pd_nearest_write(&nearest, out);
}

#endif
