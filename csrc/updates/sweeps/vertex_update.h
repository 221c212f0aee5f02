/* One vertex of a sweep, for the loops of both backends: gradient and 3x3 block from its elements, its step, its line search.
 *
 * pd_vertex_sweep in sweep_loops.h documents the data. The loops sum the groups of corners in the way of their backend; then follow the
 * other corners and the step.
 *
 * Several threads may share an update, `lanes` of them with numbers `lane` from 0. Thread `lane` takes every `lanes`-th corner from
 * number `lane` on. Before the include, such a loop defines the sum over its threads and their synchronisation; every thread must get
 * the same bits.
 *
 * touching_vertex.h has the work of a vertex in contact. */
#ifndef PD_UPDATES_SWEEPS_VERTEX_UPDATE_H
#define PD_UPDATES_SWEEPS_VERTEX_UPDATE_H

#include "base/rounded.h"
#include "elements/shape_target_corner.h"
#include "elements/stvk_corner.h"
#include "updates/elements/damping_update.h"
#include "updates/elements/orientation_update.h"
#include "updates/sweeps/touching_vertex.h"

#include "updates/elements/vertex_correction.h"

/* ---- one corner of any element --------------------------------------------------------------------------------------------- */

/* Adds gradient and block of one corner to sum, see vertex_correction.h; and the energy of its element. */
#define PD_CORNER(KIND, name, k, d, count, constraints, corners)                                                                      \
    PD_UPDATE_FUNCTION void pd_vertex_update_corner_##name(const pd_elements *g, const int *slots, const real *positions, int corner, \
                                                           real sum[9]) {                                                             \
        int e = corner / (k), a = corner % (k);                                                                                       \
        const real *p = g->parameters + (size_t)e * (count), *rest = g->rest + (size_t)e * PD_REST_COUNT(k, d);                       \
        real at[3 * (k)], F[3 * (d)], P[3 * (d)], B[9], along[3] = {0, 0, 0};                                                         \
        pd_element_gather(k, PD_POSITION_STRIDE, positions, slots + (size_t)e * (k), at);                                             \
        pd_element_deformation(k, d, at, rest, F);                                                                                    \
        if ((k) > 1) pd_element_corner_gradient(k, d, rest, a, along);                                                                \
        if ((corners) == PD_CORNERS_ROTATED) {                                                                                        \
            pd_rotated_corner(F, along, p[0], (count) > 1 ? p[(count) - 1] : 0, sum);                                                 \
            for (int i = 0; i < 3 * (d); i++) P[i] = 0;                                                                               \
            for (int i = 0; i < 9; i++) B[i] = 0;                                                                                     \
        } else if ((corners) == PD_CORNERS_TARGET) {                                                                                  \
            pd_shape_target_corner(F, along, p, sum);                                                                                 \
            for (int i = 0; i < 3 * (d); i++) P[i] = 0;                                                                               \
            for (int i = 0; i < 9; i++) B[i] = 0;                                                                                     \
        } else {                                                                                                                      \
            pd_##name##_gradient(F, p, P);                                                                                            \
            pd_##name##_block(F, p, along, B);                                                                                        \
        }                                                                                                                             \
        pd_element_add_corner(k, d, P, along, B, sum);                                                                                \
    }                                                                                                                                 \
    PD_UPDATE_FUNCTION double pd_vertex_update_energy_##name(const pd_elements *g, const int *slots, const real *positions, int e) {  \
        const real *rest = g->rest + (size_t)e * PD_REST_COUNT(k, d);                                                                 \
        real at[3 * (k)], F[3 * (d)];                                                                                                 \
        pd_element_gather(k, PD_POSITION_STRIDE, positions, slots + (size_t)e * (k), at);                                             \
        pd_element_deformation(k, d, at, rest, F);                                                                                    \
        return (double)pd_##name##_energy(F, g->parameters + (size_t)e * (count));                                                    \
    }

PD_ELEMENT_TABLE(PD_CORNER)

