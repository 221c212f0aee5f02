/* The free motion of one rigid body over a step, and its velocity at the end; see loops/rigid_loops.h. In double for any `real`.
 *
 * A body rotates about its pivot: its centre, or its first pin. All quantities are per mass: w = I^-1 l with the angular momentum l about
 * the pivot and the inertia tensor I of four quarters at the rows with mass.
 *
 * The inertial target of the rows is the pose of the free body after the step. So the rotational part of
 *     G = sum of m/4 |x_i - y_i|^2 / (2h^2) + E,   y_i = c* + R* p_i
 * has the gradient sum of m/4 r_i x (x_i - y_i) / h^2 by a rotation vector in world coordinates. It is zero at R = R*, and at a minimum it
 * is the torque of E there. So l_{t+1} = l_t + 1/h sum of 1/4 r_i x (x_i - y_i) is exactly l_t plus h times that torque.
 *
 * R* = R_t exp(xi) is the midpoint rule on the rotations [Simo and Wong 1991; Hairer, Lubich and Wanner 2006, Sec. IV.8]:
 *     xi = h I^-1 exp(-xi/2) P_t,   P_t = R_t^T l_t.
 * It conserves l, is symmetric in time and of second order, and is exact about an axis of symmetry. */
#ifndef PD_UPDATES_RIGID_RIGID_MOTION_H
#define PD_UPDATES_RIGID_RIGID_MOTION_H

#include "updates/rigid/rigid_update.h"
#include "updates/time_step.h"

enum { PD_MOTION_PARTS = 256, PD_MOTION_ITERATIONS = 60 };

/* The largest rotation of a substep, rad: the iteration for xi contracts by at most half of it. */
#define PD_MOTION_TURN 0.25

/* A body at the start of a step. */
typedef struct pd_rigid_motion {
    pd_rigid_stand stand;
    double velocity[3];              /* of the pivot, m/s */
    double external_acceleration[3]; /* the mean acceleration of the rows with mass, m/s^2 */
    double momentum[3];              /* about the pivot, per mass, including that of the torque of the load in the step, m^2/s */
    int turns;                       /* 0: no rotation and no torque, and the targets of its rows are those of vertices */
} pd_rigid_motion;

/* The mean over the rows with mass; exact for four equal numbers. */
PD_FUNCTION void pd_motion_mean(const pd_rigid_body *body, const real *v, double mean[3]) {
    const real *of = v + 3 * (size_t)pd_rigid_first_carrier(body);
    for (int c = 0; c < 3; c++) mean[c] = 0.25 * (((double)of[c] + (double)of[c + 3]) + ((double)of[c + 6] + (double)of[c + 9]));
}

/* The inertia tensor about the pivot, per mass: in the world with R, in the body with R NULL. */
PD_FUNCTION void pd_motion_inertia(const double *arms, const pd_rigid_body *body, const double *R, double inertia[9]) {
    size_t first = 3 * (size_t)pd_rigid_first_carrier(body), pin = 3 * (size_t)(body->rows.first + body->rows.pins[0]);
    for (int c = 0; c < 9; c++) inertia[c] = 0.0;
    for (size_t a = 0; a < PD_RIGID_CARRIERS; a++) {
        double arm[3], r[3], square = 0.0;
        for (size_t c = 0; c < 3; c++) r[c] = arm[c] = arms[first + 3 * a + c] - (pd_rigid_pins(body) ? arms[pin + c] : 0.0);
        if (R) pd_pose_rotate(R, arm, r);
        for (int c = 0; c < 3; c++) square += r[c] * r[c];
        for (int c = 0; c < 9; c++) inertia[c] += ((c % 4 == 0 ? square : 0.0) - r[c / 3] * r[c % 3]) / PD_RIGID_CARRIERS;
    }
}

/* w = I^-1 l, by cofactors. */
PD_FUNCTION void pd_motion_spin(const double I[9], const double l[3], double w[3]) {
    double cofactors[9];
    for (int i = 0; i < 3; i++) pd_pose_cross(I + 3 * ((i + 1) % 3), I + 3 * ((i + 2) % 3), cofactors + 3 * i);
    double determinant = I[0] * cofactors[0] + I[1] * cofactors[1] + I[2] * cofactors[2];
    pd_pose_rotate(cofactors, l, w);
    for (int c = 0; c < 3; c++) w[c] /= determinant;
}

/* Adds sum of 1/4 r_i x b_i over the rows with mass, r_i from the pivot and b [n_vertices,3] minus `mean`. */
PD_FUNCTION void pd_motion_add_moment(const double *arms, const pd_rigid_body *body, const pd_rigid_stand *stand, const real *b,
                                      const double mean[3], double factor, double moment[3]) {
    for (int a = 0; a < PD_RIGID_CARRIERS; a++) {
        int row = pd_rigid_first_carrier(body) + a;
        double arm[3], by[3], across[3];
        pd_rigid_place_row(arms, &stand->pose, row, arm);
        for (size_t c = 0; c < 3; c++) arm[c] -= stand->about[c], by[c] = (double)b[3 * (size_t)row + c] - mean[c];
        pd_pose_cross(arm, by, across);
        for (int c = 0; c < 3; c++) moment[c] += factor * across[c] / PD_RIGID_CARRIERS;
    }
}

