/* Orthotropic Saint Venant-Kirchhoff energy of a tet (F is 3x3) and of a triangle (F is 3x2) [Jones 1999, Mechanics of
 * Composite Materials, Sec. 2.3, for C and G; Volino, Magnenat-Thalmann, Faure 2009, for cloth].
 *
 *     Psi = 1/2 sum_ij C_ij E_ii E_jj + 2 sum_{i<j} G_ij E_ij^2,    E = (F^T F - I)/2
 *     dPsi/dF = F S,    S_ii = sum_j C_ij E_jj,    S_ij = 2 G_ij E_ij
 *
 * The columns of F belong to the axes of the material: its rest gradients are turned into the frame of the element, which needs no numbers
 * here. p = {w, C [d (d+1)/2], G [d (d-1)/2]}, J: times volume or area; C by rows of the upper triangle, G_12, G_13, G_23. w is the median
 * eigenvalue of d2E/dF2 at rest on strains: 2 mu for C_ii = 2 mu + lam, C_ij = lam, G = mu, which is the energy of stvk.h.
 *
 * With D_ii = C_ii and D_bi = G_bi the Hessian is a polynomial, for columns b != c:
 *     d2Psi/dF_ab dF_eb = S_bb delta_ae + sum_i D_bi F_ai F_ei,    d2Psi/dF_ab dF_ec = S_bc delta_ae + C_bc F_ab F_ec + G_bc F_ac F_eb.
 * C is positive definite, so only the stress can be indefinite. The block of a corner is (g.S g) I + F K F^T, K_ii = sum_j D_ij g_j^2, K_ij
 * = (C_ij + G_ij) g_i g_j, with its first term clamped at zero as in stvk.h. */
#ifndef PD_ELEMENTS_ORTHOTROPIC_H
#define PD_ELEMENTS_ORTHOTROPIC_H

#include "base/symmetric.h"
#include "elements/stvk.h"

/* C_ij, for any order of i and j. */
PD_FUNCTION real pd_orthotropic_normal(int d, const real *p, int i, int j) {
    const int low = i < j ? i : j, high = i < j ? j : i;
    return p[1 + low * d - low * (low - 1) / 2 + high - low];
}

/* G_ij, i != j. */
PD_FUNCTION real pd_orthotropic_shear(int d, const real *p, int i, int j) { return p[d * (d + 1) / 2 + i + j]; }

/* D_ij */
PD_FUNCTION real pd_orthotropic_own(int d, const real *p, int i, int j) {
    return i == j ? pd_orthotropic_normal(d, p, i, i) : pd_orthotropic_shear(d, p, i, j);
}

PD_FUNCTION real pd_orthotropic_energy(int d, const real *F, const real *p) {
    real E[9], sum = 0;
    pd_stvk_strain(d, F, E);
    for (int i = 0; i < d; i++)
        for (int j = 0; j < d; j++) {
            sum += (real)0.5 * pd_orthotropic_normal(d, p, i, j) * E[(d + 1) * i] * E[(d + 1) * j];
            if (i != j) sum += pd_orthotropic_shear(d, p, i, j) * E[d * i + j] * E[d * i + j];
        }
    return sum;
}

PD_FUNCTION void pd_orthotropic_stress(int d, const real *F, const real *p, real *S) {
    real E[9];
    pd_stvk_strain(d, F, E);
    for (int i = 0; i < d; i++)
        for (int j = 0; j < d; j++) {
            real sum = 0;
            if (i == j)
                for (int c = 0; c < d; c++) sum += pd_orthotropic_normal(d, p, i, c) * E[(d + 1) * c];
            else
                sum = (real)2 * pd_orthotropic_shear(d, p, i, j) * E[d * i + j];
            S[d * i + j] = sum;
        }
}

PD_FUNCTION void pd_orthotropic_gradient(int d, const real *F, const real *p, real *P) {
    real S[9];
    pd_orthotropic_stress(d, F, p, S);
    pd_stvk_first_piola(d, F, S, P);
}

PD_FUNCTION void pd_orthotropic_hessian(int d, const real *F, const real *p, pd_hessian_filter filter, real *H) {
    real S[9], padded[9] = {0};
    const int n = 3 * d;
    pd_orthotropic_stress(d, F, p, S);
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < d; b++)
            for (int e = a; e < 3; e++)
                for (int c = e == a ? b : 0; c < d; c++) {
                    real sum = a == e ? S[d * b + c] : 0;
                    if (b == c)
                        for (int i = 0; i < d; i++) sum += pd_orthotropic_own(d, p, b, i) * (F[d * a + i] * F[d * e + i]);
                    else
                        sum += pd_orthotropic_normal(d, p, b, c) * (F[d * a + b] * F[d * e + c]) +
                               pd_orthotropic_shear(d, p, b, c) * (F[d * a + c] * F[d * e + b]);
                    H[n * (d * a + b) + d * e + c] = H[n * (d * e + c) + d * a + b] = sum;
                }
    for (int b = 0; b < d; b++)
        for (int c = 0; c < d; c++) padded[3 * b + c] = S[d * b + c];
    if (filter == PD_FILTER_NONE || pd_symmetric3_is_definite(padded)) return; // tension in all directions: H is positive definite
    pd_symmetric_filter(n, H, filter);
}

PD_FUNCTION void pd_orthotropic_block(int d, const real *F, const real *p, const real *g, real *B) {
    real S[9], K[9];
    pd_orthotropic_stress(d, F, p, S);
    for (int i = 0; i < d; i++)
        for (int j = 0; j < d; j++) {
            real sum = 0;
            if (i == j)
                for (int c = 0; c < d; c++) sum += pd_orthotropic_own(d, p, i, c) * (g[c] * g[c]);
            else
                sum = (pd_orthotropic_normal(d, p, i, j) + pd_orthotropic_shear(d, p, i, j)) * (g[i] * g[j]);
            K[d * i + j] = sum;
        }
    const real along = pd_max(pd_stvk_along(d, S, g), 0);
    for (int a = 0; a < 3; a++)
        for (int e = a; e < 3; e++) {
            real sum = a == e ? along : 0;
            for (int i = 0; i < d; i++)
                for (int j = 0; j < d; j++) sum += F[d * a + i] * K[d * i + j] * F[d * e + j];
            B[3 * a + e] = B[3 * e + a] = sum;
        }
}

#define PD_ORTHOTROPIC(name, d)                                                                                           \
    PD_FUNCTION real pd_##name##_energy(const real *F, const real *p) { return pd_orthotropic_energy(d, F, p); }          \
    PD_FUNCTION void pd_##name##_gradient(const real *F, const real *p, real *P) { pd_orthotropic_gradient(d, F, p, P); } \
    PD_LARGE_FUNCTION void pd_##name##_hessian(const real *F, const real *p, pd_hessian_filter filter, real *H) {         \
        pd_orthotropic_hessian(d, F, p, filter, H);                                                                       \
    }                                                                                                                     \
    PD_FUNCTION void pd_##name##_block(const real *F, const real *p, const real *g, real *B) { pd_orthotropic_block(d, F, p, g, B); }
PD_ORTHOTROPIC(orthotropic_tet, 3)
PD_ORTHOTROPIC(orthotropic_triangle, 2)

#endif
