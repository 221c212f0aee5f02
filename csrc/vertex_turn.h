/* One vertex of a sweep, for the loops of both backends: gradient and 3x3 block from its elements, its step, its line search.
 *
 * pd_vertex_sweep in backend.h says where everything lies. The groups of corners are summed by the loops themselves, each in
 * the way its machine likes; then come the other corners, then the step.
 *
 * A turn may be shared by several threads, `lanes` of them with numbers `lane` from 0, which take the corners in turns: thread `lane` those
 * that many after the first, and so on every `lanes`. A loop that shares turns says how its threads add up what they have and how they wait
 * for each other before it includes this file; every thread must get the same bits.
 *
 * With contact a vertex adds what its pairs are where all points are now (pd_contact_sweep), goes no farther than its reach, and halves its
 * step until its share of G falls. Colours know of elements alone, so two corners of a pair may move at once: turns of a colour read the
 * points, and nobody writes them before all of these turns have ended. */
#ifndef PD_VERTEX_TURN_H
#define PD_VERTEX_TURN_H

#include "backend.h"
#include "elements/rotated_corner.h"
#include "elements/vertex_step.h"
#include "friction_turn.h"
#include "penalty_turn.h"

enum { PD_POSITION_STRIDE = 4, PD_SEARCH_HALVINGS = 30 };

/* Of what the slope promises, the least that a vertex in contact must gain. */
#define PD_SEARCH_WORTH 0.1

#ifndef PD_TURN_TOTAL
#define PD_TURN_TOTAL(lanes, value) (value) /* the sum of a double over the threads of a turn */
#define PD_TURN_WAIT(lanes)         ((void)0)
#endif

/* One function per kind of element. In a kernel they are calls: inlined all together they take a compiler many minutes. */
#ifdef __CUDACC__
#define PD_TURN_FUNCTION static __device__ __noinline__
#define PD_TURN_INLINE   static __device__ __forceinline__
#else
#define PD_TURN_FUNCTION static inline
#define PD_TURN_INLINE   static inline
#endif

/* ---- one corner of any element --------------------------------------------------------------------------------------------- */

/* Adds gradient and block of one corner to sum, see vertex_step.h; and the energy of its element, damping included. */
#define PD_CORNER(KIND, name, k, d, count, constraints, corners)                                                                          \
    PD_TURN_FUNCTION void pd_turn_corner_##name(const pd_elements *g, const int *places, const pd_step_data *step, const real *positions, \
                                                int corner, real sum[9]) {                                                                \
        int e = corner / (k), a = corner % (k);                                                                                           \
        const real *p = g->parameters + (size_t)e * (count), *rest = g->rest + (size_t)e * PD_REST_COUNT(k, d);                           \
        real at[3 * (k)], F[3 * (d)], P[3 * (d)], B[9], along[3] = {0, 0, 0};                                                             \
        pd_element_gather(k, PD_POSITION_STRIDE, positions, places + (size_t)e * (k), at);                                                \
        pd_element_deformation(k, d, at, rest, F);                                                                                        \
        if ((k) > 1) pd_element_corner_gradient(k, d, rest, a, along);                                                                    \
        if ((corners) == PD_CORNERS_ROTATED) {                                                                                            \
            pd_rotated_corner(F, along, p[0], (count) > 1 ? p[(count) - 1] : 0, sum);                                                     \
            for (int i = 0; i < 3 * (d); i++) P[i] = 0;                                                                                   \
            for (int i = 0; i < 9; i++) B[i] = 0;                                                                                         \
        } else {                                                                                                                          \
            pd_##name##_gradient(F, p, P);                                                                                                \
            pd_##name##_block(F, p, along, B);                                                                                            \
        }                                                                                                                                 \
        if (g->damping && g->damping[e] > 0) {                                                                                            \
            real Ft[3 * (d)], scale = g->damping[e] * (real)step->inverse_h;                                                              \
            const real *H = g->damping_hessian + (size_t)e * 9 * (d) * (d);                                                               \
            pd_element_gather(k, 3, step->x_t, g->vertices + (size_t)e * (k), at);                                                        \
            pd_element_deformation(k, d, at, rest, Ft);                                                                                   \
            pd_element_damping_gradient(3 * (d), scale, H, F, Ft, P);                                                                     \
            pd_element_add_block_from_F(k, d, scale, H, along, B);                                                                        \
        }                                                                                                                                 \
        pd_element_add_corner(k, d, P, along, B, sum);                                                                                    \
    }                                                                                                                                     \
    PD_TURN_FUNCTION double pd_turn_energy_##name(const pd_elements *g, const int *places, const pd_step_data *step,                      \
                                                  const real *positions, int e) {                                                         \
        const real *rest = g->rest + (size_t)e * PD_REST_COUNT(k, d);                                                                     \
        real at[3 * (k)], F[3 * (d)];                                                                                                     \
        pd_element_gather(k, PD_POSITION_STRIDE, positions, places + (size_t)e * (k), at);                                                \
        pd_element_deformation(k, d, at, rest, F);                                                                                        \
        double energy = (double)pd_##name##_energy(F, g->parameters + (size_t)e * (count));                                               \
        if (g->damping && g->damping[e] > 0) {                                                                                            \
            real Ft[3 * (d)];                                                                                                             \
            pd_element_gather(k, 3, step->x_t, g->vertices + (size_t)e * (k), at);                                                        \
            pd_element_deformation(k, d, at, rest, Ft);                                                                                   \
            energy += (double)g->damping[e] * step->inverse_h *                                                                           \
                      (double)pd_element_damping_energy(3 * (d), g->damping_hessian + (size_t)e * 9 * (d) * (d), F, Ft);                  \
        }                                                                                                                                 \
        return energy;                                                                                                                    \
    }

