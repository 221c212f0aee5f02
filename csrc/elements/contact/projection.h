/* The projection of a contact pair [Lan et al. 2022, Penetration-free Projective Dynamics on the GPU, Sec. 5, Eq. 6; corrected here].
 *
 * The normal n, the weights beta and a target g of the distance are those of the last detection. The nearest positions with the target
 * distance are, for masses m and w = 1/m (0 for prescribed points),
 *
 *     y_j = x_j + w_j beta_j (delta n - f u) / den,     delta = max(0, g - n . sum beta_j x_j),     den = sum w_j beta_j^2
 *
 * u is the slip in the tangent plane since the begin of the step and f = min(1, mu delta/|u|). The energy sum omega_j/2 |x_j - y_j|^2
 * with omega_j = c phi m_j/h^2 is k/2 (delta^2 + ..) with k = c phi/(h^2 den). All its forces are k beta_j times one vector, so that
 * they sum to zero, and friction is at most mu times the normal force. By Cauchy's inequality omega_j on the diagonal of a matrix bounds
 * the energy's curvature. The printed target is on the surface, where a body sticks, and the printed weights do not conserve momentum. */
#ifndef PD_ELEMENTS_CONTACT_PROJECTION_H
#define PD_ELEMENTS_CONTACT_PROJECTION_H

#include "base/real.h"

/* The fraction of the deficit to the activation distance that one detection adds. The whole deficit would expel a pressed body. */
#define PD_PROJECTION_LIFT ((real)0.2)

/* The largest phi. */
#define PD_PROJECTION_STIFFEST ((real)1e4)

/* Rules for the target gap of a freeze. Lifted: the present gap and a fraction of the deficit to the activation distance, but no less
 * than in an earlier round. Away: the activation distance. Here: the present gap. Reflected: as Eq. 6 is printed, the gap at the end of
 * the step for the initial velocity, reflected at the surface with a fraction of the speed. Held, which is not selectable: the target of
 * the last round. */
enum { PD_TARGET_LIFTED, PD_TARGET_AWAY, PD_TARGET_HERE, PD_TARGET_REFLECTED, PD_TARGET_COUNT, PD_TARGET_HELD = PD_TARGET_COUNT };

/* The target gap for the present gap `gap`, m, and the last round's target `before`, m.
 *   closing  the approach in the remaining time, m; restitution is only read for a reflected target */
PD_FUNCTION real pd_projection_target(int rule, real gap, real activation, real before, real closing, real restitution) {
    if (rule == PD_TARGET_AWAY) return activation;
    if (rule == PD_TARGET_HELD) return before;
    if (rule == PD_TARGET_HERE) return gap;
    if (rule == PD_TARGET_REFLECTED) return closing > gap ? restitution * (closing - gap) : gap - pd_max(closing, (real)0);
    return pd_max(before, pd_min(gap + PD_PROJECTION_LIFT * (activation - gap), activation));
}

/* phi: as a barrier, it grows as the gap closes. stiffening >= 1 */
PD_FUNCTION real pd_projection_phi(real gap, real activation, real stiffening) {
    real part = (real)2 * gap / activation; // 1 half-way
    real phi = part > (real)0.01 ? (real)1 / (part * part) : PD_PROJECTION_STIFFEST;
    phi = pd_max(phi, (real)1) * stiffening;
    return pd_min(phi, PD_PROJECTION_STIFFEST);
}

/* The deficit of the pair, and the fraction of its slip that friction reverts. */
typedef struct pd_projection_terms {
    real missing; /* delta, m */
    real held;    /* f */
    real energy;  /* in parts of k, m^2 */
} pd_projection_terms;

PD_FUNCTION pd_projection_terms pd_projection_of(real target, real distance, real slip, real friction) {
    pd_projection_terms out;
    real most;
    out.missing = pd_max(target - distance, (real)0);
    most = friction * out.missing;
    out.held = !(most > 0) ? (real)0 : slip > most ? most / slip : (real)1;
    // as for a slipping spring
    out.energy = (real)0.5 * out.missing * out.missing;
    if (most > 0) out.energy += slip > most ? most * (slip - (real)0.5 * most) : (real)0.5 * slip * slip;
    return out;
}

#endif
