/* One vertex of a sweep, for the loops of both backends: gradient and 3x3 block from its elements, its step, its line search.
 *
 * pd_vertex_sweep in backend.h says where everything lies. The groups of neo-Hookean corners are summed by the loops themselves, each in
 * the way its machine likes; then come the other corners, then the step.
 *
 * A turn may be shared by several threads, `lanes` of them with numbers `lane` from 0, which take the corners in turns: thread `lane` those
 * that many after the first, and so on every `lanes`. A loop that shares turns says how its threads add up what they have and how they wait
 * for each other before it includes this file; every thread must get the same bits. */
#ifndef PD_VERTEX_TURN_H
#define PD_VERTEX_TURN_H

#include "backend.h"
#include "elements/vertex_step.h"

enum { PD_POSITION_STRIDE = 4, PD_SEARCH_HALVINGS = 30 };

#ifndef PD_TURN_TOTAL
#define PD_TURN_TOTAL(lanes, value) (value) /* the sum of a double over the threads of a turn */
#define PD_TURN_WAIT(lanes)         ((void)0)
#endif

/* One function per kind of element. In a kernel they are calls: inlined all together they take a compiler many minutes. */
#ifdef __CUDACC__
#define PD_TURN_FUNCTION static __device__ __noinline__
#else
#define PD_TURN_FUNCTION static inline
#endif

/* ---- one corner of any element --------------------------------------------------------------------------------------------- */

/* Corner positions at [k,3] of one element out of x [n,stride]. */
PD_FUNCTION void pd_turn_gather(int k, int stride, const real *x, const int *vertices, real *at) {
    for (int a = 0; a < k; a++)
        for (int c = 0; c < 3; c++) at[3 * a + c] = x[(size_t)stride * (size_t)vertices[a] + (size_t)c];
}

/* Adds gradient and block of one corner to sum, see vertex_step.h; and the energy of its element, damping included. */
#define PD_CORNER(KIND, name, k, d, count)                                                                                                \
    PD_TURN_FUNCTION void pd_turn_corner_##name(const pd_elements *g, const int *places, const pd_step_data *step, const real *positions, \
                                                int corner, real sum[9]) {                                                                \
        int e = corner / (k), a = corner % (k);                                                                                           \
        const real *p = g->parameters + (size_t)e * (count), *rest = g->rest + (size_t)e * PD_REST_COUNT(k, d);                           \
        real at[3 * (k)], F[3 * (d)], P[3 * (d)], B[9], along[3] = {0, 0, 0};                                                             \
        pd_turn_gather(k, PD_POSITION_STRIDE, positions, places + (size_t)e * (k), at);                                                   \
        pd_element_deformation(k, d, at, rest, F);                                                                                        \
        if ((k) > 1) pd_element_corner_gradient(k, d, rest, a, along);                                                                    \
        pd_##name##_gradient(F, p, P);                                                                                                    \
        pd_##name##_block(F, p, along, B);                                                                                                \
        if (g->damping && g->damping[e] > 0) {                                                                                            \
            real Ft[3 * (d)], scale = g->damping[e] * (real)step->inverse_h;                                                              \
            const real *H = g->damping_hessian + (size_t)e * 9 * (d) * (d);                                                               \
            pd_turn_gather(k, 3, step->x_t, g->vertices + (size_t)e * (k), at);                                                           \
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
        pd_turn_gather(k, PD_POSITION_STRIDE, positions, places + (size_t)e * (k), at);                                                   \
        pd_element_deformation(k, d, at, rest, F);                                                                                        \
        double energy = (double)pd_##name##_energy(F, g->parameters + (size_t)e * (count));                                               \
        if (g->damping && g->damping[e] > 0) {                                                                                            \
            real Ft[3 * (d)];                                                                                                             \
            pd_turn_gather(k, 3, step->x_t, g->vertices + (size_t)e * (k), at);                                                           \
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
#define PD_CASE(KIND, name, k, d, count) \
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
#define PD_CASE(KIND, name, k, d, count) \
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

/* ---- one turn ---------------------------------------------------------------------------------------------------------------- */

/* The step d of a turn; sum [9] in: that of all its corners, see vertex_step.h. */
PD_FUNCTION void pd_turn_step(const pd_model *model, const pd_vertex_sweep *sweep, const pd_step_data *step, pd_sweep_step kind,
                              const real *offset, int turn, real sum[9], real d[3]) {
    int vertex = sweep->vertices[turn];
    real m = model->masses[vertex], inverse_h2 = (real)(step->inverse_h * step->inverse_h);
    for (int c = 0; c < 3; c++)
        sum[c] +=
            step->inverse_h > 0 ? m * inverse_h2 * offset[3 * (size_t)vertex + (size_t)c] : -m * step->load[3 * (size_t)vertex + (size_t)c];
    real *gradient = sum, *H = sum + 3;
    H[0] += sweep->diagonal[turn];
    H[3] += sweep->diagonal[turn];
    H[5] += sweep->diagonal[turn];
    const real *subspace = model->subspace ? model->subspace + 9 * (size_t)vertex : NULL;
    if (subspace) pd_vertex_restrict(subspace, H, gradient);
    if (kind != PD_SWEEP_DIAGONAL) {
        pd_vertex_step(H, gradient, d);
        return;
    }
    d[0] = H[0] > 0 ? gradient[0] / H[0] : 0;
    d[1] = H[3] > 0 ? gradient[1] / H[3] : 0;
    d[2] = H[5] > 0 ? gradient[2] / H[5] : 0;
    if (subspace) pd_vertex_project(subspace, d);
}

/* Halves d until the vertex's part of G does not grow beyond rounding, and moves the vertex; no move where no length does. */
PD_TURN_FUNCTION void pd_turn_search(const pd_model *model, const pd_vertex_sweep *sweep, const pd_step_data *step, const real *offset,
                                     real *positions, int turn, int lane, int lanes, real d[3]) {
    int vertex = sweep->vertices[turn];
    real *own = positions + PD_POSITION_STRIDE * (size_t)sweep->places[turn];
    const real start[3] = {own[0], own[1], own[2]}, *o = offset + 3 * (size_t)vertex, *load = step->load + 3 * (size_t)vertex;
    double m = (double)model->masses[vertex], inverse_h2 = step->inverse_h * step->inverse_h, magnitude, before, after;
    before = pd_turn_energy(model, sweep, step, positions, turn, lane, lanes, &magnitude);
    if (!(magnitude - magnitude == 0)) { // not finite: no length is better, and the frame has to see it
        for (int c = 0; c < 3; c++) d[c] = (real)(magnitude - magnitude);
        return;
    }
    for (int halving = 0; halving < PD_SEARCH_HALVINGS; halving++) {
        double change = 0.0;
        for (int c = 0; c < 3; c++) {
            double move = (double)d[c];
            change += step->inverse_h > 0 ? m * inverse_h2 * move * (0.5 * move - (double)o[c]) : m * (double)load[c] * move;
        }
        PD_TURN_WAIT(lanes); // the last energy is read
        for (int c = 0; c < 3 && lane == 0; c++) own[c] = start[c] - d[c];
        PD_TURN_WAIT(lanes);
        double noise = 4.0 * (double)PD_EPSILON * (magnitude + fabs(change)), unused;
        after = pd_turn_energy(model, sweep, step, positions, turn, lane, lanes, &unused);
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
