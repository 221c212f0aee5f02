/* The work of the loops over rigid bodies on one body, and on one of its rows; see loops/rigid_loops.h. In double for any `real`.
 *
 * First the pose of a body is found from its rows with mass and its pins. Then each of its rows moves independently: a loop may distribute
 * the rows of a body over threads once all of them have the pose. */
#ifndef PD_UPDATES_RIGID_RIGID_UPDATE_H
#define PD_UPDATES_RIGID_RIGID_UPDATE_H

#include "base/pose.h"
#include "loops/rigid_loops.h"

/* ---- the pose of a body ---- */

/* Its pose; its pivot, which is its first pin or its centre; and the axis of a body held in two points. */
typedef struct pd_rigid_stand {
    pd_pose pose;
    double about[3], axis[3];
} pd_rigid_stand;

PD_FUNCTION int pd_rigid_first_carrier(const pd_rigid_body *body) { return body->rows.first + body->rows.n - PD_RIGID_CARRIERS; }

PD_FUNCTION int pd_rigid_pins(const pd_rigid_body *body) { return (body->rows.pins[0] >= 0) + (body->rows.pins[1] >= 0); }

PD_FUNCTION int pd_rigid_is_pin(const pd_rigid_body *body, int row) {
    int place = row - body->rows.first;
    return place == body->rows.pins[0] || place == body->rows.pins[1];
}

/* Rotates R by the smallest rotation that maps R (body's axis) onto the axis through the two pins. */
PD_FUNCTION void pd_rigid_turn_onto_axis(const double *arms, const pd_rigid_body *body, const real *x, double R[9], double axis[3]) {
    size_t first = 3 * (size_t)(body->rows.first + body->rows.pins[0]), second = 3 * (size_t)(body->rows.first + body->rows.pins[1]);
    double arm[3], now[3], length = 0.0, across[3], along, sine;
    for (size_t c = 0; c < 3; c++) {
        axis[c] = (double)x[second + c] - (double)x[first + c];
        arm[c] = arms[second + c] - arms[first + c];
        length += axis[c] * axis[c];
    }
    for (int c = 0; c < 3; c++) axis[c] /= sqrt(length);
    pd_pose_rotate(R, arm, now);
    pd_pose_cross(now, axis, across);
    along = now[0] * axis[0] + now[1] * axis[1] + now[2] * axis[2];
    sine = sqrt(across[0] * across[0] + across[1] * across[1] + across[2] * across[2]);
    if (!(sine > 0.0)) return;
    double angle = atan2(sine, along), turn[3], E[9], turned[9];
    for (int c = 0; c < 3; c++) turn[c] = across[c] / sine * angle;
    pd_pose_exponential(turn, E);
    pd_pose_multiply(E, R, turned);
    for (int c = 0; c < 9; c++) R[c] = turned[c];
}

/* The centre of a held body with known rotation. */
PD_FUNCTION void pd_rigid_centre_by_pin(const double *arms, const pd_rigid_body *body, const real *x, pd_pose *pose) {
    size_t pin = 3 * (size_t)(body->rows.first + body->rows.pins[0]);
    double turned[3];
    pd_pose_rotate(pose->rotation, arms + pin, turned);
    for (size_t c = 0; c < 3; c++) pose->centre[c] = (double)x[pin + c] - turned[c];
}

/* The pose closest to the rows with mass; for a held body, among those that keep its pins in place. Returns 0 if there is none: the body is
 * inverted. */
PD_FUNCTION int pd_rigid_fit(const double *arms, const pd_rigid_body *body, const real *x, pd_rigid_stand *stand) {
    size_t first = 3 * (size_t)pd_rigid_first_carrier(body), pin = 3 * (size_t)(body->rows.first + body->rows.pins[0]);
    int pins = pd_rigid_pins(body);
    double A[9] = {0.0};
    for (size_t c = 0; c < 3; c++) {
        stand->pose.centre[c] = 0.0;
        for (size_t a = 0; a < PD_RIGID_CARRIERS; a++) stand->pose.centre[c] += (double)x[first + 3 * a + c] / PD_RIGID_CARRIERS;
        stand->about[c] = pins ? (double)x[pin + c] : stand->pose.centre[c];
        stand->axis[c] = 0.0;
    }
    for (size_t a = 0; a < PD_RIGID_CARRIERS; a++)
        for (size_t i = 0; i < 3; i++)
            for (size_t j = 0; j < 3; j++)
                A[3 * i + j] += ((double)x[first + 3 * a + i] - stand->about[i]) * (arms[first + 3 * a + j] - (pins ? arms[pin + j] : 0.0));
    if (!pd_pose_orthogonal(A)) return 0;
    for (int c = 0; c < 9; c++) stand->pose.rotation[c] = A[c];
    if (pins == 2) pd_rigid_turn_onto_axis(arms, body, x, stand->pose.rotation, stand->axis);
    if (pins) pd_rigid_centre_by_pin(arms, body, x, &stand->pose);
    return 1;
}

