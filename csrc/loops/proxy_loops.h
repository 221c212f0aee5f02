/* Loops over proxies: points of a body that springs of rest length zero pull out of colliders [Wang et al. 2021, Sec. 4.1].
 * updates/contact/proxy_update.h has the work on one proxy or one vertex. The rules of backend.h hold. */
#ifndef PD_LOOPS_PROXY_LOOPS_H
#define PD_LOOPS_PROXY_LOOPS_H

#include "geometry/collider.h"
#include "loops/proximity_loops.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PD_PROXY_LOST = 2 };

/* All B. */
typedef struct pd_proxy_points {
    int n;
    const int *rows;       /* [n,4] vertices, -1: none */
    const real *weights;   /* [n,4] */
    const real *stiffness; /* [n] N/m */
    real *y;               /* [n,3] m */
    real *target;          /* [n,3] m, of active proxies */
    real *depth;           /* [n] m, depth in its collider; 0: outside */
    unsigned char *active; /* [n] 1: inside; PD_PROXY_LOST: a collider cannot decide */
    /* Of targets on bodies, NULL without such targets: */
    int *target_rows;     /* [n,4] vertices, the first -1: not on a body */
    real *target_weights; /* [n,4] */
    int *free_rows;       /* [n,4] free ones among target_rows, otherwise -1 */
} pd_proxy_points;

/* The triangles of a rest surface in a tree of boxes, in preorder, so that a search needs no stack: the next node after k is k + 1 if its
 * box is within the search distance, and skip[k] otherwise. Lengths are in units of 1/scale, relative to the grid of the distance. */
typedef struct pd_rest_surface {
    int n_nodes, n_triangles;
    real scale;          /* 1/m, a power of two: products of four lengths stay in the range */
    const int *skip;     /* B [n_nodes] */
    const int *first;    /* B [n_nodes+1]: the triangles of node k are first[k] .. first[k+1]-1; none for an inner node */
    const real *boxes;   /* B [n_nodes,6] least, then largest coordinates */
    const real *corners; /* B [n_triangles,9] */
    const real *normals; /* B [n_triangles,7,3] outwards, of corners, sides, face, numbered as in geometry/pair.h */
} pd_rest_surface;

/* The rest shape of a body: a signed distance on a grid, which bounds the exact one, and the surface from which the exact one is
 * computed. Its tets are rows in a list of the tets of all shapes. */
typedef struct pd_rest_field {
    pd_collider distance; /* a grid in the rest positions, within sqrt(3)/2 of its spacing of the distance */
    pd_rest_surface surface;
    int body;
    real apart;       /* m: a proxy of the body itself is not inside a part that was nearer to it at rest */
    real cell;        /* m: side of the cells that divide the box of the grid */
    int cells[3];     /* their number along each axis, by x, then y, then z */
    const int *start; /* B [cells+1] */
    const int *tets;  /* B rows: the tets next to each cell, ascending */
} pd_rest_field;

/* All B. */
typedef struct pd_rest_fields {
    const pd_rest_field *fields;
    const int *tets, *field_of; /* [n_tets,4] vertices, [n_tets] */
    const real *rest;           /* [n_vertices,3] m */
    const int *body;            /* [n] of each proxy */
    const real *place;          /* [n,3] m, rest positions */
    const unsigned char *fixed; /* [n_vertices] */
} pd_rest_fields;

/* active and target of every proxy at its position: in the collider with the largest depth, the first at equal depth. If one of them
 * cannot decide (geometry/collider.h), the proxy is lost and has no target.  colliders  B [n_colliders] */
pd_status pd_proxy_detect(pd_context *context, int n_colliders, const pd_collider *colliders, const pd_proxy_points *proxies);

/* After pd_proxy_detect: a proxy that is deeper inside the rest shape of a body, or in no collider, has its target on the surface of
 * that shape. target_rows, target_weights and free_rows are the vertices that carry it.
 *   pairs  B [n_pairs,2]  in  proxies and rows of tets with overlapping boxes, sorted      x  B [n_vertices,3]  in  m */
pd_status pd_proxy_detect_rest(pd_context *context, size_t n_pairs, const int *pairs, const pd_rest_fields *fields, const real *x,
                               const pd_proxy_points *proxies);

/* Targets on bodies, at x. */
pd_status pd_proxy_carry(pd_context *context, const real *x, const pd_proxy_points *proxies);

/* gradient of each vertex -= sum of c w (y - t) over the targets that it carries, in the order of the roles. */
pd_status pd_proxy_gather_targets(pd_context *context, int n_vertices, const pd_incidence *of, const pd_proxy_points *proxies,
                                  real *gradient);

/* gradient of vertices[i] += sum of c w (y - t) over its active roles, 4 proxy + corner, roles[start[i]] to roles[start[i+1]-1], in that
 * order.
 *   vertices B [n], each once   start B [n+1]   gradient B [.,3] N */
pd_status pd_proxy_gather(pd_context *context, int n, const int *vertices, const int *start, const int *roles,
                          const pd_proxy_points *proxies, real *gradient);

#ifdef __cplusplus
}
#endif

#endif
