/* Checks of a mesh before its use. The error names the first fault with its row and value. */
#ifndef PD_MESH_VALIDATION_H
#define PD_MESH_VALIDATION_H

#include "base/status.h"

/* Fails unless every coordinate is finite.
 *   points [n_points,3]  in  m     name  in  the argument's name, for the message
 * Errors: PD_ERROR_NOT_FINITE, e.g. "points: coordinate nan at row 3, column 1 is not finite". */
pd_status pd_points_check(const double *points, int n_points, const char *name, pd_error *error);

/* Fails unless every index is in [0, n_points) and no element has a vertex twice.
 *   elements [n_elements,k]  in     name  in  the argument's name, for the message
 * Errors: PD_ERROR_VALUE, e.g. "tets: index 812 at row 40 is out of range for 800 points", "tets: row 7 repeats vertex 12". */
pd_status pd_elements_check(const int *elements, int n_elements, int k, int n_points, const char *name, pd_error *error);

/* Makes every tet positive by swapping the last two vertices of tets with negative volume.
 *   tets [n_tets,4]  in/out     n_flipped  out  number of swapped tets     points [.,3]  in  m
 * The indices must have been checked. After a failure any tet except the flat ones may have been swapped.
 * Memory: allocates nothing. Errors: PD_ERROR_VALUE if |volume| <= 1e-12 of the cubed longest edge. */
pd_status pd_tets_orient(int *tets, int *n_flipped, const double *points, int n_tets, pd_error *error);

#endif
