/* Measures of an element: length, area or volume, and the length scale of the test for degenerate elements. */
#ifndef PD_MESH_MEASURE_H
#define PD_MESH_MEASURE_H

#include "base/status.h"

/* An element is degenerate if its measure is at most this multiple of the matching power of its longest edge. Rounding leaves a flat tet
 * with about 1e-16 of that power. The worst tets of usual meshes are above 1e-5. */
#define PD_DEGENERATE 1e-12

/* Length [m], area [m2] or signed volume [m3] of one element, by its number of vertices k = 2, 3, 4.
 *   points [.,3]  in  m      element [k]  in
 * A tet is positive where det(x1-x0, x2-x0, x3-x0) > 0. */
double pd_measure(const double *points, const int *element, int k);

/* The largest distance between two of the k vertices, m. */
double pd_longest_edge(const double *points, const int *element, int k);

/* Nonzero if |measure| is too small for an element of that size, or NaN. */
int pd_degenerate(double measure, double longest_edge, int k);

/* The name of `measure` in messages: "length", "area", "volume". */
const char *pd_measure_name(int k);

/* pd_measure of every element.
 *   measures [n_elements]  out     points [n_points,3]  in  m     elements [n_elements,k]  in
 * Memory: allocates nothing. Errors: none; the indices must have been checked. */
void pd_measures(double *measures, const double *points, const int *elements, int n_elements, int k);

#endif
