/* Coulomb friction of one pair, smoothed and lagged, so that it is the derivative of a potential:
 *
 *     D(x) = mu lambda f0(|u|),     u = (I - n n^T) sum_j beta_j (x_j - x_j^t)   [Li et al. 2020, Incremental Potential Contact, Sec. 5]
 *
 * lambda >= 0 is the normal force of the pair, n its normal and beta the weights of its gap, all three constant since the lag. u is the
 * slip of the first of the pair over the second since x^t. With y = |u| and the slip e = eps_v h below which friction only creeps,
 *
 *     f1(y) = (2 - y/e) y/e  for y < e,  else 1;      f0' = f1,  f0(e) = e:  f0(y) = y^2/e - y^3/(3 e^2) + e/3 for y < e, else y
 *     [Eqs. 14, 15]
 *
 *     dD/dx_j = mu lambda beta_j (f1/y) u,      d2D/dx_i dx_j = beta_i beta_j M,
 *     M = mu lambda [(f1/y) (I - n n^T - t t^T) + f1' t t^T]
 *
 * with t = u/y. M has the eigenvalue f1/y across u and f1' >= 0 along it, so it is positive semidefinite without a filter.
 *
 * Beyond e, M has no curvature along u. A Newton step that reverses the slip may jump over the kink at u = 0 in every iteration. The
 * secant matrix mu lambda (f1/y) (I - n n^T) replaces M if the slip has reversed since the previous iterate, or would have with the
 * whole last direction. It is the Hessian of the quadratic that touches D at u and bounds it from above, since f0 is concave in y^2. */
#ifndef PD_ELEMENTS_CONTACT_FRICTION_H
#define PD_ELEMENTS_CONTACT_FRICTION_H

#include "geometry/vector.h"

typedef struct pd_friction_terms {
    real value;          /* f0, m */
    real ratio;          /* f1/y, 1/m; its limit 2/e at y = 0 */
    real bend;           /* f1' - f1/y <= 0, 1/m */
    pd_vector direction; /* t; zero at y = 0 */
} pd_friction_terms;

/* Terms for the slip u, m; e > 0, m. */
PD_LANE_FUNCTION pd_friction_terms pd_friction_terms_of(pd_vector u, real e) {
    pd_friction_terms out;
    // 1/e and e/3 are the same for all pairs, so that a loop divides once per pair
    const real inverse = (real)1 / e, third = (real)1 / (real)3;
    real y = pd_sqrt(pd_vector_dot(u, u)), part = y * inverse, over = y > 0 ? (real)1 / y : (real)0;
    int sticks = y < e;
    out.value = sticks ? (y * part) * ((real)1 - part * third) + e * third : y;
    out.ratio = sticks ? ((real)2 - part) * inverse : over;
    out.bend = sticks ? -part * inverse : -over;
    out.direction = pd_vector_scale(over, u);
    return out;
}

/* The terms of the secant matrix if u is opposite to another slip: u . other < 0. */
PD_FUNCTION pd_friction_terms pd_friction_secant(pd_friction_terms terms, pd_vector u, pd_vector other) {
    if (pd_vector_dot(u, other) < 0) terms.bend = 0;
    return terms;
}

/* The component of a displacement perpendicular to a unit vector n. */
PD_LANE_FUNCTION pd_vector pd_friction_slip(pd_vector move, pd_vector n) { return pd_vector_along(move, -pd_vector_dot(n, move), n); }

/* The upper triangle of a symmetric matrix. */
typedef struct pd_friction_block {
    real xx, xy, xz, yy, yz, zz;
} pd_friction_block;

/* M, N/m; strength = mu lambda, N. */
PD_LANE_FUNCTION pd_friction_block pd_friction_block_of(real strength, pd_vector n, pd_friction_terms terms) {
    pd_vector t = terms.direction;
    pd_friction_block M;
    M.xx = strength * (terms.ratio * ((real)1 - n.x * n.x) + terms.bend * (t.x * t.x));
    M.xy = strength * (terms.ratio * (-n.x * n.y) + terms.bend * (t.x * t.y));
    M.xz = strength * (terms.ratio * (-n.x * n.z) + terms.bend * (t.x * t.z));
    M.yy = strength * (terms.ratio * ((real)1 - n.y * n.y) + terms.bend * (t.y * t.y));
    M.yz = strength * (terms.ratio * (-n.y * n.z) + terms.bend * (t.y * t.z));
    M.zz = strength * (terms.ratio * ((real)1 - n.z * n.z) + terms.bend * (t.z * t.z));
    return M;
}

/* M [3,3], exactly symmetric. */
PD_FUNCTION void pd_friction_matrix(real strength, pd_vector n, pd_friction_terms terms, real M[9]) {
    pd_friction_block block = pd_friction_block_of(strength, n, terms);
    M[0] = block.xx, M[4] = block.yy, M[8] = block.zz;
    M[1] = M[3] = block.xy, M[2] = M[6] = block.xz, M[5] = M[7] = block.yz;
}

/* One corner of a pair, which moves the pair by `weight`, while `partners` corners move at once (touching_vertex.h). */
typedef struct pd_friction_corner {
    real energy; /* its share, J */
    pd_vector slope;
    pd_friction_block block;
} pd_friction_corner;

PD_LANE_FUNCTION pd_friction_corner pd_friction_corner_of(real strength, pd_vector n, pd_vector u, pd_friction_terms terms, real weight,
                                                          real partners) {
    pd_friction_corner out;
    out.energy = strength * terms.value / partners;
    out.slope = pd_vector_scale(weight * (strength * terms.ratio), u);
    out.block = pd_friction_block_of(partners * weight * weight * strength, n, terms);
    return out;
}

/* Its share of the energy after a displacement by -d. */
PD_LANE_FUNCTION real pd_friction_corner_energy(real strength, pd_vector n, pd_vector u, pd_vector d, real extent, real weight,
                                                real partners) {
    pd_vector slip = pd_friction_slip(pd_vector_scale(-partners * weight, d), n);
    return strength * pd_friction_terms_of(pd_vector_add(u, slip), extent).value / partners;
}

/* sum [9] += gradient, and the upper triangle of the block. */
PD_FUNCTION void pd_friction_corner_add(pd_friction_corner corner, real sum[9]) {
    sum[0] += corner.slope.x, sum[1] += corner.slope.y, sum[2] += corner.slope.z;
    sum[3] += corner.block.xx, sum[4] += corner.block.xy, sum[5] += corner.block.xz;
    sum[6] += corner.block.yy, sum[7] += corner.block.yz, sum[8] += corner.block.zz;
}

#endif
