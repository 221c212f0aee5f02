/* A vertex-triangle or edge-edge pair that moves along straight lines from t = 0 to t = 1, as the collision tests see it.
 *
 * Positions are taken relative to the first corner and displacements relative to their mean: neither changes a distance, and what is
 * left is as small as the pair. Every rounding error made here, and that of the caller who later computes x_0 + t (x_1 - x_0) in the same
 * precision, is one number, `slack`, which is subtracted from each distance. Per coordinate, with X the largest coordinate in the
 * world, D the largest displacement, L and V the largest local coordinate and displacement, u = PD_EPSILON:
 *
 *     local position  u L            local displacement  u D + u V        their sum at t   u (L + V)
 *     the caller's    u (X + 2 D)
 *
 * and a distance sees each on both sides, in three coordinates: 2 sqrt(3) times the sum is below u (4 X + 11 D + 8 L + 11 V). */
#ifndef PD_GEOMETRY_MOTION_H
#define PD_GEOMETRY_MOTION_H

#include "geometry/distance_bound.h"

typedef struct pd_motion {
    int kind;        /* PD_VERTEX_TRIANGLE or PD_EDGE_EDGE */
    int usable;      /* 0: the coordinates are too large to be subtracted */
    real x[12];      /* local positions at t = 0, scaled */
    real v[12];      /* displacements without their mean, scaled */
    real separation; /* scaled */
    real slack;      /* bound of all rounding of a distance, scaled */
    real rounding;   /* the same per coordinate of a local position */
    real speed;      /* bound of |d distance / dt|, scaled */
} pd_motion;

/* The part s of the distance to the separation that a step may use up, and with it the part 1 - s that is always kept. */
#define PD_STEP_FRACTION ((real)0.9)

/* Largest magnitudes of a motion. */
typedef struct pd_motion_size {
    real world, displacement; /* X and D above, m */
    real position, relative;  /* L and V above, m */
} pd_motion_size;

/* Local positions x and displacements v of the four corners. */
typedef struct pd_motion_lines {
    pd_vector x0, x1, x2, x3, v0, v1, v2, v3;
} pd_motion_lines;

PD_LANE_FUNCTION pd_motion_lines pd_motion_localise(pd_vector a0, pd_vector a1, pd_vector a2, pd_vector a3, pd_vector b0, pd_vector b1,
                                                    pd_vector b2, pd_vector b3) {
    pd_motion_lines out;
    out.x0 = pd_vector_subtract(a0, a0), out.x1 = pd_vector_subtract(a1, a0);
    out.x2 = pd_vector_subtract(a2, a0), out.x3 = pd_vector_subtract(a3, a0);
    pd_vector d0 = pd_vector_subtract(b0, a0), d1 = pd_vector_subtract(b1, a1);
    pd_vector d2 = pd_vector_subtract(b2, a2), d3 = pd_vector_subtract(b3, a3);
    pd_vector sum = pd_vector_add(pd_vector_add(d0, d1), pd_vector_add(d2, d3)), none = pd_vector_of(0, 0, 0);
    pd_vector mean = pd_vector_along(none, (real)0.25, sum);
    out.v0 = pd_vector_subtract(d0, mean), out.v1 = pd_vector_subtract(d1, mean);
    out.v2 = pd_vector_subtract(d2, mean), out.v3 = pd_vector_subtract(d3, mean);
    return out;
}

PD_LANE_FUNCTION pd_motion_size pd_motion_size_of(pd_motion_lines lines, pd_vector a0, pd_vector a1, pd_vector a2, pd_vector a3,
                                                  pd_vector b0, pd_vector b1, pd_vector b2, pd_vector b3) {
    pd_motion_size out;
    out.world = pd_max(pd_vector_largest4(a0, a1, a2, a3), pd_vector_largest4(b0, b1, b2, b3));
    out.displacement =
        pd_vector_largest4(pd_vector_subtract(b0, a0), pd_vector_subtract(b1, a1), pd_vector_subtract(b2, a2), pd_vector_subtract(b3, a3));
    out.position = pd_vector_largest4(lines.x0, lines.x1, lines.x2, lines.x3);
    out.relative = pd_vector_largest4(lines.v0, lines.v1, lines.v2, lines.v3);
    return out;
}

PD_LANE_FUNCTION real pd_motion_slack(pd_motion_size size) {
    return PD_EPSILON * ((real)4 * size.world + (real)11 * size.displacement + (real)8 * size.position + (real)11 * size.relative);
}

/* The bound of |d distance / dt|: each primitive is as fast as its fastest corner. The true displacements differ from the rounded ones by
 * u (D + V) per coordinate. */
