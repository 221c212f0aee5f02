/* The formulas of one vertex in one step: inertial target, first guess, distance to the target, velocity.
 *
 * y = x_t + shift + h velocity + h^2 a is the inertial target, a the acceleration of gravity and external forces. For implicit Euler shift
 * is NULL, 0, and velocity is v; dynamics/integrator/integrator.h has those of other integrators, whose h differs from the step dt between
 * positions. Every quantity is computed from its own summands, so that float32 loses no digits to the size of the coordinates. x - y is
 * accumulated from the solver's corrections, never the difference of two positions. x is x_t + ((y - x_t) + (x - y)), so that corrections
 * below the rounding of a coordinate accumulate. Subtracted from x they would be lost, and a solver would stop early. h = 0 means quasistatic: no inertia, no
 * velocity. */
#ifndef PD_UPDATES_TIME_STEP_H
#define PD_UPDATES_TIME_STEP_H

#include "base/real.h"

enum { PD_GUESS_PREVIOUS, PD_GUESS_INERTIA, PD_GUESS_INERTIAL_TARGET, PD_GUESS_ADAPTIVE, PD_GUESS_COUNT };

/* A coordinate of x. */
PD_FUNCTION real pd_vertex_position(real x_t, real predicted_displacement, real offset) { return x_t + (predicted_displacement + offset); }

/* First guess x [3], offset = x - y [3] and predicted_displacement = y - x_t [3] of a free vertex. Adaptive: the fraction of a that the last acceleration
 * (v - v_previous)/h has along it, clamped to [0,1] [Chen et al. 2024, VBD, Eq. 17].
 *
 * Without a previous step (v_previous NULL) the fraction is 1. A step with few iterations has nearly the acceleration of its first
 * guess, so a stiff body that begins with 0 would never start to fall. For the same reason the fraction is rounded up by the effect of
 * 16 roundings of velocities and coordinates: the clamp turns every loss into a drift. This moves the guess by no more than those
 * roundings of x. */
PD_FUNCTION void pd_vertex_first_guess(int guess, real h, real dt, const real *x_t, const real *velocity, const real *shift, const real *v,
                                       const real *v_previous, const real *a, real *x, real *offset, real *predicted_displacement) {
    real share = 1;
    if (guess == PD_GUESS_ADAPTIVE && v_previous && h > 0) {
        real along = 0, square = 0, sum = 0, noise = 0;
        for (int c = 0; c < 3; c++) {
            along += (v[c] - v_previous[c]) / dt * a[c];
            square += a[c] * a[c];
            sum += pd_fabs(a[c]);
            noise += (real)16 * PD_EPSILON * ((pd_fabs(v[c]) + pd_fabs(v_previous[c])) + pd_fabs(x_t[c]) / dt) / dt;
        }
        along += noise * sum;
        if (square > 0) share = pd_min(pd_max(along / square, (real)0), (real)1);
    }
    for (int c = 0; c < 3; c++) {
        real inertia = h * velocity[c], fall = h * h * a[c];
        predicted_displacement[c] = inertia + fall;
        if (h <= 0 || guess == PD_GUESS_PREVIOUS)
            x[c] = x_t[c], offset[c] = -(inertia + fall);
        else if (guess == PD_GUESS_INERTIA)
            x[c] = x_t[c] + inertia, offset[c] = -fall;
        else if (guess == PD_GUESS_INERTIAL_TARGET)
            x[c] = x_t[c] + (inertia + fall), offset[c] = 0;
        else
            x[c] = x_t[c] + (inertia + share * fall), offset[c] = (share - 1) * fall;
    }
    // afterwards, so that implicit Euler keeps its sums: some compilers fuse products with them
    for (int c = 0; shift && c < 3; c++) {
        predicted_displacement[c] += shift[c];
        if (guess == PD_GUESS_PREVIOUS)
            offset[c] = -predicted_displacement[c];
        else
            x[c] = pd_vertex_position(x_t[c], predicted_displacement[c], offset[c]);
    }
}

/* g <- P g with a projector P [9]: the component of a gradient along the line or plane of a vertex. */
PD_FUNCTION void pd_vertex_project(const real *P, real *g) {
    real whole[3] = {g[0], g[1], g[2]};
    for (int i = 0; i < 3; i++) g[i] = P[3 * i] * whole[0] + P[3 * i + 1] * whole[1] + P[3 * i + 2] * whole[2];
}

/* Projects a first guess x, offset = x - y onto the line or plane through x_t; predicted_displacement + offset is then exactly zero along an
 * axis across it. */
