/* The terms of G of one rigid body in a sweep, for the loops of both backends: energy, gradient and 6x6 block of its elements and pairs.
 *
 * A body moves by a shift s of its pivot o, and a rotation vector t: a row at o + r moves to o + part s + exp(part t) r, on an arc of
 * length at most part (|s| + |t x r|). Only those of its pairs are evaluated that can be active after the moves of the bodies in the
 * sweep. */
#ifndef PD_UPDATES_RIGID_RIGID_TERMS_H
#define PD_UPDATES_RIGID_RIGID_TERMS_H

#include "base/pose.h"
#include "loops/rigid_sweep_loops.h"
#include "updates/elements/element_update.h"
#include "updates/rigid/rigid_update.h"
#include "updates/sweeps/touching_vertex.h"

/* The displacement of a body since the start of the sweep, and its next move: a row at about + r is at about + gone + turned r, and moves
 * to about + gone + part shift + exp(part turn) turned r. */
typedef struct pd_body_way {
    double about[3], axis[3]; /* its pivot at the start of the sweep; the axis of a body held in two points */
    double extent;            /* the largest distance of its rows from the pivot, m */
    double gone[3], turned[9];
    double shift[3], turn[3];
    int held;       /* the number of pinned points, 0 to 2 */
    int own, n_own; /* its pairs: sweep->own[own .. own + n_own - 1] */
} pd_body_way;

typedef struct pd_body_sum {
    double gradient[6], block[36], outer[9]; /* by shift and turn; outer = sum of f r^T */
    double energy, magnitude, forces;        /* J, J, N: sums of values, of absolute ones, and of the lengths of forces */
    double least;                            /* the smallest gap of its pairs, m */
} pd_body_sum;

PD_FUNCTION int pd_body_has(const pd_model *model, const pd_body_sweep *sweep, int body, int point) {
    return point >= 0 && point < model->n_vertices && sweep->body_of[point] == body;
}

