/* The time of impact of one pair, by any of the methods. */
#ifndef PD_GEOMETRY_COLLISION_H
#define PD_GEOMETRY_COLLISION_H

#include "geometry/additive.h"
#include "geometry/certified.h"
#include "geometry/min_gradient.h"

enum { PD_CCD_CERTIFIED, PD_CCD_MIN_GRADIENT, PD_CCD_ADDITIVE, PD_CCD_COUNT };

/* The collision of a usable motion. No method returns a time before the first step that the distance allows. So a pair whose first step
 * goes beyond `stop` needs no method.
 *   distance  pd_motion_distance at t = 0, scaled
 *   stop      the latest time of interest in [0,1]: 1, or the earliest contact so far. A later result may be cut off there; an earlier
 *             one does not depend on it. */
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

/* x_t0, x_t1 [4,3] m, separation >= 0 m, stop as above. NaN, and coordinates whose difference overflows, give time 0 and PD_CUT_SHORT. */
PD_FUNCTION pd_collision pd_pair_collision(int kind, int method, const real x_t0[12], const real x_t1[12], real separation, real stop) {
    pd_motion motion;
    pd_motion_create(kind, x_t0, x_t1, separation, &motion);
    if (!motion.usable) return pd_collision_of(0, 0, PD_CUT_SHORT);
    return pd_motion_collision(&motion, method, pd_motion_distance(&motion, 0), stop);
}

/* The contribution of the radii of a pair's primitives to its separation; points [4] rows of the corners. */
PD_FUNCTION real pd_separation_of_radii(int kind, const real *radii, const int *points) {
    return radii[points[0]] + radii[points[kind == PD_VERTEX_TRIANGLE ? 1 : 2]];
}

/* A vertex in straight motion towards a moving plane: rows of x, that of the plane's point, followed by the unit normal. It keeps the
 * same fraction of the gap as other pairs. Rounding: N . (p - o) with coordinates up to X has an error below 16 u X, and so has x_0 + t
 * (x_1 - x_0). */
PD_FUNCTION pd_collision pd_plane_collision(const real *x_t0, const real *x_t1, int vertex, int plane, real separation) {
    const real *normal = x_t0 + 3 * (size_t)(plane + 1);
    real start[3], end[3], size = 0;
    for (size_t i = 0; i < 3; i++) {
        size_t p = 3 * (size_t)vertex + i, o = 3 * (size_t)plane + i;
        start[i] = x_t0[p] - x_t0[o], end[i] = x_t1[p] - x_t1[o];
        size = pd_max(size, pd_max(pd_max(pd_fabs(x_t0[p]), pd_fabs(x_t0[o])), pd_max(pd_fabs(x_t1[p]), pd_fabs(x_t1[o]))));
    }
    real slack = (real)32 * PD_EPSILON * size, gap = pd_dot3(start, normal) - separation - slack;
    real after = pd_dot3(end, normal) - separation - slack;
    if (!(gap > 0)) return pd_collision_of(0, 0, PD_START_TOO_CLOSE);
    if (after >= ((real)1 - PD_STEP_FRACTION) * gap) return pd_collision_of(1, 0, PD_NO_CONTACT);
    real time = PD_STEP_FRACTION * gap / (gap - after) * ((real)1 - (real)4 * PD_EPSILON);
    return time >= 0 ? pd_collision_of(time, 1, PD_CONTACT) : pd_collision_of(0, 0, PD_CUT_SHORT);
}

/* Tells whether the n points have not moved. */
PD_FUNCTION int pd_stands_still(const real *x_t0, const real *x_t1, const int *points, int n) {
    for (int j = 0; j < n; j++)
        for (size_t c = 3 * (size_t)points[j]; c < 3 * (size_t)points[j] + 3; c++)
            if (x_t0[c] != x_t1[c]) return 0;
    return 1;
}

/* Moves x_t1 [3] to this fraction of the path from x_t0 [3]. */
PD_FUNCTION void pd_shorten_way(double part, const real *x_t0, real *x_t1) {
    if (part == 1.0) return;
    for (int i = 0; i < 3; i++) x_t1[i] = (real)((double)x_t0[i] + part * ((double)x_t1[i] - (double)x_t0[i]));
}

#endif
