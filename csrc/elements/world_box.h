/* A box that confines vertices: a unilateral constraint as a potential energy [Chen et al. 2024, VBD, Sec. 3.4].
 *
 *     E(F) = k/2 |F - T|^2,    F = x_0 - target [m],    T = F with every coordinate clamped to [lower, upper]
 *
 * p = {k [N/m], lower [3], upper [3], m}; a side may be infinite. E is C1 at the walls, where the Hessian takes the inner value, zero. */
#ifndef PD_ELEMENTS_WORLD_BOX_H
#define PD_ELEMENTS_WORLD_BOX_H

#include "base/matrix3.h"

PD_FUNCTION void pd_world_box_projection(const real *F, const real *p, real *T) {
    for (int i = 0; i < 3; i++) T[i] = pd_max(p[1 + i], pd_min(p[4 + i], F[i]));
}

PD_FUNCTION void pd_world_box_gradient(const real *F, const real *p, real *P) {
    pd_world_box_projection(F, p, P);
    for (int i = 0; i < 3; i++) P[i] = p[0] * (F[i] - P[i]);
}

PD_FUNCTION real pd_world_box_energy(const real *F, const real *p) {
    real T[3], sum = 0;
    pd_world_box_projection(F, p, T);
    for (int i = 0; i < 3; i++) sum += (F[i] - T[i]) * (F[i] - T[i]);
    return (real)0.5 * p[0] * sum;
}

PD_FUNCTION void pd_world_box_hessian(const real *F, const real *p, pd_hessian_filter filter, real *H) {
    (void)filter;
    for (int i = 0; i < 9; i++) H[i] = 0;
    for (int i = 0; i < 3; i++) H[4 * i] = F[i] < p[1 + i] || F[i] > p[4 + i] ? p[0] : 0;
}

PD_FUNCTION void pd_world_box_block(const real *F, const real *p, const real *g, real *B) {
    (void)g;
    pd_world_box_hessian(F, p, PD_FILTER_CLAMP, B);
}

#endif
