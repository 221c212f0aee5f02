/* A number that is never above the distance of a vertex-triangle or edge-edge pair, rounding included.
 *
 * The distance is that to the nearest end or side, De, unless both primitives are met inside: then it is that of point and plane, or
 * of the two lines. Both of these are lower bounds wherever they are asked for, so the only thing to be careful with is which of
 * them counts. Where the interior test might come out either way, the smaller one does.
 *
 * Bounds, with u = PD_EPSILON and lengths |q|, |e|, |f| of the rounded differences; they hold with and without contraction to fma:
 *   De       a place t with an error of 5u |q| / |e| + 6u t, and the gap from it: computed >= true - 16u (|e| + De) - 4u De
 *   normal   n = e x f:  |error| <= 6u |e| |f|, |q . n| then 12u |q| |e| |f|; 32u is taken for both
 *   inside   triple products of n with an error of at most 16u |e| |f| times two of the lengths; 48u for the sum of three
 *   width    where n may be noise the plane says nothing, but then the pair is thin: a point of the triangle is no farther from the
 *            longest side than |n| / longest, and crossing edges can slide until one ends and lose |n| / longest: De - that is a bound
 *
 * Coordinates: differences of them of size 2^-10 .. 2^10 (pd_length_scale), so that no product leaves the range; what underflows inside
 * one pair is less than u^2 of its size, which every caller subtracts many times over (pd_motion.slack, PD_BOUND_ROUNDING). */
#ifndef PD_GEOMETRY_DISTANCE_BOUND_H
#define PD_GEOMETRY_DISTANCE_BOUND_H

#include "geometry/pair.h"

/* Absolute error, in units of the largest coordinate, of moving a pair to its first corner and evaluating its bound there. */
#define PD_BOUND_ROUNDING ((real)8 * PD_EPSILON)

/* Keeps a quotient finite; far below every length that counts. */
#define PD_UNDERFLOW ((real)(sizeof(real) == sizeof(float) ? 1e-37 : 1e-300))

/* The square of the distance of a point from a segment, with the error stated above. q = point - start, square = e . e */
PD_FUNCTION real pd_segment_square(const real q[3], const real e[3], real square) {
    real t = pd_min(pd_max(pd_dot3(q, e) / pd_max(square, PD_UNDERFLOW), 0), 1), r[3];
    for (int i = 0; i < 3; i++) r[i] = q[i] - t * e[i];
    return pd_dot3(r, r);
}

/* min(De, what the inside says where it may count).
 *   end_square  De^2 as computed      q, n, height = q . n      inside  nonzero: the interior test does not exclude the inside
 *   e, f        |e| and |f|           longest  the longest side (edge) */
PD_FUNCTION real pd_bound_of_parts(real end_square, int inside, real q, real normal_square, real height, real e, real f, real longest) {
    const real u = PD_EPSILON;
    real end = pd_sqrt(end_square);
    real low = end * ((real)1 - (real)24 * u) - (real)18 * u * longest;
    if (!inside) return low;
    real rounding = (real)32 * u * e * f, normal = pd_sqrt(normal_square);
    real plane = (pd_fabs(height) - rounding * q) / (normal * ((real)1 + (real)4 * u) + rounding + PD_UNDERFLOW);
    real width = low - (normal * ((real)1 + (real)4 * u) + rounding) / pd_max(longest, PD_UNDERFLOW);
    return pd_min(low, pd_max(plane, width));
}