PD_UPDATE_FUNCTION void pd_vertex_update_add_corner(const pd_model *model, const pd_vertex_sweep *sweep, const real *positions,
                                                    const int *entry, real sum[9]) {
    const pd_elements *g = &model->kinds[entry[0]];
    const int *slots = sweep->corner_slots[entry[0]];
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: pd_vertex_update_corner_##name(g, slots, positions, entry[1], sum); break;
    PD_SWITCH(g->kind, PD_ELEMENT_TABLE, PD_CASE)
#undef PD_CASE
}

/* Adds this thread's share of the update's neighbours to sum [9]. All four numbers of a position, so that they use one register. */
PD_LANE_FUNCTION void pd_vertex_update_add_neighbours(const pd_vertex_sweep *sweep, const real *positions, int update, int lane, int lanes,
                                                      real sum[9]) {
    const pd_sweep_neighbours *neighbours = &sweep->neighbours;
    if (!neighbours->start) return;
    const real *here = positions + PD_POSITION_STRIDE * (size_t)sweep->updates[update].slot;
    real total[PD_POSITION_STRIDE] = {0};
    for (int s = neighbours->start[update] + lane; s < neighbours->start[update + 1]; s += lanes) {
        const real *other = positions + PD_POSITION_STRIDE * (size_t)neighbours->slots[s];
        for (int c = 0; c < PD_POSITION_STRIDE; c++) total[c] += neighbours->weights[s] * (other[c] - here[c]);
    }
    for (int c = 0; c < 3; c++) sum[c] += total[c];
}

/* Adds this thread's share of the update's ungrouped corners to sum [9]. */
PD_UPDATE_FUNCTION void pd_vertex_update_add_corners(const pd_model *model, const pd_vertex_sweep *sweep, const real *positions, int update,
                                                     int lane, int lanes, real sum[9]) {
    for (int s = sweep->corner_start[update] + lane; s < sweep->corner_start[update + 1]; s += lanes)
        pd_vertex_update_add_corner(model, sweep, positions, sweep->corners + 2 * (size_t)s, sum);
}

/* sum [9] += the damping of an update's vertex from its force D u; and the block D_ii / h. */
PD_LANE_FUNCTION void pd_vertex_update_add_damping_force(const pd_damping *damping, double inverse_h, int vertex, const real force[3],
                                                         real sum[9]) {
    const real *diagonal = damping->diagonals + 6 * (size_t)vertex, scale = (real)inverse_h;
    for (int c = 0; c < 3; c++) sum[c] += scale * force[c];
    for (int c = 0; c < 6; c++) sum[3 + c] += scale * diagonal[c];
}

/* Adds this thread's share of the damping of the update's vertex to sum [9]: (D u)_i / h, and the block D_ii / h. */
PD_FUNCTION void pd_vertex_update_add_damping(const pd_damping *damping, const pd_sweep_damping *at, double inverse_h,
                                              const pd_update *update, int lane, int lanes, real sum[9]) {
    const real *here = at->displacements + PD_POSITION_STRIDE * (size_t)update->slot;
    real force[3] = {0, 0, 0}, D[9], u[3];
    for (int s = damping->start[update->vertex] + lane; s < damping->start[update->vertex + 1]; s += lanes) {
        const real *other = at->displacements + PD_POSITION_STRIDE * (size_t)at->slots[s];
        pd_damping_read(damping, s, D);
        for (int c = 0; c < 3; c++) u[c] = other[c] - here[c];
        pd_damping_add_product(1, D, u, force);
    }
    if (lane == 0)
        pd_vertex_update_add_damping_force(damping, inverse_h, update->vertex, force, sum);
    else
        for (int c = 0; c < 3; c++) sum[c] += (real)inverse_h * force[c];
}

/* Coordinate c of the displacement since the start of the step of the vertex at a slot. */
PD_LANE_FUNCTION void pd_vertex_update_displace(const pd_sweep_damping *at, int slot, int c, real position) {
    const size_t number = PD_POSITION_STRIDE * (size_t)slot + (size_t)c;
    at->displacements[number] = position - at->starts[number];
}

