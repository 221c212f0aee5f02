/* The half space below a plane through the origin. */
#ifndef PD_GEOMETRY_PLANE_H
#define PD_GEOMETRY_PLANE_H

#include "geometry/surface_point.h"

/* p [3] m;  normal  unit, out of the half space */
PD_FUNCTION void pd_plane_query(const real p[3], const real normal[3], pd_surface_point *out) {
    real closest[3], height = pd_dot3(p, normal);
    for (int i = 0; i < 3; i++) closest[i] = p[i] - height * normal[i];
    pd_surface_point_set(out, height, normal, closest);
}

#endif