PD_FUNCTION void pd_rigid_place_row(const double *arms, const pd_pose *pose, int row, double at[3]) {
    pd_pose_rotate(pose->rotation, arms + 3 * (size_t)row, at);
    for (int c = 0; c < 3; c++) at[c] += pose->centre[c];
}

/* The rounding of positions between the mean of the rows with mass, which is the centre, and the centre of a pose. It is subtracted from
 * every move, so a free body conserves its linear momentum to the rounding of moves. */
PD_FUNCTION void pd_rigid_drift(const double *arms, const pd_rigid_body *body, const real *x, const pd_pose *pose, double drift[3]) {
    double at[3];
    for (int c = 0; c < 3; c++) drift[c] = 0.0;
    if (pd_rigid_pins(body)) return;
    for (int a = 0; a < PD_RIGID_CARRIERS; a++) {
        int row = pd_rigid_first_carrier(body) + a;
        pd_rigid_place_row(arms, pose, row, at);
        for (size_t c = 0; c < 3; c++) drift[c] += (at[c] - (double)x[3 * (size_t)row + c]) / PD_RIGID_CARRIERS;
    }
}

/* v <- its part along the axis, for a body held in one. */
PD_FUNCTION void pd_rigid_keep_along(const pd_rigid_body *body, const double axis[3], double v[3]) {
    if (pd_rigid_pins(body) < 2) return;
    double along = v[0] * axis[0] + v[1] * axis[1] + v[2] * axis[2];
    for (int c = 0; c < 3; c++) v[c] = along * axis[c];
}

/* ---- pd_bodies_place ----------------------------------------------------------------------------------------------------------------- */

PD_FUNCTION void pd_rigid_update_place(const double *arms, const pd_rigid_body *body, const pd_pose *pose, const double drift[3], int row,
                                       real *x, real *offset) {
    double at[3];
    if (pd_rigid_is_pin(body, row)) return;
    pd_rigid_place_row(arms, pose, row, at);
    for (size_t c = 0, j = 3 * (size_t)row; c < 3; c++, j++) {
        offset[j] = (real)((double)offset[j] + (at[c] - (double)x[j] - drift[c]));
        x[j] = (real)at[c];
    }
}

/* ---- pd_bodies_gather ---------------------------------------------------------------------------------------------------------------- */

/* Sums over the rows of a body. */
typedef struct pd_rigid_sums {
    double force[3], torque[3], outer[9]; /* g, r x g, g r^T */
} pd_rigid_sums;

PD_FUNCTION void pd_rigid_update_gather(const double *arms, const pd_rigid_stand *stand, int row, const real *gradient,
                                        pd_rigid_sums *sums) {
    double arm[3], g[3], turning[3];
    pd_rigid_place_row(arms, &stand->pose, row, arm);
    for (size_t c = 0; c < 3; c++) arm[c] -= stand->about[c], g[c] = (double)gradient[3 * (size_t)row + c];
    pd_pose_cross(arm, g, turning);
    for (int c = 0; c < 3; c++) {
        sums->force[c] += g[c];
        sums->torque[c] += turning[c];
        for (int d = 0; d < 3; d++) sums->outer[3 * c + d] += g[c] * arm[d];
    }
}

/* The six numbers of a body, and its part of the Hessian of its rotations. */
PD_FUNCTION void pd_rigid_finish_gather(const pd_rigid_body *body, const pd_rigid_stand *stand, pd_rigid_sums *sums, real *gradient,
                                        double *curvature) {
    // the second derivative of g . exp(theta) r at theta = 0 is (g r^T + r g^T)/2 - (g.r) 1
    double trace = sums->outer[0] + sums->outer[4] + sums->outer[8], squared = body->radius * body->radius;
    real *carrier = gradient + 3 * (size_t)pd_rigid_first_carrier(body);
    for (int c = 0; c < 9; c++)
        curvature[c] = (0.5 * (sums->outer[c] + sums->outer[3 * (c % 3) + c / 3]) - (c % 4 == 0 ? trace : 0.0)) / squared;
    pd_rigid_keep_along(body, stand->axis, sums->torque);
    for (int c = 0; c < 3; c++) {
        carrier[c] = pd_rigid_pins(body) ? (real)0 : (real)sums->force[c];
        carrier[3 + c] = (real)(sums->torque[c] / body->radius);
    }
}

