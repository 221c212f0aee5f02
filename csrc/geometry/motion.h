/* A vertex-triangle or edge-edge pair in straight motion from t = 0 to t = 1, prepared for the collision tests.
 *
 * Positions are relative to the first corner, displacements relative to their mean. Neither changes a distance, and the numbers are as
 * small as the pair. One number, `slack`, bounds all rounding here and in a later evaluation of x_0 + t (x_1 - x_0) by the caller in the
 * same precision. It is subtracted from each distance. Per coordinate, with X the largest coordinate in the world, D the largest
 * displacement, L and V the largest local coordinate and displacement, u = PD_EPSILON:
 *
 *     local position  u L            local displacement  u D + u V        their sum at t   u (L + V)
 *     the caller's    u (X + 2 D)
 *
 * A distance has each error on both sides, in three coordinates: 2 sqrt(3) times the sum is below u (4 X + 11 D + 8 L + 11 V). */
#ifndef PD_GEOMETRY_MOTION_H
#define PD_GEOMETRY_MOTION_H

#include "geometry/distance_bound.h"

typedef struct pd_motion {
    int kind;        /* PD_VERTEX_TRIANGLE or PD_EDGE_EDGE */
    int usable;      /* 0: the coordinates are too large for a subtraction */
    pd_points4 x;    /* local positions at t = 0, scaled */
    pd_points4 v;    /* displacements without their mean, scaled */
    real separation; /* scaled */
    real slack;      /* bound of the total rounding error of a distance, scaled */
    real rounding;   /* the same for a coordinate of a local position */
    real speed;      /* bound of |d distance / dt|, scaled */
} pd_motion;

/* The fraction s of the gap above the separation that a step may close; the fraction 1 - s always remains. */
#define PD_STEP_FRACTION ((real)0.9)

/* Displacements minus their mean. */
PD_LANE_FUNCTION pd_points4 pd_motion_relative(pd_points4 displacement) {
    pd_vector sum = pd_vector_add(pd_vector_add(displacement.a, displacement.b), pd_vector_add(displacement.c, displacement.d));
    return pd_points4_shift(displacement, pd_vector_scale((real)0.25, sum));
}

/* The largest coordinates, X, D, L and V above, m. */
typedef struct pd_motion_size {
    real world, displacement, position, relative;
} pd_motion_size;

PD_LANE_FUNCTION pd_motion_size pd_motion_size_of(pd_points4 x_t0, pd_points4 x_t1, pd_points4 x, pd_points4 v) {
    pd_motion_size out;
    out.world = pd_max(pd_points4_largest(x_t0), pd_points4_largest(x_t1));
    out.displacement = pd_points4_largest(pd_points4_subtract(x_t1, x_t0));
    out.position = pd_points4_largest(x);
    out.relative = pd_points4_largest(v);
    return out;
}

PD_LANE_FUNCTION real pd_motion_slack(pd_motion_size size) {
    return PD_EPSILON * ((real)4 * size.world + (real)11 * size.displacement + (real)8 * size.position + (real)11 * size.relative);
}

/* The bound of |d distance / dt|: each primitive is as fast as its fastest corner. The true displacements differ from the rounded ones
 * by u (D + V) per coordinate. */
PD_LANE_FUNCTION real pd_motion_speed(int kind, pd_points4 v, pd_motion_size size) {
    real a = pd_vector_dot(v.a, v.a), b = pd_vector_dot(v.b, v.b), cd = pd_max(pd_vector_dot(v.c, v.c), pd_vector_dot(v.d, v.d));
    real first = kind == PD_VERTEX_TRIANGLE ? a : pd_max(a, b), second = kind == PD_VERTEX_TRIANGLE ? pd_max(b, cd) : cd;
    return (pd_sqrt(first) + pd_sqrt(second)) * ((real)1 + (real)8 * PD_EPSILON) +
           (real)4 * PD_EPSILON * (size.displacement + size.relative);
}

/* Tells whether a motion of this size needs no scale. */
PD_LANE_FUNCTION int pd_motion_is_regular(pd_motion_size size) {
    real largest = pd_max(size.position, size.relative);
    return (largest >= (real)(1.0 / 1024)) & (largest <= (real)1024);
}

/* x_t0, x_t1 [4,3] m; separation >= 0 m. */
PD_FUNCTION void pd_motion_create(int kind, const real x_t0[12], const real x_t1[12], real separation, pd_motion *out) {
    const real u = PD_EPSILON, most = sizeof(real) == sizeof(float) ? (real)1e37 : (real)1e307;
    pd_points4 start = pd_points4_load(x_t0), end = pd_points4_load(x_t1);
    out->kind = kind;
    out->x = pd_points4_shift(start, start.a);
    out->v = pd_motion_relative(pd_points4_subtract(end, start));
    pd_motion_size size = pd_motion_size_of(start, end, out->x, out->v);
    out->usable = size.world < most && size.relative < most;
    out->separation = separation;
    out->rounding = u * ((real)2 * size.position + (real)3 * size.relative + size.displacement);
    out->slack = pd_motion_slack(size);
    if (!pd_motion_is_regular(size)) {
        real scale = pd_length_scale(pd_max(size.position, size.relative));
        out->x = pd_points4_scale(scale, out->x), out->v = pd_points4_scale(scale, out->v);
        out->separation *= scale, out->rounding *= scale, out->slack *= scale;
        size.relative *= scale, size.displacement *= scale;
    }
    out->speed = pd_motion_speed(kind, out->v, size);
}

/* A lower bound of the distance at t in [0,1] with all rounding; may be negative. */
PD_FUNCTION real pd_motion_distance(const pd_motion *motion, real t) {
    return pd_points4_bound(motion->kind, pd_points4_along(motion->x, t, motion->v)) - motion->slack;
}

/* The time in which a pair at `distance` keeps the fraction 1 - s of its gap; infinite without relative motion. */
PD_LANE_FUNCTION real pd_motion_step(real distance, real separation, real speed) {
    return PD_STEP_FRACTION * (distance - separation) / speed * ((real)1 - (real)4 * PD_EPSILON);
}

/* Results of a collision test. */
enum {
    PD_NO_CONTACT,      /* none in [0,1]; time is 1 */
    PD_CONTACT,         /* time: no contact up to it; a contact soon after it cannot be excluded */
    PD_START_TOO_CLOSE, /* at t = 0 the distance is at most the separation plus the rounding of the coordinates; time 0 */
    PD_CUT_SHORT        /* the iterations are used up: time is as conservative as PD_CONTACT's, but earlier */
};

typedef struct pd_collision {
    real time; /* 1 without a contact */
    int iterations, reason;
} pd_collision;

PD_FUNCTION pd_collision pd_collision_of(real time, int iterations, int reason) {
    pd_collision out;
    out.time = time, out.iterations = iterations, out.reason = reason;
    return out;
}

#endif