/* Sum of the energies of an update's elements, undamped, and of their absolute values. Only for sweeps without groups. */
PD_UPDATE_FUNCTION double pd_vertex_update_energy(const pd_model *model, const pd_vertex_sweep *sweep, const real *positions, int update,
                                                  int lane, int lanes, double *magnitude) {
    double sum = 0.0, absolute = 0.0;
    for (int s = sweep->corner_start[update] + lane; s < sweep->corner_start[update + 1]; s += lanes) {
        const int *entry = sweep->corners + 2 * (size_t)s, *slots = sweep->corner_slots[entry[0]];
        const pd_elements *g = &model->kinds[entry[0]];
        double energy = 0.0;
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: energy = pd_vertex_update_energy_##name(g, slots, positions, entry[1] / (k)); break;
        PD_SWITCH(g->kind, PD_ELEMENT_TABLE, PD_CASE)
#undef PD_CASE
        sum += energy;
        absolute += fabs(energy);
    }
    *magnitude = PD_UPDATE_TOTAL(lanes, absolute);
    return PD_UPDATE_TOTAL(lanes, sum);
}

/* Shortens the step d of an update's vertex, so that each of its tets that must not invert keeps a tenth of its volume while all other
 * vertices rest. */
PD_UPDATE_FUNCTION void pd_vertex_update_keep_orientation(const pd_model *model, const pd_vertex_sweep *sweep, const real *positions,
                                                          int update, int lane, int lanes, real d[3]) {
    double part = 1.0;
    for (int s = sweep->corner_start[update] + lane; s < sweep->corner_start[update + 1]; s += lanes) {
        const int *entry = sweep->corners + 2 * (size_t)s;
        real at[12];
        if (!model->kinds[entry[0]].is_oriented) continue;
        const size_t e = (size_t)(entry[1] / 4);
        pd_element_gather(4, PD_POSITION_STRIDE, positions, sweep->corner_slots[entry[0]] + 4 * e, at);
        part = fmin(part, pd_tet_corner_fraction(at, entry[1] % 4, d, model->kinds[entry[0]].rest + 9 * e));
    }
    part = PD_UPDATE_LEAST(lanes, part);
    for (int c = 0; c < 3 && part < 1.0; c++) d[c] = (real)(part * (double)d[c]);
}

/* ---- one update ---------------------------------------------------------------------------------------------------------------- */

/* The three numbers of the constant part of an update's gradient: x - y, or without inertia the load. */
PD_FUNCTION const real *pd_vertex_update_drive(const pd_step_data *step, const real *offset, int vertex) {
    return (step->inverse_h > 0 ? offset : step->external_acceleration) + 3 * (size_t)vertex;
}

/* sum [9] in: that of all an update's corners; adds inertia, or the load, and the constant part of the block.
 *   drive [3]  of pd_vertex_update_drive */
PD_FUNCTION void pd_vertex_update_add_constant(const pd_update *update, double inverse_h, const real *drive, real sum[9]) {
    real m = update->mass, inverse_h2 = (real)(inverse_h * inverse_h);
    for (int c = 0; c < 3; c++) sum[c] += inverse_h > 0 ? m * inverse_h2 * drive[c] : -m * drive[c];
    real *H = sum + 3;
    H[0] += update->diagonal;
    H[3] += update->diagonal;
    H[5] += update->diagonal;
}

/* The correction d of an update from its complete sum [9], and from that of its contact (NULL: none); subspaces [n,3,3] are the model's, or
 * NULL. */
PD_FUNCTION void pd_vertex_update_solve(const real *subspaces, pd_sweep_step kind, int vertex, real sum[9], real *touching, real d[3]) {
    real *gradient = sum, *H = sum + 3;
    const real *subspace = subspaces ? subspaces + 9 * (size_t)vertex : NULL;
    if (subspace) pd_vertex_restrict(subspace, H, gradient);
    if (subspace && touching) pd_vertex_restrict(subspace, touching + 3, touching);
    if (kind != PD_SWEEP_DIAGONAL) {
        if (touching)
            pd_vertex_correction_touching(sum, touching, d);
        else
            pd_vertex_correction(H, gradient, d);
        return;
    }
    for (int c = 0; c < 3; c++) {
        int slot = c == 0 ? 3 : c == 1 ? 6 : 8;
        real whole = sum[slot] + (touching ? touching[slot] : 0);
        d[c] = whole > 0 ? (gradient[c] + (touching ? touching[c] : 0)) / whole : 0;
    }
    if (subspace) pd_vertex_project(subspace, d);
}

