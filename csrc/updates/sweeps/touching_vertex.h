/* One vertex in contact in a sweep, for the loops of both backends.
 *
 * A vertex adds the terms of its pairs at the present points (pd_contact_sweep), stays within its displacement bound, and halves its
 * step until its share of G decreases. Colours are those of elements only, so two corners of a pair may move at once: updates of a
 * colour read the points, which are written after the end of all of these updates.
 *
 * A vertex with embedded points (pd_embedding) has a share in all pairs of these. No two of a colour share an embedded point: its
 * vertices belong to one tet. */
#ifndef PD_UPDATES_SWEEPS_TOUCHING_VERTEX_H
#define PD_UPDATES_SWEEPS_TOUCHING_VERTEX_H

#include "updates/contact/friction_update.h"
#include "updates/contact/penalty_update.h"
#include "updates/contact/vertex_bound.h"
#include "updates/sweeps/update_function.h"

enum { PD_SEARCH_HALVINGS = 30 };

/* The minimum decrease for a vertex in contact, relative to the first-order prediction. */
#define PD_SEARCH_WORTH 0.1

PD_FUNCTION int pd_vertex_update_carries(const pd_contact_sweep *contact, int vertex) {
    const pd_embedding *embedding = &contact->embedding;
    for (int k = embedding->start[vertex]; k < embedding->start[vertex + 1]; k++) {
        const int *start = contact->incidence.start + embedding->points[k],
                  *lagged = contact->lagged_incidence.start + embedding->points[k];
        if (start[1] > start[0] || (contact->lagged.n > 0 && lagged[1] > lagged[0])) return 1;
    }
    return 0;
}

PD_FUNCTION int pd_vertex_update_touches(const pd_contact_sweep *contact, int vertex) {
    if (!contact) return 0;
    if (PD_UPDATE_CARRIES && contact->embedding.start) return pd_vertex_update_carries(contact, vertex);
    const int *start = contact->incidence.start + vertex, *lagged = contact->lagged_incidence.start + vertex;
    return start[1] > start[0] || (contact->lagged.n > 0 && lagged[1] > lagged[0]);
}

/* The ends of the list of roles of a vertex in pairs with friction. */
PD_FUNCTION int pd_vertex_update_first_lagged(const pd_contact_sweep *contact, int vertex) {
    return contact->lagged.n > 0 ? contact->lagged_incidence.start[vertex] : 0;
}

/* Adds gradient and block of a role in a pair with friction to sum [9], and returns its share of the energy. */
PD_FUNCTION real pd_vertex_update_add_friction(const pd_contact_sweep *contact, int role, real partners, real sum[9]) {
    int p = role / 4;
    real strength = pd_penalty_visit_strength(contact, p), weight = contact->lagged.weights[role];
    if (!(strength > 0) || weight == 0) return 0;
    pd_vector u = pd_friction_update_kept_slip(&contact->lagged, &contact->slipping, p);
    pd_friction_terms terms = pd_friction_terms_of(u, contact->slipping.extent);
    // a penalty has no line search: this block bounds friction from above everywhere [Chen et al. 2024, Eq. 16]
    if (contact->frozen.stiffness > 0) terms.bend = 0;
    pd_vector normal = pd_vector_load(contact->lagged.normals + 3 * (size_t)p);
    pd_friction_corner corner = pd_friction_corner_of(strength, normal, u, terms, weight, partners);
    pd_friction_corner_add(corner, sum);
    return corner.energy;
}

/* The share of a role in the energy of its pair with friction after a displacement by -d. */
PD_FUNCTION real pd_vertex_update_friction_energy(const pd_contact_sweep *contact, int role, real partners, const real d[3]) {
    int p = role / 4;
    real strength = contact->lagged.strength[p], weight = contact->lagged.weights[role];
    if (!(strength > 0) || weight == 0) return 0;
    pd_vector normal = pd_vector_load(contact->lagged.normals + 3 * (size_t)p);
    pd_vector u = pd_friction_update_kept_slip(&contact->lagged, &contact->slipping, p);
    return pd_friction_corner_energy(strength, normal, u, pd_vector_load(d), contact->slipping.extent, weight, partners);
}

