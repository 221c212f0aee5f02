/* One pair, or one vertex, of the loops over frozen projections, for both backends. */
#ifndef PD_UPDATES_CONTACT_PROJECTIVE_UPDATE_H
#define PD_UPDATES_CONTACT_PROJECTIVE_UPDATE_H

#include "elements/contact/projection.h"
#include "loops/projective_loops.h"
#include "updates/contact/contact_update.h"

/* The number of n ascending keys below one; rows: the keys are those of a list at these places. */
PD_FUNCTION int pd_projective_below(const uint64_t *keys, const int *rows, int n, uint64_t key) {
    int first = 0;
    while (n > 0) {
        int half = n / 2, middle = first + half;
        if (keys[rows ? rows[middle] : middle] < key)
            first = middle + 1, n -= half + 1;
        else
            n = half;
    }
    return first;
}

PD_FUNCTION int pd_projective_has(const uint64_t *keys, int n, uint64_t key) {
    int slot = pd_projective_below(keys, NULL, n, key);
    return slot < n && keys[slot] == key;
}

PD_FUNCTION unsigned char pd_projective_update_new(const pd_active_pairs *found, const real *distance, const pd_contact_pairs *limits,
                                                   int n_kept, const uint64_t *kept, const pd_active_pairs *others, int p) {
    if ((size_t)p >= pd_counted(found->capacity, found->count)) return 0;
    if (distance && !(distance[p] < limits->separation[p] + limits->activation[p])) return 0;
    if (others && others->count && pd_projective_has(others->key, (int)pd_counted(others->capacity, others->count), found->key[p]))
        return 0;
    return (unsigned char)!pd_projective_has(kept, n_kept, found->key[p]);
}

/* A round that reverts more than this fraction of the previous one oscillates; and the smallest share of its path that remains. */
#define PD_ROUND_STEADY      0.5
#define PD_ROUND_LEAST_SHARE 0.1

/* At an edge or a tip, the normals of successive freezes can move the state back and forth without end. If a round reverts more than
 * half of the previous one, the state moves half as far from then on. */
PD_FUNCTION pd_round pd_projective_update_round(const pd_round_rules *rules, double fraction, double square, double along) {
    double moved = sqrt(square);
    int moves = isfinite(moved) && fraction >= rules->least;
    pd_round round = {moves ? fraction : 0.0, rules->share, 0.0};
    if (!moves) return round;
    moved *= fraction;
    int complete = rules->free && fraction == 1.0;
    if (complete && along < 0.0 && moved > PD_ROUND_STEADY * rules->before && round.share > PD_ROUND_LEAST_SHARE) round.share *= 0.5;
    round.scale = complete && moved > rules->slack ? round.share * fraction : fraction;
    return round;
}

/* Element e of both lists, the kept one first. */
PD_FUNCTION void pd_projective_update_merge(int n_kept, const pd_kept_pairs *kept, int n_new, const int *rows, const pd_active_pairs *found,
                                            const pd_kept_pairs *out, int e) {
    int old = e < n_kept, row = old ? e : rows[e - n_kept];
    uint64_t key = old ? kept->key[row] : found->key[row];
    int to = old ? e + pd_projective_below(found->key, rows, n_new, key) : e - n_kept + pd_projective_below(kept->key, NULL, n_kept, key);
    const int *points = (old ? kept->points : found->points) + 4 * (size_t)row;
    out->key[to] = key;
    out->kind[to] = old ? kept->kind[row] : found->kind[row];
    for (size_t j = 0; j < 4; j++) out->points[4 * (size_t)to + j] = points[j];
    for (size_t a = 0; a < 3; a++) out->normal[3 * (size_t)to + a] = old ? kept->normal[3 * (size_t)row + a] : (real)0;
    out->stiffening[to] = old ? kept->stiffening[row] : (real)1;
    out->gap[to] = old ? kept->gap[row] : (real)0;
    out->pressed[to] = old ? kept->pressed[row] : 0;
}

PD_FUNCTION real pd_projective_inverse_mass(const pd_model *model, int i) {
    return i >= 0 && i < model->n_vertices && !model->fixed[i] ? (real)1 / model->masses[i] : (real)0;
}

