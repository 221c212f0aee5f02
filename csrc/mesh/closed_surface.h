/* Checks that triangles enclose a volume: every edge has two of them, which traverse it in opposite directions. */
#ifndef PD_MESH_CLOSED_SURFACE_H
#define PD_MESH_CLOSED_SURFACE_H

#include "base/status.h"

/* triangles [n,3]  in, with checked indices
 * Memory: 16 bytes per side of a triangle during the call.
 * Errors: PD_ERROR_VALUE for an open surface, for more than two triangles at an edge, or two of the same direction; it names the first
 * edge (by its vertices) and its triangles. PD_ERROR_VALUE without a triangle; PD_ERROR_MEMORY. */
pd_status pd_closed_surface_check(const int *triangles, int n, pd_error *error);

#endif
