/* A lower bound of the distance of a vertex-triangle or edge-edge pair, with all rounding.
 *
 * The distance is De, that to the nearest end or side, unless the closest points of both primitives are interior. Then it is that of
 * point and plane, or of the two lines. Both are lower bounds wherever they are evaluated, so only the choice between them needs care.
 * If the interior test is uncertain, the smaller one is taken.
 *
 * Bounds, with u = PD_EPSILON and lengths |q|, |e|, |f| of the rounded differences; they hold with and without contraction to fma:
 *   De       a parameter t with an error of 5u |q| / |e| + 6u t, and its gap: computed >= true - 16u (|e| + De) - 4u De
 *   normal   n = e x f:  |error| <= 6u |e| |f|, |q . n| then 12u |q| |e| |f|; 32u is taken for both
 *   inside   triple products of n with an error of at most 16u |e| |f| times two of the lengths; 48u for the sum of three
 *   width    if n may be noise, the plane gives no bound, but the pair is thin: a point of the triangle is at most |n| / longest from the
 *            longest side, and crossing edges can slide until one ends and lose |n| / longest: De minus that is a bound
 *
 * Coordinates: differences of size 2^-10 .. 2^10 (pd_length_scale), so that no product leaves the range. Underflow inside a pair is
 * below u^2 of its size. Every caller subtracts many times that (pd_motion.slack, PD_BOUND_ROUNDING). */
#ifndef PD_GEOMETRY_DISTANCE_BOUND_H
#define PD_GEOMETRY_DISTANCE_BOUND_H

#include "geometry/pair.h"
#include "geometry/vector.h"

/* Absolute error, in units of the largest coordinate, of shifting a pair to its first corner and evaluating its bound there. */
#define PD_BOUND_ROUNDING ((real)8 * PD_EPSILON)

/* Keeps a quotient finite; far below every relevant length. */
#define PD_UNDERFLOW ((real)(sizeof(real) == sizeof(float) ? 1e-37 : 1e-300))

/* The squared distance of a point from a segment, with the error stated above. q = point - start, square = e . e */
PD_LANE_FUNCTION real pd_segment_square(pd_vector q, pd_vector e, real square) {
    real t = pd_min(pd_max(pd_vector_dot(q, e) / pd_max(square, PD_UNDERFLOW), 0), 1);
    pd_vector r = pd_vector_along(q, -t, e);
    return pd_vector_dot(r, r);
}

/* min(De, the interior distance if it may apply).
 *   end_square  computed De^2         q, n, height = q . n      inside  nonzero: the interior test does not exclude an interior point
 *   e, f        |e| and |f|           longest  the longest side (edge) */
PD_LANE_FUNCTION real pd_bound_of_parts(real end_square, int inside, real q, real normal_square, real height, real e, real f,
                                        real longest) {
    const real u = PD_EPSILON;
    real end = pd_sqrt(end_square);
    real low = end * ((real)1 - (real)24 * u) - (real)18 * u * longest;
    real rounding = (real)32 * u * e * f, normal = pd_sqrt(normal_square);
    real plane = (pd_fabs(height) - rounding * q) / (normal * ((real)1 + (real)4 * u) + rounding + PD_UNDERFLOW);
    real width = low - (normal * ((real)1 + (real)4 * u) + rounding) / pd_max(longest, PD_UNDERFLOW);
    return inside ? pd_min(low, pd_max(plane, width)) : low; // no branch: this runs in vector registers, see cpu/geometry/geometry_ccd.c
}

