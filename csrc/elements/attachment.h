/* A vertex attached to a target by a spring of rest length zero.
 *
 *     E(F) = k/2 |F|^2,    F = x_0 - target [m],    p = {k [N/m]}
 *
 * The positional constraint of [Bouaziz et al. 2014, Projective Dynamics, Sec. 5]. Quadratic, without degenerate cases. */
#ifndef PD_ELEMENTS_ATTACHMENT_H
#define PD_ELEMENTS_ATTACHMENT_H

#include "base/matrix3.h"

PD_FUNCTION real pd_attachment_energy(const real *F, const real *p) { return (real)0.5 * p[0] * pd_dot3(F, F); }

PD_FUNCTION void pd_attachment_gradient(const real *F, const real *p, real *P) {
    for (int i = 0; i < 3; i++) P[i] = p[0] * F[i];
}

PD_FUNCTION void pd_attachment_hessian(const real *F, const real *p, pd_hessian_filter filter, real *H) {
    (void)F;
    (void)filter;
    for (int i = 0; i < 9; i++) H[i] = i % 4 == 0 ? p[0] : 0;
}

PD_FUNCTION void pd_attachment_block(const real *F, const real *p, const real *g, real *B) {
    (void)g;
    pd_attachment_hessian(F, p, PD_FILTER_CLAMP, B);
}

PD_FUNCTION void pd_attachment_projection(const real *F, const real *p, real *T) {
    (void)F;
    (void)p;
    T[0] = T[1] = T[2] = 0;
}

#endif