/* ---- pd_bodies_spread ---------------------------------------------------------------------------------------------------------------- */

/* The pose after -alpha times the six numbers of a correction, and the drift there minus the displacement of the centre. */
PD_FUNCTION void pd_rigid_move(const double *arms, const pd_rigid_body *body, const pd_rigid_stand *stand, const real *x, double alpha,
                               const real *correction, pd_pose *moved, double drift[3]) {
    const real *carrier = correction + 3 * (size_t)pd_rigid_first_carrier(body);
    double turn[3], E[9];
    for (int c = 0; c < 3; c++) {
        moved->centre[c] = stand->pose.centre[c] - alpha * (double)carrier[c];
        turn[c] = -alpha * (double)carrier[3 + c] / body->radius;
    }
    pd_rigid_keep_along(body, stand->axis, turn);
    pd_pose_exponential(turn, E);
    pd_pose_multiply(E, stand->pose.rotation, moved->rotation);
    if (pd_rigid_pins(body)) pd_rigid_centre_by_pin(arms, body, x, moved);
    pd_rigid_drift(arms, body, x, moved, drift);
    for (int c = 0; c < 3; c++) drift[c] += alpha * (double)carrier[c];
}

PD_FUNCTION void pd_rigid_update_spread(const double *arms, const pd_rigid_body *body, const pd_pose *moved, const double drift[3], int row,
                                        const real *x, double alpha, real *correction) {
    double at[3];
    pd_rigid_place_row(arms, moved, row, at);
    for (size_t c = 0, j = 3 * (size_t)row; c < 3; c++, j++)
        correction[j] = pd_rigid_is_pin(body, row) ? (real)0 : (real)(((double)x[j] - at[c] + drift[c]) / alpha);
}

/* ---- pd_bodies_go, pd_bodies_bend ---------------------------------------------------------------------------------------------------- */

/* The path of a body: its start, the rotation vector to its end, and the displacement of its centre, zero for a held body. */
typedef struct pd_rigid_way {
    pd_rigid_stand start;
    double turn[3], shift[3];
} pd_rigid_way;

/* Returns 0 if a body is not rigid at either end. */
PD_FUNCTION int pd_rigid_find_way(const double *arms, const pd_rigid_body *body, const real *x_0, const real *x_1, pd_rigid_way *way) {
    pd_rigid_stand end;
    double between[9];
    if (!pd_rigid_fit(arms, body, x_1, &end) || !pd_rigid_fit(arms, body, x_0, &way->start)) return 0;
    pd_pose_relative(end.pose.rotation, way->start.pose.rotation, between);
    pd_pose_logarithm(between, way->turn);
    for (int c = 0; c < 3; c++) way->shift[c] = pd_rigid_pins(body) ? 0.0 : end.pose.centre[c] - way->start.pose.centre[c];
    return 1;
}

/* The rotation after a fraction of the path. */
PD_FUNCTION void pd_rigid_turn_so_far(const pd_rigid_way *way, double fraction, double E[9]) {
    double turn[3];
    for (int c = 0; c < 3; c++) turn[c] = fraction * way->turn[c];
    pd_pose_exponential(turn, E);
}

PD_FUNCTION void pd_rigid_update_go(const double *arms, const pd_rigid_body *body, const pd_rigid_way *way, const double E[9],
                                    double fraction, int row, real *x, real *offset) {
    double at[3], arm[3], by[3];
    if (pd_rigid_is_pin(body, row)) return;
    pd_rigid_place_row(arms, &way->start.pose, row, at);
    for (int c = 0; c < 3; c++) arm[c] = at[c] - way->start.about[c];
    pd_pose_rotate(E, arm, by);
    for (int c = 0; c < 3; c++) by[c] += fraction * way->shift[c] - arm[c];
    for (size_t c = 0, j = 3 * (size_t)row; c < 3; c++, j++) {
        x[j] = (real)((double)x[j] + by[c]);
        if (offset) offset[j] = (real)((double)offset[j] + by[c]);
    }
}

/* A curve is off its chord by at most an eighth of its second derivative, r |turn|^2. */
PD_FUNCTION real pd_rigid_bend_of(const pd_rigid_body *body, const pd_rigid_way *way) {
    double square = way->turn[0] * way->turn[0] + way->turn[1] * way->turn[1] + way->turn[2] * way->turn[2];
    return (real)(0.125 * body->extent * square);
}

