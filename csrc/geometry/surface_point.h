/* The result of a collider query: distance and direction of its surface. */
#ifndef PD_GEOMETRY_SURFACE_POINT_H
#define PD_GEOMETRY_SURFACE_POINT_H

#include "geometry/pair.h"

typedef struct pd_surface_point {
    real distance;    /* m, negative inside */
    real gradient[3]; /* of the distance; a unit vector for an exact distance */
    real normal[3];   /* unit, out of the collider; a fixed one at equal distance to several points */
    real closest[3];  /* m, the point of the surface at distance times normal */
} pd_surface_point;

/* |v|, and its direction in unit; v = 0 leaves unit unchanged. Avoids all overflow and underflow of intermediate results. */
PD_FUNCTION real pd_direction3(const real v[3], real unit[3]) {
    real size = pd_largest(v, 3);
    if (!(size > 0)) return 0;
    for (int i = 0; i < 3; i++) unit[i] = v[i] / size;
    real length = pd_norm3(unit);
    for (int i = 0; i < 3; i++) unit[i] /= length;
    return size * length;
}

/* A point at `distance` along normal from `closest`, for exact distances. */
PD_FUNCTION void pd_surface_point_set(pd_surface_point *out, real distance, const real normal[3], const real closest[3]) {
    out->distance = distance;
    for (int i = 0; i < 3; i++) out->gradient[i] = out->normal[i] = normal[i], out->closest[i] = closest[i];
}

#endif
