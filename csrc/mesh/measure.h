/* How large an element is: length, area or volume, and the size that a degenerate element is judged by. */
#ifndef PD_MESH_MEASURE_H
#define PD_MESH_MEASURE_H

#include "base/status.h"

/* An element is degenerate where its measure is at most this times the matching power of its longest edge. The measure of a
 * flat tet is left with rounding of about 1e-16 of that power; the worst tet of the meshes people use lies above 1e-5. */
#define PD_DEGENERATE 1e-12

/* Length [m], area [m2] or signed volume [m3] of one element, by its number of vertices k = 2, 3, 4.
 *   points [.,3]  in  m      element [k]  in
 * A tet is positive where det(x1-x0, x2-x0, x3-x0) > 0. */
double pd_measure(const double *points, const int *element, int k);

/* The longest of all the distances between the k vertices, m. */
double pd_longest_edge(const double *points, const int *element, int k);

/* Nonzero where |measure| is too small for an element of that extent, or not a number. */
int pd_degenerate(double measure, double longest_edge, int k);

/* What `measure` is called in a message: "length", "area", "volume". */
const char *pd_measure_name(int k);

/* pd_measure of every element.
 *   measures [n_elements]  out     points [n_points,3]  in  m     elements [n_elements,k]  in
 * Memory: allocates nothing. Errors: none; the indices must have been checked. */
void pd_measures(double *measures, const double *points, const int *elements, int n_elements, int k);

#endif
