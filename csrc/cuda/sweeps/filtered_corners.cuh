/* Corners and contact pairs with filtered blocks in a sweep. */
#ifndef PD_CUDA_SWEEPS_FILTERED_CORNERS_CUH
#define PD_CUDA_SWEEPS_FILTERED_CORNERS_CUH

#include "loops/friction_loops.h"

/* filtered.sums and .pairs of the updates begin .. end - 1 of a sweep, `lanes` threads each; contact NULL: none. */
pd_status pd_sweep_sum_filtered(pd_context *context, const pd_model *model, const pd_vertex_sweep *sweep, const pd_contact_sweep *contact,
                                const real *positions, int lanes, int begin, int end);

#endif