/* Adds the terms of a vertex's pairs with friction to sum [9], those of one lane; returns its share of their energy. */
PD_UPDATE_INLINE double pd_vertex_update_add_all_friction(const pd_model *model, const pd_vertex_sweep *sweep,
                                                          const pd_contact_sweep *contact, int vertex, int lane, int lanes, real sum[9]) {
    double energy = 0.0;
    int first = pd_vertex_update_first_lagged(contact, vertex);
    for (int r = first + lane; contact->lagged.n > 0 && r < contact->lagged_incidence.start[vertex + 1]; r += lanes) {
        int role = contact->lagged_incidence.roles[r];
        real partners = pd_vertex_update_partners(sweep, model, contact->lagged.points + role / 4 * 4, vertex);
        energy += (double)pd_vertex_update_add_friction(contact, role, partners, sum);
    }
    return energy;
}

/* The share of a vertex in that energy after a displacement by -d. */
PD_UPDATE_INLINE double pd_vertex_update_all_friction_energy(const pd_model *model, const pd_vertex_sweep *sweep,
                                                             const pd_contact_sweep *contact, int vertex, int lane, int lanes,
                                                             const real d[3]) {
    double energy = 0.0;
    int first = pd_vertex_update_first_lagged(contact, vertex);
    for (int r = first + lane; contact->lagged.n > 0 && r < contact->lagged_incidence.start[vertex + 1]; r += lanes) {
        int role = contact->lagged_incidence.roles[r];
        real partners = pd_vertex_update_partners(sweep, model, contact->lagged.points + role / 4 * 4, vertex);
        energy += (double)pd_vertex_update_friction_energy(contact, role, partners, d);
    }
    return energy;
}

/* Corners at [4,3] of a pair with one of them displaced by `partners` times -d; missing corners repeat the first. */
PD_FUNCTION void pd_vertex_update_shift(int kind, int corner, real partners, const real d[3], real at[12]) {
    for (int j = 0; j < 4; j++)
        for (int c = 0; c < 3 && (j == corner || (corner == 0 && j >= pd_contact_corners(kind))); c++) at[3 * j + c] -= partners * d[c];
}

/* A lower bound of the displacement of one corner before the pair may act, with the displacements of its corners since the measurement
 * of its slack, m; <= 0: it may act already. A point of a primitive moves no farther than one of its corners. */
PD_FUNCTION real pd_vertex_update_slack(const pd_contact_sweep *contact, const pd_contact_record *pair) {
    real slack = pair->slack, first = 0, second = 0;
    const int *points = pair->points;
    if (!(slack > 0)) return 0;
    int n_first = pair->kind == PD_EDGE_EDGE ? 2 : 1;
    for (int j = 0; j < 4; j++) {
        real moved = points[j] >= 0 ? contact->moved[points[j]] : (real)0;
        if (j < n_first)
            first = pd_max(first, moved);
        else
            second = pd_max(second, moved);
    }
    return slack * ((real)1 - (real)8 * PD_EPSILON) - (first + second);
}

PD_FUNCTION real pd_vertex_update_length(const real d[3]) { return pd_sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]); }

#if PD_UPDATE_CARRIES
/* Adds the terms of a pair by one corner, an embedded point of the vertex with this weight, to sum [9]; returns its share of the energy. */
PD_UPDATE_INLINE double pd_vertex_update_add_carried(const pd_vertex_sweep *sweep, const pd_contact_sweep *contact, int vertex, int role,
                                                     int lagged, real weight, real sum[9]) {
    const pd_contact_record *pair = lagged || contact->frozen.stiffness > 0 ? NULL : contact->records + role / 4;
    const int *points = lagged ? contact->lagged.points + role / 4 * 4 : pair ? pair->points : contact->frozen.at.points + role / 4 * 4;
    real part[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0}, size = pd_fabs(weight), energy;
    if (pair && pd_vertex_update_slack(contact, pair) > 0) return 0.0;
    real movers = pd_vertex_update_carriers(sweep, &contact->embedding, points, vertex);
    if (lagged) {
        energy = pd_vertex_update_add_friction(contact, role, movers, part);
    } else if (!pair) {
        energy = pd_penalty_add_role(&contact->frozen, contact->points, role, movers, part);
    } else {
        real at[12];
        pd_contact_limits limits;
        pd_contact_update_gather_record(pair, contact->points, at, &limits);
        energy = pd_contact_add_corner(&contact->potential, &limits, pair->kind, at, role % 4, movers, part);
    }
    for (int i = 0; i < 9; i++) sum[i] += (i < 3 ? weight : size) * part[i];
    return (double)(size * energy);
}

