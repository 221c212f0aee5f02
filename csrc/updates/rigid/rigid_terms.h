/* The terms of G of a group of rigid bodies in a sweep, for the loops of both backends: energy, gradient and Hessian of its elements and
 * pairs. Of the Hessian there are the blocks of bodies and of those pairs of bodies that the factor has (dynamics/rigid/mechanisms.h).
 * Only those pairs are evaluated that can be active after the moves of the bodies in the sweep. */
#ifndef PD_UPDATES_RIGID_RIGID_TERMS_H
#define PD_UPDATES_RIGID_RIGID_TERMS_H

#include "updates/elements/element_update.h"
#include "updates/rigid/group_factor.h"
#include "updates/rigid/rigid_way.h"
#include "updates/sweeps/touching_vertex.h"

/* Sums over the terms of a group. */
typedef struct pd_group_sum {
    double energy, magnitude, forces; /* J, J, N: sums of values, of absolute ones, and of the lengths of forces */
    double least;                     /* the smallest gap of its pairs, m */
} pd_group_sum;

/* ---- elements and pairs of a group --------------------------------------------------------------------------------------------------- */

/* Tells whether a role is the first of its pair with the group. */
PD_FUNCTION int pd_group_first_role(const pd_model *model, const pd_body_sweep *sweep, int group, const int *points, int corner) {
    for (int j = 0; j < corner; j++)
        if (pd_group_place(model, sweep, group, points[j]) >= 0) return 0;
    return 1;
}

/* A lower bound of the distance of a pair minus its separation, before the group moves, m. */
PD_FUNCTION double pd_group_gap(const pd_model *model, const pd_body_sweep *sweep, int group, int pair) {
    const int *points = sweep->pairs.points + 4 * (size_t)pair;
    double others = 0.0;
    for (int j = 0; j < 4; j++) {
        int point = points[j], of = point >= 0 && point < model->n_vertices ? sweep->body_of[point] : -1;
        if (of >= 0 && sweep->groups.group_of[of] != group && sweep->moved[of] > others) others = sweep->moved[of];
    }
    return (double)sweep->distance[pair] - (double)sweep->pairs.separation[pair] - sweep->rounding - others;
}

/* The place of another body of the group that has corners of a pair, or -1: a pair has at most two bodies. */
PD_FUNCTION int pd_group_other(const pd_model *model, const pd_body_sweep *sweep, int group, const int *points, int place) {
    for (int j = 0; j < 4; j++) {
        int other = pd_group_place(model, sweep, group, points[j]);
        if (other >= 0 && other != place) return other;
    }
    return -1;
}

/* The pairs of a body that have no corner in an earlier body of its group, once each. */
PD_FUNCTION void pd_body_list_pairs(const pd_model *model, const pd_body_sweep *sweep, int group, int place) {
    const pd_rigid_body *body = pd_body_at(sweep, place);
    pd_body_way *way = &sweep->groups.ways[place];
    way->own = sweep->incidence.start[body->rows.first], way->n_own = 0;
    for (int r = way->own; r < sweep->incidence.start[body->rows.first + body->rows.n]; r++) {
        int p = sweep->incidence.roles[r] / 4, to = way->own + way->n_own;
        const int *points = sweep->pairs.points + 4 * (size_t)p;
        if (!pd_group_first_role(model, sweep, group, points, sweep->incidence.roles[r] % 4)) continue;
        sweep->own[to] = p;
        sweep->others[to] = pd_group_other(model, sweep, group, points, place);
        sweep->gaps[to] = pd_group_gap(model, sweep, group, p);
        way->n_own++;
    }
}

/* Tells whether a body has pairs, listed for it or for another of its group. */
PD_FUNCTION int pd_body_touches(const pd_body_sweep *sweep, int place) {
    const pd_rigid_rows *rows = &pd_body_at(sweep, place)->rows;
    return sweep->incidence.start[rows->first + rows->n] > sweep->incidence.start[rows->first];
}

