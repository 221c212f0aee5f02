/* The query of a collider: one copy of the code for all loops, so that all callers get the same bits. */
#ifndef PD_CPU_GEOMETRY_COLLIDER_POINT_H
#define PD_CPU_GEOMETRY_COLLIDER_POINT_H

#include "geometry/collider.h"

/* (colliders.c) */
void pd_collider_point(const pd_collider *collider, const real x[3], pd_surface_point *out);

#endif
