/* A ball around the origin. */
#ifndef PD_GEOMETRY_SPHERE_H
#define PD_GEOMETRY_SPHERE_H

#include "geometry/surface_point.h"

/* p [3] m;  radius  m. At the centre, which is equally far from all points of the surface, the normal is the x axis. */
PD_FUNCTION void pd_sphere_query(const real p[3], real radius, pd_surface_point *out) {
    real normal[3] = {1, 0, 0}, closest[3], length = pd_direction3(p, normal);
    for (int i = 0; i < 3; i++) closest[i] = radius * normal[i];
    pd_surface_point_set(out, length - radius, normal, closest);
}

#endif
