/* Additive CCD: conservative advancement by distances only [Li et al. 2021, Codimensional IPC, Alg. 1].
 *
 * As published, with the distance replaced by its lower bound (distance_bound.h), so that rounding cannot advance it past a contact.
 * With the computed distance this can happen in float32. */
#ifndef PD_GEOMETRY_ADDITIVE_H
#define PD_GEOMETRY_ADDITIVE_H

#include "geometry/motion.h"

enum { PD_ADDITIVE_BUDGET = 10000 };

/* distance, stop: as for pd_motion_collision */
PD_FUNCTION pd_collision pd_collision_additive(const pd_motion *motion, real distance, real stop) {
    const real xi = motion->separation;
    const real gap = ((real)1 - PD_STEP_FRACTION) * (distance - xi);
    real d = distance, t = 0;
    for (int k = 1; k <= PD_ADDITIVE_BUDGET; k++) {
        real next = t + pd_motion_step(d, xi, motion->speed);
        if (next >= 1) return pd_collision_of(1, k, PD_NO_CONTACT);
        d = pd_motion_distance(motion, next);
        if (d - xi < (real)0.999 * gap) return pd_collision_of(t > 0 ? t : next, k, PD_CONTACT);
        if (!(next > t)) return pd_collision_of(t, k, PD_CUT_SHORT);
        t = next;
        if (t > stop) return pd_collision_of(1, k, PD_NO_CONTACT);
    }
    return pd_collision_of(t, PD_ADDITIVE_BUDGET, PD_CUT_SHORT);
}

#endif
