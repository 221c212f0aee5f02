/* The volume of the four corners of a moving pair as a cubic in Bernstein form, with what is needed to conclude a distance from it.
 *
 *     VT  e1 = v - t0, e2 = t1 - t0, e3 = t2 - t0        EE  e1 = b0 - a0, e2 = a1 - a0, e3 = b1 - b0
 *     vol(t) = det(e1, e2, e3),    |vol(t)| = (distance of point and plane, or of the two lines) |n(t)|,    n = e2 x e3
 *
 * Both distances are at most that of the primitives. So while |vol| > c max |n| the primitives are more than c apart. In Bernstein form
 * a polynomial lies between its smallest and largest coefficient, |n(t)| below the largest |n_i|, and restricting to [t,1] is a sum of
 * convex combinations. */
#ifndef PD_GEOMETRY_COPLANARITY_H
#define PD_GEOMETRY_COPLANARITY_H

#include "geometry/motion.h"

typedef struct pd_coplanarity {
    real b[4];   /* coefficients of vol on [0,1] */
    real normal; /* >= |n(t)| on [0,1] */
    real error;  /* bound of the error of b and of values computed from it by convex combinations */
} pd_coplanarity;

/* With m_i the largest |e_i| of both ends and r the rounding of a coordinate of a position:
 *   computed triple product - exact one of the rounded vectors <= 8u m1 m2 m3; restricted to [t,1] 10u more; a slope taken from
 *   differences of such coefficients 3 (20u + u) m1 m2 m3 more
 *   e_i off by 2 sqrt(3) r + u |e_i|: 3.5 r (m1 m2 + m1 m3 + m2 m3) + 3u m1 m2 m3 */
PD_FUNCTION void pd_coplanarity_create(const pd_motion *motion, pd_coplanarity *out) {
    const real u = PD_EPSILON;
    // rows: e1, e2, e3 as differences of corners
    int vt = motion->kind == PD_VERTEX_TRIANGLE;
    int plus[3], minus[3];
    plus[0] = vt ? 0 : 2, plus[1] = vt ? 2 : 1, plus[2] = 3;
    minus[0] = vt ? 1 : 0, minus[1] = vt ? 1 : 0, minus[2] = vt ? 1 : 2;
    real s[3][3], f[3][3], m[3];
    for (int k = 0; k < 3; k++) {
        const real *x1 = motion->x + 3 * plus[k], *x0 = motion->x + 3 * minus[k];
        const real *v1 = motion->v + 3 * plus[k], *v0 = motion->v + 3 * minus[k];
        for (int i = 0; i < 3; i++) {
            s[k][i] = x1[i] - x0[i];
            f[k][i] = (x1[i] + v1[i]) - (x0[i] + v0[i]);
        }
        m[k] = pd_sqrt(pd_max(pd_dot3(s[k], s[k]), pd_dot3(f[k], f[k])));
    }
    real n0[3], n1[3], n2[3], c[3];
    pd_cross3(s[1], s[2], n0);
    pd_cross3(f[1], f[2], n2);
    pd_cross3(s[1], f[2], n1);
    pd_cross3(f[1], s[2], c);
    for (int i = 0; i < 3; i++) n1[i] = (real)0.5 * (n1[i] + c[i]);
    const real third = (real)1 / (real)3;
    out->b[0] = pd_dot3(s[0], n0);
    out->b[1] = third * (pd_dot3(f[0], n0) + (real)2 * pd_dot3(s[0], n1));
    out->b[2] = third * (pd_dot3(s[0], n2) + (real)2 * pd_dot3(f[0], n1));
    out->b[3] = pd_dot3(f[0], n2);
    real across = m[1] * m[2], volume = m[0] * across;
    out->error = (real)96 * u * volume + (real)4 * motion->rounding * (m[0] * (m[1] + m[2]) + across);
    out->normal = pd_sqrt(pd_max(pd_max(pd_dot3(n0, n0), pd_dot3(n1, n1)), pd_dot3(n2, n2))) * ((real)1 + (real)8 * u) +
                  (real)8 * u * across + (real)4 * motion->rounding * (m[1] + m[2]);
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