/* The share of a vertex in the energy of such a pair after a displacement by -d, d of length `length`. */
PD_UPDATE_INLINE double pd_vertex_update_carried_energy(const pd_vertex_sweep *sweep, const pd_contact_sweep *contact, int vertex, int role,
                                                        int lagged, real weight, const real d[3], real length) {
    const pd_contact_record *pair = lagged || contact->frozen.stiffness > 0 ? NULL : contact->records + role / 4;
    const int *points = lagged ? contact->lagged.points + role / 4 * 4 : pair ? pair->points : contact->frozen.at.points + role / 4 * 4;
    real size = pd_fabs(weight), sign = weight < 0 ? (real)-1 : (real)1, way[3] = {sign * d[0], sign * d[1], sign * d[2]};
    real movers = pd_vertex_update_carriers(sweep, &contact->embedding, points, vertex);
    if (lagged) return (double)(size * pd_vertex_update_friction_energy(contact, role, movers, way));
    if (!pair) return (double)(size * pd_penalty_energy_of_role(&contact->frozen, contact->points, role, movers, way));
    if (pd_vertex_update_slack(contact, pair) > movers * length) return 0.0;
    real at[12];
    pd_contact_limits limits;
    pd_contact_update_gather_record(pair, contact->points, at, &limits);
    pd_vertex_update_shift(pair->kind, role % 4, movers, way, at);
    pd_nearest nearest = pd_contact_nearest_of(pair->kind, at);
    if (nearest.distance >= limits.separation + limits.activation) return 0.0;
    return (double)(size * (pd_contact_energy(contact->potential, limits, pair->kind, pd_points4_load(at), nearest) / movers));
}

/* Both for all pairs of a vertex's embedded points, as for its own pairs below. */
PD_UPDATE_FUNCTION double pd_vertex_update_carried_contact(const pd_vertex_sweep *sweep, const pd_contact_sweep *contact, int vertex,
                                                           int lane, int lanes, real sum[9]) {
    const pd_embedding *embedding = &contact->embedding;
    double energy = 0.0;
    for (int i = 0; i < 9; i++) sum[i] = 0;
    for (int k = embedding->start[vertex] + lane; k < embedding->start[vertex + 1]; k += lanes)
        for (int lagged = 0; lagged < (contact->lagged.n > 0 ? 2 : 1); lagged++) {
            const pd_incidence *of = lagged ? &contact->lagged_incidence : &contact->incidence;
            int point = embedding->points[k];
            for (int r = of->start[point]; r < of->start[point + 1]; r++)
                energy += pd_vertex_update_add_carried(sweep, contact, vertex, of->roles[r], lagged, embedding->shares[k], sum);
        }
    if (lanes > 1)
        for (int i = 0; i < 9; i++) sum[i] = (real)PD_UPDATE_TOTAL(lanes, (double)sum[i]);
    return PD_UPDATE_TOTAL(lanes, energy);
}

PD_UPDATE_FUNCTION double pd_vertex_update_carried_contact_energy(const pd_vertex_sweep *sweep, const pd_contact_sweep *contact, int vertex,
                                                                  int lane, int lanes, const real d[3]) {
    const pd_embedding *embedding = &contact->embedding;
    real length = pd_vertex_update_length(d);
    double energy = 0.0;
    for (int k = embedding->start[vertex] + lane; k < embedding->start[vertex + 1]; k += lanes)
        for (int lagged = 0; lagged < (contact->lagged.n > 0 ? 2 : 1); lagged++) {
            const pd_incidence *of = lagged ? &contact->lagged_incidence : &contact->incidence;
            int point = embedding->points[k];
            for (int r = of->start[point]; r < of->start[point + 1]; r++)
                energy += pd_vertex_update_carried_energy(sweep, contact, vertex, of->roles[r], lagged, embedding->shares[k], d, length);
        }
    return PD_UPDATE_TOTAL(lanes, energy);
}

#endif