PD_LANE_FUNCTION real pd_motion_speed(int kind, pd_vector v0, pd_vector v1, pd_vector v2, pd_vector v3, pd_motion_size size) {
    real s0 = pd_vector_dot(v0, v0), s1 = pd_vector_dot(v1, v1), second = pd_max(pd_vector_dot(v2, v2), pd_vector_dot(v3, v3));
    real first = kind == PD_VERTEX_TRIANGLE ? s0 : pd_max(s0, s1);
    second = kind == PD_VERTEX_TRIANGLE ? pd_max(second, s1) : second;
    return (pd_sqrt(first) + pd_sqrt(second)) * ((real)1 + (real)8 * PD_EPSILON) +
           (real)4 * PD_EPSILON * (size.displacement + size.relative);
}

/* Whether a motion of this size needs no scaling, and can be subtracted at all. */
PD_LANE_FUNCTION int pd_motion_is_regular(pd_motion_size size) {
    real largest = pd_max(size.position, size.relative);
    return (largest >= (real)(1.0 / 1024)) & (largest <= (real)1024);
}

/* x_t0, x_t1 [4,3] m; separation >= 0 m. */
PD_FUNCTION void pd_motion_create(int kind, const real x_t0[12], const real x_t1[12], real separation, pd_motion *out) {
    const real u = PD_EPSILON, largest = sizeof(real) == sizeof(float) ? (real)1e37 : (real)1e307;
    pd_vector a0 = pd_vector_load(x_t0), a1 = pd_vector_load(x_t0 + 3), a2 = pd_vector_load(x_t0 + 6), a3 = pd_vector_load(x_t0 + 9);
    pd_vector b0 = pd_vector_load(x_t1), b1 = pd_vector_load(x_t1 + 3), b2 = pd_vector_load(x_t1 + 6), b3 = pd_vector_load(x_t1 + 9);
    pd_motion_lines lines = pd_motion_localise(a0, a1, a2, a3, b0, b1, b2, b3);
    pd_motion_size size = pd_motion_size_of(lines, a0, a1, a2, a3, b0, b1, b2, b3);
    out->kind = kind;
    pd_vector_store(lines.x0, out->x), pd_vector_store(lines.x1, out->x + 3);
    pd_vector_store(lines.x2, out->x + 6), pd_vector_store(lines.x3, out->x + 9);
    pd_vector_store(lines.v0, out->v), pd_vector_store(lines.v1, out->v + 3);
    pd_vector_store(lines.v2, out->v + 6), pd_vector_store(lines.v3, out->v + 9);
    out->usable = size.world < largest && size.relative < largest;
    out->separation = separation;
    out->rounding = u * ((real)2 * size.position + (real)3 * size.relative + size.displacement);
    out->slack = pd_motion_slack(size);
    if (!pd_motion_is_regular(size)) {
        real scale = pd_length_scale(pd_max(size.position, size.relative));
        for (int i = 0; i < 12; i++) out->x[i] *= scale, out->v[i] *= scale;
        out->separation *= scale, out->rounding *= scale, out->slack *= scale;
        size.relative *= scale, size.displacement *= scale;
    }
    out->speed = pd_motion_speed(kind, pd_vector_load(out->v), pd_vector_load(out->v + 3), pd_vector_load(out->v + 6),
                                 pd_vector_load(out->v + 9), size);
}

/* A pair cannot touch in the whole step: even at full speed it keeps the part of the distance that is always kept. */
PD_FUNCTION int pd_motion_is_free(real distance, real separation, real speed) {
    return PD_STEP_FRACTION * (distance - separation) * ((real)1 - (real)16 * PD_EPSILON) > speed;
}

/* A lower bound of the distance at t in [0,1], rounding of everything included; may be negative. */
PD_FUNCTION real pd_motion_distance(const pd_motion *motion, real t) {
    const real *x = motion->x, *v = motion->v;
    pd_vector a = pd_vector_along(pd_vector_load(x), t, pd_vector_load(v)),
              b = pd_vector_along(pd_vector_load(x + 3), t, pd_vector_load(v + 3));
    pd_vector c = pd_vector_along(pd_vector_load(x + 6), t, pd_vector_load(v + 6));
    pd_vector d = pd_vector_along(pd_vector_load(x + 9), t, pd_vector_load(v + 9));
    return pd_moving_pair_bound(motion->kind, a, b, c, d) - motion->slack;
}

/* What a collision test returns. */
enum {
    PD_NO_CONTACT,      /* none in [0,1]; time is 1 */
    PD_CONTACT,         /* time: no contact up to it, and soon after it one cannot be excluded */
    PD_START_TOO_CLOSE, /* at t = 0 the distance is not above the separation plus the rounding of the coordinates; time 0 */
    PD_CUT_SHORT        /* the budget of iterations is used up: time is as safe as PD_CONTACT's, only earlier */
};

typedef struct pd_collision {
    real time; /* 1 where there is no contact */
    int iterations, reason;
} pd_collision;

PD_FUNCTION pd_collision pd_collision_of(real time, int iterations, int reason) {
    pd_collision out;
    out.time = time, out.iterations = iterations, out.reason = reason;
    return out;
}

#endif
