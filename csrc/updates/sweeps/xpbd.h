/* Extended position-based dynamics: one element as constraints with compliance [Macklin, Müller, Chentanez 2016, XPBD, Eq. 18].
 *
 * An energy E is the constraint C = sqrt(2 E) of compliance 1: E = C^2/2, dC/dF = (dE/dF)/C. With w_i = 1/m_i (0: pinned), g_i the
 * derivative of C by x_i and alpha~ = 1/h^2, the multiplier lambda of the constraint and its vertices are moved by
 *
 *     d lambda = -(C + alpha~ lambda) / (sum_i w_i |g_i|^2 + alpha~),    dx_i = w_i g_i d lambda.
 *
 * For a vertex on a line or in a plane g_i is projected on it.
 *
 * For a distance to a set, E = w/2 |F - T|^2, this is C = sqrt(w) |F - T|. Only C contains the stiffness, so one alpha~ serves all.
 *
 * C has a kink at 0. lambda, accumulated along dC/dF of one side, would push the wrong way on the other: for a spring that changes from
 * compression to tension within a step. So dC/dF of the last visit is stored, and C has the sign for which dC/dF continues in the same
 * direction. A spring then has C = +-sqrt(k) (l - L), as in the paper. At C = 0 the last dC/dF replaces the undefined one, so that a
 * strain limit or a box that is satisfied again reverts its impulse.
 *
 * The stable neo-Hookean energy becomes two constraints, so that volume has its own multiplier [Macklin and Müller 2021, A
 * Constraint-based Formulation of Stable Neo-Hookean Materials]. Theirs, sqrt(mu V) |F| and sqrt(lam V) (J - 1 - mu/lam), are not zero
 * at rest but balance there, with nonzero multipliers. A step begins with zero ones: the first constraint of a stiff material or a large
 * step contracts a resting tet to a point. So E has another split here, into parts that are both zero at rest. With l = lam - mu, the
 * Lame constant of small strains,
 *     C_D = sqrt(2 E(mu, mu)),  E(mu, mu) = mu V/2 (|F|^2 + J^2 - 4 J) >= 0,    C_H = sqrt(l V) (J - 1),    (C_D^2 + C_H^2)/2 = E.
 * E(mu, mu) >= 0 since |F|^2 >= 3 s^2, s^3 = J, and s^6 - 4 s^3 + 3 s^2 = s^2 (s - 1)^2 (s^2 + 2 s + 3). For l < 0 the only constraint
 * is C = sqrt(2 E). */
#ifndef PD_UPDATES_SWEEPS_XPBD_H
#define PD_UPDATES_SWEEPS_XPBD_H

#include "elements/element.h"
#include "updates/time_step.h"

#include <stddef.h>

/* Returns C, with the sign for which dC/dF continues along its last value. NaN is passed on.
 *   energy  J      P [n]  dE/dF      normal [n]  in/out  dC/dF of the last visit, zeros before the first */
PD_FUNCTION real pd_xpbd_constraint(int n, real energy, const real *P, real *normal) {
    real size, along = 0;
    if (energy <= 0) return 0;
    size = pd_sqrt((real)2 * energy);
    for (int i = 0; i < n; i++) along += P[i] / size * normal[i];
    if (along < 0) size = -size;
    for (int i = 0; i < n; i++) normal[i] = P[i] / size;
    return size;
}

/* p = {2 mu V, lam V} of a neo-Hookean tet; normal is stored as above. */
PD_FUNCTION real pd_xpbd_deviatoric(const real *F, const real *p, real *normal) {
    real capped[2] = {p[0], pd_min(p[1], (real)0.5 * p[0])}, P[9];
    pd_neo_hookean_tet_gradient(F, capped, P);
    return pd_xpbd_constraint(9, pd_neo_hookean_tet_energy(F, capped), P, normal);
}

/* normal [9]  out  dC/dF; smooth, so that nothing is stored. */
PD_FUNCTION real pd_xpbd_hydrostatic(const real *F, const real *p, real *normal) {
    real root = pd_sqrt(pd_max(p[1] - (real)0.5 * p[0], (real)0)), change;
    pd_matrix3_cofactor(F, normal);
    for (int i = 0; i < 9; i++) normal[i] *= root;
    pd_neo_hookean_shear(F, &change);
    return root * change;
}

/* Adds the moves of one constraint to moves [k,3] and to the corner positions at [k,3], m.
 *   rest  as in element.h      w [k]  1/kg      C, normal [3,d]  the constraint and dC/dF      compliance  1/h^2, 1/s^2
 *   subspace [n,3,3], or NULL: projectors on the lines and planes of the vertices [k]      lambda  in/out  the multiplier */
PD_FUNCTION void pd_xpbd_project(int k, int d, const real *rest, const real *w, real C, const real *normal, real compliance,
                                 const int *vertices, const real *subspace, real *lambda, real *at, real *moves) {
    real g[12], sum = compliance;
    pd_element_forces_from_gradient(k, d, rest, normal, g);
    for (int i = 0; i < k && subspace; i++) pd_vertex_project(subspace + 9 * (size_t)vertices[i], g + 3 * i);
    for (int i = 0; i < k; i++) sum += w[i] * pd_dot3(g + 3 * i, g + 3 * i);
    real change = -(C + compliance * *lambda) / sum;
    *lambda += change;
    for (int i = 0; i < 3 * k; i++) {
        real move = w[i / 3] * g[i] * change;
        at[i] += move;
        moves[i] += move;
    }
}

#endif
