/* What moves like a rigid body is known by ten numbers: its volume, its centre, and its second moments. */
#ifndef PD_MESH_MASS_PROPERTIES_H
#define PD_MESH_MASS_PROPERTIES_H

#include "base/status.h"

typedef struct pd_mass_properties {
    double volume;     /* m3; negative where the normals point inwards */
    double centre[3];  /* m */
    double moments[9]; /* of second order about the centre, integral of (x - c)(x - c)^T, m5; the inertia tensor is tr(J) 1 - J */
} pd_mass_properties;

/* The exact integrals of 1, x and x x^T over what a closed surface encloses, by the divergence theorem: a sum over the tets between a point
 * and its triangles, of each V, V (a+b+c)/4 and V/20 (s s^T + a a^T + b b^T + c c^T), s = a+b+c [Mirtich 1996; Tonon 2004].
 *   points [.,3]  in  m, finite     triangles [n,3]  in, their indices and that they are closed checked
 * The point is the mean of the corners, so that a mesh far from the origin keeps its digits.
 * Memory: allocates nothing. Order: ascending triangle.
 * Errors: PD_ERROR_VALUE where the volume is not positive: the surface is turned inside out, or flat. */
pd_status pd_mass_properties_of(pd_mass_properties *out, const double *points, const int *triangles, int n, pd_error *error);

#endif