/* sum [9] = gradient and block of all pairs of a vertex, as for its elements. Returns its share of their energy. */
PD_UPDATE_FUNCTION double pd_vertex_update_own_contact(const pd_model *model, const pd_vertex_sweep *sweep, const pd_contact_sweep *contact,
                                                       int vertex, int lane, int lanes, real sum[9]) {
    const pd_incidence *incidence = &contact->incidence;
    double energy = 0.0;
    for (int i = 0; i < 9; i++) sum[i] = 0;
    for (int r = incidence->start[vertex] + lane; r < incidence->start[vertex + 1]; r += lanes) {
        int p = incidence->roles[r] / 4;
        real at[12];
        pd_contact_limits limits;
        if (contact->frozen.stiffness > 0) {
            real shares = pd_vertex_update_partners(sweep, model, contact->frozen.at.points + 4 * (size_t)p, vertex);
            energy += (double)pd_penalty_add_role(&contact->frozen, contact->points, incidence->roles[r], shares, sum);
            continue;
        }
        const pd_contact_record *pair = contact->records + p;
        if (pd_vertex_update_slack(contact, pair) > 0) continue;
        pd_contact_update_gather_record(pair, contact->points, at, &limits);
        real partners = pd_vertex_update_partners(sweep, model, pair->points, vertex);
        energy += (double)pd_contact_add_corner(&contact->potential, &limits, pair->kind, at, incidence->roles[r] % 4, partners, sum);
    }
    energy += pd_vertex_update_add_all_friction(model, sweep, contact, vertex, lane, lanes, sum);
    if (lanes > 1)
        for (int i = 0; i < 9; i++) sum[i] = (real)PD_UPDATE_TOTAL(lanes, (double)sum[i]);
    return PD_UPDATE_TOTAL(lanes, energy);
}

/* The share of a vertex in the energy of its pairs after a displacement by -d. */
PD_UPDATE_FUNCTION double pd_vertex_update_own_contact_energy(const pd_model *model, const pd_vertex_sweep *sweep,
                                                              const pd_contact_sweep *contact, int vertex, int lane, int lanes,
                                                              const real d[3]) {
    const pd_incidence *incidence = &contact->incidence;
    real length = 2 * pd_vertex_update_length(d); // at most two partners
    double sum = 0.0;
    for (int r = incidence->start[vertex] + lane; r < incidence->start[vertex + 1]; r += lanes) {
        if (contact->frozen.stiffness > 0) {
            real shares = pd_vertex_update_partners(sweep, model, contact->frozen.at.points + incidence->roles[r] / 4 * 4, vertex);
            sum += (double)pd_penalty_energy_of_role(&contact->frozen, contact->points, incidence->roles[r], shares, d);
            continue;
        }
        const pd_contact_record *pair = contact->records + incidence->roles[r] / 4;
        int corner = incidence->roles[r] % 4, kind = pair->kind;
        real at[12];
        pd_contact_limits limits;
        if (pd_vertex_update_slack(contact, pair) > length) continue;
        pd_contact_update_gather_record(pair, contact->points, at, &limits);
        real partners = pd_vertex_update_partners(sweep, model, pair->points, vertex);
        pd_vertex_update_shift(kind, corner, partners, d, at);
        pd_nearest nearest = pd_contact_nearest_of(kind, at);
        if (nearest.distance >= limits.separation + limits.activation) continue;
        sum += (double)(pd_contact_energy(contact->potential, limits, kind, pd_points4_load(at), nearest) / partners);
    }
    sum += pd_vertex_update_all_friction_energy(model, sweep, contact, vertex, lane, lanes, d);
    return PD_UPDATE_TOTAL(lanes, sum);
}

/* The same for its own pairs, or for those of its embedded points, of which it may be one itself. */
PD_UPDATE_INLINE double pd_vertex_update_contact(const pd_model *model, const pd_vertex_sweep *sweep, const pd_contact_sweep *contact,
                                                 int vertex, int lane, int lanes, real sum[9]) {
#if PD_UPDATE_CARRIES
    if (contact->embedding.start) return pd_vertex_update_carried_contact(sweep, contact, vertex, lane, lanes, sum);
#endif
    return pd_vertex_update_own_contact(model, sweep, contact, vertex, lane, lanes, sum);
}

PD_UPDATE_INLINE double pd_vertex_update_contact_energy(const pd_model *model, const pd_vertex_sweep *sweep,
                                                        const pd_contact_sweep *contact, int vertex, int lane, int lanes, const real d[3]) {
#if PD_UPDATE_CARRIES
    if (contact->embedding.start) return pd_vertex_update_carried_contact_energy(sweep, contact, vertex, lane, lanes, d);
#endif
    return pd_vertex_update_own_contact_energy(model, sweep, contact, vertex, lane, lanes, d);
}

/* Tells whether d of a vertex exceeds its displacement bound. */
PD_FUNCTION int pd_vertex_update_exceeds(const pd_contact_sweep *contact, int vertex, const real d[3]) {
    real bound = contact->displacement_bound ? contact->displacement_bound[vertex] : (real)INFINITY;
    return d[0] * d[0] + d[1] * d[1] + d[2] * d[2] > bound * bound;
}

/* Limits d of a vertex to its displacement bound. sums [9]: the system of d (pd_vertex_update_solve), touching NULL without contact. A
 * step by the diagonal block minimises another quadratic; in a subspace it is the nearest one along which g decreases. planes: as in
 * pd_bound_correction. */
