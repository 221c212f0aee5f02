/* One corner of any element with a filtered block, for sweeps whose blocks are those of a filtered Hessian (pd_sweep_filter).
 *
 * The block is g^T H g with the filtered H = d2E/dF2 of the element: the vertex's block on the diagonal of the Hessian that Newton's
 * method takes with this filter. The eigenvalues are those of the element. The filtered block of a corner is at least g^T H g without
 * the filter, also where that is positive definite already: for a neo-Hookean tet it always is. */
#ifndef PD_UPDATES_SWEEPS_FILTERED_CORNER_H
#define PD_UPDATES_SWEEPS_FILTERED_CORNER_H

#include "elements/element.h"
#include "loops/sweep_loops.h"
#include "updates/elements/vertex_correction.h"
#include "updates/sweeps/update_function.h"

/* Adds gradient and filtered block of one corner to sum [9], see vertex_correction.h. The scratch numbers after H are those of element.h. */
#define PD_FILTERED_CORNER(KIND, name, k, d, count, ...)                                                                         \
    PD_UPDATE_FUNCTION void pd_filtered_corner_##name(const pd_elements *g, const int *slots, const real *positions, int corner, \
                                                      pd_hessian_filter filter, real sum[9]) {                                   \
        int e = corner / (k), a = corner % (k);                                                                                  \
        const real *p = g->parameters + (size_t)e * (count), *rest = g->rest + (size_t)e * PD_REST_COUNT(k, d);                  \
        real at[3 * (k)], F[3 * (d)], P[3 * (d)], H[9 * (d) * (d) + PD_HESSIAN_SCRATCH], along[3] = {0, 0, 0};                   \
        real B[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0};                                                                                 \
        pd_element_gather(k, PD_POSITION_STRIDE, positions, slots + (size_t)e * (k), at);                                        \
        pd_element_deformation(k, d, at, rest, F);                                                                               \
        if ((k) > 1) pd_element_corner_gradient(k, d, rest, a, along);                                                           \
        pd_##name##_gradient(F, p, P);                                                                                           \
        pd_##name##_hessian(F, p, filter, H);                                                                                    \
        pd_element_add_block_from_F(k, d, 1, H, along, B);                                                                       \
        pd_element_add_corner(k, d, P, along, B, sum);                                                                           \
    }

PD_ELEMENT_TABLE(PD_FILTERED_CORNER)

/* Adds the ungrouped corners of thread `lane` of an update to sum [9]. */
PD_UPDATE_FUNCTION void pd_vertex_update_add_filtered(const pd_model *model, const pd_vertex_sweep *sweep, const real *positions,
                                                      int update, int lane, int lanes, real sum[9]) {
    for (int s = sweep->corner_start[update] + lane; s < sweep->corner_start[update + 1]; s += lanes) {
        const int *entry = sweep->corners + 2 * (size_t)s, *slots = sweep->corner_slots[entry[0]];
        const pd_elements *g = &model->kinds[entry[0]];
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: pd_filtered_corner_##name(g, slots, positions, entry[1], sweep->filtered.filter, sum); break;
        PD_SWITCH(g->kind, PD_ELEMENT_TABLE, PD_CASE)
#undef PD_CASE
    }
}

#endif
