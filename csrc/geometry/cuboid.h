/* A solid box around the origin, its sides along the axes (box.h has the boxes of the broad phase). */
#ifndef PD_GEOMETRY_CUBOID_H
#define PD_GEOMETRY_CUBOID_H

#include "geometry/surface_point.h"

/* p [3] m;  half [3]  m, half of the sides. Outside the nearest point is p clamped to the box; inside it lies on the nearest side, the
 * first of x, y, z where several are equally near, on the positive side where p is in the middle. */
PD_FUNCTION void pd_cuboid_query(const real p[3], const real half[3], pd_surface_point *out) {
    real closest[3], away[3], normal[3] = {0, 0, 0};
    real nearest = pd_fabs(p[0]) - half[0];
    int side = 0;
    for (int i = 0; i < 3; i++) {
        real beyond = pd_fabs(p[i]) - half[i];
        closest[i] = pd_min(pd_max(p[i], -half[i]), half[i]);
        away[i] = p[i] - closest[i];
        if (beyond > nearest) nearest = beyond, side = i;
    }
    real distance = pd_direction3(away, normal);
    if (!(distance > 0)) {
        distance = nearest;
        for (int i = 0; i < 3; i++) // an array indexed by a variable would leave the registers of a GPU
            if (i == side) {
                normal[i] = p[i] < 0 ? (real)-1 : (real)1;
                closest[i] = normal[i] * half[i];
            }
    }
    pd_surface_point_set(out, distance, normal, closest);
}

#endif
