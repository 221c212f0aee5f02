/* A capsule: all points within a radius of a segment with its centre at the origin. */
#ifndef PD_GEOMETRY_CAPSULE_H
#define PD_GEOMETRY_CAPSULE_H

#include "geometry/surface_point.h"

/* p [3] m;  half [3]  m, from the centre of the segment to its end, may be zero;  radius  m. On the segment the normal is a fixed
 * perpendicular vector. */
PD_FUNCTION void pd_capsule_query(const real p[3], const real half[3], real radius, pd_surface_point *out) {
    real from_start[3], axis[3], foot[3], across[3], normal[3], closest[3];
    for (int i = 0; i < 3; i++) from_start[i] = p[i] + half[i], axis[i] = (real)2 * half[i];
    real place = (real)2 * pd_segment_place(from_start, axis) - (real)1; // -1 at the start, 1 at the end
    for (int i = 0; i < 3; i++) foot[i] = place * half[i], across[i] = p[i] - foot[i];
    pd_perpendicular3(half, normal);
    real length = pd_direction3(across, normal);
    for (int i = 0; i < 3; i++) closest[i] = foot[i] + radius * normal[i];
    pd_surface_point_set(out, length - radius, normal, closest);
}

#endif
