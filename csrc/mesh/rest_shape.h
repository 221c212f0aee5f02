/* Rest gradients: the linear map from vertex positions to the matrix F, the argument of an element's energy.
 *
 *     F = sum_{i=1}^{k-1} (x_i - x_0) g_i^T,   F = 3 x d
 *
 * as in elements/table.h. The gradients depend on the rest shape only and are computed once, in double. */
#ifndef PD_MESH_REST_SHAPE_H
#define PD_MESH_REST_SHAPE_H

#include "base/status.h"

typedef enum pd_topology {
    PD_TOPOLOGY_EDGE,     /* k=2, d=1: g_1 = 1, F = x_1 - x_0; measure the length, m */
    PD_TOPOLOGY_TRIANGLE, /* k=3, d=2: rows of Dm^-1 in the triangle's own orthonormal frame; measure the area, m2 */
    PD_TOPOLOGY_TET,      /* k=4, d=3: rows of Dm^-1, Dm the edges from x_0 as columns; measure the signed volume, m3 */
    PD_TOPOLOGY_HINGE,    /* k=4, d=1: x_0 x_1 the edge, x_2 x_3 the wings; measure the sum of both areas, m2 */
    PD_TOPOLOGY_JOINT     /* k=3, d=1: two edges x_0 x_1 and x_0 x_2; g_i = 1/length; measure the sum of both lengths, m */
} pd_topology;

/* Number of vertices k and of columns d of F. */
void pd_topology_shape(pd_topology topology, int *k, int *d);

/* Rest gradients and measure of n elements.
 *   gradients [n,k-1,d]  out  1/m (edge: 1; hinge: 1)     measures [n]  out     points [.,3]  in  m
 *   rows [n,k]  in  indices of points, in range; NULL: points holds the corners of all elements one after the other, [n,k,3]
 * Triangle frame: first axis along x_1 - x_0, second towards x_2. Hinge: g_i = c_i for i = 1, 2, 3, and c_0 = -(c_1+c_2+c_3),
 *     c = (c03 + c04, c01 + c02, -c01 - c03, -c02 - c04),
 * where c01, c03 are the cotangents at x_0, x_1 of the triangle with x_2, and c02, c04 those of the one with x_3; the bending
 * energy is then k_b/2 * 3/(A0+A1) |F|^2 [Bergou et al. 2006, A Quadratic Bending Model for
 * Inextensible Surfaces].
 * Memory: allocates nothing.
 * Errors: PD_ERROR_NOT_FINITE for a coordinate, PD_ERROR_VALUE for an element of zero measure (edge, joint: length 0; triangle, wing:
 * area <= 1e-12 longest edge^2; tet: |volume| <= 1e-12 longest edge^3). */
pd_status pd_rest_shapes(double *gradients, double *measures, const double *points, const int *rows, int n, pd_topology topology,
                         pd_error *error);

/* The rest states of n hinges (elements/hinge.h).
 *   angles [n]  out  rad, exactly 0 if smaller than 1e-9     squares [n]  out  |dtheta/dF|^2, 1/m2     heights [n]  out  m
 *   corners [n,4,3]  in  m, of hinges that pd_rest_shapes accepts
 * Memory: allocates nothing. Errors: PD_ERROR_VALUE for triangles that are folded onto each other: their angle has no sign;
 * PD_ERROR_NOT_FINITE for other hinges. */
pd_status pd_hinge_rests(double *angles, double *squares, double *heights, const double *corners, int n, pd_error *error);

#endif
