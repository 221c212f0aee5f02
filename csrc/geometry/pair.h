/* A pair of primitives with a distance: the common results of all kinds of pair, and their length scales.
 *
 *     kind                     rows of x [k,3]                     free parameters of the closest points
 *     PD_VERTEX_VERTEX   k=2   p; a                                none
 *     PD_VERTEX_EDGE     k=3   p; e0, e1                           place on the edge
 *     PD_VERTEX_TRIANGLE k=4   p; t0, t1, t2                       two places in the triangle
 *     PD_EDGE_EDGE       k=4   a0, a1; b0, b1                      a place on each edge
 *
 * The gap vector points from the second primitive to the first and is linear in the corners, gap = sum_j beta_j x_j, with sum beta = 0:
 * VT (1, -w0, -w1, -w2), EE (1-s, s, -(1-t), -t). The distance is |gap|. */
#ifndef PD_GEOMETRY_PAIR_H
#define PD_GEOMETRY_PAIR_H

#include "base/matrix3.h"

enum { PD_VERTEX_VERTEX, PD_VERTEX_EDGE, PD_VERTEX_TRIANGLE, PD_EDGE_EDGE, PD_PAIR_COUNT };

/* Corners of a pair. */
PD_FUNCTION int pd_pair_corners(int kind) { return kind == PD_VERTEX_VERTEX ? 2 : kind == PD_VERTEX_EDGE ? 3 : 4; }

/* The nearest features of the two primitives; the numbers are visible in Python.
 *     VV 0      VE 0 e0, 1 e1, 2 inside the edge      VT 0 1 2 a corner, 3 t0t1, 4 t1t2, 5 t2t0, 6 the face
 *     EE 0 a0b0, 1 a0b1, 2 a1b0, 3 a1b1, 4 b0 on A, 5 b1 on A, 6 a0 on B, 7 a1 on B, 8 both inside */
typedef struct pd_closest {
    int feature, n_free; /* n_free: parameters of the closest points that are not at a bound */
    real weights[4];     /* beta */
    real slopes[2][4];   /* d beta / d (free parameter) */
    real gap[3];         /* m */
    real normal[3];      /* unit, along the gap; for a zero gap perpendicular to the nearest features */
    real distance;       /* m */
} pd_closest;

PD_FUNCTION void pd_subtract3(const real a[3], const real b[3], real c[3]) {
    for (int i = 0; i < 3; i++) c[i] = a[i] - b[i];
}

/* The largest power of two not above x > 0 (1 for 0). Multiplication by it or its inverse is exact. */
PD_FUNCTION real pd_power_of_two(real x) {
    int exponent = 0;
    if (!(x > 0)) return 1;
    frexp((double)x, &exponent);
    return (real)ldexp(1.0, exponent - 1);
}

/* 1 if products of four lengths up to `size` are far from overflow and underflow, otherwise a power of two that scales them there. */
PD_FUNCTION real pd_length_scale(real size) {
    if ((size >= (real)(1.0 / 1024) && size <= (real)1024) || size == 0) return 1;
    // the inverse of a number near the end of the range would overflow; such a length counts as zero
    real smallest = sizeof(real) == sizeof(float) ? (real)1e-37 : (real)1e-300;
    return (real)1 / pd_power_of_two(pd_max(size, smallest));
}

/* A unit vector perpendicular to e, a function of e only; e = 0: the x axis. */
PD_FUNCTION void pd_perpendicular3(const real e[3], real out[3]) {
    real size = pd_largest(e, 3), unit[3], axis[3] = {0, 0, 0};
    out[0] = 1, out[1] = out[2] = 0;
    if (!(size > 0)) return;
    for (int i = 0; i < 3; i++) unit[i] = e[i] / size;
    // the axis with the smallest component of e; unrolled, since a variable index would prevent registers on a GPU
    real least = pd_min(pd_fabs(unit[0]), pd_min(pd_fabs(unit[1]), pd_fabs(unit[2])));
    int found = 0;
    for (int i = 0; i < 3; i++) {
        int here = !found && pd_fabs(unit[i]) <= least;
        axis[i] = (real)here;
        found |= here;
    }
    pd_cross3(unit, axis, out);
    real length = pd_norm3(out); // at least sqrt(2/3)
    for (int i = 0; i < 3; i++) out[i] /= length;
}

/* The parameter t in [0,1] of the point of a segment nearest to a point: q = point - start, e = end - start. A segment without length
 * (or so short that its square underflows) gives 0. */
PD_FUNCTION real pd_segment_place(const real q[3], const real e[3]) {
    real square = pd_dot3(e, e);
    if (!(square > 0)) return 0;
    return pd_min(pd_max(pd_dot3(q, e) / square, 0), 1);
}

/* Gap, distance and normal from the gap vector g. For g = 0 the normal is perpendicular to `along`. */
PD_FUNCTION void pd_closest_set_gap(pd_closest *out, const real g[3], const real along[3]) {
    real size = pd_largest(g, 3), unit[3];
    for (int i = 0; i < 3; i++) out->gap[i] = g[i];
    out->distance = 0;
    if (!(size > 0)) {
        pd_perpendicular3(along, out->normal);
        return;
    }
    for (int i = 0; i < 3; i++) unit[i] = g[i] / size; // avoids underflow of the squares
    real length = pd_norm3(unit);
    out->distance = size * length;
    for (int i = 0; i < 3; i++) out->normal[i] = unit[i] / length;
}

/* Sets all weights and free parameters to zero. */
PD_FUNCTION void pd_closest_clear(pd_closest *out) {
    out->feature = out->n_free = 0;
    for (int j = 0; j < 4; j++) out->weights[j] = out->slopes[0][j] = out->slopes[1][j] = 0;
    for (int i = 0; i < 3; i++) out->gap[i] = out->normal[i] = 0;
    out->distance = 0;
}

/* Two directions whose cross product is below this fraction of |e| |f| count as parallel in the choice of a feature: that is its
 * rounding error. */
#define PD_PARALLEL ((real)64 * PD_EPSILON)
/* Above this sine the common perpendicular is the more accurate normal, below it the gap vector is. */
#define PD_TRUSTED_SINE ((real)0.01)

#endif
