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

/* x_t0, x_t1 [4,3] m; separation >= 0 m. */
PD_FUNCTION void pd_motion_create(int kind, const real x_t0[12], const real x_t1[12], real separation, pd_motion *out) {
    const real u = PD_EPSILON;
    real world = 0, displacement = 0, size = 0, length = 0, squares[4];
    out->kind = kind;
    for (int i = 0; i < 12; i++) {
        out->x[i] = x_t0[i] - x_t0[i % 3];
        out->v[i] = x_t1[i] - x_t0[i];
        world = pd_max(world, pd_max(pd_fabs(x_t0[i]), pd_fabs(x_t1[i])));
        displacement = pd_max(displacement, pd_fabs(out->v[i]));
    }
    for (int i = 0; i < 3; i++) {
        real mean = (real)0.25 * ((out->v[i] + out->v[3 + i]) + (out->v[6 + i] + out->v[9 + i]));
        for (int j = 0; j < 4; j++) out->v[3 * j + i] -= mean;
    }
    for (int i = 0; i < 12; i++) {
        size = pd_max(size, pd_fabs(out->x[i]));
        length = pd_max(length, pd_fabs(out->v[i]));
    }
    real largest = sizeof(real) == sizeof(float) ? (real)1e37 : (real)1e307;
    out->usable = world < largest && length < largest;
    out->separation = separation;
    out->rounding = u * ((real)2 * size + (real)3 * length + displacement);
    out->slack = u * ((real)4 * world + (real)11 * displacement + (real)8 * size + (real)11 * length);

    real scale = pd_length_scale(pd_max(size, length));
    if (scale != 1) {
        for (int i = 0; i < 12; i++) out->x[i] *= scale, out->v[i] *= scale;
        out->separation *= scale, out->rounding *= scale, out->slack *= scale;
        length *= scale, displacement *= scale;
    }
    for (int j = 0; j < 4; j++) squares[j] = pd_dot3(out->v + 3 * j, out->v + 3 * j);
    real fastest = kind == PD_VERTEX_TRIANGLE ? pd_sqrt(squares[0]) + pd_sqrt(pd_max(squares[1], pd_max(squares[2], squares[3])))
                                              : pd_sqrt(pd_max(squares[0], squares[1])) + pd_sqrt(pd_max(squares[2], squares[3]));
    // the true displacements differ from the rounded ones by u (D + V) per coordinate
    out->speed = fastest * ((real)1 + (real)8 * u) + (real)4 * u * (displacement + length);
}

/* A lower bound of the distance at t in [0,1], rounding of everything included; may be negative. */
PD_FUNCTION real pd_motion_distance(const pd_motion *motion, real t) {
    real x[12];
    for (int i = 0; i < 12; i++) x[i] = motion->x[i] + t * motion->v[i];
    real low = motion->kind == PD_VERTEX_TRIANGLE ? pd_vertex_triangle_bound(x) : pd_edge_edge_bound(x);
    return low - motion->slack;
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

/* The part s of the distance to the separation that a step may use up, and with it the part 1 - s that is always kept. */
#define PD_STEP_FRACTION ((real)0.9)

#endif
