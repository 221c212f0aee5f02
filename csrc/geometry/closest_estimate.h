/* An estimate of the closest points, for many pairs at a time in vector registers. It decides whether a vertex-triangle or edge-edge
 * pair is within a distance, and which corners carry the closest points. Uncertain pairs are left to the exact closest points.
 *
 * A decision is certain if rounding cannot change it. Let u = PD_EPSILON, and `size` the largest coordinate of the pair about its first
 * corner. The bounds require edges of at least size / 64 and sines of at least 0.1. Then parameters on an edge and in a face have errors
 * below 1e4 u, which PD_PLAIN_PLACE covers. Distances have errors below 256 u size, which PD_PLAIN_DISTANCE covers. */
#ifndef PD_GEOMETRY_CLOSEST_ESTIMATE_H
#define PD_GEOMETRY_CLOSEST_ESTIMATE_H

#include "geometry/pair.h"
#include "geometry/vector.h"

/* The result of pd_closest_estimate for an uncertain pair. */
#define PD_UNDECIDED 16u

#define PD_PLAIN_PLACE    ((real)(sizeof(real) == sizeof(float) ? 1e-3 : 1e-6))
#define PD_PLAIN_DISTANCE ((real)4096 * PD_EPSILON)

/* The nearest end, or the interior, of a segment for a point, among several candidates. Numbers only, so that the loop vectorises. */
typedef struct pd_estimate {
    real square;  /* m^2, of the distance */
    real support; /* bit set as a number */
    real plain;   /* 1: certain, 0: uncertain */
} pd_estimate;

/* q = point - start, e = end - start; `point`, `start` and `end`: bits of the corners. */
PD_LANE_FUNCTION pd_estimate pd_estimate_of_segment(pd_vector q, pd_vector e, real point, real start, real end) {
    pd_estimate out;
    real place = pd_vector_dot(q, e) / pd_vector_dot(e, e), t = pd_min(pd_max(place, 0), 1);
    pd_vector r = pd_vector_along(q, -t, e);
    real low = place < (real)0.5 ? place : (real)1 - place; /* from the nearer end */
    real of_end = place < (real)0.5 ? start : end;
    out.square = pd_vector_dot(r, r);
    out.support = point + (low > 0 ? start + end : of_end);
    out.plain = pd_fabs(low) > PD_PLAIN_PLACE ? (real)1 : (real)0;
    return out;
}

/* The nearer of two. Certain if it is certain itself, and if the other is farther by more than rounding or has the same corners. */
PD_LANE_FUNCTION pd_estimate pd_estimate_nearer(pd_estimate a, pd_estimate b, real rounding) {
    pd_estimate out;
    real same = a.support == b.support ? (real)1 : (real)0, apart = pd_fabs(a.square - b.square) > rounding ? (real)1 : (real)0;
    real both = a.plain * b.plain, nearer = a.square < b.square ? a.plain : b.plain;
    out.square = pd_min(a.square, b.square);
    out.support = a.square < b.square ? a.support : b.support;
    out.plain = pd_max(same * both, apart * nearer);
    return out;
}

/* 1 if the midpoints and lengths of two segments show that they are farther apart than the limit. Valid for any shape, also for points
 * and parallel segments.
 *   apart  twice the vector between the midpoints, m      e, f  along them, m
 *   size   largest coordinate about one of them, 1e-6 to 1e6 m */
PD_LANE_FUNCTION real pd_estimate_beyond(pd_vector apart, pd_vector e, pd_vector f, real size, real limit) {
    real least = (real)0.5 * (pd_sqrt(pd_vector_dot(apart, apart)) - pd_sqrt(pd_vector_dot(e, e)) - pd_sqrt(pd_vector_dot(f, f)));
    return ((least > limit + PD_PLAIN_DISTANCE * size) & (size > (real)1e-6) & (size < (real)1e6)) ? (real)1 : (real)0;
}

/* The result: support, 0 or PD_UNDECIDED.
 *   sides    the nearest without the interior
 *   low      lower bound of the distance of the interior parameters from their bounds; negative outside
 *   square   squared distance of the interior      shaped  whether the pair satisfies the shape conditions above */
PD_LANE_FUNCTION real pd_estimate_answer(pd_estimate sides, real low, real square, real inside_support, int shaped, real size, real limit) {
    real best = low > 0 ? square : sides.square, support = low > 0 ? inside_support : sides.support;
    real plain = pd_fabs(low) > PD_PLAIN_PLACE ? (low > 0 ? (real)1 : sides.plain) : (real)0;
    real distance = pd_sqrt(best), slack = PD_PLAIN_DISTANCE * size;
    real far = distance > limit + slack ? (real)1 : (real)0, near = distance < limit - slack ? (real)1 : (real)0;
    /* beyond the limit only the choice between interior and sides must be certain */
    real decided = shaped ? pd_max(far * (pd_fabs(low) > PD_PLAIN_PLACE ? (real)1 : (real)0), near * plain) : (real)0;
    return decided > 0 ? (near > 0 ? support : (real)0) : (real)PD_UNDECIDED;
}

