/* A point that slides along an axis between two ends, in a sliding joint.
 *
 *     E = k/2 |d x u|^2 + k_s/2 (s - clamp(s, lower, upper))^2,    s = d.u
 *
 * d is the displacement of the point from its initial place, u the unit vector along the axis. The stiffness k acts across the axis, and
 * k_s along it beyond the ends only. p = {k, k_s [N/m], lower, upper [m]}; an end may be infinite. E is C1 at the ends, where the
 * Hessian takes the inner value.
 *
 *     slide        F = (d, u) in its columns: d = x_1 - x_0, u = (x_3 - x_2)/l with l at rest, so that x_0, x_2 and x_3 may belong to a
 *                  body that rotates. E is a polynomial for s between the ends, and never divides by |u|, which is 1 on a rigid body.
 *     world_slide  F = d = x_0 - target, u = p[4..6].
 *
 * Four such points, at the corners of a tetrahedron, also fix all rotations. */
#ifndef PD_ELEMENTS_SLIDE_H
#define PD_ELEMENTS_SLIDE_H

#include "base/matrix3.h"
#include "base/symmetric.h"

/* s - clamp(s, lower, upper) */
PD_FUNCTION real pd_slide_beyond(real s, const real *p) { return pd_min(s - p[2], 0) + pd_max(s - p[3], 0); }

PD_FUNCTION real pd_slide_energy_of(const real d[3], const real u[3], const real *p) {
    real across[3], beyond = pd_slide_beyond(pd_dot3(d, u), p);
    pd_cross3(d, u, across);
    return (real)0.5 * (p[0] * pd_dot3(across, across) + p[1] * beyond * beyond);
}

/* dE/dd and dE/du */
PD_FUNCTION void pd_slide_gradient_of(const real d[3], const real u[3], const real *p, real by_d[3], real by_u[3]) {
    real across[3], pull = p[1] * pd_slide_beyond(pd_dot3(d, u), p);
    pd_cross3(d, u, across);
    pd_cross3(u, across, by_d);
    pd_cross3(across, d, by_u);
    for (int i = 0; i < 3; i++) {
        by_d[i] = p[0] * by_d[i] + pull * u[i];
        by_u[i] = p[0] * by_u[i] + pull * d[i];
    }
}

/* d2E/da2 = k (b^2 I - b b^T) + k_s b b^T, the last term only beyond the ends: a is one of d and u, b the other. */
PD_FUNCTION void pd_slide_hessian_of(const real b[3], real k, real k_s, real *H) {
    real square = pd_dot3(b, b);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) H[3 * i + j] = (i == j ? k * square : 0) + (k_s - k) * (b[i] * b[j]);
}

PD_FUNCTION void pd_slide_columns(const real *F, real d[3], real u[3]) {
    for (int i = 0; i < 3; i++) d[i] = F[2 * i], u[i] = F[2 * i + 1];
}

PD_FUNCTION real pd_slide_energy(const real *F, const real *p) {
    real d[3], u[3];
    pd_slide_columns(F, d, u);
    return pd_slide_energy_of(d, u, p);
}

PD_FUNCTION void pd_slide_gradient(const real *F, const real *p, real *P) {
    real d[3], u[3], by_d[3], by_u[3];
    pd_slide_columns(F, d, u);
    pd_slide_gradient_of(d, u, p, by_d, by_u);
    for (int i = 0; i < 3; i++) P[2 * i] = by_d[i], P[2 * i + 1] = by_u[i];
}

/* The parts of d2E/dF2 [3,3]: by d and d, by u and u, and by d (rows) and u. */
PD_FUNCTION void pd_slide_parts(const real *F, const real *p, real *dd, real *uu, real *du) {
    real d[3], u[3];
    pd_slide_columns(F, d, u);
    real s = pd_dot3(d, u), k = p[0], beyond = pd_slide_beyond(s, p), k_s = beyond != 0 ? p[1] : 0;
    pd_slide_hessian_of(u, k, k_s, dd);
    pd_slide_hessian_of(d, k, k_s, uu);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            du[3 * i + j] = (real)2 * k * (d[i] * u[j]) + (k_s - k) * (u[i] * d[j]) + (i == j ? p[1] * beyond - k * s : 0);
}

/* H [6,6] of two columns from its parts. */
PD_FUNCTION void pd_slide_together(const real *dd, const real *uu, const real *du, pd_hessian_filter filter, real *H) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            H[12 * i + 2 * j] = dd[3 * i + j];
            H[12 * i + 6 + 2 * j + 1] = uu[3 * i + j];
            H[12 * i + 2 * j + 1] = du[3 * i + j];
            H[12 * i + 6 + 2 * j] = du[3 * j + i];
        }
    pd_symmetric_filter(6, H, filter);
}

/* B [3,3] of a corner with rest gradient g [2]. */
PD_FUNCTION void pd_slide_corner(const real *dd, const real *uu, const real *du, const real *g, real *B) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j <= i; j++)
            B[3 * i + j] = B[3 * j + i] =
                g[0] * g[0] * dd[3 * i + j] + g[1] * g[1] * uu[3 * i + j] + g[0] * g[1] * (du[3 * i + j] + du[3 * j + i]);
    pd_symmetric3_filter(B, PD_FILTER_CLAMP);
}

PD_FUNCTION void pd_slide_hessian(const real *F, const real *p, pd_hessian_filter filter, real *H) {
    real dd[9], uu[9], du[9];
    pd_slide_parts(F, p, dd, uu, du);
    pd_slide_together(dd, uu, du, filter, H);
}

PD_FUNCTION void pd_slide_block(const real *F, const real *p, const real *g, real *B) {
    real dd[9], uu[9], du[9];
    pd_slide_parts(F, p, dd, uu, du);
    pd_slide_corner(dd, uu, du, g, B);
}

PD_FUNCTION real pd_world_slide_energy(const real *F, const real *p) { return pd_slide_energy_of(F, p + 4, p); }

PD_FUNCTION void pd_world_slide_gradient(const real *F, const real *p, real *P) {
    real by_u[3];
    pd_slide_gradient_of(F, p + 4, p, P, by_u);
}

PD_FUNCTION void pd_world_slide_hessian(const real *F, const real *p, pd_hessian_filter filter, real *H) {
    (void)filter;
    pd_slide_hessian_of(p + 4, p[0], pd_slide_beyond(pd_dot3(F, p + 4), p) != 0 ? p[1] : 0, H);
}

PD_FUNCTION void pd_world_slide_block(const real *F, const real *p, const real *g, real *B) {
    (void)g;
    pd_world_slide_hessian(F, p, PD_FILTER_CLAMP, B);
}

#endif
