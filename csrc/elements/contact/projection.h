/* The projection of a pair in contact [Lan et al. 2022, Penetration-free Projective Dynamics on the GPU, Sec. 5, Eq. 6; corrected here].
 *
 * With the normal n, the weights beta and a target g of the distance frozen at the last detection, the nearest positions at which the pair
 * is as far apart as its target are, for masses m and w = 1/m (0 for what is driven),
 *
 *     y_j = x_j + w_j beta_j (delta n - f u) / den,     delta = max(0, g - n . sum beta_j x_j),     den = sum w_j beta_j^2
 *
 * u is the slip in the tangent plane since the step began and f = min(1, mu delta/|u|). The energy sum omega_j/2 |x_j - y_j|^2 with omega_j
 * = c phi m_j/h^2 is k/2 (delta^2 + ..) with k = c phi/(h^2 den): all its forces are k beta_j times one vector, so that they add up to
 * nothing, and friction is at most mu times the normal force. By Cauchy's inequality omega_j on the diagonal of a matrix bounds the
 * energy's curvature. As printed the target lies on the surface, where a body sticks, and the weights do not keep momentum. */
#ifndef PD_ELEMENTS_CONTACT_PROJECTION_H
#define PD_ELEMENTS_CONTACT_PROJECTION_H

#include "base/real.h"

/* The part of what is missing to the activation distance that one detection asks for; all of it would throw out what was pressed in. */
#define PD_PROJECTION_LIFT ((real)0.2)

/* The largest phi. */
#define PD_PROJECTION_STIFFEST ((real)1e4)

/* Which gap a freeze asks for. Lifted: that and a part of what is missing to the activation distance, and no less than in a round before;
 * away: the activation distance; here: the gap that there is; reflected: as Eq. 6 is printed, where the pair gets in the time that is left
 * if it goes on as the step began, and back from the surface with a share of its speed. Held, which is no choice: what the last round asked
 * for. */
enum { PD_TARGET_LIFTED, PD_TARGET_AWAY, PD_TARGET_HERE, PD_TARGET_REFLECTED, PD_TARGET_COUNT, PD_TARGET_HELD = PD_TARGET_COUNT };

/* The gap that is asked for where it is `gap`, m, and `before` the last round asked for, m.
 *   closing  how much nearer the pair would come in the time that is left, m; with restitution read where the target is reflected */
PD_FUNCTION real pd_projection_target(int rule, real gap, real activation, real before, real closing, real restitution) {
    if (rule == PD_TARGET_AWAY) return activation;
    if (rule == PD_TARGET_HELD) return before;
    if (rule == PD_TARGET_HERE) return gap;
    if (rule == PD_TARGET_REFLECTED) return closing > gap ? restitution * (closing - gap) : gap - pd_max(closing, (real)0);
    return pd_max(before, pd_min(gap + PD_PROJECTION_LIFT * (activation - gap), activation));
}

/* phi: as a barrier it grows where little is left of the gap. stiffening >= 1 */
PD_FUNCTION real pd_projection_phi(real gap, real activation, real stiffening) {
    real part = (real)2 * gap / activation; // 1 half-way
    real phi = part > (real)0.01 ? (real)1 / (part * part) : PD_PROJECTION_STIFFEST;
    phi = pd_max(phi, (real)1) * stiffening;
    return pd_min(phi, PD_PROJECTION_STIFFEST);
}

/* What the pair lacks, and the part of its slip that friction takes back. */
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
    // as of a spring that slips
    out.energy = (real)0.5 * out.missing * out.missing;
    if (most > 0) out.energy += slip > most ? most * (slip - (real)0.5 * most) : (real)0.5 * slip * slip;
    return out;
}

#endif
