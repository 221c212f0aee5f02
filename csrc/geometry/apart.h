/* A lower bound of the distance of two edges, or of a vertex and a triangle, that move along straight lines.
 *
 * If their gap along a direction exceeds a limit at the start and at the end, it does so throughout: along a fixed direction the gap is
 * concave in time. Any direction is valid, so it may come from approximate closest points. The functions have no branches, since the CPU
 * evaluates several pairs at a time. */
#ifndef PD_GEOMETRY_APART_H
#define PD_GEOMETRY_APART_H

#include "geometry/vector.h"

/* A generous bound of the error of a distance, relative to the size of the pair. */
#define PD_APART_ROUNDING ((real)1024 * PD_EPSILON)

PD_LANE_FUNCTION real pd_apart_place(real along, real square) { return pd_min(pd_max(along / (square > 0 ? square : (real)1), 0), 1); }

/* The vector between approximate closest points, from the first edge to the second. */
PD_LANE_FUNCTION pd_vector pd_apart_between_edges(pd_points4 x) {
    pd_vector e = pd_vector_subtract(x.b, x.a), f = pd_vector_subtract(x.d, x.c), r = pd_vector_subtract(x.c, x.a);
    real ee = pd_vector_dot(e, e), ff = pd_vector_dot(f, f), ef = pd_vector_dot(e, f), er = pd_vector_dot(e, r), fr = pd_vector_dot(f, r);
    real s = pd_apart_place(er * ff - fr * ef, ee * ff - ef * ef);
    real t = pd_apart_place(s * ef - fr, ff);
    s = pd_apart_place(er + t * ef, ee);
    return pd_vector_along(pd_vector_along(r, t, f), -s, e);
}

/* The vector from the point q to the approximate closest point of a segment along e that starts at the origin, and the squared distance. */
PD_LANE_FUNCTION pd_vector pd_apart_to_segment(pd_vector q, pd_vector e, real *square) {
    real place = pd_apart_place(pd_vector_dot(q, e), pd_vector_dot(e, e));
    pd_vector way = pd_vector_along(pd_vector_scale(-1, q), place, e);
    *square = pd_vector_dot(way, way);
    return way;
}

/* The vector from the vertex to the approximate nearest point of the triangle. */
PD_LANE_FUNCTION pd_vector pd_apart_to_triangle(pd_points4 x) {
    pd_vector q = pd_vector_subtract(x.a, x.b), r = pd_vector_subtract(x.a, x.c);
    pd_vector e = pd_vector_subtract(x.c, x.b), f = pd_vector_subtract(x.d, x.b), g = pd_vector_subtract(x.d, x.c);
    pd_vector n = pd_vector_cross(e, f);
    real nn = pd_vector_dot(n, n), height = pd_vector_dot(q, n), first, second, third;
    real u = pd_vector_dot(pd_vector_cross(q, f), n), v = pd_vector_dot(pd_vector_cross(e, q), n);
    pd_vector to_e = pd_apart_to_segment(q, e, &first), to_f = pd_apart_to_segment(q, f, &second), to_g = pd_apart_to_segment(r, g, &third);
    real sides = pd_min(first, pd_min(second, third));
    pd_vector way = pd_vector_choose(first == sides, to_e, pd_vector_choose(second == sides, to_f, to_g));
    int inside = (u >= 0) & (v >= 0) & (u + v <= nn) & (nn > 0);
    return pd_vector_choose(inside, pd_vector_scale(height > 0 ? (real)-1 : (real)1, n), way);
}

/* A shorter direction may have underflowed, m^2 or m. */
#define PD_APART_SHORTEST ((real)1e-30)

/* A lower bound of the gap of two sets of corners along a direction of that length, m, with all rounding; -1 for a zero direction.
 * n_first corners belong to the first set. */
PD_LANE_FUNCTION real pd_points4_apart(int n_first, pd_points4 x, pd_vector direction, real length) {
    pd_vector b = pd_vector_subtract(x.b, x.a), c = pd_vector_subtract(x.c, x.a), d = pd_vector_subtract(x.d, x.a);
    real along = pd_vector_dot(b, direction), second = pd_min(pd_vector_dot(c, direction), pd_vector_dot(d, direction));
    real size = pd_max(pd_vector_largest(b), pd_max(pd_vector_largest(c), pd_vector_largest(d)));
    real first = n_first == 2 ? pd_max(along, 0) : (real)0; // the farthest corner of the first, the nearest of the second
    second = n_first == 2 ? second : pd_min(second, along);
    return length > PD_APART_SHORTEST ? ((second - first) / length - PD_APART_ROUNDING * size) / (real)1.001 : (real)-1;
}

/* A lower bound of the distance of corners [4] that move from `from` to `to`, m. n_first: 2 for two edges, 1 for a vertex and a
 * triangle. */
PD_LANE_FUNCTION real pd_pair_apart(int n_first, pd_points4 from, pd_points4 to) {
    pd_vector direction = n_first == 2 ? pd_apart_between_edges(to) : pd_apart_to_triangle(to);
    real length = pd_sqrt(pd_vector_dot(direction, direction));
    return pd_min(pd_points4_apart(n_first, from, direction, length), pd_points4_apart(n_first, to, direction, length));
}

#endif
