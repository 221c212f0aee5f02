/* One pair of a loop over contacts, for the loops of both backends: gathers the corners, evaluates, writes its part of the result. */
#ifndef PD_CONTACT_TURN_H
#define PD_CONTACT_TURN_H

#include "contact_loops.h"
#include "elements/contact/pair.h"

/* Corner positions [k,3] and limits of pair p. */
PD_FUNCTION void pd_contact_turn_gather(const pd_contact_pairs *pairs, const real *x, int p, real at[12], pd_contact_limits *limits) {
    int corners = pd_contact_corners(pairs->kind[p]);
    for (int j = 0; j < corners; j++)
        for (int i = 0; i < 3; i++) at[3 * j + i] = x[3 * (size_t)pairs->points[4 * (size_t)p + (size_t)j] + (size_t)i];
    limits->activation = pairs->activation[p];
    limits->separation = pairs->separation[p];
    limits->weight = pairs->weight[p];
    limits->threshold = pairs->threshold[p];
}

/* A quantity that is one number. */
PD_FUNCTION real pd_contact_turn_number(const pd_contact_law *law, int quantity, const pd_contact_pairs *pairs, const real *x, int p) {
    real at[12];
    pd_contact_limits limits;
    pd_closest closest;
    int kind = pairs->kind[p];
    pd_contact_turn_gather(pairs, x, p, at, &limits);
    if (quantity == PD_CONTACT_ENERGY) return pd_contact_energy(law, &limits, kind, at);
    if (quantity == PD_CONTACT_THRESHOLD) return kind == PD_EDGE_EDGE ? pd_mollifier_threshold(at) : (real)0;
    pd_contact_closest(kind, at, &closest);
    if (quantity == PD_CONTACT_DISTANCE) return closest.distance;
    return pd_contact_activation(limits.activation, limits.separation, closest.distance);
}

/* out [4,3] */
PD_FUNCTION void pd_contact_turn_gradient(const pd_contact_law *law, const pd_contact_pairs *pairs, const real *x, int p, real *out) {
    real at[12];
    pd_contact_limits limits;
    int kind = pairs->kind[p];
    pd_contact_turn_gather(pairs, x, p, at, &limits);
    pd_contact_gradient(law, &limits, kind, at, out);
    for (int i = 3 * pd_contact_corners(kind); i < 12; i++) out[i] = 0;
}

/* out [12,12] */
PD_FUNCTION void pd_contact_turn_hessian(const pd_contact_law *law, const pd_contact_pairs *pairs, const real *x, int p, int psd,
                                         real *out) {
    real at[12];
    pd_contact_limits limits;
    int kind = pairs->kind[p], n = 3 * pd_contact_corners(kind);
    pd_contact_turn_gather(pairs, x, p, at, &limits);
    pd_contact_hessian(law, &limits, kind, at, psd, out);
    // from [n,n] to [12,12] in place, the last entries first
    for (int i = n == 12 ? -1 : 143; i >= 0; i--) out[i] = i / 12 < n && i % 12 < n ? out[n * (i / 12) + i % 12] : (real)0;
}

/* out [4,3,3] */
PD_FUNCTION void pd_contact_turn_blocks(const pd_contact_law *law, const pd_contact_pairs *pairs, const real *x, int p, int psd,
                                        real *out) {
    real at[12], gradient[3];
    pd_contact_limits limits;
    int kind = pairs->kind[p], corners = pd_contact_corners(kind);
    pd_contact_turn_gather(pairs, x, p, at, &limits);
    for (int j = 0; j < corners; j++) pd_contact_block(law, &limits, kind, at, j, psd, gradient, out + 9 * j);
    for (int i = 9 * corners; i < 36; i++) out[i] = 0;
}

#endif
