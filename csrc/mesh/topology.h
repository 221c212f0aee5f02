/* The edges, hinges and boundary triangles of a mesh.
 *
 * Each sub-simplex is put into the bucket of its smallest vertex by one counting pass, then matched inside the bucket: linear
 * time for meshes of bounded valence (a hub of valence v costs v log v). Every result depends on the input only.
 *
 * Each function allocates its result with malloc; the caller frees it. On failure the result is NULL. All check the indices:
 * PD_ERROR_VALUE as in validation.h, PD_ERROR_VALUE for more rows than 32-bit indices can number, PD_ERROR_MEMORY. */
#ifndef PD_MESH_TOPOLOGY_H
#define PD_MESH_TOPOLOGY_H

#include "base/status.h"

/* The unique edges of elements with k = 2, 3 or 4 vertices: every pair inside an element.
 *   edges [n_edges,2]  out  i < j, sorted lexicographically     elements [n_elements,k]  in */
pd_status pd_edges_create(int **edges, int *n_edges, const int *elements, int n_elements, int k, int n_points, pd_error *error);

/* The triangles that belong to one tet only, counter-clockwise seen from outside where that tet is positive.
 *   triangles [n_triangles,3]  out  in the order of the tets     tets [n_tets,4]  in
 * Errors also: PD_ERROR_VALUE where three tets share a triangle. */
pd_status pd_boundary_create(int **triangles, int *n_triangles, const int *tets, int n_tets, int n_points, pd_error *error);

/* The pairs of triangles that meet in an edge, at a seam of k triangles k (k - 1) / 2: x0, x1 the edge, x2, x3 the wings.
 *   hinges [n_hinges,4]  out  x0 < x1, sorted by x0, x1; x2 lies in the triangle that runs x0 -> x1
 *   triangles [n_triangles,3]  in
 * Where both triangles run the same way (inconsistent winding), x2 is of the one with the smaller row.
 * Errors also: PD_ERROR_VALUE where more than 64 triangles share an edge, or two have the same three vertices. */
pd_status pd_hinges_create(int **hinges, int *n_hinges, const int *triangles, int n_triangles, int n_points, pd_error *error);

#endif
