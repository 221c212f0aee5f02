/* Coulomb friction of one pair, smoothed and lagged, so that it is the derivative of a potential:
 *
 *     D(x) = mu lambda f0(|u|),     u = (I - n n^T) sum_j beta_j (x_j - x_j^t)          [Li et al. 2020, Incremental Potential Contact, Sec. 5]
 *
 * lambda >= 0 is the normal force of the pair, n its normal and beta the weights of its gap, all three taken at the lag and held; u is how far the
 * first of the pair has slid over the second since x^t. With y = |u| and the slip e = eps_v h below which friction only creeps,
 *
 *     f1(y) = (2 - y/e) y/e  for y < e,  else 1;      f0' = f1,  f0(e) = e:  f0(y) = y^2/e - y^3/(3 e^2) + e/3 for y < e, else y      [Eqs. 14, 15]
 *
 *     dD/dx_j = mu lambda beta_j (f1/y) u,      d2D/dx_i dx_j = beta_i beta_j M,      M = mu lambda [(f1/y) (I - n n^T - t t^T) + f1' t t^T]
 *
 * with t = u/y. Across u M has the eigenvalue f1/y and along it f1' >= 0, so it is positive semidefinite as it is. */
#ifndef PD_ELEMENTS_CONTACT_FRICTION_H
#define PD_ELEMENTS_CONTACT_FRICTION_H

#include "geometry/vector.h"

typedef struct pd_friction_terms {
    real value;          /* f0, m */
    real ratio;          /* f1/y, 1/m; its limit 2/e at y = 0 */
    real bend;           /* f1' - f1/y <= 0, 1/m */
    pd_vector direction; /* t; zero at y = 0 */
} pd_friction_terms;

/* Of u, m; e > 0, m. */
PD_LANE_FUNCTION pd_friction_terms pd_friction_terms_of(pd_vector u, real e) {
    pd_friction_terms out;
    real y = pd_sqrt(pd_vector_dot(u, u)), part = y / e, over = y > 0 ? (real)1 / y : (real)0;
    int sticks = y < e;
    out.value = sticks ? (y * part) * ((real)1 - part / (real)3) + e / (real)3 : y;
    out.ratio = sticks ? ((real)2 - part) / e : over;
    out.bend = sticks ? -part / e : -over;
    out.direction = pd_vector_scale(over, u);
    return out;
}

/* The part of a move that is across a unit vector n. */
PD_LANE_FUNCTION pd_vector pd_friction_slip(pd_vector move, pd_vector n) { return pd_vector_along(move, -pd_vector_dot(n, move), n); }

/* M [3,3], N/m, exactly symmetric; strength = mu lambda, N. */
PD_FUNCTION void pd_friction_matrix(real strength, pd_vector n, pd_friction_terms terms, real M[9]) {
    const real normal[3] = {n.x, n.y, n.z}, t[3] = {terms.direction.x, terms.direction.y, terms.direction.z};
    for (int i = 0; i < 3; i++)
        for (int j = i; j < 3; j++)
            M[3 * i + j] = M[3 * j + i] = strength * (terms.ratio * ((real)(i == j) - normal[i] * normal[j]) + terms.bend * (t[i] * t[j]));
}

#endif