PD_LANE_FUNCTION real pd_vertex_triangle_bound(pd_points4 x) {
    pd_vector q = pd_vector_subtract(x.a, x.b), r = pd_vector_subtract(x.a, x.c);
    pd_vector e = pd_vector_subtract(x.c, x.b), f = pd_vector_subtract(x.d, x.b), g = pd_vector_subtract(x.d, x.c);
    real ee = pd_vector_dot(e, e), ff = pd_vector_dot(f, f), gg = pd_vector_dot(g, g);
    real end = pd_min(pd_min(pd_segment_square(q, e, ee), pd_segment_square(q, f, ff)), pd_segment_square(r, g, gg));
    pd_vector n = pd_vector_cross(e, f);
    real nn = pd_vector_dot(n, n);
    real w1 = pd_vector_dot(pd_vector_cross(q, f), n), w2 = pd_vector_dot(pd_vector_cross(e, q), n);
    real le = pd_sqrt(ee), lf = pd_sqrt(ff), lq = pd_sqrt(pd_vector_dot(q, q));
    real tau = (real)48 * PD_EPSILON * le * lf * (lq + le + lf) * pd_max(le, lf);
    int inside = (w1 >= -tau) & (w2 >= -tau) & (w1 + w2 <= nn + tau);
    return pd_bound_of_parts(end, inside, lq, nn, pd_vector_dot(q, n), le, lf, pd_sqrt(pd_max(pd_max(ee, ff), gg)));
}

PD_LANE_FUNCTION real pd_edge_edge_bound(pd_points4 x) {
    pd_vector q = pd_vector_subtract(x.c, x.a), e = pd_vector_subtract(x.b, x.a), f = pd_vector_subtract(x.d, x.c);
    real ee = pd_vector_dot(e, e), ff = pd_vector_dot(f, f);
    real to_a = pd_min(pd_segment_square(q, e, ee), pd_segment_square(pd_vector_subtract(x.d, x.a), e, ee));
    real to_b = pd_min(pd_segment_square(pd_vector_subtract(x.a, x.c), f, ff), pd_segment_square(pd_vector_subtract(x.b, x.c), f, ff));
    pd_vector n = pd_vector_cross(e, f);
    real nn = pd_vector_dot(n, n);
    real s = pd_vector_dot(pd_vector_cross(q, f), n), t = pd_vector_dot(pd_vector_cross(q, e), n);
    real le = pd_sqrt(ee), lf = pd_sqrt(ff), lq = pd_sqrt(pd_vector_dot(q, q));
    real tau = (real)48 * PD_EPSILON * le * lf * (lq + le + lf) * pd_max(le, lf);
    int inside = (s >= -tau) & (t >= -tau) & (s <= nn + tau) & (t <= nn + tau);
    return pd_bound_of_parts(pd_min(to_a, to_b), inside, lq, nn, pd_vector_dot(q, n), le, lf, pd_max(le, lf));
}

/* For both kinds. */
PD_LANE_FUNCTION real pd_points4_bound(int kind, pd_points4 x) {
    return kind == PD_VERTEX_TRIANGLE ? pd_vertex_triangle_bound(x) : pd_edge_edge_bound(x);
}

/* For any pair, x [k,3] m: a lower bound of the exact distance of exactly these coordinates; >= 0. */
PD_FUNCTION real pd_pair_distance_bound(int kind, const real *x) {
    int k = pd_pair_corners(kind);
    real local[12], size = 0;
    real scale = pd_length_scale(pd_largest(x, 3 * k));
    for (int i = 0; i < 12; i++) local[i] = 0;
    for (int j = 0; j < k; j++)
        for (int i = 0; i < 3; i++) {
            local[3 * j + i] = scale * x[3 * j + i] - scale * x[i];
            size = pd_max(size, pd_fabs(local[3 * j + i]));
        }
    real second = pd_length_scale(size), low;
    for (int i = 0; i < 3 * k; i++) local[i] *= second;
    pd_points4 corners = pd_points4_load(local);
    if (kind == PD_VERTEX_VERTEX) {
        low = pd_sqrt(pd_vector_dot(corners.b, corners.b)) * ((real)1 - (real)8 * PD_EPSILON);
    } else if (kind == PD_VERTEX_EDGE) {
        pd_vector q = pd_vector_subtract(corners.a, corners.b), e = pd_vector_subtract(corners.c, corners.b);
        real square = pd_vector_dot(e, e);
        low = pd_bound_of_parts(pd_segment_square(q, e, square), 0, 0, 0, 0, 0, 0, pd_sqrt(square));
    } else {
        low = pd_points4_bound(kind, corners);
    }
    low -= PD_BOUND_ROUNDING * size * second;
    return pd_max(low / second / scale * ((real)1 - (real)2 * PD_EPSILON), 0);
}

#endif
