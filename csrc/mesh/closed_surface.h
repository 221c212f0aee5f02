/* Whether triangles enclose a volume: every edge has two of them, which run along it in opposite directions. */
#ifndef PD_MESH_CLOSED_SURFACE_H
#define PD_MESH_CLOSED_SURFACE_H

#include "base/status.h"

/* triangles [n,3]  in, their indices checked
 * Memory: 16 bytes a side of a triangle while it runs.
 * Errors: PD_ERROR_VALUE, naming the first edge (by its vertices) and its triangles, where the surface is open, has more than two triangles
 * at an edge, or two that run the same way; PD_ERROR_VALUE where there is no triangle; PD_ERROR_MEMORY. */
pd_status pd_closed_surface_check(const int *triangles, int n, pd_error *error);

#endif
