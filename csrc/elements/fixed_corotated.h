/* Fixed co-rotated energy of a tet [Stomakhin, Howes, Schroeder, Teran 2012, Energetically Consistent Invertible Elasticity].
 *
 *     Psi(F) = mu |F - R|^2 + lam/2 (J - 1)^2,    dPsi/dF = 2 mu (F - R) + lam (J - 1) C,    J = det F,    C = cof F
 *
 * p = {2 mu volume, lam volume [J]}; R as in arap.h. By the singular values s, pairs (i,j) and k the third, g = lam (J - 1):
 *     B_ii = 2 mu + lam (s_j s_k)^2,    B_ij = lam s_i s_j s_k^2 + g s_k,    symmetric = 2 mu - g s_k,
 *     twist = 2 mu + g s_k - 4 mu/(s_i + s_j), finite at s_1 + s_2 = 0 as in arap.h.
 * J is affine in one corner, so the block of a corner is that of arap.h plus lam c c^T with c = C g. The energy is finite at every F; that
 * no step inverts a tet is due to the limit of steps (updates/elements/orientation_update.h). */
#ifndef PD_ELEMENTS_FIXED_COROTATED_H
#define PD_ELEMENTS_FIXED_COROTATED_H

#include "elements/arap.h"
#include "elements/neo_hookean.h"

PD_FUNCTION real pd_fixed_corotated_tet_energy(const real *F, const real *p) {
    real change;
    pd_neo_hookean_shear(F, &change);
    return pd_arap_tet_energy(F, p) + (real)0.5 * p[1] * change * change;
}

PD_FUNCTION void pd_fixed_corotated_tet_gradient(const real *F, const real *p, real *P) {
    real C[9];
    pd_matrix3_cofactor(F, C);
    real pressure = p[1] * (pd_dot3(F, C) - (real)1);
    pd_arap_tet_gradient(F, p, P);
    for (int i = 0; i < 9; i++) P[i] += pressure * C[i];
}

/* The second derivatives by the singular values s; see isotropic.h. */
PD_LANE_FUNCTION void pd_fixed_corotated_tet_quotients(int stride, const real *sigma, const real *p, real *block, real *symmetric,
                                                       real *twist) {
    const real s[3] = {sigma[0], sigma[stride], sigma[2 * stride]};
    real pressure = p[stride] * (s[0] * s[1] * s[2] - (real)1);
    for (int pair = 0; pair < 3; pair++) {
        int i = pair == 2 ? 1 : 0, j = pair == 0 ? 1 : 2, k = 3 - i - j;
        block[4 * stride * k] = p[0] + p[stride] * (s[i] * s[j]) * (s[i] * s[j]);
        block[stride * (3 * i + j)] = block[stride * (3 * j + i)] = p[stride] * (s[i] * s[k]) * (s[j] * s[k]) + pressure * s[k];
        symmetric[stride * pair] = p[0] - pressure * s[k];
        twist[stride * pair] = p[0] + pressure * s[k] - p[0] * pd_singular_quotient(2, s[i] + s[j]);
    }
}

PD_ISOTROPIC_TET_PARTS(fixed_corotated_tet)
PD_ISOTROPIC_TET_HESSIAN(fixed_corotated_tet)

PD_FUNCTION void pd_fixed_corotated_tet_block(const real *F, const real *p, const real *g, real *B) {
    real C[9], c[3];
    pd_matrix3_cofactor(F, C);
    pd_arap_tet_block(F, p, g, B);
    for (int i = 0; i < 3; i++) c[i] = pd_dot3(C + 3 * i, g);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) B[3 * i + j] += p[1] * (c[i] * c[j]);
}

#endif
