/* What a collider says of a point: how far its surface is, and in which direction. */
#ifndef PD_GEOMETRY_SURFACE_POINT_H
#define PD_GEOMETRY_SURFACE_POINT_H

#include "geometry/pair.h"

typedef struct pd_surface_point {
    real distance;    /* m, negative inside */
    real gradient[3]; /* of the distance; a unit vector where the distance is exact */
    real normal[3];   /* unit, out of the collider; a fixed one where several points of the surface are equally near */
    real closest[3];  /* m, the point of the surface at distance times normal */
} pd_surface_point;

/* |v|, and its direction in unit; a zero v leaves unit as it is. Nothing overflows or underflows that need not. */
PD_FUNCTION real pd_direction3(const real v[3], real unit[3]) {
    real size = pd_largest(v, 3);
    if (!(size > 0)) return 0;
    for (int i = 0; i < 3; i++) unit[i] = v[i] / size;
    real length = pd_norm3(unit);
    for (int i = 0; i < 3; i++) unit[i] /= length;
    return size * length;
}

/* A point at `distance` along normal from `closest`: all there is to say where the distance is exact. */
PD_FUNCTION void pd_surface_point_set(pd_surface_point *out, real distance, const real normal[3], const real closest[3]) {
    out->distance = distance;
    for (int i = 0; i < 3; i++) out->gradient[i] = out->normal[i] = normal[i], out->closest[i] = closest[i];
}

#endif
