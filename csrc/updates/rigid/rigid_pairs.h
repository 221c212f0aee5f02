/* The contact pairs and the friction of a group of rigid bodies in a sweep, for the loops of both backends. Only those pairs are evaluated
 * that can be active after the moves of the bodies in the sweep. Pairs without weight (panel_update.h) have no energy, but limit moves. */
#ifndef PD_UPDATES_RIGID_RIGID_PAIRS_H
#define PD_UPDATES_RIGID_RIGID_PAIRS_H

#include "updates/rigid/rigid_sums.h"

/* The move of a body after which pairs within reach are no longer all that may act, as a fraction of the bound of the sweep. */
#define PD_BODY_REACH 0.25

enum { PD_BODY_AHEAD = 12 /* roles between a prefetch and its use */ };

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

/* Tells whether a pair with this gap may be active. */
PD_FUNCTION int pd_body_may_act(const pd_body_sweep *sweep, int p, double gap) {
    return !(gap > (double)sweep->pairs.activation[p] * (1.0 + 16.0 * (double)PD_EPSILON));
}

/* Prefetches the columns of a pair, since the pairs of a body are not contiguous. */
PD_FUNCTION void pd_body_prefetch(const pd_body_sweep *sweep, int p) {
#if defined(__GNUC__) && !defined(__CUDACC__)
    __builtin_prefetch(sweep->pairs.points + 4 * (size_t)p);
    __builtin_prefetch(sweep->pairs.separation + p), __builtin_prefetch(sweep->pairs.activation + p);
    __builtin_prefetch(sweep->pairs.weight + p), __builtin_prefetch(sweep->distance + p);
#else
    (void)sweep, (void)p;
#endif
}

/* The pairs of a body that have no corner in an earlier body of its group, once each: from the front those with an energy within reach,
 * from the back the others. */
PD_FUNCTION void pd_body_list_pairs(const pd_model *model, const pd_body_sweep *sweep, int group, int place) {
    const pd_rigid_body *body = pd_body_at(sweep, place);
    pd_body_way *way = &sweep->groups.ways[place];
    int end = sweep->incidence.start[body->rows.first + body->rows.n];
    way->own = sweep->incidence.start[body->rows.first], way->n_own = 0;
    way->rest = way->rest_end = end, way->rest_gap = (double)INFINITY;
    way->reach = PD_BODY_REACH * sweep->bound;
    for (int r = way->own; r < end; r++) {
        int p = sweep->incidence.roles[r] / 4;
        const int *points = sweep->pairs.points + 4 * (size_t)p;
        pd_body_prefetch(sweep, sweep->incidence.roles[r + PD_BODY_AHEAD < end ? r + PD_BODY_AHEAD : end - 1] / 4);
        if (!pd_group_first_role(model, sweep, group, points, sweep->incidence.roles[r] % 4)) continue;
        int other = pd_group_other(model, sweep, group, points, place);
        double gap = pd_group_gap(model, sweep, group, p);
        int near = other >= 0 || (sweep->pairs.weight[p] > 0 && pd_body_may_act(sweep, p, gap - way->reach));
        int to = near ? way->own + way->n_own++ : --way->rest;
        sweep->own[to] = p, sweep->others[to] = other, sweep->gaps[to] = gap;
        if (!near) way->rest_gap = pd_least_of(way->rest_gap, gap);
    }
}

/* The number of listed pairs of a body, and the place of the i-th in sweep->own. */
PD_FUNCTION int pd_body_listed(const pd_body_way *way) { return way->n_own + (way->rest_end - way->rest); }

PD_FUNCTION int pd_body_listed_at(const pd_body_way *way, int i) { return i < way->n_own ? way->own + i : way->rest + (i - way->n_own); }

/* Tells whether a body has pairs, listed for it or for another of its group. */
PD_FUNCTION int pd_body_touches(const pd_body_sweep *sweep, int place) {
    const pd_rigid_rows *rows = &pd_body_at(sweep, place)->rows;
    return sweep->incidence.start[rows->first + rows->n] > sweep->incidence.start[rows->first];
}

/* Tells whether corners of one body are in both primitives of a pair of edges. */
PD_FUNCTION int pd_levers_in_both(pd_levers4 at) { return at.a.sum + at.b.sum > 0.0 && at.c.sum + at.d.sum > 0.0; }

/* One pair that may be active. sums: NULL, or those of the only body of the group with corners of the pair. */
PD_UPDATE_FUNCTION void pd_group_add_pair(const pd_model *model, const pd_body_sweep *sweep, int p, int place, int group, int with,
                                          pd_twist_sums *sums, pd_group_sum *sum) {
    int kind = sweep->pairs.kind[p], corners = pd_contact_corners(kind);
    const int *points = sweep->pairs.points + 4 * (size_t)p;
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
    if (sums) {
        pd_levers4 levers = pd_body_corners(model, sweep, group, place, points);
        if (kind != PD_EDGE_EDGE || !pd_levers_in_both(levers)) {
            pd_twist_sums_add(pd_contact_motion(sweep->potential, limits, kind, x, nearest, levers), sums, sum);
            return;
        }
    }
    pd_points4_store(pd_contact_gradient(sweep->potential, limits, kind, x, nearest), f);
    pd_contact_hessian(&sweep->potential, &limits, kind, at, pd_body_filter(with), K);
    pd_group_add(model, sweep, group, corners, points, f, K, with > 2, sum);
}

