/* What a mesh must satisfy before anything is built from it. The first fault found is named with its row and value. */
#ifndef PD_MESH_VALIDATION_H
#define PD_MESH_VALIDATION_H

#include "base/status.h"

/* Fails unless every coordinate is finite.
 *   points [n_points,3]  in  m     name  in  the argument's name, for the message
 * Errors: PD_ERROR_NOT_FINITE, e.g. "points: coordinate nan at row 3, column 1 is not finite". */
pd_status pd_points_check(const double *points, int n_points, const char *name, pd_error *error);

/* Fails unless every index lies in [0, n_points) and no element names a vertex twice.
 *   elements [n_elements,k]  in     name  in  the argument's name, for the message
 * Errors: PD_ERROR_VALUE, e.g. "tets: index 812 at row 40 is out of range for 800 points", "tets: row 7 repeats vertex 12". */
pd_status pd_elements_check(const int *elements, int n_elements, int k, int n_points, const char *name, pd_error *error);

/* Makes every tet positive by swapping the last two vertices of those with negative volume.
 *   tets [n_tets,4]  in/out     n_flipped  out  how many were negative     points [.,3]  in  m
 * The indices must have been checked. After a failure any tet but the flat ones may have been swapped.
 * Memory: allocates nothing. Errors: PD_ERROR_VALUE where |volume| <= 1e-12 of the longest edge cubed. */
pd_status pd_tets_orient(int *tets, int *n_flipped, const double *points, int n_tets, pd_error *error);

#endif
