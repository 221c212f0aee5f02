/* Co-rotated linear energy of a tet (F is 3x3) and of a triangle (F is 3x2) [Müller and Gross 2004; Sifakis and Barbic 2012, Sec. 3.4].
 *
 *     Psi = mu |F - R|^2 + lam/2 tr^2(R^T F - I),    dPsi/dF = 2 mu (F - R) + lam tr(R^T F - I) R
 *
 * p = {2 mu volume, lam volume [J]}, or with the area; R as in arap.h. By the singular values, t = lam (sum s_i - d): B_ij = 2 mu
 * delta_ij + lam, symmetric = 2 mu, twist = 2 mu + 2 (t - 2 mu)/(s_i + s_j), normal = 2 mu + (t - 2 mu)/s_i. Twist and normal stay
 * finite at s_1 + s_2 = 0 or s_1 = 0, as in arap.h. */
#ifndef PD_ELEMENTS_COROTATED_H
#define PD_ELEMENTS_COROTATED_H

#include "base/polar.h"
#include "elements/isotropic.h"

/* tr(R^T F - I), from F - R: without cancellation near rest. D [3,d] out = F - R. */
PD_FUNCTION real pd_corotated_trace(int d, const real *F, const real *R, real *D) {
    real trace = 0;
    for (int i = 0; i < 3 * d; i++) D[i] = F[i] - R[i], trace += R[i] * D[i];
    return trace;
}

PD_FUNCTION real pd_corotated_energy(int d, const real *F, const real *R, const real *p) {
    real D[9], square = 0, trace = pd_corotated_trace(d, F, R, D);
    for (int i = 0; i < 3 * d; i++) square += D[i] * D[i];
    return (real)0.5 * (p[0] * square + p[1] * trace * trace);
}

PD_FUNCTION void pd_corotated_gradient(int d, const real *F, const real *R, const real *p, real *P) {
    real D[9], trace = pd_corotated_trace(d, F, R, D);
    for (int i = 0; i < 3 * d; i++) P[i] = p[0] * D[i] + p[1] * trace * R[i];
}

/* 2 mu + factor (t - 2 mu)/b */
PD_FUNCTION real pd_corotated_quotient(real t, real factor, real b, const real *p) {
    return p[0] + pd_singular_quotient(factor * (t - p[0]), b);
}

PD_FUNCTION real pd_corotated_tet_energy(const real *F, const real *p) {
    real R[9];
    pd_polar3(F, R);
    return pd_corotated_energy(3, F, R, p);
}

PD_FUNCTION void pd_corotated_tet_gradient(const real *F, const real *p, real *P) {
    real R[9];
    pd_polar3(F, R);
    pd_corotated_gradient(3, F, R, p, P);
}

PD_LANE_FUNCTION void pd_corotated_tet_quotients(int stride, const real *sigma, const real *p, real *block, real *symmetric, real *twist) {
    const real s[3] = {sigma[0], sigma[stride], sigma[2 * stride]};
    real t = p[stride] * (s[0] + s[1] + s[2] - (real)3);
    for (int i = 0; i < 9; i++) block[stride * i] = p[stride] + (i % 4 == 0 ? p[0] : 0);
    for (int pair = 0; pair < 3; pair++) {
        int i = pair == 2 ? 1 : 0, j = pair == 0 ? 1 : 2;
        symmetric[stride * pair] = p[0];
        twist[stride * pair] = pd_corotated_quotient(t, 2, s[i] + s[j], p);
    }
}

PD_ISOTROPIC_TET_PARTS(corotated_tet)
PD_ISOTROPIC_TET(corotated_tet)

PD_FUNCTION real pd_corotated_triangle_energy(const real *F, const real *p) {
    real R[6];
    pd_polar32(F, R);
    return pd_corotated_energy(2, F, R, p);
}

PD_FUNCTION void pd_corotated_triangle_gradient(const real *F, const real *p, real *P) {
    real R[6];
    pd_polar32(F, R);
    pd_corotated_gradient(2, F, R, p, P);
}

PD_FUNCTION void pd_corotated_triangle_parts(const real *F, const real *p, real U[9], real V[4], real block[4], real *symmetric,
                                             real *twist, real normal[2]) {
    real s[2];
    pd_svd32(F, U, s, V);
    real t = p[1] * (s[0] + s[1] - (real)2);
    for (int i = 0; i < 4; i++) block[i] = p[1] + (i % 3 == 0 ? p[0] : 0);
    *symmetric = p[0];
    *twist = pd_corotated_quotient(t, 2, s[0] + s[1], p);
    for (int i = 0; i < 2; i++) normal[i] = pd_corotated_quotient(t, 1, s[i], p);
}

PD_ISOTROPIC_TRIANGLE(corotated_triangle)

#endif
