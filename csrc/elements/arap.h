/* As-rigid-as-possible energy of a tet (F is 3x3) and of a triangle (F is 3x2).
 *
 *     E(F) = w/2 |F - R|^2,    R = the nearest rotation, or nearest matrix with orthonormal columns
 *     dE/dF = w (F - R)
 *
 * p = {w [J]}: w = 2 mu volume for mu |F - R|^2 per volume, or 2 mu area. [Chao et al. 2010, A Simple Geometric Model for Elastic
 * Deformations]; local step of [Bouaziz et al. 2014, Projective Dynamics]. R is a rotation for every F: an inverted tet is pulled back,
 * not mirrored. Eigenvalues of d2E/dF2 in units of w [Smith, de Goes, Kim 2019]: 1 - 2/(sigma_i + sigma_j) for each twist mode, 1 -
 * 1/sigma_i for the two normal modes of a triangle, 1 for all others.
 *
 * At sigma_1 + sigma_2 = 0 (triangle: sigma_1 = 0) E has a kink. The gradient is that of the R of polar.h. pd_singular_quotient keeps
 * the eigenvalue finite, which diverges to -infinity. */
#ifndef PD_ELEMENTS_ARAP_H
#define PD_ELEMENTS_ARAP_H

#include "base/polar.h"
#include "elements/isotropic.h"

PD_FUNCTION void pd_arap_tet_projection(const real *F, const real *p, real *T) {
    (void)p;
    pd_polar3(F, T);
}

PD_FUNCTION void pd_arap_tet_gradient(const real *F, const real *p, real *P) {
    real R[9];
    pd_polar3(F, R);
    for (int i = 0; i < 9; i++) P[i] = p[0] * (F[i] - R[i]);
}

PD_FUNCTION real pd_arap_tet_energy(const real *F, const real *p) {
    real R[9], sum = 0;
    pd_polar3(F, R);
    for (int i = 0; i < 9; i++) sum += (F[i] - R[i]) * (F[i] - R[i]);
    return (real)0.5 * p[0] * sum;
}

/* The second derivatives by the singular values s; see isotropic.h. */
PD_LANE_FUNCTION void pd_arap_tet_quotients(int stride, const real *sigma, const real *p, real *block, real *symmetric, real *twist) {
    const real s[3] = {sigma[0], sigma[stride], sigma[2 * stride]};
    real w = p[0];
    for (int i = 0; i < 9; i++) block[stride * i] = i % 4 == 0 ? w : 0;
    for (int pair = 0; pair < 3; pair++) {
        int i = pair == 2 ? 1 : 0, j = pair == 0 ? 1 : 2;
        symmetric[stride * pair] = w;
        twist[stride * pair] = w * ((real)1 - pd_singular_quotient(2, s[i] + s[j]));
    }
}

PD_ISOTROPIC_TET_PARTS(arap_tet)
PD_ISOTROPIC_TET(arap_tet)

PD_FUNCTION void pd_arap_triangle_projection(const real *F, const real *p, real *T) {
    (void)p;
    pd_polar32(F, T);
}

PD_FUNCTION void pd_arap_triangle_gradient(const real *F, const real *p, real *P) {
    real R[6];
    pd_polar32(F, R);
    for (int i = 0; i < 6; i++) P[i] = p[0] * (F[i] - R[i]);
}

PD_FUNCTION real pd_arap_triangle_energy(const real *F, const real *p) {
    real R[6], sum = 0;
    pd_polar32(F, R);
    for (int i = 0; i < 6; i++) sum += (F[i] - R[i]) * (F[i] - R[i]);
    return (real)0.5 * p[0] * sum;
}

PD_FUNCTION void pd_arap_triangle_parts(const real *F, const real *p, real U[9], real V[4], real block[4], real *symmetric, real *twist,
                                        real normal[2]) {
    real s[2], w = p[0];
    pd_svd32(F, U, s, V);
    block[0] = block[3] = w;
    block[1] = block[2] = 0;
    *symmetric = w;
    *twist = w * ((real)1 - pd_singular_quotient(2, s[0] + s[1]));
    for (int i = 0; i < 2; i++) normal[i] = w * ((real)1 - pd_singular_quotient(1, s[i]));
}

PD_ISOTROPIC_TRIANGLE(arap_triangle)

#endif