/* A lower bound of the gap of a listed pair after this fraction of the path of its bodies, m. */
PD_FUNCTION double pd_body_gap_after(const pd_body_sweep *sweep, const pd_body_way *way, int k, double fraction) {
    int other = sweep->others[k];
    return sweep->gaps[k] - (pd_body_went(way, fraction) + (other < 0 ? 0.0 : pd_body_went(&sweep->groups.ways[other], fraction)));
}

/* A pair without weight: its gap, if that may be the smallest. A closed gap adds an infinite energy. */
PD_UPDATE_FUNCTION void pd_group_add_weightless_pair(const pd_body_sweep *sweep, int p, double gap, pd_group_sum *sum) {
    if (gap > sum->least) return;
    if (pd_body_may_act(sweep, p, gap)) {
        real at[12];
        pd_contact_limits limits;
        int kind = sweep->pairs.kind[p];
        pd_contact_update_gather(&sweep->pairs, sweep->points, p, at, &limits);
        gap = (double)pd_contact_nearest_of(kind, at).distance - (double)limits.separation;
        if (!(gap > 0.0)) pd_group_add_energy((double)INFINITY, sum);
    }
    sum->least = pd_least_of(sum->least, gap);
}

/* One listed pair after this fraction of the path. */
PD_UPDATE_FUNCTION void pd_group_add_listed_pair(const pd_model *model, const pd_body_sweep *sweep, int k, int place, int group,
                                                 double fraction, int with, pd_twist_sums *sums, pd_group_sum *sum) {
    int p = sweep->own[k];
    double gap = pd_body_gap_after(sweep, &sweep->groups.ways[place], k, fraction);
    if (!(sweep->pairs.weight[p] > 0)) {
        if (with) pd_group_add_weightless_pair(sweep, p, gap, sum);
    } else if (!pd_body_may_act(sweep, p, gap)) {
        sum->least = pd_least_of(sum->least, gap);
    } else {
        pd_group_add_pair(model, sweep, p, place, group, with, with == 1 && sweep->others[k] < 0 ? sums : NULL, sum);
    }
}

/* The pairs within reach of a body; a loop may define another function with the same effect but for rounding. */
PD_UPDATE_FUNCTION void pd_group_add_near_pairs(const pd_model *model, const pd_body_sweep *sweep, int place, int group, double fraction,
                                                int with, pd_twist_sums *sums, pd_group_sum *sum) {
    const pd_body_way *way = &sweep->groups.ways[place];
    for (int k = way->own; k < way->own + way->n_own; k++)
        pd_group_add_listed_pair(model, sweep, k, place, group, fraction, with, sums, sum);
}
#ifndef PD_GROUP_ADD_NEAR_PAIRS
#define PD_GROUP_ADD_NEAR_PAIRS pd_group_add_near_pairs
#endif

/* The pairs that are listed for a body, after this fraction of the path. The smallest gap is needed with forces only. */
PD_UPDATE_FUNCTION void pd_group_add_pairs(const pd_model *model, const pd_body_sweep *sweep, int place, int group, double fraction,
                                           int with, pd_group_sum *sum) {
    const pd_body_way *way = &sweep->groups.ways[place];
    const double here = pd_body_went(way, fraction);
    pd_twist_sums sums = {{0.0}, {0.0}};
    PD_GROUP_ADD_NEAR_PAIRS(model, sweep, place, group, fraction, with, &sums, sum);
    if (!(here <= way->reach) || (with && !(way->rest_gap - here > sum->least)))
        for (int k = way->rest; k < way->rest_end; k++) pd_group_add_listed_pair(model, sweep, k, place, group, fraction, with, &sums, sum);
    if (with == 1) pd_body_add_twists(&sums, &sweep->groups.sums[place]);
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
    pd_twist_sums sums = {{0.0}, {0.0}};
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
            if (with == 1 && pd_group_other(model, sweep, group, points, place) < 0) {
                pd_per_corner shares = pd_per_corner_of(weights[0], weights[1], weights[2], weights[3]);
                pd_levers4 levers = pd_body_corners(model, sweep, group, place, points);
                pd_twist_sums_add(pd_friction_motion(terms, strength, pd_vector_load(lagged->normals + 3 * p), u, shares, levers), &sums,
                                  sum);
                continue;
            }
            pd_friction_matrix(strength, pd_vector_load(lagged->normals + 3 * p), terms, M);
            for (int j = 0; j < 4; j++) pd_vector_store(pd_vector_scale(weights[j] * (strength * terms.ratio), u), f + 3 * j);
            pd_group_add(model, sweep, group, 4, points, f, NULL, 0, sum);
            pd_group_slip(model, sweep, group, points, weights, &moving);
            pd_group_add_blocks(&sweep->groups, &moving, 3, M, with > 2);
        }
    if (with == 1) pd_body_add_twists(&sums, &sweep->groups.sums[place]);
}

#endif