PD_ELEMENT_TABLE(PD_CORNER)

PD_TURN_FUNCTION void pd_turn_add_corner(const pd_model *model, const pd_vertex_sweep *sweep, const pd_step_data *step,
                                         const real *positions, const int *entry, real sum[9]) {
    const pd_elements *g = &model->kinds[entry[0]];
    const int *places = sweep->corner_places[entry[0]];
    switch (g->kind) {
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: pd_turn_corner_##name(g, places, step, positions, entry[1], sum); break;
        PD_ELEMENT_TABLE(PD_CASE)
#undef PD_CASE
    default: break;
    }
}

/* Adds to sum [9] what this thread has of the turn's corners that lie in no group. */
PD_TURN_FUNCTION void pd_turn_add_corners(const pd_model *model, const pd_vertex_sweep *sweep, const pd_step_data *step,
                                          const real *positions, int turn, int lane, int lanes, real sum[9]) {
    for (int s = sweep->corner_start[turn] + lane; s < sweep->corner_start[turn + 1]; s += lanes)
        pd_turn_add_corner(model, sweep, step, positions, sweep->corners + 2 * (size_t)s, sum);
}

/* Sum of the energies of a turn's elements, and of their absolute values. Only sweeps without groups come here. */
PD_TURN_FUNCTION double pd_turn_energy(const pd_model *model, const pd_vertex_sweep *sweep, const pd_step_data *step, const real *positions,
                                       int turn, int lane, int lanes, double *magnitude) {
    double sum = 0.0, absolute = 0.0;
    for (int s = sweep->corner_start[turn] + lane; s < sweep->corner_start[turn + 1]; s += lanes) {
        const int *entry = sweep->corners + 2 * (size_t)s, *places = sweep->corner_places[entry[0]];
        const pd_elements *g = &model->kinds[entry[0]];
        double energy = 0.0;
        switch (g->kind) {
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: energy = pd_turn_energy_##name(g, places, step, positions, entry[1] / (k)); break;
            PD_ELEMENT_TABLE(PD_CASE)
#undef PD_CASE
        default: break;
        }
        sum += energy;
        absolute += fabs(energy);
    }
    *magnitude = PD_TURN_TOTAL(lanes, absolute);
    return PD_TURN_TOTAL(lanes, sum);
}

/* ---- what a vertex touches --------------------------------------------------------------------------------------------------- */

/* How many corners of a pair move at once with vertex `vertex`, itself included; two at the most count. Each of them sees the others at rest.
 * An energy E that is convex has E(x + sum of moves d_i) <= sum of E(x + k d_i)/k over k such corners [Jensen's inequality], so that a
 * vertex which takes this for its share never makes the sum grow, whatever the others do; its curvature is k times that of E. */
