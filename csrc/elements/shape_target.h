/* A tet with a target shape in addition to its rest shape: contracting muscles, growing tissue, a sculpted expression.
 *
 *     E(F) = w/2 |F - T|^2,    T = R S,    S the stretch of the target F* = Q S,    R = the rotation nearest to M = F S
 *     dE/dF = w (F - R S)
 *
 * Shape targeting [Klar, Moffat, Museth, Sifakis 2020], used for expressions by Wang et al. 2021, Localized collisions, Sec. 5.2. The
 * constraint set consists of all rotated targets, {R S}. The nearest of them has the R of largest R:F S, which is the polar rotation of
 * F S; Q cancels. w does not depend on the target, nor does the matrix of Projective Dynamics. So a target may change in every step
 * without a new factorisation. S = 1 is the as-rigid-as-possible energy.
 *
 * p = {w [J] = 2 mu volume, S_00, S_01, S_02, S_11, S_12, S_22}, S symmetric positive definite, no unit.
 *
 * With M = U diag(sigma) V^T and the twist modes t_ij = U (e_i e_j^T - e_j e_i^T) V^T S / sqrt(2),
 *     d2E/dF2 = w (1 - sum over i < j of 2 / (sigma_i + sigma_j) t_ij t_ij^T),
 * by the derivative of a polar rotation. With S = 1 the modes are orthonormal and this is arap.h's. Otherwise three orthogonal ones of
 * the same span are computed, and the part above 1 there is the indefinite one. pd_singular_quotient keeps the kink at sigma_1 + sigma_2
 * = 0 finite, as there. */
#ifndef PD_ELEMENTS_SHAPE_TARGET_H
#define PD_ELEMENTS_SHAPE_TARGET_H

#include "base/polar.h"
#include "elements/isotropic.h"

/* (a, b, c) = (x, y, z) S, number i of S [6] at i * stride. */
PD_LANE_FUNCTION void pd_shape_target_row(int stride, real x, real y, real z, const real *S, real *a, real *b, real *c) {
    *a = x * S[0] + y * S[stride] + z * S[2 * stride];
    *b = x * S[stride] + y * S[3 * stride] + z * S[4 * stride];
    *c = x * S[2 * stride] + y * S[4 * stride] + z * S[5 * stride];
}

/* out = A S */
PD_FUNCTION void pd_shape_target_stretched(const real *A, const real *p, real *out) {
    for (int a = 0; a < 3; a++)
        pd_shape_target_row(1, A[3 * a], A[3 * a + 1], A[3 * a + 2], p + 1, out + 3 * a, out + 3 * a + 1, out + 3 * a + 2);
}

PD_FUNCTION void pd_shape_target_projection(const real *F, const real *p, real *T) {
    real M[9], R[9];
    pd_shape_target_stretched(F, p, M);
    pd_polar3(M, R);
    pd_shape_target_stretched(R, p, T);
}

PD_FUNCTION void pd_shape_target_gradient(const real *F, const real *p, real *P) {
    real T[9];
    pd_shape_target_projection(F, p, T);
    for (int i = 0; i < 9; i++) P[i] = p[0] * (F[i] - T[i]);
}

PD_FUNCTION real pd_shape_target_energy(const real *F, const real *p) {
    real T[9], sum = 0;
    pd_shape_target_projection(F, p, T);
    for (int i = 0; i < 9; i++) sum += (F[i] - T[i]) * (F[i] - T[i]);
    return (real)0.5 * p[0] * sum;
}

/* modes [3,9] out: sqrt(2 / (sigma_i + sigma_j)) t_ij, so that d2E/dF2 = w (1 - sum m m^T). */
PD_FUNCTION void pd_shape_target_modes(const real *F, const real *p, real modes[27]) {
    real M[9], U[9], s[3], V[9], mode[9];
    pd_shape_target_stretched(F, p, M);
    pd_svd3(M, U, s, V);
    for (int pair = 0; pair < 3; pair++) {
        int i = pair == 2 ? 1 : 0, j = pair == 0 ? 1 : 2;
        real root = pd_sqrt(pd_singular_quotient(1, s[i] + s[j]));
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++) mode[3 * a + b] = root * (U[3 * a + i] * V[3 * b + j] - U[3 * a + j] * V[3 * b + i]);
        pd_shape_target_stretched(mode, p, modes + 9 * pair);
    }
}

