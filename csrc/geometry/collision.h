/* The time of impact of one pair, by any of the methods. */
#ifndef PD_GEOMETRY_COLLISION_H
#define PD_GEOMETRY_COLLISION_H

#include "geometry/additive.h"
#include "geometry/certified.h"
#include "geometry/min_gradient.h"

enum { PD_CCD_CERTIFIED, PD_CCD_MIN_GRADIENT, PD_CCD_ADDITIVE, PD_CCD_COUNT };

/* By any method; d and stop as for pd_collision_certified. */
PD_FUNCTION pd_collision pd_motion_collision(const pd_motion *motion, int method, real d, real stop) {
    switch (method) {
    case PD_CCD_MIN_GRADIENT: return pd_collision_min_gradient(motion, d, stop);
    case PD_CCD_ADDITIVE: return pd_collision_additive(motion, d, stop);
    default: return pd_collision_certified(motion, d, stop);
    }
}

/* x_t0, x_t1 [4,3] m, separation >= 0 m, stop in [0,1] as for pd_collision_certified. Coordinates that overflow when subtracted give
 * time 0, PD_CUT_SHORT. */
PD_FUNCTION pd_collision pd_pair_collision(int kind, int method, const real x_t0[12], const real x_t1[12], real separation, real stop) {
    pd_motion motion;
    pd_motion_create(kind, x_t0, x_t1, separation, &motion);
    if (!motion.usable) return pd_collision_of(0, 0, PD_CUT_SHORT);
    return pd_motion_collision(&motion, method, pd_motion_distance(&motion, 0), stop);
}

#endif
