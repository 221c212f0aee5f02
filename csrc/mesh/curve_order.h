/* An order of points with spatial neighbours close in memory: along a Morton curve [Morton 1966]. */
#ifndef PD_MESH_CURVE_ORDER_H
#define PD_MESH_CURVE_ORDER_H

#include "base/status.h"

/* order [n] out  the points along the curve through their bounding cube of 2^21 cells per side; points of one cell by number
 *   points [n,3]  in  m, finite
 * Memory: allocates n pairs, freed on return. Errors: PD_ERROR_MEMORY. */
pd_status pd_curve_order(int *order, const double *points, int n, pd_error *error);

#endif