PD_FUNCTION void pd_body_add_force(const double arm[3], const double f[3], pd_body_sum *sum, pd_group_sum *total) {
    double torque[3];
    pd_pose_cross(arm, f, torque);
    for (int c = 0; c < 3; c++) {
        sum->gradient[c] += f[c], sum->gradient[3 + c] += torque[c];
        for (int d = 0; d < 3; d++) sum->outer[3 * c + d] += f[c] * arm[d];
    }
    total->forces += pd_body_length(f);
}

/* J [3,6] of a row: its derivative by shift and turn. */
PD_FUNCTION void pd_body_jacobian(const double arm[3], double J[18]) {
    for (int i = 0; i < 18; i++) J[i] = 0.0;
    J[0] = J[7] = J[14] = 1.0;
    J[4] = arm[2], J[5] = -arm[1];
    J[9] = -arm[2], J[11] = arm[0];
    J[15] = arm[1], J[16] = -arm[0];
}

/* Corners of an element or a pair that move with a group. */
typedef struct pd_moving {
    int n, corner[4], place[4];
    double J[72]; /* [n,3,6] by shift and turn of the body */
} pd_moving;

/* block += weight J^T K J with the rows of one body and the columns of another, K [width,width]. */
PD_FUNCTION void pd_body_add_block(const pd_moving *moving, int of_rows, int of_columns, int width, const real *K, double weight,
                                   double block[36]) {
    for (int row = 0; row < 3 * moving->n; row++) {
        double moved[6] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
        const double *of_row = moving->J + 6 * row;
        const real *values = K + width * (3 * moving->corner[row / 3] + row % 3);
        if (moving->place[row / 3] != of_rows) continue;
        for (int column = 0; column < 3 * moving->n; column++) {
            if (moving->place[column / 3] != of_columns) continue;
            double value = (double)values[3 * moving->corner[column / 3] + column % 3];
            for (int c = 0; c < 6; c++) moved[c] += value * moving->J[6 * column + c];
        }
        for (int a = 0; a < 6; a++)
            for (int b = 0; b < 6; b++) block[6 * a + b] += weight * (of_row[a] * moved[b]);
    }
}

/* Tells whether a place is the first of its body among the corners. */
PD_FUNCTION int pd_moving_is_first(const pd_moving *moving, int k) {
    for (int j = 0; j < k; j++)
        if (moving->place[j] == moving->place[k]) return 0;
    return 1;
}

/* Adds K to the blocks of its bodies. If one of them is missing, or with `apart`, only those of single bodies grow, by a factor of the
 * number of bodies: for K without negative eigenvalues that bounds it from above. */
PD_UPDATE_FUNCTION void pd_group_add_blocks(const pd_body_groups *groups, const pd_moving *moving, int width, const real *K, int apart) {
    int bodies = 0;
    for (int k = 0; k < moving->n; k++) {
        if (!pd_moving_is_first(moving, k)) continue;
        bodies++;
        for (int j = 0; j < k && !apart; j++) {
            int row = moving->place[k] > moving->place[j] ? moving->place[k] : moving->place[j];
            int column = moving->place[k] + moving->place[j] - row;
            apart = row != column && pd_group_slot(groups, row, column) < 0;
        }
    }
    for (int k = 0; k < moving->n; k++) {
        int place = moving->place[k];
        if (!pd_moving_is_first(moving, k)) continue;
        pd_body_add_block(moving, place, place, width, K, apart ? (double)bodies : 1.0, groups->sums[place].block);
        for (int j = 0; j < k && !apart; j++) {
            int row = place > moving->place[j] ? place : moving->place[j], column = place + moving->place[j] - row;
            if (!pd_moving_is_first(moving, j)) continue;
            pd_body_add_block(moving, row, column, width, K, 1.0, groups->entries + 36 * (size_t)pd_group_slot(groups, row, column));
        }
    }
}

