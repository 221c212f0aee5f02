/* Bending of two triangles with a common edge: a vector F = sum c_i x_i with cotangent weights c [m], and its rest length L.
 *
 *     L = 0 (flat at rest)      E(F) = w/2 |F|^2             [Bergou et al. 2006, A Quadratic Bending Model]
 *     L > 0 (curved at rest)    E(F) = w/2 (|F| - L)^2       [Bouaziz et al. 2014, Projective Dynamics, Sec. 5, Bending]
 *
 * p = {w = 3 k_b/(A_0 + A_1) [J/m2], L [m]}. F is the integrated mean-curvature vector of the edge. Keeping its length keeps the rest
 * curvature on either side. The second form is a spring, also at degenerate points; see spring.h. */
#ifndef PD_ELEMENTS_BENDING_H
#define PD_ELEMENTS_BENDING_H

#include "elements/attachment.h"
#include "elements/spring.h"

PD_FUNCTION real pd_bending_energy(const real *F, const real *p) { return p[1] > 0 ? pd_spring_energy(F, p) : pd_attachment_energy(F, p); }

PD_FUNCTION void pd_bending_gradient(const real *F, const real *p, real *P) {
    if (p[1] > 0)
        pd_spring_gradient(F, p, P);
    else
        pd_attachment_gradient(F, p, P);
}

PD_FUNCTION void pd_bending_hessian(const real *F, const real *p, pd_hessian_filter filter, real *H) {
    if (p[1] > 0)
        pd_spring_hessian(F, p, filter, H);
    else
        pd_attachment_hessian(F, p, filter, H);
}

PD_FUNCTION void pd_bending_block(const real *F, const real *p, const real *g, real *B) {
    pd_bending_hessian(F, p, PD_FILTER_CLAMP, B);
    for (int i = 0; i < 9; i++) B[i] *= g[0] * g[0];
}

PD_FUNCTION void pd_bending_projection(const real *F, const real *p, real *T) {
    if (p[1] > 0)
        pd_spring_projection(F, p, T);
    else
        pd_attachment_projection(F, p, T);
}

#endif