PD_LANE_FUNCTION real pd_vertex_triangle_estimate(pd_points4 x, real limit) {
    pd_vector q = pd_vector_subtract(x.a, x.b), r = pd_vector_subtract(x.a, x.c);
    pd_vector e = pd_vector_subtract(x.c, x.b), f = pd_vector_subtract(x.d, x.b), g = pd_vector_subtract(x.d, x.c);
    real size = pd_max(pd_vector_largest(q), pd_max(pd_vector_largest(e), pd_vector_largest(f))), square = size * size;
    real ee = pd_vector_dot(e, e), ff = pd_vector_dot(f, f), gg = pd_vector_dot(g, g);
    pd_vector n = pd_vector_cross(e, f);
    real nn = pd_vector_dot(n, n), height = pd_vector_dot(q, n);
    real w1 = pd_vector_dot(pd_vector_cross(q, f), n) / nn, w2 = pd_vector_dot(pd_vector_cross(e, q), n) / nn;
    real low = pd_min(pd_min(w1, w2), (real)1 - w1 - w2), rounding = PD_PLAIN_DISTANCE * square;
    pd_estimate sides = pd_estimate_of_segment(q, e, 1, 2, 4);
    sides = pd_estimate_nearer(sides, pd_estimate_of_segment(r, g, 1, 4, 8), rounding);
    sides = pd_estimate_nearer(sides, pd_estimate_of_segment(q, f, 1, 2, 8), rounding);
    int shaped =
        (nn > (real)0.01 * ee * ff) & (pd_min(pd_min(ee, ff), gg) * (real)4096 > square) & (size > (real)1e-6) & (size < (real)1e6);
    return pd_estimate_answer(sides, low, height * height / nn, 15, shaped, size, limit);
}

PD_LANE_FUNCTION real pd_edge_edge_estimate(pd_points4 x, real limit) {
    pd_vector q = pd_vector_subtract(x.c, x.a), e = pd_vector_subtract(x.b, x.a), f = pd_vector_subtract(x.d, x.c);
    pd_vector q3 = pd_vector_subtract(x.d, x.a), r = pd_vector_subtract(x.a, x.c), r1 = pd_vector_subtract(x.b, x.c);
    real size = pd_max(pd_max(pd_vector_largest(q), pd_vector_largest(q3)), pd_vector_largest(e)), square = size * size;
    real ee = pd_vector_dot(e, e), ff = pd_vector_dot(f, f);
    pd_vector n = pd_vector_cross(e, f);
    real nn = pd_vector_dot(n, n), height = pd_vector_dot(q, n);
    real s = pd_vector_dot(pd_vector_cross(q, f), n) / nn, t = pd_vector_dot(pd_vector_cross(q, e), n) / nn;
    real low = pd_min(pd_min(s, (real)1 - s), pd_min(t, (real)1 - t)), rounding = PD_PLAIN_DISTANCE * square;
    pd_estimate ends = pd_estimate_of_segment(r, f, 1, 4, 8);
    ends = pd_estimate_nearer(ends, pd_estimate_of_segment(r1, f, 2, 4, 8), rounding);
    ends = pd_estimate_nearer(ends, pd_estimate_of_segment(q, e, 4, 1, 2), rounding);
    ends = pd_estimate_nearer(ends, pd_estimate_of_segment(q3, e, 8, 1, 2), rounding);
    int shaped = (nn > (real)0.01 * ee * ff) & (pd_min(ee, ff) * (real)4096 > square) & (size > (real)1e-6) & (size < (real)1e6);
    real answer = pd_estimate_answer(ends, low, height * height / nn, 15, shaped, size, limit);
    return pd_estimate_beyond(pd_vector_add(q3, pd_vector_subtract(q, e)), e, f, size, limit) > 0 ? (real)0 : answer;
}

/* kind: PD_VERTEX_TRIANGLE or PD_EDGE_EDGE. The corners that carry the closest points (geometry/nearest_feature.h) of a pair at most
 * `limit` apart; 0 for a farther pair. Both agree with the exact closest points. Or PD_UNDECIDED. */
PD_LANE_FUNCTION real pd_closest_estimate(int kind, pd_points4 x, real limit) {
    return kind == PD_VERTEX_TRIANGLE ? pd_vertex_triangle_estimate(x, limit) : pd_edge_edge_estimate(x, limit);
}

#endif