PD_FUNCTION void pd_vertex_keep(const real *P, const real *x_t, const real *predicted_displacement, real *x, real *offset) {
    real move[3] = {x[0] - x_t[0], x[1] - x_t[1], x[2] - x_t[2]}, inside[3] = {move[0], move[1], move[2]};
    pd_vertex_project(P, inside);
    for (int c = 0; c < 3; c++) {
        if (inside[c] == move[c]) continue;
        x[c] = x_t[c] + inside[c];
        offset[c] = inside[c] - predicted_displacement[c];
    }
}

/* offset [3] = x - y at a given x. */
PD_FUNCTION void pd_vertex_offset(real h, const real *x, const real *x_t, const real *velocity, const real *shift, const real *a,
                                  real *offset) {
    for (int c = 0; c < 3; c++) offset[c] = (x[c] - x_t[c]) - (h * velocity[c] + h * h * a[c]);
    for (int c = 0; shift && c < 3; c++) offset[c] -= shift[c];
}

/* v [3] after the step: velocity + h a + offset/h; a pinned vertex has displacement/dt. v_previous [3] out: the old v. `velocity` may be
 * v. */
PD_FUNCTION void pd_vertex_velocity(real h, real dt, int fixed, const real *x, const real *x_t, const real *velocity, const real *a,
                                    const real *offset, real *v, real *v_previous) {
    for (int c = 0; c < 3; c++) {
        v_previous[c] = h > 0 ? v[c] : 0;
        if (h <= 0)
            v[c] = 0;
        else
            v[c] = fixed ? (x[c] - x_t[c]) / dt : velocity[c] + h * a[c] + offset[c] / h;
    }
}

/* shift [3] = w p and velocity [3] = v + w q of a step of another integrator than implicit Euler, see integrator.h. slopes NULL: p = v and q
 * = rates + a, else p = slopes and q = rates. P [9] of a vertex on a line or plane, or NULL: p and q are projected to it, so that a velocity
 * across it ends with the step. */
PD_FUNCTION void pd_vertex_predict(real w, const real *P, const real *v, const real *slopes, const real *rates, const real *a, real *shift,
                                   real *velocity) {
    real p[3], q[3];
    for (int c = 0; c < 3; c++) {
        p[c] = slopes ? slopes[c] : v[c];
        q[c] = slopes ? rates[c] : rates[c] + a[c];
    }
    if (P) pd_vertex_project(P, p);
    if (P) pd_vertex_project(P, q);
    for (int c = 0; c < 3; c++) shift[c] = w * p[c], velocity[c] = v[c] + w * q[c];
}

/* The history after a step: slopes and rates [3] of pd_vertex_predict, zero if fixed; slopes NULL: rates are the acceleration by the forces
 * of G. */
PD_FUNCTION void pd_vertex_history(real h, real dt, int fixed, const real *predicted_displacement, const real *offset, const real *v,
                                   const real *v_previous, real *slopes, real *rates) {
    for (int c = 0; c < 3; c++) {
        if (slopes) slopes[c] = fixed ? 0 : (predicted_displacement[c] + offset[c]) / dt;
        rates[c] = fixed ? 0 : slopes ? (v[c] - v_previous[c]) / dt : offset[c] / (h * h);
    }
}

/* rates [3] = -gradient/mass, m/s^2; zero if fixed. */
PD_FUNCTION void pd_vertex_rates(int fixed, real mass, const real *gradient, real *rates) {
    for (int c = 0; c < 3; c++) rates[c] = fixed ? 0 : -gradient[c] / mass;
}

/* increment [3] = a correction + b increment of a vertex for which -correction is within its displacement bound, as is every move of at most
 * `bound`. A longer increment is replaced by -correction, if that is at least as long as the bound, or else scaled to the bound. */
PD_FUNCTION void pd_touching_increment(real a, const real *correction, real b, real bound, real *increment) {
    real square = 0, own = 0;
    for (int c = 0; c < 3; c++) {
        increment[c] = a * correction[c] + b * increment[c];
        square += increment[c] * increment[c];
        own += correction[c] * correction[c];
    }
    if (!(square > bound * bound)) return;
    for (int c = 0; c < 3; c++) increment[c] = own >= bound * bound ? -correction[c] : increment[c] * (bound / pd_sqrt(square));
}

/* Moves it, and adds to the report of an iteration. */
PD_FUNCTION void pd_touching_move(const real *increment, real *x, real *offset, double *square, double *changed) {
    for (int c = 0; c < 3; c++) {
        real moved = x[c] + increment[c];
        *square += (double)increment[c] * (double)increment[c];
        *square += pd_finite_zero(moved);
        *changed += moved != x[c];
        x[c] = moved;
        offset[c] += increment[c];
    }
}

#endif