/* touching [9] += the difference of the filtered blocks of an update's pairs, which the sweep has summed before; see filtered_pair.h. */
PD_FUNCTION void pd_vertex_update_add_filtered_pairs(const pd_vertex_sweep *sweep, int update, real touching[9]) {
    if (!sweep->filtered.pairs) return;
    for (int i = 0; i < 6; i++) touching[3 + i] += sweep->filtered.pairs[6 * (size_t)update + (size_t)i];
}

/* The correction d of an update; sum [9] in: that of all its corners, see vertex_correction.h. */
PD_UPDATE_INLINE void pd_vertex_update_step(const pd_model *model, const pd_vertex_sweep *sweep, const pd_step_data *step,
                                            pd_sweep_step kind, const pd_contact_sweep *contact, const real *offset, int update, int lane,
                                            int lanes, real sum[9], real d[3]) {
    int vertex = sweep->updates[update].vertex;
    real touching[9];
    pd_vertex_update_add_constant(sweep->updates + update, step->inverse_h, pd_vertex_update_drive(step, offset, vertex), sum);
    if (!pd_vertex_update_touches(contact, vertex)) {
        pd_vertex_update_solve(model->subspace, kind, vertex, sum, NULL, d);
        if (contact) pd_vertex_update_limit(model, sweep, contact, kind, vertex, sum, NULL, NULL, d);
        return;
    }
    double energy = pd_vertex_update_contact(model, sweep, contact, vertex, lane, lanes, touching);
    pd_vertex_update_add_filtered_pairs(sweep, update, touching);
    pd_vertex_update_solve(model->subspace, kind, vertex, sum, touching, d);
    pd_vertex_update_limit(model, sweep, contact, kind, vertex, sum, touching, NULL, d);
    if (kind != PD_SWEEP_SEARCH && !(contact->frozen.stiffness > 0)) // a penalty is quadratic between two detections
        pd_vertex_update_contact_search(model, sweep, contact, sum, touching, energy, vertex, lane, lanes, d);
}

/* Coordinate c of an update's vertex after a displacement by -d from `start`: with the rounding of the frame, see time_step.h, but
 * exactly -d in contact. */
PD_FUNCTION real pd_vertex_update_moved(const pd_step_data *step, const pd_contact_sweep *contact, const real *offset, int vertex, int c,
                                        real start, real d) {
    size_t j = 3 * (size_t)vertex + (size_t)c;
    return contact ? start - d : pd_vertex_position(step->x_t[j], step->predicted_displacement[j], pd_difference(offset[j], d));
}

/* Moves the points of an update's vertex, once in a sweep. Without contact they are not read. */
PD_FUNCTION void pd_vertex_update_commit(const pd_vertex_sweep *sweep, const pd_contact_sweep *contact, const real *correction,
                                         int update) {
    int vertex = sweep->updates[update].vertex;
    if (!sweep->may_touch[update] || !pd_vertex_update_touches(contact, vertex)) return;
    const real *d = correction + 3 * (size_t)vertex;
    if (PD_UPDATE_CARRIES && contact->embedding.start) {
        const pd_embedding *embedding = &contact->embedding;
        for (int k = embedding->start[vertex]; k < embedding->start[vertex + 1]; k++) {
            size_t point = (size_t)embedding->points[k];
            for (size_t c = 0; c < 3; c++) contact->points[3 * point + c] -= embedding->shares[k] * d[c];
            if (contact->moved) contact->moved[point] += pd_fabs(embedding->shares[k]) * pd_vertex_update_length(d);
            if (contact->lagged.n > 0) pd_friction_update_move(&contact->slipping, (int)point);
        }
        return;
    }
    for (int c = 0; c < 3; c++) contact->points[3 * (size_t)vertex + (size_t)c] -= d[c];
    if (contact->moved) contact->moved[vertex] = pd_vertex_update_length(d);
    if (contact->lagged.n > 0) pd_friction_update_move(&contact->slipping, vertex);
}

