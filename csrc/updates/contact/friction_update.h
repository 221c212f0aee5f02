/* One pair with friction, for the loops of both backends. */
#ifndef PD_UPDATES_CONTACT_FRICTION_UPDATE_H
#define PD_UPDATES_CONTACT_FRICTION_UPDATE_H

#include "elements/contact/friction.h"
#include "loops/friction_loops.h"
#include "updates/contact/contact_update.h"
#include "updates/counted.h"

PD_FUNCTION int pd_lagged_count(const pd_lagged_pairs *pairs) { return (int)pd_counted((size_t)pairs->n, pairs->count); }

/* A pair at its present positions: the weights and the normal of its gap, and its normal force. */
typedef struct pd_friction_grip {
    pd_per_corner weights;
    pd_vector normal;
    real force; /* lambda, N; 0 for an inactive pair and for a closed gap, whose force is undefined */
} pd_friction_grip;

/* least_gap: of pd_friction_scene. With 0 the force is that of the gap itself. */
PD_LANE_FUNCTION pd_friction_grip pd_friction_grip_of(pd_pair_potential potential, pd_contact_limits limits, real least_gap, int kind,
                                                      pd_points4 x, pd_nearest nearest) {
    pd_friction_grip out;
    real least = limits.separation + least_gap * limits.activation;
    int apart = nearest.distance > limits.separation;
    pd_contact_terms terms = pd_contact_terms_of(potential, limits, (apart & (nearest.distance < least)) ? least : nearest.distance);
    real force = -pd_contact_mollifier(kind, x, limits.threshold).value * terms.slope;
    out.weights = nearest.weights, out.normal = nearest.normal;
    out.force = terms.acts > 0 ? force : (real)0;
    return out;
}

/* Tells whether the closest points are insensitive to rounding. Those of nearly parallel edges may be anywhere on them, and friction
 * keeps those of the lag. */
PD_LANE_FUNCTION int pd_friction_grip_is_sure(int kind, pd_points4 x) {
    pd_vector e = pd_vector_subtract(x.b, x.a), f = pd_vector_subtract(x.d, x.c), n = pd_vector_cross(e, f);
    int crossed = pd_vector_dot(n, n) > (real)0.01 * (pd_vector_dot(e, e) * pd_vector_dot(f, f));
    return kind == PD_EDGE_EDGE ? crossed : 1;
}

/* Sets pair p from its normal force, weights and normal. */
PD_FUNCTION void pd_friction_update_take(const pd_friction_scene *scene, const pd_contact_pairs *pairs, int p, pd_friction_grip grip,
                                         const pd_lagged_pairs *out) {
    int kind = pairs->kind[p];
    size_t slot = (size_t)p;
    const int *points = pairs->points + 4 * slot;
    int first = scene->owners[points[0]], second = scene->owners[points[kind == PD_EDGE_EDGE ? 2 : 1]];
    real coefficient = scene->coefficients[(size_t)first * (size_t)scene->n_owners + (size_t)second];
    pd_per_corner_store(grip.weights, out->weights + 4 * slot);
    pd_vector_store(grip.normal, out->normals + 3 * slot);
    out->strength[slot] = coefficient > 0 ? coefficient * grip.force : (real)0;
    for (int j = 0; j < 4; j++) {
        int is = j < pd_contact_corners(kind);
        out->points[4 * slot + (size_t)j] = is ? points[j] : -1;
        if (!is) out->weights[4 * slot + (size_t)j] = 0;
    }
}

/* Sets pair p from y. */
PD_FUNCTION void pd_friction_update_lag(const pd_pair_potential *potential, const pd_friction_scene *scene, const pd_contact_pairs *pairs,
                                        const real *y, int p, const pd_lagged_pairs *out) {
    real at[12];
    pd_contact_limits limits;
    int kind = pairs->kind[p];
    pd_contact_update_gather(pairs, y, p, at, &limits);
    pd_nearest nearest = pd_contact_closest(kind, at);
    pd_friction_update_take(scene, pairs, p, pd_friction_grip_of(*potential, limits, scene->least_gap, kind, pd_points4_load(at), nearest),
                            out);
}

/* Row `point` of the displacements. */
PD_FUNCTION void pd_friction_update_move(const pd_slipping *slipping, int point) {
    size_t row = 3 * (size_t)point;
    real *move = slipping->moves + 4 * (size_t)point;
    pd_vector_store(pd_vector_subtract(pd_vector_load(slipping->y + row), pd_vector_load(slipping->y_t + row)), move);
    move[3] = 0;
}

