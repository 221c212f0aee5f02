/* The edges, hinges and boundary triangles of a mesh.
 *
 * One counting pass puts each sub-simplex into the bucket of its smallest vertex; matching follows inside the bucket. The time is linear
 * for meshes of bounded valence (a vertex of valence v costs v log v). Results depend on the input only.
 *
 * Memory: each function allocates its result with malloc, the caller frees it; NULL after a failure.
 * Errors: PD_ERROR_VALUE for indices as in validation.h, PD_ERROR_VALUE for more rows than 32-bit indices can number, PD_ERROR_MEMORY. */
#ifndef PD_MESH_TOPOLOGY_H
#define PD_MESH_TOPOLOGY_H

#include "base/status.h"

/* The unique edges of elements with k = 2, 3 or 4 vertices: every pair inside an element.
 *   edges [n_edges,2]  out  i < j, sorted lexicographically     elements [n_elements,k]  in */
pd_status pd_edges_create(int **edges, int *n_edges, const int *elements, int n_elements, int k, int n_points, pd_error *error);

/* The triangles of exactly one tet, counter-clockwise seen from outside for a positive tet.
 *   triangles [n_triangles,3]  out  in the order of the tets     tets [n_tets,4]  in
 * Errors also: PD_ERROR_VALUE if three tets share a triangle. */
pd_status pd_boundary_create(int **triangles, int *n_triangles, const int *tets, int n_tets, int n_points, pd_error *error);

/* The pairs of triangles with a common edge; k triangles at an edge make k (k - 1) / 2 pairs. x0, x1 is the edge, x2, x3 the wings.
 *   hinges [n_hinges,4]  out  x0 < x1, sorted by x0, x1; x2 is in the triangle with direction x0 -> x1
 *   triangles [n_triangles,3]  in
 * If both triangles have the same direction (inconsistent winding), x2 is in the one with the smaller row. Errors also: PD_ERROR_VALUE
 * if more than 64 triangles share an edge, or two have the same three vertices. */
pd_status pd_hinges_create(int **hinges, int *n_hinges, const int *triangles, int n_triangles, int n_points, pd_error *error);

#endif