PD_FUNCTION real pd_turn_partners(const pd_vertex_sweep *sweep, const pd_model *model, const int *points, int vertex) {
    int partners = 0, colour = sweep->colours[vertex];
    for (int j = 0; j < 4; j++) partners += points[j] >= 0 && points[j] < model->n_vertices && sweep->colours[points[j]] == colour;
    return partners > 1 ? (real)2 : (real)1;
}

PD_FUNCTION int pd_turn_touches(const pd_contact_sweep *contact, int vertex) {
    if (!contact) return 0;
    const int *start = contact->incidence.start + vertex, *lagged = contact->lagged_incidence.start + vertex;
    return start[1] > start[0] || (contact->lagged.n > 0 && lagged[1] > lagged[0]);
}

/* The ends of the list of roles of a vertex in pairs with friction. */
PD_FUNCTION int pd_turn_first_lagged(const pd_contact_sweep *contact, int vertex) {
    return contact->lagged.n > 0 ? contact->lagged_incidence.start[vertex] : 0;
}

/* Adds to sum [9] what a role in a pair with friction gives, and returns its share of the energy. */
PD_FUNCTION real pd_turn_add_friction(const pd_contact_sweep *contact, int role, real partners, real sum[9]) {
    int p = role / 4;
    real strength = pd_penalty_visit_strength(contact, p), weight = contact->lagged.weights[role], M[9];
    if (!(strength > 0) || weight == 0) return 0;
    pd_vector u = pd_friction_turn_slip(&contact->lagged, &contact->slipping, p);
    pd_friction_terms terms = pd_friction_terms_of(u, contact->slipping.extent);
    // nobody searches along a step with a penalty: the block that bounds friction from above wherever it goes [Chen et al. 2024, Eq. 16]
    if (contact->frozen.stiffness > 0) terms.bend = 0;
    pd_vector slope = pd_vector_scale(weight * (strength * terms.ratio), u);
    pd_friction_matrix(partners * weight * weight * strength, pd_vector_load(contact->lagged.normals + 3 * (size_t)p), terms, M);
    sum[0] += slope.x, sum[1] += slope.y, sum[2] += slope.z;
    sum[3] += M[0], sum[4] += M[1], sum[5] += M[2], sum[6] += M[4], sum[7] += M[5], sum[8] += M[8];
    return strength * terms.value / partners;
}

/* The share of a role in the energy of its pair with friction where it goes by -d. */
PD_FUNCTION real pd_turn_friction_energy(const pd_contact_sweep *contact, int role, real partners, const real d[3]) {
    int p = role / 4;
    real strength = contact->lagged.strength[p], weight = contact->lagged.weights[role];
    if (!(strength > 0) || weight == 0) return 0;
    pd_vector move = pd_vector_scale(-partners * weight, pd_vector_load(d));
    pd_vector slip = pd_friction_slip(move, pd_vector_load(contact->lagged.normals + 3 * (size_t)p));
    pd_vector u = pd_vector_add(pd_friction_turn_slip(&contact->lagged, &contact->slipping, p), slip);
    return strength * pd_friction_terms_of(u, contact->slipping.extent).value / partners;
}

/* Adds to sum [9] what the pairs with friction of a vertex give, those of one lane; returns its share of their energy. */
PD_TURN_INLINE double pd_turn_add_all_friction(const pd_model *model, const pd_vertex_sweep *sweep, const pd_contact_sweep *contact,
                                               int vertex, int lane, int lanes, real sum[9]) {
    double energy = 0.0;
    int first = pd_turn_first_lagged(contact, vertex);
    for (int r = first + lane; contact->lagged.n > 0 && r < contact->lagged_incidence.start[vertex + 1]; r += lanes) {
        int role = contact->lagged_incidence.roles[r];
        real partners = pd_turn_partners(sweep, model, contact->lagged.points + role / 4 * 4, vertex);
        energy += (double)pd_turn_add_friction(contact, role, partners, sum);
    }
    return energy;
}

