/* Stable neo-Hookean energy of a tet, without the logarithmic term [Smith, de Goes, Kim 2018, Stable Neo-Hookean Flesh Simulation].
 *
 *     Psi = mu/2 (|F|^2 - 3) - mu (J - 1) + lam/2 (J - 1)^2,    J = det F,    E = volume Psi
 *     dPsi/dF = mu F + (lam (J - 1) - mu) C,    C = cof F = dJ/dF
 *
 * p = {2 mu volume, lam volume [J]}. The usual form mu/2 (|F|^2 - 3) + lam/2 (J - 1 - mu/lam)^2 less its value at rest. Its small
 * strains are those of the Lame constants mu and lam - mu. With the signed singular values of svd.h, g = lam (J - 1) - mu, pairs (i,j)
 * and k the third, all derivatives are polynomials:
 *     B_ii = mu + lam (s_j s_k)^2,    B_ij = lam s_i s_j s_k^2 + g s_k,    symmetric = mu - g s_k,    twist = mu + g s_k.
 * J is affine in one corner, so the block of a corner is mu |g|^2 I + lam c c^T with c = C g: positive definite at every F, inverted ones
 * included. F = 0 is a stable point too: a tet collapsed to a point stays there. */
#ifndef PD_ELEMENTS_NEO_HOOKEAN_H
#define PD_ELEMENTS_NEO_HOOKEAN_H

#include "base/svd.h"
#include "elements/isotropic.h"

/* Returns |F|^2 - 3 - 2 (J - 1), and *change = J - 1. Near rest both terms of the first are small and nearly equal, for any rotation of
 * the tet. The Green strain E = (F^T F - I)/2 has invariants with |F|^2 - 3 = 2 I_1 and J^2 - 1 = 2 I_1 + 4 I_2 + 8 I_3, which leaves a
 * difference quadratic in E. Under large strains the invariants cancel, and the expression is evaluated directly. */
PD_FUNCTION real pd_neo_hookean_shear(const real *F, real *change) {
    real E[9], C[9], square = 0, J = pd_matrix3_determinant(F);
    pd_matrix3_transpose_multiply(F, F, E);
    for (int i = 0; i < 9; i++) E[i] = (real)0.5 * (E[i] - (real)(i % 4 == 0)), square += E[i] * E[i];
    real first = E[0] + E[4] + E[8];
    *change = J - (real)1;
    if (!(J > 0 && square < (real)0.25)) return (real)2 * (first - *change);
    pd_matrix3_cofactor(E, C);
    real second = C[0] + C[4] + C[8], third = pd_dot3(E, C);
    *change = ((real)2 * first + (real)4 * second + (real)8 * third) / (J + (real)1);
    return ((real)2 * first * *change - (real)8 * second - (real)16 * third) / (J + (real)1);
}

PD_FUNCTION real pd_neo_hookean_tet_energy(const real *F, const real *p) {
    real change, shear = pd_neo_hookean_shear(F, &change);
    return (real)0.25 * p[0] * shear + (real)0.5 * p[1] * change * change;
}

PD_FUNCTION void pd_neo_hookean_tet_gradient(const real *F, const real *p, real *P) {
    real C[9], mu = (real)0.5 * p[0];
    pd_matrix3_cofactor(F, C);
    real pressure = p[1] * (pd_dot3(F, C) - (real)1) - mu;
    for (int i = 0; i < 9; i++) P[i] = mu * F[i] + pressure * C[i];
}

/* The second derivatives by the singular values s; see isotropic.h. */
PD_LANE_FUNCTION void pd_neo_hookean_tet_quotients(int stride, const real *sigma, const real *p, real *block, real *symmetric,
                                                   real *twist) {
    const real s[3] = {sigma[0], sigma[stride], sigma[2 * stride]};
    real mu = (real)0.5 * p[0];
    real pressure = p[stride] * (s[0] * s[1] * s[2] - (real)1) - mu;
    for (int pair = 0; pair < 3; pair++) {
        int i = pair == 2 ? 1 : 0, j = pair == 0 ? 1 : 2, k = 3 - i - j;
        block[4 * stride * k] = mu + p[stride] * (s[i] * s[j]) * (s[i] * s[j]);
        block[stride * (3 * i + j)] = block[stride * (3 * j + i)] = p[stride] * (s[i] * s[k]) * (s[j] * s[k]) + pressure * s[k];
        symmetric[stride * pair] = mu - pressure * s[k];
        twist[stride * pair] = mu + pressure * s[k];
    }
}

PD_ISOTROPIC_TET_PARTS(neo_hookean_tet)
PD_ISOTROPIC_TET_HESSIAN(neo_hookean_tet)

PD_FUNCTION void pd_neo_hookean_tet_block(const real *F, const real *p, const real *g, real *B) {
    real C[9], c[3], mu = (real)0.5 * p[0];
    pd_matrix3_cofactor(F, C);
    for (int i = 0; i < 3; i++) c[i] = pd_dot3(C + 3 * i, g);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) B[3 * i + j] = (i == j ? mu * pd_dot3(g, g) : 0) + p[1] * (c[i] * c[j]);
}

#endif
