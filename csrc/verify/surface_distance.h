/* The nearest triangles of points, and the distance on the nodes of a grid. The formula of a point and a triangle is that of
 * geometry/vertex_triangle.h, compiled in double. */
#ifndef PD_VERIFY_SURFACE_DISTANCE_H
#define PD_VERIFY_SURFACE_DISTANCE_H

#include "threads/interruption.h"

#include <stddef.h>

/* Triangles over points, at least one; the indices are checked. */
typedef struct pd_host_surface {
    const double *points; /* [n_points,3] m */
    const int *triangles; /* [n_triangles,3] */
    int n_triangles;
} pd_host_surface;

/* Nodes of a grid. */
typedef struct pd_host_grid {
    double origin[3], spacing; /* m */
    int n[3];
} pd_host_grid;

/* nearest [n]  out  of queries [n,3] m: the nearest triangle, the smallest index at equal distance.
 *   threads >= 1; the result does not depend on it.
 * Memory: 60 bytes per triangle and a tree of boxes; one more box per triangle during its construction. Errors: PD_ERROR_MEMORY,
 * PD_INTERRUPTED. */
pd_status pd_surface_nearest(int *nearest, const pd_host_surface *surface, const double *queries, int n, int threads,
                             pd_interruption *interruption, pd_error *error);

/* values [n0,n1,n2]  out  m: the unsigned distance of every node. Memory and errors as above. */
pd_status pd_surface_grid_distance(double *values, const pd_host_surface *surface, const pd_host_grid *grid, int threads,
                                   pd_interruption *interruption, pd_error *error);

/* inside [n]  out: 1 for queries inside a closed surface, from which the ray along +z meets an odd number of triangles. Rays are
 * perturbed by an infinitesimal (eps, eps^2), so that none meets an edge or a vertex, and decided exactly [Edelsbrunner and Muecke 1990,
 * simulation of simplicity]. On the surface the result may be 0 or 1.
 * Errors: PD_ERROR_MEMORY; PD_ERROR_UNSUPPORTED without GMP. */
pd_status pd_surface_inside(unsigned char *inside, const pd_host_surface *surface, const double *queries, int n, int threads,
                            pd_interruption *interruption, pd_error *error);

/* Negates the values [n0,n1,n2] of the nodes inside. */
pd_status pd_surface_grid_sign(double *values, const pd_host_surface *surface, const pd_host_grid *grid, int threads,
                               pd_interruption *interruption, pd_error *error);

/* The coordinate of node i of an axis. Only this function rounds it. */
static inline double pd_host_grid_node(const pd_host_grid *grid, int axis, int i) { return grid->origin[axis] + grid->spacing * (double)i; }

#endif
