/* One pair with a penalty from a detection (penalty_update.h): its gap and depth, its energy, gradient and Hessian, and the share of a
 * vertex in them. */
#ifndef PD_UPDATES_CONTACT_FROZEN_PAIR_H
#define PD_UPDATES_CONTACT_FROZEN_PAIR_H

#include "geometry/apart.h"
#include "geometry/collision.h"
#include "updates/contact/penalty_field.h"

/* The gap along the normal of pair p at points y, m. */
PD_FUNCTION real pd_penalty_update_gap(const pd_frozen_pairs *pairs, const real *y, int p) {
    const int *points = pairs->at.points + 4 * (size_t)p;
    const real *weights = pairs->at.weights + 4 * (size_t)p;
    pd_vector gap = pd_vector_of(0, 0, 0), first = pd_vector_load(y + 3 * (size_t)points[0]);
    for (int j = 1; j < 4; j++)
        if (weights[j] != 0) gap = pd_vector_along(gap, weights[j], pd_vector_subtract(pd_vector_load(y + 3 * (size_t)points[j]), first));
    return pd_vector_dot(gap, pd_vector_load(pairs->at.normals + 3 * (size_t)p));
}

/* d of pair p, m. */
PD_FUNCTION real pd_penalty_update_depth(const pd_frozen_pairs *pairs, const real *y, int p) {
    return pd_penalty_depth(pd_penalty_update_gap(pairs, y, p), pairs->range[p]);
}

PD_FUNCTION void pd_penalty_update(int quantity, const pd_frozen_pairs *pairs, const real *y, int p, real *out) {
    pd_vector normal = pd_vector_load(pairs->at.normals + 3 * (size_t)p);
    real gap = pd_penalty_update_gap(pairs, y, p), depth = pd_penalty_depth(gap, pairs->range[p]);
    switch (quantity) {
    case PD_PENALTY_ENERGY: *out = pd_penalty_energy(pairs->stiffness, depth); break;
    case PD_PENALTY_GAP: *out = gap - pairs->offset[p]; break;
    case PD_PENALTY_RANGE: *out = pairs->range[p] - pairs->offset[p]; break;
    case PD_PENALTY_GRADIENT:
        for (int j = 0; j < 4; j++)
            pd_vector_store(pd_vector_scale(-pairs->stiffness * depth * pairs->at.weights[4 * (size_t)p + (size_t)j], normal), out + 3 * j);
        break;
    default: {
        const real *weights = pairs->at.weights + 4 * (size_t)p;
        real M[9];
        pd_penalty_matrix(depth > 0 ? pairs->stiffness : (real)0, normal, M);
        for (int i = 0; i < 144; i++) out[i] = weights[i / 36] * weights[i % 12 / 3] * M[i / 12 % 3 * 3 + i % 3];
    }
    }
}

PD_FUNCTION int pd_penalty_update_touches(const pd_incidence *incidence, const pd_frozen_pairs *pairs, const real *y, int i) {
    for (int r = incidence->start[i]; r < incidence->start[i + 1]; r++)
        if (pd_penalty_update_depth(pairs, y, incidence->roles[r] / 4) > 0) return 1;
    return 0;
}

/* mu of pair p. */
PD_FUNCTION real pd_penalty_update_coefficient(const pd_friction_scene *scene, const pd_frozen_pairs *pairs, int p) {
    const int *points = pairs->at.points + 4 * (size_t)p;
    int first = scene->owners[points[0]], second = first;
    for (int j = 1; j < 4; j++) // the others come after the corners of the first, on the other side of the gap
        if (points[j] >= 0) second = scene->owners[points[j]];
    return scene->coefficients[(size_t)first * (size_t)scene->n_owners + (size_t)second];
}

PD_FUNCTION real pd_penalty_update_strength(const pd_friction_scene *scene, const pd_frozen_pairs *pairs, const real *y, int p) {
    real coefficient = pd_penalty_update_coefficient(scene, pairs, p);
    return coefficient > 0 ? coefficient * pairs->stiffness * pd_penalty_update_depth(pairs, y, p) : (real)0;
}

/* mu lambda of pair p for friction in a visit of a vertex, N. */
PD_FUNCTION real pd_penalty_visit_strength(const pd_contact_sweep *contact, int p) {
    if (!contact->every_visit) return contact->lagged.strength[p];
    return pd_penalty_update_strength(&contact->rubbing, &contact->frozen, contact->points, p);
}

/* Adds gradient and block of a role to sum [9], and returns its share of the energy; partners as for a barrier (vertex_update.h). */
PD_FUNCTION real pd_penalty_add_role(const pd_frozen_pairs *pairs, const real *y, int role, real partners, real sum[9]) {
    int p = role / 4;
    real weight = pairs->at.weights[role], depth = pd_penalty_update_depth(pairs, y, p), M[9];
    if (!(depth > 0) || weight == 0) return 0;
    pd_vector normal = pd_vector_load(pairs->at.normals + 3 * (size_t)p);
    pd_vector slope = pd_vector_scale(-pairs->stiffness * depth * weight, normal);
    pd_penalty_matrix(partners * weight * weight * pairs->stiffness, normal, M);
    sum[0] += slope.x, sum[1] += slope.y, sum[2] += slope.z;
    sum[3] += M[0], sum[4] += M[1], sum[5] += M[2], sum[6] += M[4], sum[7] += M[5], sum[8] += M[8];
    return pd_penalty_energy(pairs->stiffness, depth) / partners;
}

/* The share of a role in the energy of its pair after a displacement by -d. */
PD_FUNCTION real pd_penalty_energy_of_role(const pd_frozen_pairs *pairs, const real *y, int role, real partners, const real d[3]) {
    int p = role / 4;
    real along = pd_vector_dot(pd_vector_load(d), pd_vector_load(pairs->at.normals + 3 * (size_t)p));
    real gap = pd_penalty_update_gap(pairs, y, p) - partners * pairs->at.weights[role] * along;
    return pd_penalty_energy(pairs->stiffness, pd_penalty_depth(gap, pairs->range[p])) / partners;
}

#endif
