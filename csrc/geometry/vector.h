/* 3-vectors by value: for the functions that also run several pairs per vector register (cpu/geometry_ccd.c). A loop, an array or a branch
 * inside them would keep gcc from that. */
#ifndef PD_GEOMETRY_VECTOR_H
#define PD_GEOMETRY_VECTOR_H

#include "base/real.h"

/* A function that must disappear in its caller; others are left to the compiler. */
#if defined(__GNUC__) && !defined(__CUDACC__)
#define PD_LANE_FUNCTION static inline __attribute__((always_inline))
#else
#define PD_LANE_FUNCTION PD_FUNCTION
#endif

typedef struct pd_vector {
    real x, y, z;
} pd_vector;

PD_LANE_FUNCTION pd_vector pd_vector_of(real x, real y, real z) {
    pd_vector out;
    out.x = x, out.y = y, out.z = z;
    return out;
}

PD_LANE_FUNCTION pd_vector pd_vector_load(const real *a) { return pd_vector_of(a[0], a[1], a[2]); }

PD_FUNCTION void pd_vector_store(pd_vector a, real *out) { out[0] = a.x, out[1] = a.y, out[2] = a.z; }

PD_LANE_FUNCTION pd_vector pd_vector_subtract(pd_vector a, pd_vector b) { return pd_vector_of(a.x - b.x, a.y - b.y, a.z - b.z); }

PD_LANE_FUNCTION pd_vector pd_vector_add(pd_vector a, pd_vector b) { return pd_vector_of(a.x + b.x, a.y + b.y, a.z + b.z); }

/* a + t b */
PD_LANE_FUNCTION pd_vector pd_vector_along(pd_vector a, real t, pd_vector b) {
    return pd_vector_of(a.x + t * b.x, a.y + t * b.y, a.z + t * b.z);
}

PD_LANE_FUNCTION real pd_vector_dot(pd_vector a, pd_vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

PD_LANE_FUNCTION pd_vector pd_vector_cross(pd_vector a, pd_vector b) {
    return pd_vector_of(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

/* The largest |coordinate|. */
PD_LANE_FUNCTION real pd_vector_largest(pd_vector a) { return pd_max(pd_fabs(a.x), pd_max(pd_fabs(a.y), pd_fabs(a.z))); }

/* Of four vectors. */
PD_LANE_FUNCTION real pd_vector_largest4(pd_vector a, pd_vector b, pd_vector c, pd_vector d) {
    return pd_max(pd_max(pd_vector_largest(a), pd_vector_largest(b)), pd_max(pd_vector_largest(c), pd_vector_largest(d)));
}

#endif