/* sum beta_j y_j, from the first corner on: the weights sum to zero. */
PD_FUNCTION pd_vector pd_projective_gap(const pd_projected_pairs *pairs, const real *y, int p) {
    const int *points = pairs->points + 4 * (size_t)p;
    pd_vector first = pd_vector_load(y + 3 * (size_t)points[0]), sum = pd_vector_of(0, 0, 0);
    for (size_t j = 1; j < 4; j++) {
        real weight = pairs->weights[4 * (size_t)p + j];
        if (weight != 0) sum = pd_vector_along(sum, weight, pd_vector_subtract(pd_vector_load(y + 3 * (size_t)points[j]), first));
    }
    return sum;
}

PD_FUNCTION real pd_projective_distance(const pd_projected_pairs *pairs, const real *y, int p) {
    return pd_vector_dot(pd_vector_load(pairs->normal + 3 * (size_t)p), pd_projective_gap(pairs, y, p));
}

PD_FUNCTION void pd_projective_update_freeze(const pd_model *model, const pd_contact_pairs *pairs, const pd_freezing *freezing,
                                             const real *y, int p, const pd_kept_pairs *kept, const pd_projected_pairs *out) {
    real at[12], size = 0, den = 0;
    size_t slot = (size_t)p;
    int kind = pairs->kind[p], corners = pd_contact_corners(kind);
    const int *points = pairs->points + 4 * slot;
    pd_contact_update_corners(y, points, corners, at);
    pd_nearest nearest = pd_contact_closest(kind, at);
    pd_vector normal = nearest.normal;
    for (int i = 3; i < 12 && kind != PD_VERTEX_PLANE; i++) size = pd_max(size, pd_fabs(at[i] - at[i % 3]));
    // if the distance is rounding noise, so is its direction: use the last valid one
    if (nearest.distance < (real)1e3 * PD_EPSILON * size) {
        pd_vector before = pd_vector_load(kept->normal + 3 * slot);
        if (pd_vector_dot(before, before) > 0) normal = before;
    }
    pd_vector_store(normal, kept->normal + 3 * slot);
    pd_vector_store(normal, out->normal + 3 * slot);
    pd_per_corner_store(nearest.weights, out->weights + 4 * slot);
    for (int j = 0; j < 4; j++) {
        real *weight = out->weights + 4 * slot + (size_t)j;
        if (j >= corners) *weight = 0;
        den += *weight * *weight * pd_projective_inverse_mass(model, points[j]);
    }
    real gap = nearest.distance - pairs->separation[p], activation = pairs->activation[p];
    real closing =
        freezing->target == PD_TARGET_REFLECTED ? -freezing->left * pd_projective_distance(out, freezing->velocities, p) : (real)0;
    kept->gap[p] = pd_projection_target(freezing->target, gap, activation, kept->gap[p], closing, freezing->restitution);
    out->target[p] = pairs->separation[p] + kept->gap[p];
    out->scale[p] = freezing->strength * pd_projection_phi(gap, activation, kept->stiffening[p]);
    out->k[p] = den > 0 ? out->scale[p] / den : (real)0;
    int first = freezing->owners[points[0]], second = freezing->owners[points[kind == PD_EDGE_EDGE ? 2 : 1]];
    out->friction[p] = freezing->coefficients[(size_t)first * (size_t)freezing->n_owners + (size_t)second];
}

/* The slip of pair p in the tangent plane. */
PD_FUNCTION pd_vector pd_projective_slip(const pd_projected_pairs *pairs, const real *y, const real *y_0, int p) {
    pd_vector sum = pd_vector_of(0, 0, 0), normal = pd_vector_load(pairs->normal + 3 * (size_t)p);
    for (size_t j = 4 * (size_t)p; j < 4 * (size_t)p + 4; j++) {
        if (pairs->weights[j] == 0) continue; // also for a missing point
        size_t row = 3 * (size_t)pairs->points[j];
        sum = pd_vector_along(sum, pairs->weights[j], pd_vector_subtract(pd_vector_load(y + row), pd_vector_load(y_0 + row)));
    }
    return pd_vector_along(sum, -pd_vector_dot(sum, normal), normal);
}