/* Returns 0 if the body is no longer rigid. The mean of the load acts at the centre; for a held body it is a part of G, as for vertices.
 * Its torque about the centre is that at x_t, constant over the step. */
PD_FUNCTION int pd_motion_of(const double *arms, const pd_rigid_body *body, double h, const real *x_t, const real *v,
                             const real *external_acceleration, pd_rigid_motion *motion) {
    size_t pin = 3 * (size_t)(body->rows.first + body->rows.pins[0]);
    if (!pd_rigid_fit(arms, body, x_t, &motion->stand)) return 0;
    pd_motion_mean(body, external_acceleration, motion->external_acceleration);
    pd_motion_mean(body, v, motion->velocity);
    for (size_t c = 0; c < 3; c++) {
        if (pd_rigid_pins(body)) motion->velocity[c] = (double)v[pin + c];
        motion->momentum[c] = 0.0;
    }
    pd_motion_add_moment(arms, body, &motion->stand, v, motion->velocity, 1.0, motion->momentum);
    pd_motion_add_moment(arms, body, &motion->stand, external_acceleration, motion->external_acceleration, h, motion->momentum);
    motion->turns = motion->momentum[0] != 0.0 || motion->momentum[1] != 0.0 || motion->momentum[2] != 0.0;
    return 1;
}

/* turned = R* R_t^T. */
PD_FUNCTION void pd_motion_predict(const double *arms, const pd_rigid_body *body, double h, const pd_rigid_motion *motion,
                                   double turned[9]) {
    const double *R = motion->stand.pose.rotation;
    double inertia[9], P[3], w[3], Q[9] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0}, E[9], product[9];
    pd_motion_inertia(arms, body, NULL, inertia);
    for (int c = 0; c < 3; c++) P[c] = R[c] * motion->momentum[0] + R[3 + c] * motion->momentum[1] + R[6 + c] * motion->momentum[2];
    pd_motion_spin(inertia, P, w);
    double turn = h * sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
    int parts = turn < PD_MOTION_TURN * PD_MOTION_PARTS ? 1 + (int)(turn / PD_MOTION_TURN) : PD_MOTION_PARTS;
    for (int k = 0; k < parts; k++) {
        double xi[3], back[3], middle[3];
        pd_motion_spin(inertia, P, w);
        for (int c = 0; c < 3; c++) xi[c] = h / parts * w[c];
        for (int iteration = 0; iteration < PD_MOTION_ITERATIONS; iteration++) {
            double change = 0.0, size = 0.0;
            for (int c = 0; c < 3; c++) back[c] = -0.5 * xi[c];
            pd_pose_exponential(back, E);
            pd_pose_rotate(E, P, middle);
            pd_motion_spin(inertia, middle, w);
            for (int c = 0; c < 3; c++) {
                double next = h / parts * w[c];
                change = fmax(change, fabs(next - xi[c])), size = fmax(size, fabs(next));
                xi[c] = next;
            }
            if (!(change > 4e-16 * size)) break;
        }
        for (int c = 0; c < 3; c++) back[c] = -xi[c];
        pd_pose_exponential(back, E);
        pd_pose_rotate(E, P, middle);
        for (int c = 0; c < 3; c++) P[c] = middle[c];
        pd_pose_exponential(xi, E);
        pd_pose_multiply(Q, E, product);
        for (int c = 0; c < 9; c++) Q[c] = product[c];
    }
    pd_pose_multiply(R, Q, product);
    pd_pose_relative(product, R, turned);
}

/* y - x_t of a row, y its inertial target. */
PD_FUNCTION void pd_motion_drift(const double *arms, const pd_rigid_motion *motion, const double turned[9], double h, int row,
                                 double predicted_displacement[3]) {
    double arm[3], to[3];
    pd_rigid_place_row(arms, &motion->stand.pose, row, arm);
    for (int c = 0; c < 3; c++) arm[c] -= motion->stand.about[c];
    pd_pose_rotate(turned, arm, to);
    for (int c = 0; c < 3; c++)
        predicted_displacement[c] = h * (motion->velocity[c] + h * motion->external_acceleration[c]) + (to[c] - arm[c]);
}

/* ---- pd_bodies_first_guess, pd_bodies_offset ----------------------------------------------------------------------------------------- */