/* The share of a vertex in that energy where it goes by -d. */
PD_TURN_INLINE double pd_turn_all_friction_energy(const pd_model *model, const pd_vertex_sweep *sweep, const pd_contact_sweep *contact,
                                                  int vertex, int lane, int lanes, const real d[3]) {
    double energy = 0.0;
    int first = pd_turn_first_lagged(contact, vertex);
    for (int r = first + lane; contact->lagged.n > 0 && r < contact->lagged_incidence.start[vertex + 1]; r += lanes) {
        int role = contact->lagged_incidence.roles[r];
        real partners = pd_turn_partners(sweep, model, contact->lagged.points + role / 4 * 4, vertex);
        energy += (double)pd_turn_friction_energy(contact, role, partners, d);
    }
    return energy;
}

/* Corners at [4,3] of a pair where one of them goes by `partners` times -d; corners that a kind has not are its first. */
PD_FUNCTION void pd_turn_shift(int kind, int corner, real partners, const real d[3], real at[12]) {
    for (int j = 0; j < 4; j++)
        for (int c = 0; c < 3 && (j == corner || (corner == 0 && j >= pd_contact_corners(kind))); c++) at[3 * j + c] -= partners * d[c];
}

/* Whether pair p may act where its corners have gone since its slack was measured, and one of them `more` beyond that: a point of a primitive
 * moves no farther than one of its corners. */
PD_FUNCTION int pd_turn_may_act(const pd_contact_sweep *contact, int p, real more) {
    real slack = contact->slack[p], first = 0, second = 0;
    const int *points = contact->pairs.points + 4 * (size_t)p;
    if (!(slack > more)) return 1;
    int n_first = contact->pairs.kind[p] == PD_EDGE_EDGE ? 2 : 1;
    for (int j = 0; j < 4; j++) {
        real moved = points[j] >= 0 ? contact->moved[points[j]] : (real)0;
        if (j < n_first)
            first = pd_max(first, moved);
        else
            second = pd_max(second, moved);
    }
    return !(slack > (first + second + more) * ((real)1 + (real)8 * PD_EPSILON));
}

PD_FUNCTION real pd_turn_length(const real d[3]) { return pd_sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]); }

/* sum [9] = gradient and block of all pairs of a vertex, as those of its elements. Returns its share of their energy. */
PD_TURN_FUNCTION double pd_turn_contact(const pd_model *model, const pd_vertex_sweep *sweep, const pd_contact_sweep *contact, int vertex,
                                        int lane, int lanes, real sum[9]) {
    const pd_incidence *incidence = &contact->incidence;
    double energy = 0.0;
    for (int i = 0; i < 9; i++) sum[i] = 0;
    for (int r = incidence->start[vertex] + lane; r < incidence->start[vertex + 1]; r += lanes) {
        int p = incidence->roles[r] / 4;
        real at[12];
        pd_contact_limits limits;
        if (contact->frozen.stiffness > 0) {
            real shares = pd_turn_partners(sweep, model, contact->frozen.at.points + 4 * (size_t)p, vertex);
            energy += (double)pd_penalty_add_role(&contact->frozen, contact->points, incidence->roles[r], shares, sum);
            continue;
        }
        if (!pd_turn_may_act(contact, p, 0)) continue;
        pd_contact_turn_gather(&contact->pairs, contact->points, p, at, &limits);
        real partners = pd_turn_partners(sweep, model, contact->pairs.points + 4 * (size_t)p, vertex);
        energy += (double)pd_contact_add_corner(&contact->law, &limits, contact->pairs.kind[p], at, incidence->roles[r] % 4, partners, sum);
    }
    energy += pd_turn_add_all_friction(model, sweep, contact, vertex, lane, lanes, sum);
    if (lanes > 1)
        for (int i = 0; i < 9; i++) sum[i] = (real)PD_TURN_TOTAL(lanes, (double)sum[i]);
    return PD_TURN_TOTAL(lanes, energy);
}

