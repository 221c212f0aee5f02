/* Lumped masses: each element's mass is divided equally among its vertices. */
#ifndef PD_MESH_MASS_H
#define PD_MESH_MASS_H

#include "base/status.h"

/* masses[i] = sum over the elements e of vertex i of density[e] * measure(e) / k.
 *   masses [n_points]  out  kg     points [n_points,3]  in  m     elements [n_elements,k]  in  (k = 2, 3, 4)
 *   density [n_elements]  in  kg/m, kg/m2 or kg/m3 by k
 * A vertex without an element has mass 0. The indices must have been checked.
 * Memory: allocates nothing. Order: ascending element.
 * Errors: PD_ERROR_NOT_FINITE or PD_ERROR_VALUE for a density that is not finite or negative; PD_ERROR_VALUE for a tet of negative
 * volume, which would subtract mass. */
pd_status pd_lumped_masses(double *masses, const double *points, const int *elements, const double *density, int n_points, int n_elements,
                           int k, pd_error *error);

#endif