/* drift, and x and offset of the first guess of all rows; `back` [3], the mean of x - y after pd_first_guess. */
PD_FUNCTION void pd_motion_first_guess(const pd_rigid_body *body, int guess, const double to[3], const double back[3], int row,
                                       const real *x_t, real *x, real *offset, real *predicted_displacement) {
    if (pd_rigid_is_pin(body, row)) return;
    for (size_t c = 0, j = 3 * (size_t)row; c < 3; c++, j++) {
        predicted_displacement[j] = (real)to[c];
        if (guess == PD_GUESS_PREVIOUS)
            x[j] = x_t[j], offset[j] = -predicted_displacement[j];
        else
            x[j] = (real)((double)x_t[j] + (to[c] + back[c])), offset[j] = (real)back[c];
    }
}

PD_FUNCTION void pd_motion_offset(const pd_rigid_body *body, const double to[3], int row, const real *x_t, const real *x, real *offset) {
    for (size_t c = 0, j = 3 * (size_t)row; c < 3 && !pd_rigid_is_pin(body, row); c++, j++)
        offset[j] = (real)(((double)x[j] - (double)x_t[j]) - to[c]);
}

/* ---- pd_bodies_velocity -------------------------------------------------------------------------------------------------------------- */

/* A body at the end of a step. */
typedef struct pd_rigid_end {
    pd_rigid_stand stand;
    double velocity[3], spin[3]; /* of the pivot, m/s; rad/s */
} pd_rigid_end;

PD_FUNCTION double pd_motion_turn(double h, const double spin[3]) {
    return h * sqrt(spin[0] * spin[0] + spin[1] * spin[1] + spin[2] * spin[2]);
}

/* The rotation of the axis through two pins in the step, divided by h. */
PD_FUNCTION void pd_motion_axis_spin(double h, const double before[3], const double axis[3], double spin[3]) {
    double across[3];
    pd_pose_cross(before, axis, across);
    double sine = sqrt(across[0] * across[0] + across[1] * across[1] + across[2] * across[2]);
    double angle = atan2(sine, before[0] * axis[0] + before[1] * axis[1] + before[2] * axis[2]);
    for (int c = 0; c < 3; c++) spin[c] = sine > 0.0 ? across[c] / sine * angle / h : 0.0;
}

/* The pose and velocity of a body. v: of vertices, after pd_vertex_velocity; pins keep theirs. Returns 0 if the body is no longer rigid. */
PD_FUNCTION int pd_motion_end(const double *arms, const pd_rigid_body *body, double h, const pd_rigid_motion *motion, const real *x,
                              const real *offset, const real *v, pd_rigid_end *end) {
    double momentum[3], inertia[9], fall[3];
    size_t pin = 3 * (size_t)(body->rows.first + body->rows.pins[0]);
    if (!pd_rigid_fit(arms, body, x, &end->stand)) return 0;
    pd_motion_mean(body, offset, end->velocity);
    for (size_t c = 0; c < 3; c++) {
        momentum[c] = motion->momentum[c];
        // for a held body the load is a force, and its momentum is relative to the pin
        fall[c] = pd_rigid_pins(body)
                      ? end->stand.about[c] - motion->stand.about[c] - h * (motion->velocity[c] + h * motion->external_acceleration[c])
                      : 0.0;
        end->velocity[c] = motion->velocity[c] + h * motion->external_acceleration[c] + end->velocity[c] / h;
        if (pd_rigid_pins(body)) end->velocity[c] = (double)v[pin + c];
    }
    pd_motion_add_moment(arms, body, &end->stand, offset, fall, 1.0 / h, momentum);
    pd_motion_inertia(arms, body, end->stand.pose.rotation, inertia);
    if (pd_rigid_pins(body) < 2) {
        pd_motion_spin(inertia, momentum, end->spin);
        return 1;
    }
    const double *axis = end->stand.axis;
    double along = 0.0, about = 0.0;
    pd_motion_axis_spin(h, motion->stand.axis, axis, end->spin);
    for (int i = 0; i < 3; i++) {
        along += axis[i] * momentum[i];
        for (int j = 0; j < 3; j++) {
            along -= axis[i] * inertia[3 * i + j] * end->spin[j];
            about += axis[i] * inertia[3 * i + j] * axis[j];
        }
    }
    for (int c = 0; c < 3; c++) end->spin[c] += along / about * axis[c];
    return 1;
}

PD_FUNCTION void pd_motion_velocity(const double *arms, const pd_rigid_body *body, const pd_rigid_end *end, int row, real *v) {
    double arm[3], turning[3];
    if (pd_rigid_is_pin(body, row)) return;
    pd_rigid_place_row(arms, &end->stand.pose, row, arm);
    for (int c = 0; c < 3; c++) arm[c] -= end->stand.about[c];
    pd_pose_cross(end->spin, arm, turning);
    for (size_t c = 0; c < 3; c++) v[3 * (size_t)row + c] = (real)(end->velocity[c] + turning[c]);
}

#endif