/* Row r of pd_friction_role_flags. */
PD_FUNCTION unsigned char pd_friction_update_role_flag(const pd_lagged_pairs *pairs, const pd_incidence *incidence, int n_points, int r) {
    if (r >= incidence->start[n_points]) return 0;
    int role = incidence->roles[r];
    return (unsigned char)(pairs->strength[role / 4] > 0 && pairs->weights[role] != 0);
}

/* The data of a point's roles for a sweep. */
PD_FUNCTION void pd_friction_update_list_roles(const pd_friction_scene *scene, const pd_lagged_pairs *pairs, const pd_incidence *incidence,
                                               int point, char *records) {
    int first = incidence->start[point], n = incidence->start[point + 1] - first;
    int colour = scene->colours && point < scene->n_vertices ? scene->colours[point] : -1;
    pd_lagged_roles out = pd_lagged_roles_of(records, first, n);
    for (int k = 0; k < n; k++) {
        size_t role = (size_t)incidence->roles[first + k], p = role / 4;
        real *column = out.columns + k;
        real partners = pd_contact_update_partners(scene->colours, scene->n_vertices, pairs->points + 4 * p, colour);
        for (size_t j = 0; j < 4; j++) {
            size_t corner = 4 * p + (role + j) % 4;
            out.corners[k].weights[j] = pairs->weights[corner];
            if (j > 0) out.corners[k].others[j - 1] = pairs->points[corner] < 0 ? 0 : pairs->points[corner];
        }
        for (int c = 0; c < 3; c++) column[(PD_LAGGED_NORMAL + c) * n] = pairs->normals[3 * p + (size_t)c];
        column[PD_LAGGED_STRENGTH * n] = partners > 1 ? -pairs->strength[p] : pairs->strength[p];
    }
}

/* u of pair p. */
PD_FUNCTION pd_vector pd_friction_update_slip(const pd_lagged_pairs *pairs, const pd_slipping *slipping, int p) {
    pd_vector move = pd_vector_of(0, 0, 0);
    for (size_t j = 4 * (size_t)p; j < 4 * (size_t)p + 4; j++) {
        real weight = pairs->weights[j];
        if (weight == 0) continue; // also for a missing point
        size_t row = 3 * (size_t)pairs->points[j];
        move = pd_vector_along(move, weight, pd_vector_subtract(pd_vector_load(slipping->y + row), pd_vector_load(slipping->y_t + row)));
    }
    return pd_friction_slip(move, pd_vector_load(pairs->normals + 3 * (size_t)p));
}

/* The same from stored displacements: the displacement of the first of a pair relative to the second, and a zero. The corners are in the
 * order of the one that has moved by `own`. All four numbers of a displacement, so that they use one register. */
PD_LANE_FUNCTION void pd_friction_update_kept_move(const pd_lagged_corners *corners, const real *own, const real *moves, real out[4]) {
    for (int c = 0; c < 4; c++) out[c] = corners->weights[0] * own[c];
    for (int j = 0; j < 3; j++)
        for (int c = 0; c < 4; c++) out[c] += corners->weights[j + 1] * moves[4 * (size_t)corners->others[j] + (size_t)c];
}

PD_FUNCTION pd_vector pd_friction_update_kept_slip(const pd_lagged_pairs *pairs, const pd_slipping *slipping, int p) {
    real move[4] = {0, 0, 0, 0};
    for (size_t j = 4 * (size_t)p; j < 4 * (size_t)p + 4; j++)
        for (size_t c = 0; c < 4 && pairs->weights[j] != 0; c++)
            move[c] += pairs->weights[j] * slipping->moves[4 * (size_t)pairs->points[j] + c];
    return pd_friction_slip(pd_vector_load(move), pd_vector_load(pairs->normals + 3 * (size_t)p));
}

