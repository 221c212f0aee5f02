/* Additive CCD: conservative advancement by distances alone [Li et al. 2021, Codimensional IPC, Alg. 1].
 *
 * As published, with the distance replaced by its lower bound (distance_bound.h), so that rounding cannot carry it past a contact; the
 * original, with the distance as computed, can in float32. */
#ifndef PD_GEOMETRY_ADDITIVE_H
#define PD_GEOMETRY_ADDITIVE_H

#include "geometry/motion.h"

enum { PD_ADDITIVE_BUDGET = 10000 };

/* d, stop: as for pd_collision_certified */
PD_FUNCTION pd_collision pd_collision_additive(const pd_motion *motion, real d, real stop) {
    const real u = PD_EPSILON, s = PD_STEP_FRACTION, xi = motion->separation;
    if (!(d > xi)) return pd_collision_of(0, 0, PD_START_TOO_CLOSE);
    real gap = ((real)1 - s) * (d - xi), t = 0;
    if (pd_motion_is_free(d, xi, motion->speed * stop)) return pd_collision_of(1, 0, PD_NO_CONTACT);
    for (int k = 1; k <= PD_ADDITIVE_BUDGET; k++) {
        real next = t + s * (d - xi) / motion->speed * ((real)1 - (real)4 * u); // infinite without relative motion
        if (!(next < 1)) return pd_collision_of(1, k, PD_NO_CONTACT);
        d = pd_motion_distance(motion, next);
        if (d - xi < (real)0.999 * gap) return pd_collision_of(t > 0 ? t : next, k, PD_CONTACT);
        if (!(next > t)) return pd_collision_of(t, k, PD_CUT_SHORT);
        t = next;
        if (t > stop) return pd_collision_of(1, k, PD_NO_CONTACT);
    }
    return pd_collision_of(t, PD_ADDITIVE_BUDGET, PD_CUT_SHORT);
}

#endif
