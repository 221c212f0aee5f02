/* A limit w of the angle between two directions, in a joint with limits.
 *
 *     E = k/2 max(0, cos w - a.b)^2
 *
 * a and b are unit vectors on the two bodies; p = {k [J], cos w}. With k = k_a / sin^2 w it is k_a/2 (angle - w)^2 to first order beyond
 * w, k_a in N m per rad. With the cosine it is a polynomial there, while the angle has no derivative at a = b and at a = -b. At a = -b
 * the force vanishes, after an energy barrier of k (1 + cos w)^2/2. E is C1 at w, where the Hessian takes the inner value.
 *
 *     swing        F = (a, b) in its columns: a = (x_1 - x_0)/l_1, b = (x_3 - x_2)/l_3 with the lengths at rest.
 *     world_swing  F = a = (x_1 - x_0)/l_1, b = p[2..4]. */
#ifndef PD_ELEMENTS_SWING_H
#define PD_ELEMENTS_SWING_H

#include "elements/slide.h"

PD_FUNCTION real pd_swing_beyond(const real a[3], const real b[3], const real *p) { return pd_max(p[1] - pd_dot3(a, b), 0); }

PD_FUNCTION real pd_swing_energy(const real *F, const real *p) {
    real a[3], b[3];
    pd_slide_columns(F, a, b);
    real beyond = pd_swing_beyond(a, b, p);
    return (real)0.5 * p[0] * beyond * beyond;
}

PD_FUNCTION void pd_swing_gradient(const real *F, const real *p, real *P) {
    real a[3], b[3];
    pd_slide_columns(F, a, b);
    real push = p[0] * pd_swing_beyond(a, b, p);
    for (int i = 0; i < 3; i++) P[2 * i] = -push * b[i], P[2 * i + 1] = -push * a[i];
}

/* The parts of d2E/dF2 [3,3]: by a and a, by b and b, and by a (rows) and b. */
PD_FUNCTION void pd_swing_parts(const real *F, const real *p, real *aa, real *bb, real *ab) {
    real a[3], b[3];
    pd_slide_columns(F, a, b);
    real beyond = pd_swing_beyond(a, b, p), k = beyond > 0 ? p[0] : 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            aa[3 * i + j] = k * (b[i] * b[j]);
            bb[3 * i + j] = k * (a[i] * a[j]);
            ab[3 * i + j] = k * (b[i] * a[j]) - (i == j ? k * beyond : 0);
        }
}

PD_FUNCTION void pd_swing_hessian(const real *F, const real *p, pd_hessian_filter filter, real *H) {
    real aa[9], bb[9], ab[9];
    pd_swing_parts(F, p, aa, bb, ab);
    pd_slide_together(aa, bb, ab, filter, H);
}

PD_FUNCTION void pd_swing_block(const real *F, const real *p, const real *g, real *B) {
    real aa[9], bb[9], ab[9];
    pd_swing_parts(F, p, aa, bb, ab);
    pd_slide_corner(aa, bb, ab, g, B);
}

PD_FUNCTION real pd_world_swing_energy(const real *F, const real *p) {
    real beyond = pd_swing_beyond(F, p + 2, p);
    return (real)0.5 * p[0] * beyond * beyond;
}

PD_FUNCTION void pd_world_swing_gradient(const real *F, const real *p, real *P) {
    real push = p[0] * pd_swing_beyond(F, p + 2, p);
    for (int i = 0; i < 3; i++) P[i] = -push * p[2 + i];
}

PD_FUNCTION void pd_world_swing_hessian(const real *F, const real *p, pd_hessian_filter filter, real *H) {
    (void)filter;
    real k = pd_swing_beyond(F, p + 2, p) > 0 ? p[0] : 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) H[3 * i + j] = k * (p[2 + i] * p[2 + j]);
}

PD_FUNCTION void pd_world_swing_block(const real *F, const real *p, const real *g, real *B) {
    pd_world_swing_hessian(F, p, PD_FILTER_CLAMP, B);
    for (int i = 0; i < 9; i++) B[i] *= g[0] * g[0];
}

#endif
