/* Corners and contact pairs with filtered blocks in a sweep. In a file of their own: the sweep's loops stay small. */
#include "cpu/sweeps/filtered_corners.h"

#include "updates/sweeps/filtered_corner.h"
#include "updates/sweeps/filtered_pair.h"

void pd_sweep_add_filtered(const pd_model *model, const pd_vertex_sweep *sweep, const real *positions, int update, real sum[9]) {
    pd_vertex_update_add_filtered(model, sweep, positions, update, 0, 1, sum);
}

void pd_sweep_filter_pairs(const pd_model *model, const pd_vertex_sweep *sweep, const pd_contact_sweep *contact, int update) {
    real *more = sweep->filtered.pairs + 6 * (size_t)update;
    for (int i = 0; i < 6; i++) more[i] = 0;
    if (sweep->may_touch[update]) pd_filtered_pairs_add(model, sweep, contact, sweep->updates[update].vertex, 0, 1, more);
}