PD_FUNCTION double pd_body_length(const double v[3]) { return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

/* r at the present pose of the body. */
PD_FUNCTION void pd_body_arm(const pd_body_way *way, const real *start, int row, double arm[3]) {
    double r[3];
    for (int c = 0; c < 3; c++) r[c] = (double)start[3 * (size_t)row + (size_t)c] - way->about[c];
    pd_pose_rotate(way->turned, r, arm);
}

PD_FUNCTION void pd_body_begin(const pd_body_sweep *sweep, int number, pd_body_way *way) {
    const pd_rigid_body *body = &sweep->bodies[number];
    const real *x = sweep->start;
    int end = body->rows.first + body->rows.n;
    way->held = pd_rigid_pins(body);
    for (int c = 0; c < 9; c++) way->turned[c] = (double)(c % 4 == 0);
    for (int c = 0; c < 3; c++) {
        way->about[c] = way->axis[c] = way->gone[c] = way->shift[c] = way->turn[c] = 0.0;
        for (int a = end - PD_RIGID_CARRIERS; a < end && !way->held; a++) way->about[c] += 0.25 * (double)x[3 * (size_t)a + (size_t)c];
        if (way->held) way->about[c] = (double)x[3 * (size_t)(body->rows.first + body->rows.pins[0]) + (size_t)c];
        if (way->held > 1) way->axis[c] = (double)x[3 * (size_t)(body->rows.first + body->rows.pins[1]) + (size_t)c] - way->about[c];
    }
    if (way->held > 1) {
        double length = pd_body_length(way->axis);
        for (int c = 0; c < 3; c++) way->axis[c] /= length;
    }
    way->extent = 0.0, way->own = way->n_own = 0;
    for (int i = body->rows.first; i < end; i++) {
        double arm[3], far;
        pd_body_arm(way, x, i, arm);
        far = pd_body_length(arm);
        way->extent = far > way->extent ? far : way->extent;
    }
}

PD_FUNCTION double pd_body_arc(const pd_body_way *way) { return pd_body_length(way->shift) + pd_body_length(way->turn) * way->extent; }

/* The displacement of a row at `start` after a fraction of the path, E the rotation until then. */
PD_FUNCTION void pd_body_row_move(const pd_body_way *way, const double E[9], double part, const real start[3], double move[3]) {
    double arm[3], turned[3];
    for (int c = 0; c < 3; c++) arm[c] = (double)start[c] - way->about[c];
    pd_pose_rotate(E, arm, turned);
    for (int c = 0; c < 3; c++) move[c] = way->gone[c] + part * way->shift[c] + (turned[c] - arm[c]);
}

PD_FUNCTION void pd_body_row_after(const pd_body_way *way, const double E[9], double part, const real start[3], real at[3]) {
    double move[3];
    pd_body_row_move(way, E, part, start, move);
    for (int c = 0; c < 3; c++) at[c] = (real)((double)start[c] + move[c]);
}

PD_FUNCTION void pd_body_rotation_after(const pd_body_way *way, double part, double E[9]) {
    double turn[3], further[9];
    for (int c = 0; c < 3; c++) turn[c] = part * way->turn[c];
    pd_pose_exponential(turn, further);
    pd_pose_multiply(further, way->turned, E);
}

/* Moves the rows of a body to this fraction of the path. */
PD_FUNCTION void pd_body_place(const pd_body_sweep *sweep, int number, const pd_body_way *way, double part) {
    const pd_rigid_body *body = &sweep->bodies[number];
    double E[9];
    pd_body_rotation_after(way, part, E);
    for (int i = body->rows.first; i < body->rows.first + body->rows.n; i++)
        if (!pd_rigid_is_pin(body, i)) pd_body_row_after(way, E, part, sweep->start + 3 * (size_t)i, sweep->points + 3 * (size_t)i);
}

/* ---- elements and pairs of a body ---------------------------------------------------------------------------------------------------- */

/* Tells whether a role is the first of its pair with the body. */
PD_FUNCTION int pd_body_first_role(const pd_model *model, const pd_body_sweep *sweep, int body, const int *points, int corner) {
    for (int j = 0; j < corner; j++)
        if (pd_body_has(model, sweep, body, points[j])) return 0;
    return 1;
}

/* A lower bound of the distance of a pair minus its separation, before the body moves, m. */
PD_FUNCTION double pd_body_gap(const pd_model *model, const pd_body_sweep *sweep, int body, int pair) {
    const int *points = sweep->pairs.points + 4 * (size_t)pair;
    double others = 0.0;
    for (int j = 0; j < 4; j++) {
        int point = points[j], of = point >= 0 && point < model->n_vertices ? sweep->body_of[point] : -1;
        if (of >= 0 && of != body && sweep->moved[of] > others) others = sweep->moved[of];
    }
    return (double)sweep->distance[pair] - (double)sweep->pairs.separation[pair] - sweep->rounding - others;
}

/* Its pairs, once each. */
PD_FUNCTION void pd_body_list_pairs(const pd_model *model, const pd_body_sweep *sweep, int number, pd_body_way *way) {
    const pd_rigid_body *body = &sweep->bodies[number];
    way->own = sweep->incidence.start[body->rows.first], way->n_own = 0;
    for (int r = way->own; r < sweep->incidence.start[body->rows.first + body->rows.n]; r++) {
        int p = sweep->incidence.roles[r] / 4, to = way->own + way->n_own;
        if (!pd_body_first_role(model, sweep, number, sweep->pairs.points + 4 * (size_t)p, sweep->incidence.roles[r] % 4)) continue;
        sweep->own[to] = p;
        sweep->gaps[to] = pd_body_gap(model, sweep, number, p);
        way->n_own++;
    }
}

PD_FUNCTION void pd_body_add_force(const double arm[3], const double f[3], pd_body_sum *sum) {
    double torque[3];
    pd_pose_cross(arm, f, torque);
    for (int c = 0; c < 3; c++) {
        sum->gradient[c] += f[c], sum->gradient[3 + c] += torque[c];
        for (int d = 0; d < 3; d++) sum->outer[3 * c + d] += f[c] * arm[d];
    }
    sum->forces += pd_body_length(f);
}

/* J [3,6] of a row: its derivative by shift and turn. */
PD_FUNCTION void pd_body_jacobian(const double arm[3], double J[18]) {
    for (int i = 0; i < 18; i++) J[i] = 0.0;
    J[0] = J[7] = J[14] = 1.0;
    J[4] = arm[2], J[5] = -arm[1];
    J[9] = -arm[2], J[11] = arm[0];
    J[15] = arm[1], J[16] = -arm[0];
}

/* block += J^T K J with the rows and columns of these corners only, K [width,width], J [n,3,6]. */
PD_FUNCTION void pd_body_add_block(int n, const int *corners, int width, const real *K, const double *J, double block[36]) {
    for (int row = 0; row < 3 * n; row++) {
        double moved[6] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
        const double *of_row = J + 6 * row;
        const real *values = K + width * (3 * corners[row / 3] + row % 3);
        for (int column = 0; column < 3 * n; column++) {
            double value = (double)values[3 * corners[column / 3] + column % 3];
            for (int c = 0; c < 6; c++) moved[c] += value * J[6 * column + c];
        }
        for (int a = 0; a < 6; a++)
            for (int b = 0; b < 6; b++) block[6 * a + b] += of_row[a] * moved[b];
    }
}

/* Adds f and K [k,3], [3k,3k] of an element or pair with these corners; K NULL: f only. */
PD_UPDATE_FUNCTION void pd_body_add(const pd_model *model, const pd_body_sweep *sweep, int body, const pd_body_way *way, int corners,
                                    const int *points, const real *f, const real *K, pd_body_sum *sum) {
    double J[72];
    int moving[4], n = 0;
    for (int j = 0; j < corners; j++) {
        double arm[3], force[3];
        if (!pd_body_has(model, sweep, body, points[j]) || model->fixed[points[j]]) continue;
        pd_body_arm(way, sweep->start, points[j], arm);
        for (int c = 0; c < 3; c++) force[c] = (double)f[3 * j + c];
        pd_body_add_force(arm, force, sum);
        pd_body_jacobian(arm, J + 18 * n);
        moving[n++] = j;
    }
    if (K) pd_body_add_block(n, moving, 3 * corners, K, J, sum->block);
}

PD_FUNCTION void pd_body_add_energy(double energy, pd_body_sum *sum) { sum->energy += energy, sum->magnitude += fabs(energy); }

/* The rows with its mass; their energy is a difference, pd_body_inertia. */
PD_FUNCTION void pd_body_add_inertia(const pd_model *model, const pd_body_sweep *sweep, const pd_step_data *step, int number,
                                     const pd_body_way *way, pd_body_sum *sum) {
    const pd_rigid_body *body = &sweep->bodies[number];
    for (int i = body->rows.first + body->rows.n - PD_RIGID_CARRIERS; i < body->rows.first + body->rows.n; i++) {
        const int all[1] = {0};
        double arm[3], gone[3], f[3], J[18], m = (double)model->masses[i] * step->inverse_h * step->inverse_h;
        const real K[9] = {(real)m, 0, 0, 0, (real)m, 0, 0, 0, (real)m};
        if (model->fixed[i]) continue;
        pd_body_arm(way, sweep->start, i, arm);
        pd_body_row_move(way, way->turned, 0.0, sweep->start + 3 * (size_t)i, gone);
        for (int c = 0; c < 3; c++) f[c] = m * ((double)sweep->offset[3 * (size_t)i + (size_t)c] + gone[c]);
        pd_body_add_force(arm, f, sum);
        pd_body_jacobian(arm, J);
        pd_body_add_block(1, all, 3, K, J, sum->block);
    }
}

/* The inertia at this fraction of the path minus that at its start, J. */
PD_FUNCTION double pd_body_inertia(const pd_model *model, const pd_body_sweep *sweep, const pd_step_data *step, int number,
                                   const pd_body_way *way, double part, double *magnitude) {
    const pd_rigid_body *body = &sweep->bodies[number];
    double E[9], sum = 0.0;
    pd_body_rotation_after(way, part, E);
    for (int i = body->rows.first + body->rows.n - PD_RIGID_CARRIERS; i < body->rows.first + body->rows.n; i++) {
        double before[3], after[3], m = (double)model->masses[i] * step->inverse_h * step->inverse_h;
        if (model->fixed[i]) continue;
        pd_body_row_move(way, way->turned, 0.0, sweep->start + 3 * (size_t)i, before);
        pd_body_row_move(way, E, part, sweep->start + 3 * (size_t)i, after);
        for (int c = 0; c < 3; c++) {
            double move = after[c] - before[c], o = (double)sweep->offset[3 * (size_t)i + (size_t)c] + before[c];
            sum += m * move * (o + 0.5 * move);
            *magnitude += m * fabs(move) * (fabs(o) + 0.5 * fabs(move));
        }
    }
    return sum;
}

/* `with` of the functions below: 0: only the energy; 1: forces and the matrix too; 2: with the clamped matrix. */
PD_FUNCTION pd_hessian_filter pd_body_filter(int with) { return with > 1 ? PD_FILTER_CLAMP : PD_FILTER_NONE; }

#define PD_BODY_ELEMENT(KIND, name, k, d, count, ...)                                                                           \
    PD_UPDATE_FUNCTION void pd_body_element_##name(const pd_model *model, const pd_body_sweep *sweep, const pd_step_data *step, \
                                                   const pd_elements *g, int e, int body, const pd_body_way *way, int with,     \
                                                   pd_body_sum *sum) {                                                          \
        real f[3 * (k)], K[9 * (k) * (k)];                                                                                      \
        pd_body_add_energy(pd_element_update_energy_##name(g, sweep->points, e), sum);                                          \
        if (!with) return;                                                                                                      \
        pd_element_update_gradient_##name(g, sweep->points, e, f);                                                              \
        pd_element_update_hessian_##name(g, (real)step->inverse_h, sweep->points, pd_body_filter(with), e, K);                  \
        pd_body_add(model, sweep, body, way, k, g->vertices + (size_t)e * (k), f, K, sum);                                      \
    }
PD_FORMULA_TABLE(PD_BODY_ELEMENT)

PD_UPDATE_FUNCTION void pd_body_add_elements(const pd_model *model, const pd_body_sweep *sweep, const pd_step_data *step, int body,
                                             const pd_body_way *way, int with, pd_body_sum *sum) {
    for (int s = sweep->element_start[body]; s < sweep->element_start[body + 1]; s++) {
        const pd_elements *g = &model->kinds[sweep->elements[2 * (size_t)s]];
        int e = sweep->elements[2 * (size_t)s + 1];
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: pd_body_element_##name(model, sweep, step, g, e, body, way, with, sum); break;
        PD_SWITCH(g->kind, PD_FORMULA_TABLE, PD_CASE)
#undef PD_CASE
    }
}

/* One pair that may be active. */
PD_UPDATE_FUNCTION void pd_body_add_pair(const pd_model *model, const pd_body_sweep *sweep, int p, int body, const pd_body_way *way,
                                         int with, pd_body_sum *sum) {
    int kind = sweep->pairs.kind[p], corners = pd_contact_corners(kind);
    real at[12], f[12], K[144];
    pd_contact_limits limits;
    pd_contact_update_gather(&sweep->pairs, sweep->points, p, at, &limits);
    pd_nearest nearest = pd_contact_nearest_of(kind, at);
    double gap = (double)nearest.distance - (double)limits.separation;
    sum->least = pd_least_of(sum->least, gap);
    if (nearest.distance >= limits.separation + limits.activation) return;
    pd_points4 x = pd_points4_load(at);
    pd_body_add_energy((double)pd_contact_energy(sweep->potential, limits, kind, x, nearest), sum);
    if (!with || !(sum->energy - sum->energy == 0.0)) return;
    pd_points4_store(pd_contact_gradient(sweep->potential, limits, kind, x, nearest), f);
    pd_contact_hessian(&sweep->potential, &limits, kind, at, pd_body_filter(with), K);
    pd_body_add(model, sweep, body, way, corners, sweep->pairs.points + 4 * (size_t)p, f, K, sum);
}

/* All of them, at the displacement `here` of the body, m. */
PD_UPDATE_FUNCTION void pd_body_add_pairs(const pd_model *model, const pd_body_sweep *sweep, int body, const pd_body_way *way, double here,
                                          int with, pd_body_sum *sum) {
    for (int k = way->own; k < way->own + way->n_own; k++) {
        double gap = sweep->gaps[k] - here;
        if (gap > (double)sweep->pairs.activation[sweep->own[k]] * (1.0 + 16.0 * (double)PD_EPSILON))
            sum->least = pd_least_of(sum->least, gap);
        else
            pd_body_add_pair(model, sweep, sweep->own[k], body, way, with, sum);
    }
}

/* J [3,6] of the slip of a pair with friction, sum over its corners of weight x displacement. */
PD_FUNCTION void pd_body_slip_jacobian(const pd_model *model, const pd_body_sweep *sweep, int body, const pd_body_way *way,
                                       const int points[4], const real *weights, double J[18]) {
    for (int i = 0; i < 18; i++) J[i] = 0.0;
    for (int j = 0; j < 4; j++) {
        double arm[3], of_row[18];
        if (!pd_body_has(model, sweep, body, points[j]) || model->fixed[points[j]]) continue;
        pd_body_arm(way, sweep->start, points[j], arm);
        pd_body_jacobian(arm, of_row);
        for (int i = 0; i < 18; i++) J[i] += (double)weights[j] * of_row[i];
    }
}

PD_UPDATE_FUNCTION void pd_body_add_friction(const pd_model *model, const pd_body_sweep *sweep, int number, const pd_body_way *way,
                                             int with, pd_body_sum *sum) {
    const pd_rigid_body *body = &sweep->bodies[number];
    const pd_lagged_pairs *lagged = &sweep->lagged;
    for (int i = body->rows.first; i < body->rows.first + body->rows.n && lagged->n > 0; i++)
        for (int r = sweep->lagged_incidence.start[i]; r < sweep->lagged_incidence.start[i + 1]; r++) {
            size_t p = (size_t)(sweep->lagged_incidence.roles[r] / 4);
            const int whole[1] = {0};
            real strength = lagged->strength[p], f[12], M[9];
            double J[18];
            const real *weights = lagged->weights + 4 * p;
            int points[4]; // roles with zero weight are not listed
            for (int j = 0; j < 4; j++) points[j] = weights[j] != 0 ? lagged->points[4 * p + (size_t)j] : -1;
            if (!pd_body_first_role(model, sweep, number, points, sweep->lagged_incidence.roles[r] % 4)) continue;
            if (!(strength > 0)) continue;
            pd_vector u = pd_friction_update_slip(lagged, &sweep->slipping, (int)p);
            pd_friction_terms terms = pd_friction_terms_of(u, sweep->slipping.extent);
            pd_body_add_energy((double)(strength * terms.value), sum);
            if (!with) continue;
            pd_friction_matrix(strength, pd_vector_load(lagged->normals + 3 * p), terms, M);
            for (int j = 0; j < 4; j++) pd_vector_store(pd_vector_scale(weights[j] * (strength * terms.ratio), u), f + 3 * j);
            pd_body_add(model, sweep, number, way, 4, points, f, NULL, sum);
            pd_body_slip_jacobian(model, sweep, number, way, points, weights, J);
            pd_body_add_block(1, whole, 3, M, J, sum->block);
        }
}

/* All except inertia, at the present pose; `here`: the displacement of the body from the start of the sweep. */
PD_UPDATE_FUNCTION void pd_body_sum_up(const pd_model *model, const pd_body_sweep *sweep, const pd_step_data *step, int body,
                                       const pd_body_way *way, double here, int with, pd_body_sum *sum) {
    for (int i = 0; i < 6; i++) sum->gradient[i] = 0.0;
    for (int i = 0; i < 36; i++) sum->block[i] = 0.0;
    for (int i = 0; i < 9; i++) sum->outer[i] = 0.0;
    sum->energy = sum->magnitude = sum->forces = 0.0;
    sum->least = (double)INFINITY;
    pd_body_add_elements(model, sweep, step, body, way, with, sum);
    if (!sweep->touches) return;
    pd_body_add_pairs(model, sweep, body, way, here, with, sum);
    pd_body_add_friction(model, sweep, body, way, with, sum);
}

#endif
