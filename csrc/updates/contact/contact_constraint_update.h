/* Pairs with a penalty as constraints with compliance, for the loops of both backends [Macklin, Müller, Chentanez 2016, XPBD, Eq. 18].
 *
 * A pair is the inequality C = gap - range >= 0 of compliance 1/k. Its multiplier lambda >= 0 (the normal force times h^2) is kept
 * during the step. With n its normal, beta its weights, w_i = 1/m_i (0: fixed) and alpha~ = 1/(k h^2)
 *
 *     lambda' = max(0, lambda - (C + alpha~ lambda) / (sum_i s_i w_i beta_i^2 + alpha~)),     dx_i = w_i beta_i (lambda' - lambda) n.
 *
 * Friction is Coulomb's, without a smoothed cone: a second multiplier tau across n reverts the slip since the begin of the step, while
 * |tau| <= mu lambda'. All pairs act at once, so each vertex is divided among its s_i active pairs, with the fraction 1/s_i of its mass
 * for each. It moves by the mean of their displacements [Tonge, Benevolenski, Voroshilov 2012, Mass Splitting]. With one pair this is
 * the formula of the paper. Linear momentum is conserved, and nothing depends on an order.
 *
 * For a vertex on a line or in a plane with projector P_i, n is P_i n: |P_i n|^2 enters the sum, and the vertex moves along it. Across
 * n, where one number stands for two directions, the sum counts it as free, which is an upper bound. */
#ifndef PD_UPDATES_CONTACT_CONTACT_CONSTRAINT_UPDATE_H
#define PD_UPDATES_CONTACT_CONTACT_CONSTRAINT_UPDATE_H

#include "updates/contact/penalty_update.h"

/* s_i of point i; multipliers [n,4]: lambda and tau of each pair. */
PD_FUNCTION int pd_contact_constraint_shares(const pd_contact_sweep *contact, const real *multipliers, int i) {
    int shares = 0;
    for (int r = contact->incidence.start[i]; r < contact->incidence.start[i + 1]; r++) {
        int role = contact->incidence.roles[r], p = role / 4;
        if (contact->frozen.at.weights[role] == 0) continue;
        shares += multipliers[4 * (size_t)p] > 0 || pd_penalty_update_depth(&contact->frozen, contact->points, p) > 0;
    }
    return shares;
}

/* Changes the multipliers of pair p, and writes the changes [4]. compliance: alpha~ */
PD_FUNCTION void pd_contact_constraint_solve(const pd_model *model, const pd_contact_sweep *contact, const int *shares, real compliance,
                                             int p, real multipliers[4], real changes[4]) {
    const pd_frozen_pairs *frozen = &contact->frozen;
    const int *points = frozen->at.points + 4 * (size_t)p;
    const real *weights = frozen->at.weights + 4 * (size_t)p;
    real sum = 0, across = 0, lambda = multipliers[0], before[4];
    for (int j = 0; j < 4; j++) {
        before[j] = multipliers[j], changes[j] = 0;
        if (points[j] < 0 || points[j] >= model->n_vertices || model->fixed[points[j]]) continue;
        real yields = (real)shares[points[j]] / model->masses[points[j]] * weights[j] * weights[j], along[3];
        across += yields;
        if (model->subspace) {
            pd_vector_store(pd_vector_load(frozen->at.normals + 3 * (size_t)p), along);
            pd_vertex_project(model->subspace + 9 * (size_t)points[j], along);
            yields *= along[0] * along[0] + along[1] * along[1] + along[2] * along[2];
        }
        sum += yields;
    }
    real missing = frozen->range[p] - pd_penalty_update_gap(frozen, contact->points, p);
    if (!(across > 0) || (!(missing > 0) && !(lambda > 0))) return;
    multipliers[0] = pd_max(lambda + (missing - compliance * lambda) / (sum + compliance), (real)0);
    pd_vector tau = pd_vector_load(multipliers + 1);
    real limit = 0;
    if (contact->lagged.n > 0) limit = pd_penalty_update_coefficient(&contact->rubbing, frozen, p) * multipliers[0];
    if (limit > 0) tau = pd_vector_along(tau, (real)-1 / across, pd_friction_update_slip(&contact->lagged, &contact->slipping, p));
    real size = pd_sqrt(pd_vector_dot(tau, tau));
    if (size > limit) tau = pd_vector_scale(limit / size, tau);
    pd_vector_store(tau, multipliers + 1);
    for (int j = 0; j < 4; j++) changes[j] = multipliers[j] - before[j];
}

/* The displacement of vertex i, m. */
PD_FUNCTION pd_vector pd_contact_constraint_move(const pd_model *model, const pd_contact_sweep *contact, const real *changes, int i) {
    pd_vector sum = pd_vector_of(0, 0, 0);
    if (model->fixed[i]) return sum;
    for (int r = contact->incidence.start[i]; r < contact->incidence.start[i + 1]; r++) {
        int role = contact->incidence.roles[r];
        const real *change = changes + 4 * (size_t)(role / 4);
        real weight = contact->frozen.at.weights[role];
        sum = pd_vector_along(sum, weight * change[0], pd_vector_load(contact->frozen.at.normals + 3 * (size_t)(role / 4)));
        sum = pd_vector_along(sum, weight, pd_vector_load(change + 1));
    }
    if (model->subspace) {
        real along[3];
        pd_vector_store(sum, along);
        pd_vertex_project(model->subspace + 9 * (size_t)i, along);
        sum = pd_vector_load(along);
    }
    return pd_vector_scale((real)1 / model->masses[i], sum);
}

/* The multipliers [4] of the pair with this name among n ascending names; zeros for a new pair. */
PD_FUNCTION void pd_contact_constraint_carry(uint64_t key, int n, const uint64_t *keys, const real *multipliers, real out[4]) {
    int low = 0, high = n;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (keys[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t j = 0; j < 4; j++) out[j] = low < n && keys[low] == key ? multipliers[4 * (size_t)low + j] : (real)0;
}

#endif
