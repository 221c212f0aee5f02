/* The ten mass properties of a rigid body: volume, centre and second moments. */
#ifndef PD_MESH_MASS_PROPERTIES_H
#define PD_MESH_MASS_PROPERTIES_H

#include "base/status.h"

typedef struct pd_mass_properties {
    double volume;     /* m3; negative for normals that point inwards */
    double centre[3];  /* m */
    double moments[9]; /* of second order about the centre, integral of (x - c)(x - c)^T, m5; the inertia tensor is tr(J) 1 - J */
} pd_mass_properties;

/* The exact integrals of 1, x and x x^T over the interior of a closed surface, by the divergence theorem. Each is a sum over the tets
 * between a point and the triangles: V, V (a+b+c)/4 and V/20 (s s^T + a a^T + b b^T + c c^T), s = a+b+c [Mirtich 1996; Tonon 2004].
 *   points [.,3]  in  m, finite     triangles [n,3]  in, closed and with checked indices
 * The point is the mean of the corners, so that a mesh far from the origin loses no digits.
 * Memory: allocates nothing. Order: ascending triangle.
 * Errors: PD_ERROR_VALUE if the volume is not positive: the surface is inside out, or flat. */
pd_status pd_mass_properties_of(pd_mass_properties *out, const double *points, const int *triangles, int n, pd_error *error);

#endif