/* value J and corners [4,3] N of pair p; either NULL. */
PD_FUNCTION void pd_projective_update(const pd_projected_pairs *pairs, const real *y, const real *y_0, int p, real *value, real *corners) {
    real k = pairs->k[p], friction = pairs->friction[p], distance = pd_projective_distance(pairs, y, p);
    pd_vector normal = pd_vector_load(pairs->normal + 3 * (size_t)p), slip = pd_vector_of(0, 0, 0);
    if (friction > 0 && distance < pairs->target[p]) slip = pd_projective_slip(pairs, y, y_0, p);
    pd_projection_terms terms = pd_projection_of(pairs->target[p], distance, pd_sqrt(pd_vector_dot(slip, slip)), friction);
    if (value) *value = k * terms.energy;
    if (!corners) return;
    pd_vector force = pd_vector_scale(k, pd_vector_along(pd_vector_scale(-terms.missing, normal), terms.held, slip));
    for (size_t j = 0; j < 4; j++) pd_vector_store(pd_vector_scale(pairs->weights[4 * (size_t)p + j], force), corners + 3 * j);
}

/* The sum of omega_j over the pairs of vertex i. Those without friction, with curvature along the normal only, are added to block [3,3]
 * as omega_j n n^T, unless that is NULL: by Cauchy's inequality these blocks bound the energy's curvature as the numbers do. */
PD_FUNCTION double pd_projective_update_diagonal(const pd_model *model, const pd_incidence *incidence, const pd_projected_pairs *pairs,
                                                 int i, real *block) {
    double sum = 0.0, blocks[6] = {0, 0, 0, 0, 0, 0};
    int free = !model->fixed[i];
    for (int r = incidence->start[i]; free && r < incidence->start[i + 1]; r++) {
        int p = incidence->roles[r] / 4;
        double omega = (double)pairs->scale[p] * (double)model->masses[i];
        const real *n = pairs->normal + 3 * (size_t)p;
        if (!block || pairs->friction[p] > 0) {
            sum += omega;
            continue;
        }
        for (int a = 0, k = 0; a < 3; a++)
            for (int b = a; b < 3; b++, k++) blocks[k] += omega * (double)n[a] * (double)n[b];
    }
    for (int a = 0, k = 0; block && a < 3; a++)
        for (int b = a; b < 3; b++, k++) block[3 * a + b] = block[3 * b + a] = (real)blocks[k];
    return sum;
}

/* The velocity of point i. */
PD_FUNCTION void pd_projective_update_velocity(const pd_model *model, real inverse_h, const real *y, const real *y_0, const real *offset,
                                               const real *v, int i, real *velocities) {
    int is_free = i < model->n_vertices && !model->fixed[i];
    for (size_t c = 3 * (size_t)i; c < 3 * (size_t)i + 3; c++)
        velocities[c] = is_free && v ? v[c] : inverse_h * (y[c] - y_0[c] - (is_free ? offset[c] : (real)0));
}

PD_FUNCTION real pd_projective_update_rebound(const pd_projected_pairs *pairs, const unsigned char *pressed, const real *velocities,
                                              real restitution, real rest_speed, int p) {
    real speed = pd_projective_distance(pairs, velocities, p);
    return pressed[p] && speed < -rest_speed ? -restitution * speed : (real)-1;
}

PD_FUNCTION int pd_projective_update_count(const pd_model *model, const pd_incidence *incidence, const real *wanted, int i) {
    int count = 0;
    if (i >= model->n_vertices || model->fixed[i]) return 0;
    for (int r = incidence->start[i]; r < incidence->start[i + 1]; r++) count += wanted[incidence->roles[r] / 4] >= 0;
    return count;
}

/* corners [4,3] of pair p. A vertex in several rebounds has a part of its mass in each. This conserves momentum and allows all of them
 * at once [Tonge et al. 2012, Mass Splitting for Jitter-Free Parallel Rigid Body Simulation]. */
PD_FUNCTION void pd_projective_update_impulse(const pd_model *model, const pd_projected_pairs *pairs, const real *wanted, const int *count,
                                              const real *velocities, int p, real *corners) {
    const int *points = pairs->points + 4 * (size_t)p;
    const real *weights = pairs->weights + 4 * (size_t)p;
    real den = 0, lacks = wanted[p] >= 0 ? wanted[p] - pd_projective_distance(pairs, velocities, p) : (real)0;
    for (int j = 0; j < 4; j++)
        if (weights[j] != 0) den += weights[j] * weights[j] * pd_projective_inverse_mass(model, points[j]) * (real)count[points[j]];
    real impulse = lacks > 0 && den > 0 ? lacks / den : (real)0;
    pd_vector normal = pd_vector_load(pairs->normal + 3 * (size_t)p);
    for (int j = 0; j < 4; j++)
        pd_vector_store(pd_vector_scale(impulse * weights[j] * pd_projective_inverse_mass(model, points[j]), normal), corners + 3 * j);
}

#endif