PD_FUNCTION real pd_vertex_triangle_bound(const real x[12]) {
    real q[3], r[3], e[3], f[3], g[3], n[3], c[3];
    pd_subtract3(x, x + 3, q);
    pd_subtract3(x, x + 6, r);
    pd_subtract3(x + 6, x + 3, e);
    pd_subtract3(x + 9, x + 3, f);
    pd_subtract3(x + 9, x + 6, g);
    real ee = pd_dot3(e, e), ff = pd_dot3(f, f), gg = pd_dot3(g, g), qq = pd_dot3(q, q);
    real end = pd_min(pd_min(pd_segment_square(q, e, ee), pd_segment_square(q, f, ff)), pd_segment_square(r, g, gg));
    pd_cross3(e, f, n);
    real nn = pd_dot3(n, n);
    pd_cross3(q, f, c);
    real w1 = pd_dot3(c, n);
    pd_cross3(e, q, c);
    real w2 = pd_dot3(c, n);
    real le = pd_sqrt(ee), lf = pd_sqrt(ff), lq = pd_sqrt(qq);
    real tau = (real)48 * PD_EPSILON * le * lf * (lq + le + lf) * pd_max(le, lf);
    int inside = w1 >= -tau && w2 >= -tau && w1 + w2 <= nn + tau;
    return pd_bound_of_parts(end, inside, lq, nn, pd_dot3(q, n), le, lf, pd_sqrt(pd_max(pd_max(ee, ff), gg)));
}

PD_FUNCTION real pd_edge_edge_bound(const real x[12]) {
    real q[3], r[3], o[3], e[3], f[3], n[3], c[3];
    pd_subtract3(x + 6, x, q); // b0 - a0
    pd_subtract3(x + 3, x, e);
    pd_subtract3(x + 9, x + 6, f);
    real ee = pd_dot3(e, e), ff = pd_dot3(f, f), qq = pd_dot3(q, q);
    real end = pd_segment_square(q, e, ee); // b0 on A
    pd_subtract3(x + 9, x, r);
    end = pd_min(end, pd_segment_square(r, e, ee)); // b1 on A
    for (int i = 0; i < 3; i++) o[i] = -q[i];
    end = pd_min(end, pd_segment_square(o, f, ff)); // a0 on B
    pd_subtract3(x + 3, x + 6, r);
    end = pd_min(end, pd_segment_square(r, f, ff)); // a1 on B
    pd_cross3(e, f, n);
    real nn = pd_dot3(n, n);
    pd_cross3(q, f, c);
    real s = pd_dot3(c, n);
    pd_cross3(q, e, c);
    real t = pd_dot3(c, n);
    real le = pd_sqrt(ee), lf = pd_sqrt(ff), lq = pd_sqrt(qq);
    real tau = (real)48 * PD_EPSILON * le * lf * (lq + le + lf) * pd_max(le, lf);
    int inside = s >= -tau && t >= -tau && s <= nn + tau && t <= nn + tau;
    return pd_bound_of_parts(end, inside, lq, nn, pd_dot3(q, n), le, lf, pd_max(le, lf));
}

/* For any pair as it stands, x [k,3] m: the bound of the exact distance of exactly these coordinates; never below zero. */
PD_FUNCTION real pd_pair_distance_bound(int kind, const real *x) {
    int k = pd_pair_corners(kind);
    real local[12], size = 0, end, e[3], q[3];
    real scale = pd_length_scale(pd_largest(x, 3 * k));
    for (int j = 0; j < k; j++)
        for (int i = 0; i < 3; i++) {
            local[3 * j + i] = scale * x[3 * j + i] - scale * x[i];
            size = pd_max(size, pd_fabs(local[3 * j + i]));
        }
    real second = pd_length_scale(size), low;
    for (int i = 0; i < 3 * k; i++) local[i] *= second;
    switch (kind) {
    case PD_VERTEX_VERTEX: low = pd_norm3(local + 3) * ((real)1 - (real)8 * PD_EPSILON); break;
    case PD_VERTEX_EDGE:
        pd_subtract3(local, local + 3, q);
        pd_subtract3(local + 6, local + 3, e);
        end = pd_segment_square(q, e, pd_dot3(e, e));
        low = pd_bound_of_parts(end, 0, 0, 0, 0, 0, 0, pd_norm3(e));
        break;
    case PD_VERTEX_TRIANGLE: low = pd_vertex_triangle_bound(local); break;
    default: low = pd_edge_edge_bound(local); break;
    }
    low -= PD_BOUND_ROUNDING * size * second;
    return pd_max(low / second / scale * ((real)1 - (real)2 * PD_EPSILON), 0);
}

#endif
