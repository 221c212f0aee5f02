/* The blocks of a vertex's contact pairs in a sweep with a filter (pd_sweep_filter), as differences from those of touching_vertex.h.
 *
 * A sweep without a filter takes the stiffness of a pair along its normal. The clamped block differs from it by a fraction (distance / size
 * of the pair)^2 or less. The exact block also has the part across the normal of a pair of two vertices, or of a vertex and an edge, which is
 * negative and about as large; the absolute filter turns it round. */
#ifndef PD_UPDATES_SWEEPS_FILTERED_PAIR_H
#define PD_UPDATES_SWEEPS_FILTERED_PAIR_H

#include "updates/sweeps/touching_vertex.h"

/* more [6] += share times the difference of both blocks of one corner, upper triangle, N/m. */
PD_UPDATE_FUNCTION void pd_filtered_pair_add(const pd_contact_sweep *contact, const pd_contact_record *pair, int corner, real partners,
                                             real share, pd_hessian_filter filter, real more[6]) {
    real at[12], gradient[3], block[9], plain[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0};
    pd_contact_limits limits;
    pd_contact_update_gather_record(pair, contact->points, at, &limits);
    pd_contact_add_corner(&contact->potential, &limits, pair->kind, at, corner, partners, plain);
    pd_contact_block(&contact->potential, &limits, pair->kind, at, corner, filter, gradient, block);
    for (int i = 0, k = 0; i < 3; i++)
        for (int j = i; j < 3; j++, k++) more[k] += share * (partners * block[3 * i + j] - plain[3 + k]);
}

/* The same for the pairs of thread `lane` of a vertex, or of its embedded points. Penalties have no curvature across. */
PD_UPDATE_FUNCTION void pd_filtered_pairs_add(const pd_model *model, const pd_vertex_sweep *sweep, const pd_contact_sweep *contact,
                                              int vertex, int lane, int lanes, real more[6]) {
    const pd_incidence *incidence = &contact->incidence;
    if (contact->frozen.stiffness > 0) return;
#if PD_UPDATE_CARRIES
    const pd_embedding *embedding = &contact->embedding;
    for (int k = embedding->start ? embedding->start[vertex] + lane : 0; embedding->start && k < embedding->start[vertex + 1]; k += lanes)
        for (int r = incidence->start[embedding->points[k]]; r < incidence->start[embedding->points[k] + 1]; r++) {
            const pd_contact_record *pair = contact->records + incidence->roles[r] / 4;
            if (pd_vertex_update_slack(contact, pair) > 0) continue;
            pd_filtered_pair_add(contact, pair, incidence->roles[r] % 4, pd_vertex_update_carriers(sweep, embedding, pair->points, vertex),
                                 pd_fabs(embedding->shares[k]), sweep->filtered.filter, more);
        }
    if (embedding->start) return;
#endif
    for (int r = incidence->start[vertex] + lane; r < incidence->start[vertex + 1]; r += lanes) {
        const pd_contact_record *pair = contact->records + incidence->roles[r] / 4;
        if (pd_vertex_update_slack(contact, pair) > 0) continue;
        pd_filtered_pair_add(contact, pair, incidence->roles[r] % 4, pd_vertex_update_partners(sweep, model, pair->points, vertex), 1,
                             sweep->filtered.filter, more);
    }
}

#endif
