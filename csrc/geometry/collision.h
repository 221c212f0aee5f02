/* The time of impact of one pair, by any of the methods. */
#ifndef PD_GEOMETRY_COLLISION_H
#define PD_GEOMETRY_COLLISION_H

#include "geometry/additive.h"
#include "geometry/certified.h"
#include "geometry/min_gradient.h"

enum { PD_CCD_CERTIFIED, PD_CCD_MIN_GRADIENT, PD_CCD_ADDITIVE, PD_CCD_COUNT };

/* The collision of a motion that is usable. No method returns a time before the first step that the distance allows, so that a pair whose
 * first step goes beyond `stop` needs no method.
 *   distance  pd_motion_distance at t = 0, scaled
 *   stop      a time in [0,1] after which nobody asks: 1, or the earliest contact found so far. A result later than it may be cut off
 *             there, one up to it does not depend on it. */
PD_FUNCTION pd_collision pd_motion_collision(const pd_motion *motion, int method, real distance, real stop) {
    if (!(distance > motion->separation)) return pd_collision_of(0, 0, PD_START_TOO_CLOSE);
    real first = pd_motion_step(distance, motion->separation, motion->speed);
    if (first >= 1 || first > stop) return pd_collision_of(1, 0, PD_NO_CONTACT);
    switch (method) {
    case PD_CCD_MIN_GRADIENT: return pd_collision_min_gradient(motion, distance, stop);
    case PD_CCD_ADDITIVE: return pd_collision_additive(motion, distance, stop);
    default: return pd_collision_certified(motion, distance, stop);
    }
}

/* x_t0, x_t1 [4,3] m, separation >= 0 m, stop as above. Coordinates that overflow when subtracted give time 0, PD_CUT_SHORT. */
PD_FUNCTION pd_collision pd_pair_collision(int kind, int method, const real x_t0[12], const real x_t1[12], real separation, real stop) {
    pd_motion motion;
    pd_motion_create(kind, x_t0, x_t1, separation, &motion);
    if (!motion.usable) return pd_collision_of(0, 0, PD_CUT_SHORT);
    return pd_motion_collision(&motion, method, pd_motion_distance(&motion, 0), stop);
}

#endif
