/* Neo-Hookean energy of a tet with the logarithm of the volume, which is infinite where the tet is flat or inverted [Bonet and Wood 2008,
 * Nonlinear Continuum Mechanics, Eq. 6.27].
 *
 *     Psi(F) = mu/2 (|F|^2 - 3) - mu L + lam/2 L^2,    J = det F,    L = log J,    E = volume Psi
 *     dPsi/dF = mu F + g C/J,    g = lam L - mu,    C = cof F = dJ/dF
 *
 * p = {2 mu volume, lam volume [J]}, mu and lam the Lame constants of small strains. By the singular values s, pairs (i,j):
 *     B_ii = mu + (lam - g)/s_i^2,    B_ij = lam/(s_i s_j),    symmetric = mu - g/(s_i s_j),    twist = mu + g/(s_i s_j).
 * J is affine in one corner, so the block of a corner is mu |g|^2 I + (lam - g)/J^2 c c^T with c = C g. Its last factor is negative where L >
 * 1 + mu/lam, and clamped at zero.
 * At J <= 0 the energy is infinite, and no entry of the derivatives that depends on L is finite. */
#ifndef PD_ELEMENTS_LOG_NEO_HOOKEAN_H
#define PD_ELEMENTS_LOG_NEO_HOOKEAN_H

#include "base/logarithm.h"
#include "elements/neo_hookean.h"

/* The least J with a logarithm: no number below it is normal. */
#define PD_LEAST_VOLUME ((real)(sizeof(real) == sizeof(float) ? 1.17549435e-38 : 2.2250738585072014e-308))

/* log J, and -infinity where the tet is flat or inverted, or J is NaN. less_one = J - 1. */
PD_FUNCTION real pd_log_volume(real J, real less_one) {
    return J >= PD_LEAST_VOLUME && J < (real)INFINITY ? pd_logarithm(J, less_one) : -(real)INFINITY;
}

PD_FUNCTION real pd_log_neo_hookean_tet_energy(const real *F, const real *p) {
    real change, shear = pd_neo_hookean_shear(F, &change), L = pd_log_volume(pd_matrix3_determinant(F), change);
    if (!(L > -(real)INFINITY)) return (real)INFINITY;
    return (real)0.25 * p[0] * (shear + (real)2 * (change - L)) + (real)0.5 * p[1] * L * L;
}

PD_FUNCTION void pd_log_neo_hookean_tet_gradient(const real *F, const real *p, real *P) {
    real C[9], mu = (real)0.5 * p[0];
    pd_matrix3_cofactor(F, C);
    real J = pd_dot3(F, C), pressure = (p[1] * pd_log_volume(J, J - (real)1) - mu) / J;
    for (int i = 0; i < 9; i++) P[i] = mu * F[i] + pressure * C[i];
}

/* The second derivatives by the singular values s; see isotropic.h. */
PD_LANE_FUNCTION void pd_log_neo_hookean_tet_quotients(int stride, const real *sigma, const real *p, real *block, real *symmetric,
                                                       real *twist) {
    const real s[3] = {sigma[0], sigma[stride], sigma[2 * stride]};
    real mu = (real)0.5 * p[0], J = s[0] * s[1] * s[2], g = p[stride] * pd_log_volume(J, J - (real)1) - mu;
    for (int pair = 0; pair < 3; pair++) {
        int i = pair == 2 ? 1 : 0, j = pair == 0 ? 1 : 2, k = 3 - i - j;
        real product = s[i] * s[j];
        block[4 * stride * k] = mu + (p[stride] - g) / (s[k] * s[k]);
        block[stride * (3 * i + j)] = block[stride * (3 * j + i)] = p[stride] / product;
        symmetric[stride * pair] = mu - g / product;
        twist[stride * pair] = mu + g / product;
    }
}

PD_ISOTROPIC_TET_PARTS(log_neo_hookean_tet)
PD_ISOTROPIC_TET_HESSIAN(log_neo_hookean_tet)

PD_FUNCTION void pd_log_neo_hookean_tet_block(const real *F, const real *p, const real *g, real *B) {
    real C[9], c[3], mu = (real)0.5 * p[0];
    pd_matrix3_cofactor(F, C);
    real J = pd_dot3(F, C), along = p[1] - (p[1] * pd_log_volume(J, J - (real)1) - mu);
    along = along < 0 ? 0 : along; // NaN stays
    for (int i = 0; i < 3; i++) c[i] = pd_dot3(C + 3 * i, g) / J;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) B[3 * i + j] = (i == j ? mu * pd_dot3(g, g) : 0) + along * (c[i] * c[j]);
}

#endif
