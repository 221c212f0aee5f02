/* The nearest triangle of points, and the distance on the nodes of a grid. The formula of one point and one triangle is that of
 * geometry/vertex_triangle.h, compiled here in double. */
#ifndef PD_JUDGE_SURFACE_DISTANCE_H
#define PD_JUDGE_SURFACE_DISTANCE_H

#include "threads/interruption.h"

#include <stddef.h>

/* Triangles over points, indices checked, at least one triangle. */
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

/* nearest [n]  out  of queries [n,3] m: the nearest triangle, the smallest index where several are equally near.
 *   threads >= 1; the result does not depend on it.
 * Memory: 60 bytes a triangle and a tree of boxes, one more box a triangle while it is built. Errors: PD_ERROR_MEMORY, PD_INTERRUPTED. */
pd_status pd_surface_nearest(int *nearest, const pd_host_surface *surface, const double *queries, int n, int threads,
                             pd_interruption *interruption, pd_error *error);

/* values [n0,n1,n2]  out  m: the distance of every node, without sign. Memory and errors likewise. */
pd_status pd_surface_grid_distance(double *values, const pd_host_surface *surface, const pd_host_grid *grid, int threads,
                                   pd_interruption *interruption, pd_error *error);

/* inside [n]  out: 1 where a query lies within a closed surface: where the ray from it along +z meets an odd number of triangles. Rays are
 * moved aside by an infinitesimal (eps, eps^2), so that none meets an edge or a vertex, and decided exactly [Edelsbrunner and Muecke 1990,
 * simulation of simplicity]; on the surface itself either answer may come. Errors: PD_ERROR_MEMORY, PD_ERROR_UNSUPPORTED without GMP. */
pd_status pd_surface_inside(unsigned char *inside, const pd_host_surface *surface, const double *queries, int n, int threads,
                            pd_interruption *interruption, pd_error *error);

/* Gives the values [n0,n1,n2] of the nodes inside the other sign. */
pd_status pd_surface_grid_sign(double *values, const pd_host_surface *surface, const pd_host_grid *grid, int threads,
                               pd_interruption *interruption, pd_error *error);

/* Where node i of an axis is: the one place where this is rounded. */
static inline double pd_host_grid_node(const pd_host_grid *grid, int axis, int i) { return grid->origin[axis] + grid->spacing * (double)i; }

#endif
