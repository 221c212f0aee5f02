/* Corners and contact pairs with filtered blocks in a sweep. */
#ifndef PD_CPU_SWEEPS_FILTERED_CORNERS_H
#define PD_CPU_SWEEPS_FILTERED_CORNERS_H

#include "loops/friction_loops.h"

/* sum [9] += those of an update, see filtered_corner.h. */
void pd_sweep_add_filtered(const pd_model *model, const pd_vertex_sweep *sweep, const real *positions, int update, real sum[9]);

/* filtered.pairs of an update, see filtered_pair.h. */
void pd_sweep_filter_pairs(const pd_model *model, const pd_vertex_sweep *sweep, const pd_contact_sweep *contact, int update);

#endif
