/* The volume of the four corners of a moving pair as a cubic in Bernstein form, and the data for a distance bound from it.
 *
 *     VT  e1 = v - t0, e2 = t1 - t0, e3 = t2 - t0        EE  e1 = b0 - a0, e2 = a1 - a0, e3 = b1 - b0
 *     vol(t) = det(e1, e2, e3),    |vol(t)| = (distance of point and plane, or of the two lines) |n(t)|,    n = e2 x e3
 *
 * Both distances are at most that of the primitives. So while |vol| > c max |n| the primitives are more than c apart. A polynomial in
 * Bernstein form is between its smallest and largest coefficient. |n(t)| is at most the largest |n_i|. The restriction to [t,1] is a sum
 * of convex combinations. */
#ifndef PD_GEOMETRY_COPLANARITY_H
#define PD_GEOMETRY_COPLANARITY_H

#include "geometry/motion.h"

typedef struct pd_coplanarity {
    real b[4];   /* coefficients of vol on [0,1] */
    real normal; /* >= |n(t)| on [0,1] */
    real error;  /* error bound of b and of convex combinations of it */
} pd_coplanarity;

typedef struct pd_edges {
    pd_vector e1, e2, e3;
} pd_edges;

PD_FUNCTION pd_edges pd_edges_of(int kind, pd_points4 x) {
    int vt = kind == PD_VERTEX_TRIANGLE;
    pd_edges out;
    out.e1 = vt ? pd_vector_subtract(x.a, x.b) : pd_vector_subtract(x.c, x.a);
    out.e2 = vt ? pd_vector_subtract(x.c, x.b) : pd_vector_subtract(x.b, x.a);
    out.e3 = vt ? pd_vector_subtract(x.d, x.b) : pd_vector_subtract(x.d, x.c);
    return out;
}

PD_FUNCTION real pd_larger_norm(pd_vector a, pd_vector b) { return pd_sqrt(pd_max(pd_vector_dot(a, a), pd_vector_dot(b, b))); }

/* Error bounds, with m_i the largest |e_i| of both ends and r the rounding of a coordinate of a position:
 *   triple product of the rounded vectors: 8u m1 m2 m3; restricted to [t,1] 10u more; a slope from differences of such coefficients
 *   3 (20u + u) m1 m2 m3 more
 *   e_i: 2 sqrt(3) r + u |e_i|, which gives 3.5 r (m1 m2 + m1 m3 + m2 m3) + 3u m1 m2 m3 */
PD_FUNCTION void pd_coplanarity_create(const pd_motion *motion, pd_coplanarity *out) {
    const real u = PD_EPSILON;
    pd_edges s = pd_edges_of(motion->kind, motion->x), f = pd_edges_of(motion->kind, pd_points4_along(motion->x, 1, motion->v));
    real m1 = pd_larger_norm(s.e1, f.e1), m2 = pd_larger_norm(s.e2, f.e2), m3 = pd_larger_norm(s.e3, f.e3);
    // Bernstein coefficients of n
    pd_vector n0 = pd_vector_cross(s.e2, s.e3), n2 = pd_vector_cross(f.e2, f.e3);
    pd_vector n1 = pd_vector_scale((real)0.5, pd_vector_add(pd_vector_cross(s.e2, f.e3), pd_vector_cross(f.e2, s.e3)));
    const real third = (real)1 / (real)3;
    out->b[0] = pd_vector_dot(s.e1, n0);
    out->b[1] = third * (pd_vector_dot(f.e1, n0) + (real)2 * pd_vector_dot(s.e1, n1));
    out->b[2] = third * (pd_vector_dot(s.e1, n2) + (real)2 * pd_vector_dot(f.e1, n1));
    out->b[3] = pd_vector_dot(f.e1, n2);
    out->error = (real)96 * u * (m1 * m2 * m3) + (real)4 * motion->rounding * (m1 * (m2 + m3) + m2 * m3);
    out->normal = pd_sqrt(pd_max(pd_max(pd_vector_dot(n0, n0), pd_vector_dot(n1, n1)), pd_vector_dot(n2, n2))) * ((real)1 + (real)8 * u) +
                  (real)8 * u * (m2 * m3) + (real)4 * motion->rounding * (m2 + m3);
}

/* c [4]: the coefficients of vol on [t,1], by de Casteljau's construction; c[0] is vol(t). */
PD_FUNCTION void pd_coplanarity_restrict(const real b[4], real t, real c[4]) {
    real b01 = b[0] + t * (b[1] - b[0]), b12 = b[1] + t * (b[2] - b[1]), b23 = b[2] + t * (b[3] - b[2]);
    real b012 = b01 + t * (b12 - b01), b123 = b12 + t * (b23 - b12);
    c[0] = b012 + t * (b123 - b012);
    c[1] = b123, c[2] = b23, c[3] = b[3];
}

/* All of c beyond `level` on the side `sign`. */
PD_FUNCTION int pd_coplanarity_excluded(const real c[4], real sign, real level) {
    return sign * c[0] > level && sign * c[1] > level && sign * c[2] > level && sign * c[3] > level;
}

#endif