/* The share of a vertex in the energy of its pairs where it goes by -d. */
PD_TURN_FUNCTION double pd_turn_contact_energy(const pd_model *model, const pd_vertex_sweep *sweep, const pd_contact_sweep *contact,
                                               int vertex, int lane, int lanes, const real d[3]) {
    const pd_incidence *incidence = &contact->incidence;
    real length = 2 * pd_turn_length(d); // two partners at the most
    double sum = 0.0;
    for (int r = incidence->start[vertex] + lane; r < incidence->start[vertex + 1]; r += lanes) {
        if (contact->frozen.stiffness > 0) {
            real shares = pd_turn_partners(sweep, model, contact->frozen.at.points + incidence->roles[r] / 4 * 4, vertex);
            sum += (double)pd_penalty_energy_of_role(&contact->frozen, contact->points, incidence->roles[r], shares, d);
            continue;
        }
        int p = incidence->roles[r] / 4, corner = incidence->roles[r] % 4, kind = contact->pairs.kind[p];
        real at[12];
        pd_contact_limits limits;
        if (!pd_turn_may_act(contact, p, length)) continue;
        pd_contact_turn_gather(&contact->pairs, contact->points, p, at, &limits);
        real partners = pd_turn_partners(sweep, model, contact->pairs.points + 4 * (size_t)p, vertex);
        pd_turn_shift(kind, corner, partners, d, at);
        pd_nearest nearest = pd_contact_nearest_of(kind, at);
        if (nearest.distance >= limits.separation + limits.activation) continue;
        sum += (double)(pd_contact_energy(contact->law, limits, kind, pd_points4_load(at), nearest) / partners);
    }
    sum += pd_turn_all_friction_energy(model, sweep, contact, vertex, lane, lanes, d);
    return PD_TURN_TOTAL(lanes, sum);
}

/* d of a vertex that touches: no farther than its reach. */
PD_FUNCTION void pd_turn_limit(const pd_contact_sweep *contact, int vertex, real d[3]) {
    if (!contact->reach) return;
    real reach = contact->reach[vertex], square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    if (square > reach * reach)
        for (int c = 0; c < 3; c++) d[c] *= reach / pd_sqrt(square);
}

/* How a vertex in contact looks for the length of its step. */
typedef struct pd_turn_length_search {
    double before;       /* the vertex's share of the energy of its pairs where it is, J */
    double along, curve; /* what the elements lose with the whole step, to first order, and their curvature along it, J */
    double slope;        /* what all lose to first order, J */
    double part;         /* of the whole step */
} pd_turn_length_search;

/* elastic [9]: the quadratic that the energy of the elements is, touching [9]: that of the pairs. Returns 0 where there is nothing to be
 * looked for: d is zero or no number, or nothing is left of a gap, which the frame has to see. */
PD_FUNCTION int pd_turn_search_begin(const real elastic[9], const real touching[9], double before, const real d[3],
                                     pd_turn_length_search *search) {
    const real *H = elastic + 3;
    double x = (double)d[0], y = (double)d[1], z = (double)d[2], along = 0.0, slope = 0.0;
    for (int c = 0; c < 3; c++) along += (double)elastic[c] * (double)d[c], slope += (double)touching[c] * (double)d[c];
    search->before = before, search->along = along, search->slope = slope + along, search->part = 1.0;
    search->curve = x * (double)H[0] * x + y * (double)H[3] * y + z * (double)H[5] * z +
                    2.0 * (x * (double)H[1] * y + x * (double)H[2] * z + y * (double)H[4] * z);
    return before - before == 0 && search->slope > 0.0;
}

/* Whether d, with which the pairs have the energy `after`, is a loss that is worth the way. */
PD_FUNCTION int pd_turn_search_ends(const pd_turn_length_search *search, double after) {
    double own = search->part * (0.5 * search->part * search->curve - search->along);
    double noise = 4.0 * (double)PD_EPSILON * (search->before + fabs(own));
    return own + after - search->before <= noise - PD_SEARCH_WORTH * search->part * search->slope;
}

/* The next d: half of it, and none at the end. */
PD_FUNCTION void pd_turn_search_halve(pd_turn_length_search *search, int halving, real d[3]) {
    search->part *= 0.5;
    for (int c = 0; c < 3; c++) d[c] = halving + 1 < PD_SEARCH_HALVINGS ? d[c] * (real)0.5 : (real)0;
}