/* Adds f and K [k,3], [3k,3k] of an element or pair with these corners; K NULL: f only. */
PD_UPDATE_FUNCTION void pd_group_add(const pd_model *model, const pd_body_sweep *sweep, int group, int corners, const int *points,
                                     const real *f, const real *K, int apart, pd_group_sum *total) {
    pd_moving moving;
    moving.n = 0;
    for (int j = 0; j < corners; j++) {
        double arm[3], force[3];
        int place = pd_group_place(model, sweep, group, points[j]);
        if (place < 0 || model->fixed[points[j]]) continue;
        pd_body_arm(&sweep->groups.ways[place], sweep->start, points[j], arm);
        for (int c = 0; c < 3; c++) force[c] = (double)f[3 * j + c];
        pd_body_add_force(arm, force, &sweep->groups.sums[place], total);
        pd_body_jacobian(arm, moving.J + 18 * moving.n);
        moving.corner[moving.n] = j, moving.place[moving.n++] = place;
    }
    if (K) pd_group_add_blocks(&sweep->groups, &moving, 3 * corners, K, apart);
}

PD_FUNCTION void pd_group_add_energy(double energy, pd_group_sum *sum) { sum->energy += energy, sum->magnitude += fabs(energy); }

/* The rows with its mass; their energy is a difference, pd_body_inertia. */
PD_FUNCTION void pd_body_add_inertia(const pd_model *model, const pd_body_sweep *sweep, const pd_step_data *step, int place,
                                     pd_group_sum *total) {
    const pd_rigid_body *body = pd_body_at(sweep, place);
    const pd_body_way *way = &sweep->groups.ways[place];
    pd_body_sum *sum = &sweep->groups.sums[place];
    for (int i = pd_rigid_first_carrier(body); i < body->rows.first + body->rows.n; i++) {
        double arm[3], gone[3], f[3], m = (double)model->masses[i] * step->inverse_h * step->inverse_h;
        const real K[9] = {(real)m, 0, 0, 0, (real)m, 0, 0, 0, (real)m};
        pd_moving moving;
        if (model->fixed[i]) continue;
        pd_body_arm(way, sweep->start, i, arm);
        pd_body_row_move(way, way->turned, 0.0, sweep->start + 3 * (size_t)i, gone);
        for (int c = 0; c < 3; c++) f[c] = m * ((double)sweep->offset[3 * (size_t)i + (size_t)c] + gone[c]);
        pd_body_add_force(arm, f, sum, total);
        moving.n = 1, moving.corner[0] = 0, moving.place[0] = place;
        pd_body_jacobian(arm, moving.J);
        pd_body_add_block(&moving, place, place, 3, K, 1.0, sum->block);
    }
}

/* The inertia at this fraction of the path minus that at its start, J. */
PD_FUNCTION double pd_body_inertia(const pd_model *model, const pd_body_sweep *sweep, const pd_step_data *step, int place, double fraction,
                                   double *magnitude) {
    const pd_rigid_body *body = pd_body_at(sweep, place);
    const pd_body_way *way = &sweep->groups.ways[place];
    double E[9], sum = 0.0;
    pd_body_rotation_after(way, fraction, E);
    for (int i = pd_rigid_first_carrier(body); i < body->rows.first + body->rows.n; i++) {
        double before[3], after[3], m = (double)model->masses[i] * step->inverse_h * step->inverse_h;
        if (model->fixed[i]) continue;
        pd_body_row_move(way, way->turned, 0.0, sweep->start + 3 * (size_t)i, before);
        pd_body_row_move(way, E, fraction, sweep->start + 3 * (size_t)i, after);
        for (int c = 0; c < 3; c++) {
            double move = after[c] - before[c], o = (double)sweep->offset[3 * (size_t)i + (size_t)c] + before[c];
            sum += m * move * (o + 0.5 * move);
            *magnitude += m * fabs(move) * (fabs(o) + 0.5 * fabs(move));
        }
    }
    return sum;
}

/* `with` of the functions below: 0: only the energy; 1: forces and the Hessian too; 2: with projected Hessians; 3: with blocks of single
 * bodies only. */
PD_FUNCTION pd_hessian_filter pd_body_filter(int with) { return with > 1 ? PD_FILTER_CLAMP : PD_FILTER_NONE; }