/* A straight path from x_0 with the length of the arc of a row, at most |shift| + |turn x r|. */
PD_FUNCTION void pd_rigid_update_stretch(const double *arms, const pd_rigid_way *way, int row, const real *x_0, real *ends) {
    double at[3], across[3];
    const double *s = way->shift;
    pd_rigid_place_row(arms, &way->start.pose, row, at);
    for (int c = 0; c < 3; c++) at[c] -= way->start.about[c];
    pd_pose_cross(way->turn, at, across);
    double length =
        sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2]) + sqrt(across[0] * across[0] + across[1] * across[1] + across[2] * across[2]);
    for (size_t c = 0, j = 3 * (size_t)row; c < 3; c++, j++) ends[j] = c ? x_0[j] : (real)((double)x_0[j] + length);
}

/* ---- pd_bodies_turn, pd_bodies_arms -------------------------------------------------------------------------------------------------- */

PD_FUNCTION double pd_rigid_turn_of(const pd_rigid_body *body, const real *correction) {
    const real *vector = correction + 3 * (size_t)(pd_rigid_first_carrier(body) + 1);
    double square = 0.0;
    for (int c = 0; c < 3; c++) square += (double)vector[c] * (double)vector[c];
    return sqrt(square) / body->radius;
}

/* The projector on the rotations that the pins leave free. */
PD_FUNCTION void pd_rigid_along(const pd_rigid_body *body, const pd_rigid_stand *stand, double along[9]) {
    for (int c = 0; c < 9; c++) along[c] = pd_rigid_pins(body) == 2 ? stand->axis[c / 3] * stand->axis[c % 3] : (double)(c % 4 == 0);
}

PD_FUNCTION void pd_rigid_update_arm(const double *arms, const pd_rigid_body *body, const pd_rigid_stand *stand, const double along[9],
                                     int row, double *T) {
    double r[3];
    pd_rigid_place_row(arms, &stand->pose, row, r);
    for (int c = 0; c < 3; c++) r[c] = (r[c] - stand->about[c]) / body->radius;
    // theta x r = T^T theta, T = [r]x
    double cross[9] = {0.0, -r[2], r[1], r[2], 0.0, -r[0], -r[1], r[0], 0.0};
    pd_pose_multiply(along, cross, T + 9 * (size_t)row);
}

/* ---- pd_bodies_solve ----------------------------------------------------------------------------------------------------------------- */

/* The lower triangle of A [6,6] <- its Cholesky factor L; returns 0 if A is not positive definite. */
PD_FUNCTION int pd_rigid_factor6(double *A) {
    for (int j = 0; j < 6; j++) {
        double pivot = A[7 * j];
        for (int k = 0; k < j; k++) pivot -= A[6 * j + k] * A[6 * j + k];
        if (!(pivot > 1e-14 * fabs(A[7 * j]))) return 0;
        A[7 * j] = sqrt(pivot);
        for (int i = j + 1; i < 6; i++) {
            for (int k = 0; k < j; k++) A[6 * i + j] -= A[6 * i + k] * A[6 * j + k];
            A[6 * i + j] /= A[7 * j];
        }
    }
    return 1;
}

/* b = L^-1 b */
PD_FUNCTION void pd_rigid_forward6(const double *L, double *b) {
    for (int i = 0; i < 6; i++) {
        for (int k = 0; k < i; k++) b[i] -= L[6 * i + k] * b[k];
        b[i] /= L[7 * i];
    }
}

/* b = L^-T b */
PD_FUNCTION void pd_rigid_backward6(const double *L, double *b) {
    for (int i = 5; i >= 0; i--) {
        for (int k = i + 1; k < 6; k++) b[i] -= L[6 * k + i] * b[k];
        b[i] /= L[7 * i];
    }
}

/* Returns 1 if it is not positive definite. */
PD_FUNCTION int pd_rigid_update_solve(const pd_rigid_body *body, double *system, int limited, const real *gradient, real *correction) {
    size_t first = 3 * (size_t)pd_rigid_first_carrier(body);
    double *d = system + 36;
    for (size_t c = 0; c < 6; c++) d[c] = (double)gradient[first + c];
    if (!pd_rigid_factor6(system)) return 1;
    pd_rigid_forward6(system, d);
    pd_rigid_backward6(system, d);
    double turn = sqrt(d[3] * d[3] + d[4] * d[4] + d[5] * d[5]) / body->radius;
    for (size_t c = 0; c < 6; c++) correction[first + c] = (real)(limited && turn > 1.0 ? d[c] / turn : d[c]);
    return 0;
}

#endif