PD_TURN_FUNCTION void pd_turn_contact_search(const pd_model *model, const pd_vertex_sweep *sweep, const pd_contact_sweep *contact,
                                             const real elastic[9], const real touching[9], double before, int vertex, int lane, int lanes,
                                             real d[3]) {
    pd_turn_length_search search;
    if (!pd_turn_search_begin(elastic, touching, before, d, &search)) return;
    for (int halving = 0; halving < PD_SEARCH_HALVINGS; halving++) {
        if (pd_turn_search_ends(&search, pd_turn_contact_energy(model, sweep, contact, vertex, lane, lanes, d))) return;
        pd_turn_search_halve(&search, halving, d);
    }
}

/* ---- one turn ---------------------------------------------------------------------------------------------------------------- */

/* sum [9] in: that of all a turn's corners; adds inertia, or the load, and what is constant of the block. */
PD_FUNCTION void pd_turn_add_constant(const pd_model *model, const pd_vertex_sweep *sweep, const pd_step_data *step, const real *offset,
                                      int turn, real sum[9]) {
    int vertex = sweep->vertices[turn];
    real m = model->masses[vertex], inverse_h2 = (real)(step->inverse_h * step->inverse_h);
    for (int c = 0; c < 3; c++)
        sum[c] +=
            step->inverse_h > 0 ? m * inverse_h2 * offset[3 * (size_t)vertex + (size_t)c] : -m * step->load[3 * (size_t)vertex + (size_t)c];
    real *H = sum + 3;
    H[0] += sweep->diagonal[turn];
    H[3] += sweep->diagonal[turn];
    H[5] += sweep->diagonal[turn];
}

/* The step d of a turn from its whole sum [9], and from that of what it touches (NULL: nothing). */
PD_FUNCTION void pd_turn_solve(const pd_model *model, pd_sweep_step kind, int vertex, real sum[9], real *touching, real d[3]) {
    real *gradient = sum, *H = sum + 3;
    const real *subspace = model->subspace ? model->subspace + 9 * (size_t)vertex : NULL;
    if (subspace) pd_vertex_restrict(subspace, H, gradient);
    if (subspace && touching) pd_vertex_restrict(subspace, touching + 3, touching);
    if (kind != PD_SWEEP_DIAGONAL) {
        if (touching)
            pd_vertex_step_touching(sum, touching, d);
        else
            pd_vertex_step(H, gradient, d);
        return;
    }
    for (int c = 0; c < 3; c++) {
        int place = c == 0 ? 3 : c == 1 ? 6 : 8;
        real whole = sum[place] + (touching ? touching[place] : 0);
        d[c] = whole > 0 ? (gradient[c] + (touching ? touching[c] : 0)) / whole : 0;
    }
    if (subspace) pd_vertex_project(subspace, d);
}

/* The step d of a turn; sum [9] in: that of all its corners, see vertex_step.h. */
PD_TURN_INLINE void pd_turn_step(const pd_model *model, const pd_vertex_sweep *sweep, const pd_step_data *step, pd_sweep_step kind,
                                 const pd_contact_sweep *contact, const real *offset, int turn, int lane, int lanes, real sum[9],
                                 real d[3]) {
    int vertex = sweep->vertices[turn];
    real touching[9];
    pd_turn_add_constant(model, sweep, step, offset, turn, sum);
    if (!pd_turn_touches(contact, vertex)) {
        pd_turn_solve(model, kind, vertex, sum, NULL, d);
        if (contact) pd_turn_limit(contact, vertex, d);
        return;
    }
    double energy = pd_turn_contact(model, sweep, contact, vertex, lane, lanes, touching);
    pd_turn_solve(model, kind, vertex, sum, touching, d);
    pd_turn_limit(contact, vertex, d);
    if (kind != PD_SWEEP_SEARCH && !(contact->frozen.stiffness > 0)) // a penalty is a quadratic from one detection to the next
        pd_turn_contact_search(model, sweep, contact, sum, touching, energy, vertex, lane, lanes, d);
}

/* Where a turn's vertex is in coordinate c once it has gone by -d from `start`: as the frame will have it, see time_step.h, but in contact,
 * where it goes by -d and no farther. */