PD_UPDATE_FUNCTION void pd_vertex_update_limit(const pd_model *model, const pd_vertex_sweep *sweep, const pd_contact_sweep *contact,
                                               pd_sweep_step kind, int vertex, const real elastic[9], const real *touching,
                                               pd_bound_planes *planes, real d[3]) {
    if (contact->held) contact->held[vertex] = 0;
    if (!pd_vertex_update_exceeds(contact, vertex, d)) return;
    real before = pd_vertex_update_length(d);
    const real *P = model->subspace ? model->subspace + 9 * (size_t)vertex : NULL;
    double H[6], g[3];
    for (int c = 0; c < 3; c++) g[c] = (double)elastic[c] + (touching ? (double)touching[c] : 0.0);
    for (int i = 0; i < 6; i++) H[i] = (double)elastic[3 + i] + (touching ? (double)touching[3 + i] : 0.0);
    if (kind == PD_SWEEP_DIAGONAL) {
        double most = fmax(H[0], fmax(H[3], H[5]));
        H[1] = H[2] = H[4] = 0.0;
        if (P) {
            H[0] = H[3] = H[5] = most;
            for (int c = 0; c < 3; c++) g[c] = most * (double)d[c];
        }
    }
    pd_bound_correction(contact, sweep, model->n_vertices, vertex, P, H, g, planes, d);
    if (contact->held) contact->held[vertex] = pd_max(before - pd_vertex_update_length(d), (real)0);
}

/* The line search of a vertex in contact. */
typedef struct pd_vertex_update_length_search {
    double before;       /* the vertex's share of the energy of its pairs at its position, J */
    double along, curve; /* first-order decrease of the elements for the whole step, and their curvature along it, J */
    double slope;        /* first-order decrease of all, J */
    double part;         /* of the whole step */
} pd_vertex_update_length_search;

/* elastic [9]: the quadratic of the energy of the elements, touching [9]: that of the pairs. Returns 0 without a search: d is zero or
 * NaN, or a gap is closed, which the frame must detect. */
PD_FUNCTION int pd_vertex_update_search_begin(const real elastic[9], const real touching[9], double before, const real d[3],
                                              pd_vertex_update_length_search *search) {
    const real *H = elastic + 3;
    double x = (double)d[0], y = (double)d[1], z = (double)d[2], along = 0.0, slope = 0.0;
    for (int c = 0; c < 3; c++) along += (double)elastic[c] * (double)d[c], slope += (double)touching[c] * (double)d[c];
    search->before = before, search->along = along, search->slope = slope + along, search->part = 1.0;
    search->curve = x * (double)H[0] * x + y * (double)H[3] * y + z * (double)H[5] * z +
                    2.0 * (x * (double)H[1] * y + x * (double)H[2] * z + y * (double)H[4] * z);
    return before - before == 0 && search->slope > 0.0;
}

/* Tells whether d, with the energy `after` of the pairs, gives a sufficient decrease. */
PD_FUNCTION int pd_vertex_update_search_ends(const pd_vertex_update_length_search *search, double after) {
    double here = search->part * (0.5 * search->part * search->curve - search->along);
    double noise = 4.0 * (double)PD_EPSILON * (search->before + fabs(here));
    return here + after - search->before <= noise - PD_SEARCH_WORTH * search->part * search->slope;
}

/* The next d: half of it, and zero at the end. */
PD_FUNCTION void pd_vertex_update_search_halve(pd_vertex_update_length_search *search, int halving, real d[3]) {
    search->part *= 0.5;
    for (int c = 0; c < 3; c++) d[c] = halving + 1 < PD_SEARCH_HALVINGS ? d[c] * (real)0.5 : (real)0;
}

PD_UPDATE_FUNCTION void pd_vertex_update_contact_search(const pd_model *model, const pd_vertex_sweep *sweep,
                                                        const pd_contact_sweep *contact, const real elastic[9], const real touching[9],
                                                        double before, int vertex, int lane, int lanes, real d[3]) {
    pd_vertex_update_length_search search;
    if (!pd_vertex_update_search_begin(elastic, touching, before, d, &search)) return;
    for (int halving = 0; halving < PD_SEARCH_HALVINGS; halving++) {
        if (pd_vertex_update_search_ends(&search, pd_vertex_update_contact_energy(model, sweep, contact, vertex, lane, lanes, d))) return;
        pd_vertex_update_search_halve(&search, halving, d);
    }
}

#endif
