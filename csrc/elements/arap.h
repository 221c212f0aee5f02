/* As-rigid-as-possible energy of a tet (F is 3x3) and of a triangle (F is 3x2).
 *
 *     E(F) = w/2 |F - R|^2,    R = the nearest rotation, or nearest matrix with orthonormal columns
 *     dE/dF = w (F - R)
 *
 * p = {w [J]}: w = 2 mu volume for mu |F - R|^2 per volume, or 2 mu area. [Chao et al. 2010, A Simple Geometric Model for Elastic
 * Deformations]; local step of [Bouaziz et al. 2014, Projective Dynamics]. R is a rotation for every F: an inverted tet is
 * pulled back, not mirrored. Eigenvalues of d2E/dF2 in units of w [Smith, de Goes, Kim 2019]: 1 - 2/(sigma_i + sigma_j)
 * for each twist mode, 1 - 1/sigma_i for the two normal modes of a triangle, 1 for all others.
 * Where sigma_1 + sigma_2 = 0 (triangle: sigma_1 = 0) E has a kink: the gradient is the one of the R that polar.h picks, and
 * the eigenvalue, -infinity in truth, is kept finite by pd_singular_quotient. */
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

PD_FUNCTION void pd_arap_tet_hessian(const real *F, const real *p, int psd, real *H) {
    real U[9], s[3], V[9], w = p[0];
    pd_svd3(F, U, s, V);
    real block[9] = {w, 0, 0, 0, w, 0, 0, 0, w}, symmetric[3] = {w, w, w};
    real twist[3] = {w * ((real)1 - pd_singular_quotient(2, s[0] + s[1])), w * ((real)1 - pd_singular_quotient(2, s[0] + s[2])),
                     w * ((real)1 - pd_singular_quotient(2, s[1] + s[2]))};
    pd_isotropic_hessian3(U, V, block, symmetric, twist, psd, H);
}

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

PD_FUNCTION void pd_arap_triangle_hessian(const real *F, const real *p, int psd, real *H) {
    real U[9], s[2], V[4], w = p[0];
    pd_svd32(F, U, s, V);
    real block[4] = {w, 0, 0, w}, twist = w * ((real)1 - pd_singular_quotient(2, s[0] + s[1]));
    real normal[2] = {w * ((real)1 - pd_singular_quotient(1, s[0])), w * ((real)1 - pd_singular_quotient(1, s[1]))};
    pd_isotropic_hessian32(U, V, block, w, twist, normal, psd, H);
}

#endif