PD_FUNCTION real pd_turn_moved(const pd_step_data *step, const pd_contact_sweep *contact, const real *offset, int vertex, int c, real start,
                               real d) {
    size_t j = 3 * (size_t)vertex + (size_t)c;
    return contact ? start - d : pd_vertex_position(step->x_t[j], step->drift[j], offset[j] - d);
}

/* The points follow the vertex of a turn, which has one in a sweep. */
PD_FUNCTION void pd_turn_commit(const pd_vertex_sweep *sweep, const pd_contact_sweep *contact, const real *direction, int turn) {
    int vertex = sweep->vertices[turn];
    const real *d = direction + 3 * (size_t)vertex;
    for (int c = 0; c < 3; c++) contact->points[3 * (size_t)vertex + (size_t)c] -= d[c];
    if (contact->moved) contact->moved[vertex] = pd_turn_length(d);
}

/* Trace of the block of a whole sum [9]. */
PD_FUNCTION real pd_turn_stiffness(const real sum[9]) { return sum[3] + sum[6] + sum[8]; }

/* Halves d until the vertex's part of G does not grow beyond rounding, and moves the vertex; no move where no length does. `stiffness` is the
 * trace of its block. Where it goes is rounded to eps |x|, which changes its elements' energy by so much of their forces, and a force is at
 * most sqrt(2 E w), with E = w/2 |F - T|^2: an energy that happens to be rounded down would hold the vertex where it is. */
PD_TURN_FUNCTION void pd_turn_search(const pd_model *model, const pd_vertex_sweep *sweep, const pd_step_data *step,
                                     const pd_contact_sweep *contact, const real *offset, real stiffness, real *positions, int turn,
                                     int lane, int lanes, real d[3]) {
    int vertex = sweep->vertices[turn];
    real *own = positions + PD_POSITION_STRIDE * (size_t)sweep->places[turn];
    const real start[3] = {own[0], own[1], own[2]}, *o = offset + 3 * (size_t)vertex, *load = step->load + 3 * (size_t)vertex;
    double m = (double)model->masses[vertex], inverse_h2 = step->inverse_h * step->inverse_h, magnitude, before, after;
    int touches = pd_turn_touches(contact, vertex);
    before = pd_turn_energy(model, sweep, step, positions, turn, lane, lanes, &magnitude);
    if (touches) {
        const real none[3] = {0, 0, 0};
        double energy = pd_turn_contact_energy(model, sweep, contact, vertex, lane, lanes, none);
        before += energy, magnitude += energy;
    }
    if (!(magnitude - magnitude == 0)) { // not finite: no length is better, and the frame has to see it
        for (int c = 0; c < 3; c++) d[c] = (real)(magnitude - magnitude);
        return;
    }
    double size = fmax(fabs((double)start[0]), fmax(fabs((double)start[1]), fabs((double)start[2])));
    double rounded = size * sqrt(2.0 * magnitude * (double)stiffness);
    for (int halving = 0; halving < PD_SEARCH_HALVINGS; halving++) {
        double change = 0.0;
        for (int c = 0; c < 3; c++) {
            double move = (double)d[c];
            change += step->inverse_h > 0 ? m * inverse_h2 * move * (0.5 * move - (double)o[c]) : m * (double)load[c] * move;
        }
        PD_TURN_WAIT(lanes); // the last energy is read
        for (int c = 0; c < 3 && lane == 0; c++) own[c] = pd_turn_moved(step, contact, offset, vertex, c, start[c], d[c]);
        PD_TURN_WAIT(lanes);
        double noise = 4.0 * (double)PD_EPSILON * (magnitude + fabs(change) + rounded), unused;
        after = pd_turn_energy(model, sweep, step, positions, turn, lane, lanes, &unused);
        if (touches) after += pd_turn_contact_energy(model, sweep, contact, vertex, lane, lanes, d);
        if (change + after - before <= noise) return;
        for (int c = 0; c < 3; c++) d[c] *= (real)0.5;
    }
    PD_TURN_WAIT(lanes);
    for (int c = 0; c < 3; c++) {
        if (lane == 0) own[c] = start[c];
        d[c] = 0;
    }
}

#endif
