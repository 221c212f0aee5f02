/* 3-vectors, and the four corners of a pair, by value: for functions that also process several pairs in one vector register
 * (cpu/geometry/geometry_ccd.c). Loops, arrays or branches inside them would prevent that. */
#ifndef PD_GEOMETRY_VECTOR_H
#define PD_GEOMETRY_VECTOR_H

#include "base/real.h"

typedef struct pd_vector {
    real x, y, z;
} pd_vector;

PD_LANE_FUNCTION pd_vector pd_vector_of(real x, real y, real z) {
    pd_vector out;
    out.x = x, out.y = y, out.z = z;
    return out;
}

PD_LANE_FUNCTION pd_vector pd_vector_load(const real a[3]) { return pd_vector_of(a[0], a[1], a[2]); }

PD_FUNCTION void pd_vector_store(pd_vector a, real out[3]) { out[0] = a.x, out[1] = a.y, out[2] = a.z; }

PD_LANE_FUNCTION pd_vector pd_vector_add(pd_vector a, pd_vector b) { return pd_vector_of(a.x + b.x, a.y + b.y, a.z + b.z); }

PD_LANE_FUNCTION pd_vector pd_vector_subtract(pd_vector a, pd_vector b) { return pd_vector_of(a.x - b.x, a.y - b.y, a.z - b.z); }

PD_LANE_FUNCTION pd_vector pd_vector_scale(real s, pd_vector a) { return pd_vector_of(s * a.x, s * a.y, s * a.z); }

/* a + t b */
PD_LANE_FUNCTION pd_vector pd_vector_along(pd_vector a, real t, pd_vector b) {
    return pd_vector_of(a.x + t * b.x, a.y + t * b.y, a.z + t * b.z);
}

PD_LANE_FUNCTION real pd_vector_dot(pd_vector a, pd_vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

PD_LANE_FUNCTION pd_vector pd_vector_cross(pd_vector a, pd_vector b) {
    return pd_vector_of(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

PD_LANE_FUNCTION pd_vector pd_vector_choose(int yes, pd_vector a, pd_vector b) {
    return pd_vector_of(yes ? a.x : b.x, yes ? a.y : b.y, yes ? a.z : b.z);
}

/* The largest |coordinate|. */
PD_LANE_FUNCTION real pd_vector_largest(pd_vector a) { return pd_max(pd_fabs(a.x), pd_max(pd_fabs(a.y), pd_fabs(a.z))); }

/* Positions or displacements of the corners of a vertex-triangle pair (p; t0, t1, t2) or an edge-edge pair (a0, a1; b0, b1). */
typedef struct pd_points4 {
    pd_vector a, b, c, d;
} pd_points4;

PD_LANE_FUNCTION pd_points4 pd_points4_of(pd_vector a, pd_vector b, pd_vector c, pd_vector d) {
    pd_points4 out;
    out.a = a, out.b = b, out.c = c, out.d = d;
    return out;
}

PD_LANE_FUNCTION pd_points4 pd_points4_load(const real x[12]) {
    return pd_points4_of(pd_vector_load(x), pd_vector_load(x + 3), pd_vector_load(x + 6), pd_vector_load(x + 9));
}

PD_FUNCTION void pd_points4_store(pd_points4 x, real out[12]) {
    pd_vector_store(x.a, out), pd_vector_store(x.b, out + 3), pd_vector_store(x.c, out + 6), pd_vector_store(x.d, out + 9);
}

PD_LANE_FUNCTION pd_points4 pd_points4_subtract(pd_points4 x, pd_points4 y) {
    return pd_points4_of(pd_vector_subtract(x.a, y.a), pd_vector_subtract(x.b, y.b), pd_vector_subtract(x.c, y.c),
                         pd_vector_subtract(x.d, y.d));
}

/* All corners minus one vector. */
PD_LANE_FUNCTION pd_points4 pd_points4_shift(pd_points4 x, pd_vector by) { return pd_points4_subtract(x, pd_points4_of(by, by, by, by)); }

PD_LANE_FUNCTION pd_points4 pd_points4_scale(real s, pd_points4 x) {
    return pd_points4_of(pd_vector_scale(s, x.a), pd_vector_scale(s, x.b), pd_vector_scale(s, x.c), pd_vector_scale(s, x.d));
}

/* x + t v */
PD_LANE_FUNCTION pd_points4 pd_points4_along(pd_points4 x, real t, pd_points4 v) {
    return pd_points4_of(pd_vector_along(x.a, t, v.a), pd_vector_along(x.b, t, v.b), pd_vector_along(x.c, t, v.c),
                         pd_vector_along(x.d, t, v.d));
}

/* The largest |coordinate|. */
PD_LANE_FUNCTION real pd_points4_largest(pd_points4 x) {
    return pd_max(pd_max(pd_vector_largest(x.a), pd_vector_largest(x.b)), pd_max(pd_vector_largest(x.c), pd_vector_largest(x.d)));
}

#endif