/* Exchanges a and b [9] if b is longer. */
PD_FUNCTION void pd_shape_target_sort(real *a, real *b) {
    real a_a = 0, b_b = 0;
    for (int r = 0; r < 9; r++) {
        a_a += a[r] * a[r];
        b_b += b[r] * b[r];
    }
    for (int r = 0; r < 9; r++) {
        real first = a[r], second = b[r];
        a[r] = b_b > a_a ? second : first;
        b[r] = b_b > a_a ? first : second;
    }
}

/* Makes b orthogonal to a. */
PD_FUNCTION void pd_shape_target_part(const real *a, real *b) {
    real a_a = 0, a_b = 0;
    for (int r = 0; r < 9; r++) {
        a_a += a[r] * a[r];
        a_b += a[r] * b[r];
    }
    real part = a_a > 0 ? a_b / a_a : (real)0;
    for (int r = 0; r < 9; r++) b[r] -= part * a[r];
}

/* Rotates the modes to orthogonal ones with the same sum m m^T, the longest first, and scales them so that 1 - sum sign m m^T has the
 * filtered eigenvalues 1 - sign |m|^2. Clamped modes have a length of at most 1. The rotation diagonalises the products of the modes.
 * Its rounding matters at the kink only; a Gram-Schmidt step removes the longer modes from the shorter ones. */
PD_FUNCTION void pd_shape_target_filter(pd_hessian_filter filter, real modes[27], real signs[3]) {
    real products[9], lambda[3], Q[9];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            products[3 * i + j] = 0;
            for (int r = 0; r < 9; r++) products[3 * i + j] += modes[9 * i + r] * modes[9 * j + r];
        }
    pd_symmetric3_eigen(products, lambda, Q);
    for (int r = 0; r < 9; r++) {
        real x = modes[r], y = modes[9 + r], z = modes[18 + r];
        for (int m = 0; m < 3; m++) modes[9 * m + r] = Q[m] * x + Q[3 + m] * y + Q[6 + m] * z;
    }
    pd_shape_target_sort(modes, modes + 9);
    pd_shape_target_sort(modes + 9, modes + 18);
    pd_shape_target_sort(modes, modes + 9);
    pd_shape_target_part(modes, modes + 9);
    pd_shape_target_part(modes, modes + 18);
    pd_shape_target_part(modes + 9, modes + 18);
    for (int m = 0; m < 3; m++) {
        real square = 0;
        for (int r = 0; r < 9; r++) square += modes[9 * m + r] * modes[9 * m + r];
        real eigenvalue = (real)1 - square, kept = pd_filter_eigenvalue(filter, eigenvalue), part = (real)1 - kept;
        real factor = kept == eigenvalue ? (real)1 : pd_sqrt(pd_fabs(part)) / pd_sqrt(square);
        for (int r = 0; r < 9; r++) modes[9 * m + r] *= factor;
        signs[m] = kept > 1 ? (real)-1 : (real)1;
    }
}

PD_FUNCTION void pd_shape_target_hessian(const real *F, const real *p, pd_hessian_filter filter, real *H) {
    real modes[27], signs[3] = {1, 1, 1};
    pd_shape_target_modes(F, p, modes);
    if (filter != PD_FILTER_NONE) pd_shape_target_filter(filter, modes, signs);
    for (int i = 0; i < 81; i++) H[i] = i % 10 == 0 ? p[0] : 0;
    for (int m = 0; m < 3; m++)
        for (int r = 0; r < 9; r++)
            for (int c = r; c < 9; c++) H[9 * r + c] -= signs[m] * p[0] * modes[9 * m + r] * modes[9 * m + c];
    pd_isotropic_mirror(1, 9, H);
}

PD_FUNCTION void pd_shape_target_block(const real *F, const real *p, const real *g, real *B) {
    real modes[27], along = pd_dot3(g, g);
    pd_shape_target_modes(F, p, modes);
    for (int i = 0; i < 9; i++) B[i] = i % 4 == 0 ? along : 0;
    for (int m = 0; m < 3; m++) {
        real at[3];
        for (int a = 0; a < 3; a++) at[a] = pd_dot3(modes + 9 * m + 3 * a, g);
        for (int a = 0; a < 3; a++)
            for (int c = 0; c < 3; c++) B[3 * a + c] -= at[a] * at[c];
    }
    pd_symmetric3_filter(B, PD_FILTER_CLAMP);
    for (int i = 0; i < 9; i++) B[i] *= p[0];
}

#endif
