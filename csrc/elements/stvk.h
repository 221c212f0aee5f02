/* Saint Venant-Kirchhoff energy of a tet (F is 3x3) and of a triangle (F is 3x2) [Volino, Magnenat-Thalmann, Faure 2009].
 *
 *     Psi = mu |E|^2 + lam/2 (tr E)^2,    E = (F^T F - I)/2,    dPsi/dF = F S,    S = 2 mu E + lam tr(E) I
 *
 * p = {2 mu volume, lam volume [J]}, or with the area. By the singular values, e_i = (s_i^2 - 1)/2, t = lam tr E, every part of the
 * Hessian is a polynomial: B_ij = (2 mu (e_i + s_i^2) + t) delta_ij + lam s_i s_j, symmetric and twist = mu (s_i^2 +- s_i s_j + s_j^2 -
 * 1) + t, normal = mu (s_i^2 - 1) + t. The block of a corner is (g.S g) I + mu |g|^2 F F^T + (mu + lam) (F g)(F g)^T. Its first term is
 * clamped at zero: compression makes it negative, as for springs. */
#ifndef PD_ELEMENTS_STVK_H
#define PD_ELEMENTS_STVK_H

#include "base/svd.h"
#include "elements/isotropic.h"

/* E [d,d] out; returns its trace. */
PD_FUNCTION real pd_stvk_strain(int d, const real *F, real *E) {
    real trace = 0;
    for (int b = 0; b < d; b++)
        for (int c = 0; c < d; c++) {
            real sum = b == c ? (real)-1 : 0;
            for (int a = 0; a < 3; a++) sum += F[d * a + b] * F[d * a + c];
            E[d * b + c] = (real)0.5 * sum;
            if (b == c) trace += (real)0.5 * sum;
        }
    return trace;
}

PD_FUNCTION real pd_stvk_energy(int d, const real *F, const real *p) {
    real E[9], square = 0, trace = pd_stvk_strain(d, F, E);
    for (int i = 0; i < d * d; i++) square += E[i] * E[i];
    return (real)0.5 * (p[0] * square + p[1] * trace * trace);
}

/* Overwrites E with S. */
PD_FUNCTION void pd_stvk_stress(int d, const real *F, const real *p, real *S) {
    real trace = pd_stvk_strain(d, F, S);
    for (int b = 0; b < d; b++)
        for (int c = 0; c < d; c++) S[d * b + c] = p[0] * S[d * b + c] + (b == c ? p[1] * trace : 0);
}

/* P = F S */
PD_FUNCTION void pd_stvk_first_piola(int d, const real *F, const real *S, real *P) {
    for (int a = 0; a < 3; a++)
        for (int c = 0; c < d; c++) {
            real sum = 0;
            for (int b = 0; b < d; b++) sum += F[d * a + b] * S[d * b + c];
            P[d * a + c] = sum;
        }
}

PD_FUNCTION void pd_stvk_gradient(int d, const real *F, const real *p, real *P) {
    real S[9];
    pd_stvk_stress(d, F, p, S);
    pd_stvk_first_piola(d, F, S, P);
}

/* g.S g */
PD_FUNCTION real pd_stvk_along(int d, const real *S, const real *g) {
    real along = 0;
    for (int b = 0; b < d; b++)
        for (int c = 0; c < d; c++) along += g[b] * S[d * b + c] * g[c];
    return along;
}

PD_FUNCTION void pd_stvk_block(int d, const real *F, const real *p, const real *g, real *B) {
    real S[9], Fg[3], mu = (real)0.5 * p[0], square = 0;
    pd_stvk_stress(d, F, p, S);
    for (int b = 0; b < d; b++) square += g[b] * g[b];
    const real along = pd_stvk_along(d, S, g);
    for (int a = 0; a < 3; a++) {
        Fg[a] = 0;
        for (int b = 0; b < d; b++) Fg[a] += F[d * a + b] * g[b];
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            real sum = 0;
            for (int b = 0; b < d; b++) sum += F[d * i + b] * F[d * j + b];
            B[3 * i + j] = (i == j ? pd_max(along, 0) : 0) + mu * square * sum + (mu + p[1]) * (Fg[i] * Fg[j]);
        }
}

