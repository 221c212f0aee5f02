/* Certified conservative advancement: a time of impact that is never too late.
 *
 * The larger of two lower bounds of the contact-free time is taken [Li et al. 2021, Codimensional IPC, Sec. 5, for the first]:
 *   distance   closing d - separation takes at least (d - separation) / speed; the fraction s of that is advanced
 *   volume     the volume of the four corners takes at least the time given by the steepest slope of its Bernstein coefficients on the
 *              rest of the step to fall to the value of the target distance; if no coefficient is below this value, there is no contact
 * The second is the minimum-gradient Newton step of Projective IPC [Lan et al. 2022] without its case analysis. Vanishing leading
 * coefficients, a coplanar start, double roots and coplanarities without contact (passed by the first bound) need no special cases.
 *
 * Guarantee, in exact arithmetic and with all rounding (distance_bound.h, motion.h, coplanarity.h): no contact in [0, time]. The
 * distance at that time, also of positions rounded once more, is at least separation + 0.999 (1 - s) (d_0 - separation), with the
 * motion's distance d_0 at the start. For the positions themselves d_0 may be taken without the slack, pd_pair_distance_bound. 0.9 of
 * the slack at the returned time exceeds the effect of the rounding of the motion on a true distance. */
#ifndef PD_GEOMETRY_CERTIFIED_H
#define PD_GEOMETRY_CERTIFIED_H

#include "geometry/coplanarity.h"

enum { PD_CERTIFIED_BUDGET = 300 };

/* distance, stop: as for pd_motion_collision */
PD_FUNCTION pd_collision pd_collision_certified(const pd_motion *motion, real distance, real stop) {
    const real u = PD_EPSILON, xi = motion->separation;
    const real gap = ((real)1 - PD_STEP_FRACTION) * (distance - xi);
    real d = distance, t = 0;

    pd_coplanarity volume;
    pd_coplanarity_create(motion, &volume);
    real level = (xi + gap + motion->slack) * volume.normal * ((real)1 + (real)8 * u) + volume.error;
    if (pd_coplanarity_excluded(volume.b, volume.b[0] < 0 ? (real)-1 : (real)1, level)) return pd_collision_of(1, 0, PD_NO_CONTACT);

    for (int k = 1; k <= PD_CERTIFIED_BUDGET; k++) {
        real c[4], step = pd_motion_step(d, xi, motion->speed);
        pd_coplanarity_restrict(volume.b, t, c);
        real sign = c[0] < 0 ? (real)-1 : (real)1, above = pd_fabs(c[0]) - level;
        if (above > 0) {
            if (pd_coplanarity_excluded(c, sign, level)) return pd_collision_of(1, k, PD_NO_CONTACT);
            real slope = (real)3 * pd_max(pd_max(sign * (c[0] - c[1]), sign * (c[1] - c[2])), sign * (c[2] - c[3]));
            if (slope <= 0) return pd_collision_of(1, k, PD_NO_CONTACT);
            step = pd_max(step, above * ((real)1 - t) / slope * ((real)1 - (real)12 * u));
        }
        real next = t + step;
        if (next >= 1) return pd_collision_of(1, k, PD_NO_CONTACT);
        d = pd_motion_distance(motion, next);
        // the first step ends at the target, or beyond it by the loss of the bound: it is contact-free by construction
        if (d - xi < (real)0.999 * gap) return pd_collision_of(t > 0 ? t : next, k, PD_CONTACT);
        if (!(next > t)) return pd_collision_of(t, k, PD_CUT_SHORT);
        t = next;
        if (t > stop) return pd_collision_of(1, k, PD_NO_CONTACT);
    }
    return pd_collision_of(t, PD_CERTIFIED_BUDGET, PD_CUT_SHORT);
}

#endif
