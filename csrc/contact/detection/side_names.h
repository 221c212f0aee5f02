/* Numbers of the edges and of the triangles' sides of a surface. Sides with the same two points have the same number. Made once, on the
 * host. */
#ifndef PD_CONTACT_DETECTION_SIDE_NAMES_H
#define PD_CONTACT_DETECTION_SIDE_NAMES_H

#include "loops/proximity_loops.h"

/* The caller owns the arrays of `out`, also after an error. Errors: PD_ERROR_MEMORY. */
pd_status pd_side_names_create(pd_side_names *out, pd_context *context, int n_points, const pd_primitives *edges,
                               const pd_primitives *triangles);

#endif