/* symmetric (sign 1) and twist (sign -1) of a pair; weight = p[0], spread = lam tr E. */
PD_LANE_FUNCTION real pd_stvk_pair(real s_i, real s_j, real sign, real weight, real spread) {
    return (real)0.5 * weight * (s_i * s_i + sign * s_i * s_j + s_j * s_j - (real)1) + spread;
}

/* The block of n singular values, [n,n] with row length 3; returns lam tr E. Number i of an array is at [stride i]. */
PD_LANE_FUNCTION real pd_stvk_values(int n, int stride, const real *s, const real *p, real *block) {
    real trace = 0;
    for (int i = 0; i < n; i++) trace += (real)0.5 * (s[stride * i] * s[stride * i] - (real)1);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            real own = p[0] * ((real)1.5 * s[stride * i] * s[stride * i] - (real)0.5) + p[stride] * trace;
            block[stride * (3 * i + j)] = (i == j ? own : 0) + p[stride] * (s[stride * i] * s[stride * j]);
        }
    return p[stride] * trace;
}

PD_FUNCTION real pd_stvk_tet_energy(const real *F, const real *p) { return pd_stvk_energy(3, F, p); }
PD_FUNCTION void pd_stvk_tet_gradient(const real *F, const real *p, real *P) { pd_stvk_gradient(3, F, p, P); }
PD_FUNCTION void pd_stvk_tet_block(const real *F, const real *p, const real *g, real *B) { pd_stvk_block(3, F, p, g, B); }

PD_FUNCTION void pd_stvk_tet_hessian(const real *F, const real *p, pd_hessian_filter filter, real *H) {
    real U[9], s[3], V[9], block[9], symmetric[3], twist[3];
    pd_svd3(F, U, s, V);
    const real spread = pd_stvk_values(3, 1, s, p, block);
    for (int pair = 0; pair < 3; pair++) {
        int i = pair == 2 ? 1 : 0, j = pair == 0 ? 1 : 2;
        symmetric[pair] = pd_stvk_pair(s[i], s[j], 1, p[0], spread);
        twist[pair] = pd_stvk_pair(s[i], s[j], -1, p[0], spread);
    }
    pd_isotropic_hessian3(U, V, block, symmetric, twist, filter, H);
}

PD_FUNCTION real pd_stvk_triangle_energy(const real *F, const real *p) { return pd_stvk_energy(2, F, p); }
PD_FUNCTION void pd_stvk_triangle_gradient(const real *F, const real *p, real *P) { pd_stvk_gradient(2, F, p, P); }
PD_FUNCTION void pd_stvk_triangle_block(const real *F, const real *p, const real *g, real *B) { pd_stvk_block(2, F, p, g, B); }

/* The derivatives by the singular values s [2]: block [9] with row length 3 and zeros, symmetric, twist [1], normal [2]. Number i of an
 * array is at [stride i]. */
PD_LANE_FUNCTION void pd_stvk_triangle_quotients(int stride, const real *s, const real *p, real *block, real *symmetric, real *twist,
                                                 real *normal) {
    const real spread = pd_stvk_values(2, stride, s, p, block);
    for (int i = 0; i < 3; i++) block[stride * (6 + i)] = block[stride * (3 * i + 2)] = 0;
    *symmetric = pd_stvk_pair(s[0], s[stride], 1, p[0], spread);
    *twist = pd_stvk_pair(s[0], s[stride], -1, p[0], spread);
    for (int i = 0; i < 2; i++) normal[stride * i] = (real)0.5 * p[0] * (s[stride * i] * s[stride * i] - (real)1) + spread;
}

PD_FUNCTION void pd_stvk_triangle_hessian(const real *F, const real *p, pd_hessian_filter filter, real *H) {
    real U[9], s[2], V[4], block[9], symmetric, twist, normal[2];
    pd_svd32(F, U, s, V);
    pd_stvk_triangle_quotients(1, s, p, block, &symmetric, &twist, normal);
    const real inner[4] = {block[0], block[1], block[3], block[4]};
    pd_isotropic_hessian32(U, V, inner, symmetric, twist, normal, filter, H);
}

#endif
