/* A collider: a shape in its own frame, and the pose of that frame. */
#ifndef PD_GEOMETRY_COLLIDER_H
#define PD_GEOMETRY_COLLIDER_H

#include "geometry/capsule.h"
#include "geometry/cuboid.h"
#include "geometry/distance_grid.h"
#include "geometry/plane.h"
#include "geometry/sphere.h"

/* The numbers are those of python/pdgpu/scene/colliders.py. */
enum { PD_PLANE, PD_SPHERE, PD_CAPSULE, PD_CUBOID, PD_DISTANCE_GRID, PD_COLLIDER_COUNT };

typedef struct pd_collider {
    int shape;
    real rotation[9], translation[3]; /* x = R p + t, m, for p in the shape's own frame */
    real size[4];                     /* plane: normal; sphere: radius; capsule: half its segment, radius; cuboid: half its sides; of a grid
                                       * the given `part` */
    pd_distance_grid grid;
} pd_collider;

/* The point x [3] in the shape's own frame: p [3], m. */
PD_FUNCTION void pd_collider_place(const pd_collider *collider, const real x[3], real p[3]) {
    const real *R = collider->rotation, *t = collider->translation;
    for (int i = 0; i < 3; i++) p[i] = R[i] * (x[0] - t[0]) + R[3 + i] * (x[1] - t[1]) + R[6 + i] * (x[2] - t[2]);
}

/* The surface point of the collider for the point x [3], m. */
PD_FUNCTION void pd_collider_query(const pd_collider *collider, const real x[3], pd_surface_point *out) {
    const real *R = collider->rotation, *t = collider->translation, *size = collider->size;
    real p[3];
    pd_surface_point local;
    pd_collider_place(collider, x, p);
    switch (collider->shape) {
    case PD_PLANE: pd_plane_query(p, size, &local); break;
    case PD_SPHERE: pd_sphere_query(p, size[0], &local); break;
    case PD_CAPSULE: pd_capsule_query(p, size, size[3], &local); break;
    case PD_CUBOID: pd_cuboid_query(p, size, &local); break;
    default: pd_distance_grid_query(p, &collider->grid, &local); break;
    }
    out->distance = local.distance;
    for (int i = 0; i < 3; i++) {
        out->gradient[i] = pd_dot3(R + 3 * i, local.gradient);
        out->normal[i] = pd_dot3(R + 3 * i, local.normal);
        out->closest[i] = pd_dot3(R + 3 * i, local.closest) + t[i];
    }
}

/* Tells whether the result of pd_collider_query is undefined, since the point is too far outside of the grid of a part. */
PD_FUNCTION int pd_collider_is_silent(const pd_collider *collider, const pd_surface_point *said) {
    return collider->shape == PD_DISTANCE_GRID && collider->grid.part && said->distance != said->distance;
}

#endif