#define PD_GROUP_ELEMENT(KIND, name, k, d, count, ...)                                                                           \
    PD_UPDATE_FUNCTION void pd_group_element_##name(const pd_model *model, const pd_body_sweep *sweep, const pd_step_data *step, \
                                                    const pd_elements *g, int e, int group, int with, pd_group_sum *sum) {       \
        real f[3 * (k)], K[9 * (k) * (k)];                                                                                       \
        pd_group_add_energy(pd_element_update_energy_##name(g, sweep->points, e), sum);                                          \
        if (!with) return;                                                                                                       \
        pd_element_update_gradient_##name(g, sweep->points, e, f);                                                               \
        pd_element_update_hessian_##name(g, (real)step->inverse_h, sweep->points, pd_body_filter(with), e, K);                   \
        pd_group_add(model, sweep, group, k, g->vertices + (size_t)e * (k), f, K, with > 2, sum);                                \
    }
PD_FORMULA_TABLE(PD_GROUP_ELEMENT)

PD_UPDATE_FUNCTION void pd_group_add_elements(const pd_model *model, const pd_body_sweep *sweep, const pd_step_data *step, int body,
                                              int group, int with, pd_group_sum *sum) {
    for (int s = sweep->element_start[body]; s < sweep->element_start[body + 1]; s++) {
        const pd_elements *g = &model->kinds[sweep->elements[2 * (size_t)s]];
        int e = sweep->elements[2 * (size_t)s + 1];
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: pd_group_element_##name(model, sweep, step, g, e, group, with, sum); break;
        PD_SWITCH(g->kind, PD_FORMULA_TABLE, PD_CASE)
#undef PD_CASE
    }
}

/* One pair that may be active. */
PD_UPDATE_FUNCTION void pd_group_add_pair(const pd_model *model, const pd_body_sweep *sweep, int p, int group, int with,
                                          pd_group_sum *sum) {
    int kind = sweep->pairs.kind[p], corners = pd_contact_corners(kind);
    real at[12], f[12], K[144];
    pd_contact_limits limits;
    pd_contact_update_gather(&sweep->pairs, sweep->points, p, at, &limits);
    pd_nearest nearest = pd_contact_nearest_of(kind, at);
    double gap = (double)nearest.distance - (double)limits.separation;
    sum->least = pd_least_of(sum->least, gap);
    if (nearest.distance >= limits.separation + limits.activation) return;
    pd_points4 x = pd_points4_load(at);
    pd_group_add_energy((double)pd_contact_energy(sweep->potential, limits, kind, x, nearest), sum);
    if (!with || !(sum->energy - sum->energy == 0.0)) return;
    pd_points4_store(pd_contact_gradient(sweep->potential, limits, kind, x, nearest), f);
    pd_contact_hessian(&sweep->potential, &limits, kind, at, pd_body_filter(with), K);
    pd_group_add(model, sweep, group, corners, sweep->pairs.points + 4 * (size_t)p, f, K, with > 2, sum);
}

/* The pairs that are listed for a body, after this fraction of the path. */
PD_UPDATE_FUNCTION void pd_group_add_pairs(const pd_model *model, const pd_body_sweep *sweep, int place, int group, double fraction,
                                           int with, pd_group_sum *sum) {
    const pd_body_way *way = &sweep->groups.ways[place];
    const double here = pd_body_went(way, fraction);
    for (int k = way->own; k < way->own + way->n_own; k++) {
        int other = sweep->others[k];
        double gap = sweep->gaps[k] - (here + (other < 0 ? 0.0 : pd_body_went(&sweep->groups.ways[other], fraction)));
        if (gap > (double)sweep->pairs.activation[sweep->own[k]] * (1.0 + 16.0 * (double)PD_EPSILON))
            sum->least = pd_least_of(sum->least, gap);
        else
            pd_group_add_pair(model, sweep, sweep->own[k], group, with, sum);
    }
}

/* The slip of a pair with friction by its bodies, once each: J [3,6], sum over the corners of weight x displacement. */
PD_FUNCTION void pd_group_slip(const pd_model *model, const pd_body_sweep *sweep, int group, const int points[4], const real *weights,
                               pd_moving *moving) {
    moving->n = 0;
    for (int j = 0; j < 4; j++) {
        double arm[3], of_row[18];
        int place = pd_group_place(model, sweep, group, points[j]), k = 0;
        if (place < 0 || model->fixed[points[j]]) continue;
        while (k < moving->n && moving->place[k] != place) k++;
        for (int i = 0; i < 18 && k == moving->n; i++) moving->J[18 * k + i] = 0.0;
        if (k == moving->n) moving->corner[k] = 0, moving->place[k] = place, moving->n++;
        pd_body_arm(&sweep->groups.ways[place], sweep->start, points[j], arm);
        pd_body_jacobian(arm, of_row);
        for (int i = 0; i < 18; i++) moving->J[18 * k + i] += (double)weights[j] * of_row[i];
    }
}

PD_UPDATE_FUNCTION void pd_group_add_friction(const pd_model *model, const pd_body_sweep *sweep, int place, int group, int with,
                                              pd_group_sum *sum) {
    const pd_rigid_body *body = pd_body_at(sweep, place);
    const pd_lagged_pairs *lagged = &sweep->lagged;
    for (int i = body->rows.first; i < body->rows.first + body->rows.n && lagged->n > 0; i++)
        for (int r = sweep->lagged_incidence.start[i]; r < sweep->lagged_incidence.start[i + 1]; r++) {
            size_t p = (size_t)(sweep->lagged_incidence.roles[r] / 4);
            real strength = lagged->strength[p], f[12], M[9];
            pd_moving moving;
            const real *weights = lagged->weights + 4 * p;
            int points[4]; // roles with zero weight are not listed
            for (int j = 0; j < 4; j++) points[j] = weights[j] != 0 ? lagged->points[4 * p + (size_t)j] : -1;
            if (!pd_group_first_role(model, sweep, group, points, sweep->lagged_incidence.roles[r] % 4)) continue;
            if (!(strength > 0)) continue;
            pd_vector u = pd_friction_update_slip(lagged, &sweep->slipping, (int)p);
            pd_friction_terms terms = pd_friction_terms_of(u, sweep->slipping.extent);
            pd_group_add_energy((double)(strength * terms.value), sum);
            if (!with) continue;
            pd_friction_matrix(strength, pd_vector_load(lagged->normals + 3 * p), terms, M);
            for (int j = 0; j < 4; j++) pd_vector_store(pd_vector_scale(weights[j] * (strength * terms.ratio), u), f + 3 * j);
            pd_group_add(model, sweep, group, 4, points, f, NULL, 0, sum);
            pd_group_slip(model, sweep, group, points, weights, &moving);
            pd_group_add_blocks(&sweep->groups, &moving, 3, M, with > 2);
        }
}

/* All except inertia, at the present poses; `fraction`: the fraction of the path that the bodies have gone. */
PD_UPDATE_FUNCTION void pd_group_sum_up(const pd_model *model, const pd_body_sweep *sweep, const pd_step_data *step,
                                        const pd_body_group *group, double fraction, int with, pd_group_sum *total) {
    const pd_body_groups *groups = &sweep->groups;
    total->energy = total->magnitude = total->forces = 0.0;
    total->least = (double)INFINITY;
    for (int place = group->first; place < group->end && with; place++) {
        pd_body_sum *sum = &groups->sums[place];
        for (int i = 0; i < 6; i++) sum->gradient[i] = 0.0;
        for (int i = 0; i < 36; i++) sum->block[i] = 0.0;
        for (int i = 0; i < 9; i++) sum->outer[i] = 0.0;
        for (int i = 36 * groups->column_start[place]; i < 36 * groups->column_start[place + 1]; i++) groups->entries[i] = 0.0;
    }
    for (int place = group->first; place < group->end; place++) {
        pd_group_add_elements(model, sweep, step, groups->members[place], group->number, with, total);
        if (!sweep->touches) continue;
        pd_group_add_pairs(model, sweep, place, group->number, fraction, with, total);
        pd_group_add_friction(model, sweep, place, group->number, with, total);
    }
}

#endif
