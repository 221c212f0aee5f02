/* A solid box around the origin, its sides along the axes (box.h has the boxes of the broad phase). */
#ifndef PD_GEOMETRY_CUBOID_H
#define PD_GEOMETRY_CUBOID_H

#include "geometry/surface_point.h"

/* p [3] m;  half [3]  m, half of the sides. Outside, the nearest point is p clamped to the box. Inside, it is on the nearest side: the
 * first of x, y, z at equal distance, on the positive side for p in the middle. */
PD_FUNCTION void pd_cuboid_query(const real p[3], const real half[3], pd_surface_point *out) {
    real closest[3], away[3], beyond[3], normal[3] = {0, 0, 0};
    for (int i = 0; i < 3; i++) {
        closest[i] = pd_min(pd_max(p[i], -half[i]), half[i]);
        away[i] = p[i] - closest[i];
        beyond[i] = pd_fabs(p[i]) - half[i];
    }
    real distance = pd_direction3(away, normal);
    if (!(distance > 0)) {
        distance = pd_max(beyond[0], pd_max(beyond[1], beyond[2]));
        // unrolled: a variable index would prevent registers on a GPU
        int found = 0;
        for (int i = 0; i < 3; i++) {
            int nearest = !found && beyond[i] >= distance;
            real sign = p[i] < 0 ? (real)-1 : (real)1;
            normal[i] = nearest ? sign : (real)0;
            closest[i] = nearest ? sign * half[i] : closest[i];
            found |= nearest;
        }
    }
    pd_surface_point_set(out, distance, normal, closest);
}

#endif