/* The change of the damping potential by a move -d, J: damped [9] has its gradient and block before, as in vertex_correction.h. */
PD_FUNCTION double pd_vertex_update_damping_change(const real damped[9], const real d[3]) {
    const real *H = damped + 3, half = (real)0.5;
    real along[3] = {H[0] * d[0] + H[1] * d[1] + H[2] * d[2], H[1] * d[0] + H[3] * d[1] + H[4] * d[2],
                     H[2] * d[0] + H[4] * d[1] + H[5] * d[2]};
    double sum = 0.0;
    for (int c = 0; c < 3; c++) sum += (double)d[c] * (double)(half * along[c] - damped[c]);
    return sum;
}

/* Trace of the block of a complete sum [9]. */
PD_FUNCTION real pd_vertex_update_stiffness(const real sum[9]) { return sum[3] + sum[6] + sum[8]; }

/* Halves d until the vertex's part of G does not grow beyond rounding, and moves the vertex; no move if no length succeeds. `stiffness`
 * is the trace of its block. The new position is rounded to eps |x|, which changes its elements' energy by that times their forces. A
 * force is at most sqrt(2 E w), with E = w/2 |F - T|^2. Without this tolerance, an energy that is rounded down would stop the vertex. */
PD_UPDATE_FUNCTION void pd_vertex_update_search(const pd_model *model, const pd_vertex_sweep *sweep, const pd_step_data *step,
                                                const pd_contact_sweep *contact, const real *offset, real stiffness, real *positions,
                                                int update, int lane, int lanes, real d[3]) {
    int vertex = sweep->updates[update].vertex;
    real *here = positions + PD_POSITION_STRIDE * (size_t)sweep->updates[update].slot;
    const real start[3] = {here[0], here[1], here[2]}, *o = offset + 3 * (size_t)vertex,
               *external_acceleration = step->external_acceleration + 3 * (size_t)vertex;
    double m = (double)sweep->updates[update].mass, inverse_h2 = step->inverse_h * step->inverse_h, magnitude, before, after;
    int touches = pd_vertex_update_touches(contact, vertex);
    real damped[9] = {0}; // the quadratic of this vertex's damping
    if (pd_is_damped(model, step)) {
        pd_vertex_update_add_damping(&model->damping, &sweep->damping, step->inverse_h, sweep->updates + update, lane, lanes, damped);
        for (int i = 0; i < 9; i++) damped[i] = (real)PD_UPDATE_TOTAL(lanes, (double)damped[i]);
    }
    before = pd_vertex_update_energy(model, sweep, positions, update, lane, lanes, &magnitude);
    if (touches) {
        const real none[3] = {0, 0, 0};
        double energy = pd_vertex_update_contact_energy(model, sweep, contact, vertex, lane, lanes, none);
        before += energy, magnitude += energy;
    }
    if (!(magnitude - magnitude == 0)) { // not finite: no length helps, and the frame must detect it
        for (int c = 0; c < 3; c++) d[c] = (real)(magnitude - magnitude);
        return;
    }
    double size = fmax(fabs((double)start[0]), fmax(fabs((double)start[1]), fabs((double)start[2])));
    double rounded = size * sqrt(2.0 * magnitude * (double)stiffness);
    for (int halving = 0; halving < PD_SEARCH_HALVINGS; halving++) {
        double change = pd_vertex_update_damping_change(damped, d);
        for (int c = 0; c < 3; c++) {
            double move = (double)d[c];
            change +=
                step->inverse_h > 0 ? m * inverse_h2 * move * (0.5 * move - (double)o[c]) : m * (double)external_acceleration[c] * move;
        }
        PD_UPDATE_WAIT(lanes); // all threads have read the last energy
        for (int c = 0; c < 3 && lane == 0; c++) here[c] = pd_vertex_update_moved(step, contact, offset, vertex, c, start[c], d[c]);
        PD_UPDATE_WAIT(lanes);
        double noise = 4.0 * (double)PD_EPSILON * (magnitude + fabs(change) + rounded), unused;
        after = pd_vertex_update_energy(model, sweep, positions, update, lane, lanes, &unused);
        if (touches) after += pd_vertex_update_contact_energy(model, sweep, contact, vertex, lane, lanes, d);
        if (change + after - before <= noise) return;
        for (int c = 0; c < 3; c++) d[c] *= (real)0.5;
    }
    PD_UPDATE_WAIT(lanes);
    for (int c = 0; c < 3; c++) {
        if (lane == 0) here[c] = start[c];
        d[c] = 0;
    }
}

#endif
