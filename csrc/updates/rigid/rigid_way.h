/* The paths of rigid bodies in a sweep, for the loops of both backends.
 *
 * A body moves by a shift s of its pivot o, and a rotation vector t: a row at o + r moves to o + fraction s + exp(fraction t) r. That is an
 * arc of length at most fraction (|s| + |t x r|). */
#ifndef PD_UPDATES_RIGID_RIGID_WAY_H
#define PD_UPDATES_RIGID_RIGID_WAY_H

#include "base/pose.h"
#include "loops/rigid_sweep_loops.h"
#include "updates/rigid/rigid_update.h"

/* A group: the bodies with the places first .. end - 1. */
typedef struct pd_body_group {
    int number, first, end;
} pd_body_group;

PD_FUNCTION pd_body_group pd_group_of(const pd_body_sweep *sweep, int number) {
    pd_body_group group;
    group.number = number, group.first = sweep->groups.start[number], group.end = sweep->groups.start[number + 1];
    return group;
}

PD_FUNCTION const pd_rigid_body *pd_body_at(const pd_body_sweep *sweep, int place) { return &sweep->bodies[sweep->groups.members[place]]; }

/* The place of the body of a point in a group, or -1. */
PD_FUNCTION int pd_group_place(const pd_model *model, const pd_body_sweep *sweep, int group, int point) {
    int body = point >= 0 && point < model->n_vertices ? sweep->body_of[point] : -1;
    return body >= 0 && sweep->groups.group_of[body] == group ? sweep->groups.place_of[body] : -1;
}

PD_FUNCTION double pd_body_length(const double v[3]) { return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

/* r at the present pose of the body. */
PD_FUNCTION void pd_body_arm(const pd_body_way *way, const real *start, int row, double arm[3]) {
    double r[3];
    for (int c = 0; c < 3; c++) r[c] = (double)start[3 * (size_t)row + (size_t)c] - way->about[c];
    pd_pose_rotate(way->turned, r, arm);
}

PD_FUNCTION void pd_body_begin(const pd_body_sweep *sweep, int place) {
    const pd_rigid_body *body = pd_body_at(sweep, place);
    pd_body_way *way = &sweep->groups.ways[place];
    const real *x = sweep->start;
    int end = body->rows.first + body->rows.n;
    way->held = pd_rigid_pins(body);
    for (int c = 0; c < 9; c++) way->turned[c] = (double)(c % 4 == 0);
    for (int c = 0; c < 3; c++) {
        way->about[c] = way->axis[c] = way->gone[c] = way->shift[c] = way->turn[c] = 0.0;
        for (int a = pd_rigid_first_carrier(body); a < end && !way->held; a++) way->about[c] += 0.25 * (double)x[3 * (size_t)a + (size_t)c];
        if (way->held) way->about[c] = (double)x[3 * (size_t)(body->rows.first + body->rows.pins[0]) + (size_t)c];
        if (way->held > 1) way->axis[c] = (double)x[3 * (size_t)(body->rows.first + body->rows.pins[1]) + (size_t)c] - way->about[c];
    }
    if (way->held > 1) {
        double length = pd_body_length(way->axis);
        for (int c = 0; c < 3; c++) way->axis[c] /= length;
    }
    way->extent = way->went = way->arc = 0.0, way->own = way->n_own = way->rest = way->rest_end = 0;
    for (int i = body->rows.first; i < end; i++) {
        double arm[3], far;
        pd_body_arm(way, x, i, arm);
        far = pd_body_length(arm);
        way->extent = far > way->extent ? far : way->extent;
    }
}

/* The length of the path since the start of the sweep, after a fraction of the next move, m. */
PD_FUNCTION double pd_body_went(const pd_body_way *way, double fraction) {
    return way->went + (fraction > 0.0 ? fraction * way->arc : 0.0);
}

/* The displacement of a row at `start` after a fraction of the path, E the rotation until then. */
PD_FUNCTION void pd_body_row_move(const pd_body_way *way, const double E[9], double fraction, const real start[3], double move[3]) {
    double arm[3], turned[3];
    for (int c = 0; c < 3; c++) arm[c] = (double)start[c] - way->about[c];
    pd_pose_rotate(E, arm, turned);
    for (int c = 0; c < 3; c++) move[c] = way->gone[c] + fraction * way->shift[c] + (turned[c] - arm[c]);
}

PD_FUNCTION void pd_body_row_after(const pd_body_way *way, const double E[9], double fraction, const real start[3], real at[3]) {
    double move[3];
    pd_body_row_move(way, E, fraction, start, move);
    for (int c = 0; c < 3; c++) at[c] = (real)((double)start[c] + move[c]);
}

PD_FUNCTION void pd_body_rotation_after(const pd_body_way *way, double fraction, double E[9]) {
    double turn[3], further[9];
    for (int c = 0; c < 3; c++) turn[c] = fraction * way->turn[c];
    pd_pose_exponential(turn, further);
    pd_pose_multiply(further, way->turned, E);
}

/* Moves the rows of a body to this fraction of the path. */
PD_FUNCTION void pd_body_put(const pd_body_sweep *sweep, int place, double fraction) {
    const pd_rigid_body *body = pd_body_at(sweep, place);
    const pd_body_way *way = &sweep->groups.ways[place];
    double E[9];
    pd_body_rotation_after(way, fraction, E);
    for (int i = body->rows.first; i < body->rows.first + body->rows.n; i++)
        if (!pd_rigid_is_pin(body, i)) pd_body_row_after(way, E, fraction, sweep->start + 3 * (size_t)i, sweep->points + 3 * (size_t)i);
}

#endif