/* A quantity of pair p. */
PD_FUNCTION void pd_friction_update(int quantity, const pd_lagged_pairs *pairs, const pd_slipping *slipping, int p, real *out) {
    real strength = pairs->strength[p];
    if (!(strength > 0) && quantity != PD_FRICTION_SLIP) {
        int size = quantity == PD_FRICTION_ENERGY ? 1 : quantity == PD_FRICTION_FORCE ? 3 : quantity == PD_FRICTION_GRADIENT ? 12 : 9;
        for (int i = 0; i < size; i++) out[i] = 0;
        return;
    }
    pd_vector u = pd_friction_update_slip(pairs, slipping, p);
    pd_friction_terms terms = pd_friction_terms_of(u, slipping->extent);
    switch (quantity) {
    case PD_FRICTION_ENERGY: *out = strength * terms.value; break;
    case PD_FRICTION_SLIP: pd_vector_store(u, out); break;
    case PD_FRICTION_FORCE: pd_vector_store(pd_vector_scale(-strength * terms.ratio, u), out); break;
    case PD_FRICTION_GRADIENT:
        for (int j = 0; j < 4; j++)
            pd_vector_store(pd_vector_scale(pairs->weights[4 * (size_t)p + (size_t)j] * (strength * terms.ratio), u), out + 3 * j);
        break;
    default:
        if (slipping->before) terms = pd_friction_secant(terms, u, pd_vector_load(slipping->before + 3 * (size_t)p));
        if (slipping->tried) terms = pd_friction_secant(terms, u, pd_vector_load(slipping->tried + 3 * (size_t)p));
        pd_friction_matrix(strength, pd_vector_load(pairs->normals + 3 * (size_t)p), terms, out);
    }
}

/* The diagonal block of vertex i. */
PD_FUNCTION void pd_friction_update_gather_block(const pd_incidence *incidence, const pd_lagged_pairs *pairs, const real *matrices, int i,
                                                 real *block) {
    for (int r = incidence->start[i]; r < incidence->start[i + 1]; r++) {
        size_t pair = (size_t)incidence->roles[r] / 4;
        real weight = pairs->weights[incidence->roles[r]];
        for (size_t a = 0; a < 9; a++) block[a] += weight * weight * matrices[9 * pair + a];
    }
}

/* As pd_contact_update_bound. */
PD_FUNCTION double pd_friction_update_bound(const pd_model *model, const pd_incidence *incidence, const pd_lagged_pairs *pairs,
                                            const real *matrices, int i) {
    double sum = 0.0;
    if (model->fixed[i]) return sum;
    for (int r = incidence->start[i]; r < incidence->start[i + 1]; r++) {
        size_t pair = (size_t)incidence->roles[r] / 4;
        double square = 0.0, others = 0.0;
        for (size_t a = 0; a < 9; a++) square += (double)matrices[9 * pair + a] * (double)matrices[9 * pair + a];
        for (size_t j = 4 * pair; j < 4 * pair + 4; j++) {
            int other = pairs->points[j];
            if (other >= 0 && other < model->n_vertices && !model->fixed[other]) others += fabs((double)pairs->weights[j]);
        }
        sum += fabs((double)pairs->weights[incidence->roles[r]]) * others * sqrt(square);
    }
    return sum;
}

/* The product of the Hessian of a pair, without the diagonal blocks unless `all`: out [4,3]; returns p . out. */
PD_FUNCTION real pd_friction_update_product(const pd_model *model, const pd_lagged_pairs *pairs, const real *matrices, int all,
                                            const real *p, int pair, real *out) {
    const int *points = pairs->points + 4 * (size_t)pair;
    const real *weights = pairs->weights + 4 * (size_t)pair, *M = matrices + 9 * (size_t)pair;
    pd_vector at[4], sum = pd_vector_of(0, 0, 0);
    real product = 0;
    for (int j = 0; j < 4; j++) {
        int moves = points[j] >= 0 && points[j] < model->n_vertices;
        at[j] = moves ? pd_vector_scale(weights[j], pd_vector_load(p + 3 * (size_t)points[j])) : pd_vector_of(0, 0, 0);
        sum = pd_vector_add(sum, at[j]);
    }
    for (int j = 0; j < 4; j++) {
        pd_vector others = all ? sum : pd_vector_subtract(sum, at[j]);
        pd_vector turned = pd_vector_of(pd_vector_dot(pd_vector_load(M), others), pd_vector_dot(pd_vector_load(M + 3), others),
                                        pd_vector_dot(pd_vector_load(M + 6), others));
        pd_vector_store(pd_vector_scale(weights[j], turned), out + 3 * j);
        product += pd_vector_dot(at[j], turned);
    }
    return product;
}

#endif
