/* Strain limiting: bounds every singular value of F by a minimum and a maximum, for a tet (3x3) and a triangle (3x2).
 *
 *     E(F) = w/2 |F - T|^2 = w/2 sum (sigma_i - c_i)^2,    T = U diag(c) V^T,    c_i = clamp(sigma_i, minimum, maximum)
 *     dE/dF = w (F - T) = w U diag(sigma - c) V^T
 *
 * p = {w [J] = k volume or k area, minimum, maximum}, 0 < minimum <= maximum, no unit. [Bouaziz et al. 2014, Projective Dynamics, Sec.
 * 5, Strain]. The singular values of a tet are signed (svd.h), so T has det > 0 and is the exact nearest point; minimum = maximum = 1 is
 * the as-rigid-as-possible energy.
 *
 * E is C1 at the limits: there the Hessian takes the inner value, zero. At sigma_1 + sigma_2 = 0 (triangle: sigma_1 = 0) T is not
 * unique, and pd_singular_quotient keeps the eigenvalues finite that diverge to -infinity. */
#ifndef PD_ELEMENTS_STRAIN_LIMIT_H
#define PD_ELEMENTS_STRAIN_LIMIT_H

#include "base/svd.h"
#include "elements/isotropic.h"

PD_FUNCTION real pd_strain_limit_clamp(real s, const real *p) { return pd_max(p[1], pd_min(p[2], s)); }

/* (Psi_i - Psi_j)/(s_i - s_j) for s_i >= s_j: 1 - (c_i - c_j)/(s_i - s_j), with its limits at s_i = s_j. */
PD_FUNCTION real pd_strain_limit_symmetric(real s_i, real s_j, const real *p) {
    real c_i = pd_strain_limit_clamp(s_i, p), c_j = pd_strain_limit_clamp(s_j, p);
    if (c_i == s_i && c_j == s_j) return 0;
    if (c_i == c_j) return p[0];
    return p[0] * ((real)1 - (c_i - c_j) / (s_i - s_j));
}

/* (Psi_i + Psi_j)/(s_i + s_j) */
PD_FUNCTION real pd_strain_limit_twist(real s_i, real s_j, const real *p) {
    real c_i = pd_strain_limit_clamp(s_i, p), c_j = pd_strain_limit_clamp(s_j, p);
    if (c_i == s_i && c_j == s_j) return 0;
    return p[0] * ((real)1 - pd_singular_quotient(c_i + c_j, s_i + s_j));
}

PD_FUNCTION real pd_strain_limit_tet_energy(const real *F, const real *p) {
    real U[9], s[3], V[9], sum = 0;
    pd_svd3(F, U, s, V);
    for (int i = 0; i < 3; i++) {
        real excess = s[i] - pd_strain_limit_clamp(s[i], p);
        sum += excess * excess;
    }
    return (real)0.5 * p[0] * sum;
}

PD_FUNCTION void pd_strain_limit_tet_gradient(const real *F, const real *p, real *P) {
    real U[9], s[3], V[9];
    pd_svd3(F, U, s, V);
    for (int i = 0; i < 3; i++) s[i] = p[0] * (s[i] - pd_strain_limit_clamp(s[i], p));
    pd_svd3_compose(U, s, V, P);
}

PD_FUNCTION void pd_strain_limit_tet_parts(const real *F, const real *p, real U[9], real V[9], real block[9], real symmetric[3],
                                           real twist[3]) {
    real s[3];
    pd_svd3(F, U, s, V);
    for (int i = 0; i < 9; i++) block[i] = 0;
    for (int i = 0; i < 3; i++) block[4 * i] = pd_strain_limit_clamp(s[i], p) == s[i] ? 0 : p[0];
    for (int pair = 0; pair < 3; pair++) {
        int i = pair == 2 ? 1 : 0, j = pair == 0 ? 1 : 2;
        symmetric[pair] = pd_strain_limit_symmetric(s[i], s[j], p);
        twist[pair] = pd_strain_limit_twist(s[i], s[j], p);
    }
}

PD_ISOTROPIC_TET(strain_limit_tet)

PD_FUNCTION void pd_strain_limit_tet_projection(const real *F, const real *p, real *T) {
    real U[9], s[3], V[9];
    pd_svd3(F, U, s, V);
    for (int i = 0; i < 3; i++) s[i] = pd_strain_limit_clamp(s[i], p);
    pd_svd3_compose(U, s, V, T);
}

PD_FUNCTION real pd_strain_limit_triangle_energy(const real *F, const real *p) {
    real U[9], s[2], V[4], sum = 0;
    pd_svd32(F, U, s, V);
    for (int i = 0; i < 2; i++) {
        real excess = s[i] - pd_strain_limit_clamp(s[i], p);
        sum += excess * excess;
    }
    return (real)0.5 * p[0] * sum;
}

PD_FUNCTION void pd_strain_limit_triangle_gradient(const real *F, const real *p, real *P) {
    real U[9], s[2], V[4];
    pd_svd32(F, U, s, V);
    for (int i = 0; i < 2; i++) s[i] = p[0] * (s[i] - pd_strain_limit_clamp(s[i], p));
    pd_svd32_compose(U, s, V, P);
}

PD_FUNCTION void pd_strain_limit_triangle_parts(const real *F, const real *p, real U[9], real V[4], real block[4], real *symmetric,
                                                real *twist, real normal[2]) {
    real s[2];
    pd_svd32(F, U, s, V);
    block[1] = block[2] = 0;
    for (int i = 0; i < 2; i++) {
        real c = pd_strain_limit_clamp(s[i], p);
        block[3 * i] = c == s[i] ? 0 : p[0];
        normal[i] = c == s[i] ? 0 : p[0] * ((real)1 - pd_singular_quotient(c, s[i]));
    }
    *symmetric = pd_strain_limit_symmetric(s[0], s[1], p);
    *twist = pd_strain_limit_twist(s[0], s[1], p);
}

PD_ISOTROPIC_TRIANGLE(strain_limit_triangle)

PD_FUNCTION void pd_strain_limit_triangle_projection(const real *F, const real *p, real *T) {
    real U[9], s[2], V[4];
    pd_svd32(F, U, s, V);
    for (int i = 0; i < 2; i++) s[i] = pd_strain_limit_clamp(s[i], p);
    pd_svd32_compose(U, s, V, T);
}

#endif
