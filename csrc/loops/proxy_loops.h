/* Loops over proxies, points of a body that springs of length zero keep out of colliders [Wang et al. 2021, Sec. 4.1]; what one of them
 * does with one proxy or one vertex stands in updates/contact/proxy_update.h. The rules of backend.h hold. */
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
    real *target;          /* [n,3] m, of those that are active */
    real *depth;           /* [n] m, how deep in it is; 0: in nothing */
    unsigned char *active; /* [n] 1: in something; PD_PROXY_LOST: a collider could not say */
    /* Of targets that bodies carry, NULL where there are no such: */
    int *target_rows;     /* [n,4] vertices, the first -1: nothing carries it */
    real *target_weights; /* [n,4] */
    int *free_rows;       /* [n,4] of target_rows those that are free, -1 else */
} pd_proxy_points;

/* The triangles of a rest surface in a tree of boxes, in preorder, so that a search needs no stack: after node k comes k + 1 where its box
 * is near, and skip[k] where it is not. Lengths are in units of 1/scale, relative to the grid of the distance. */
typedef struct pd_rest_surface {
    int n_nodes, n_triangles;
    real scale;          /* 1/m, a power of two: products of four lengths stay in the range */
    const int *skip;     /* B [n_nodes] */
    const int *first;    /* B [n_nodes+1]: the triangles of node k are first[k] .. first[k+1]-1, of a node with children none */
    const real *boxes;   /* B [n_nodes,6] least, then largest coordinates */
    const real *corners; /* B [n_triangles,9] */
    const real *normals; /* B [n_triangles,7,3] outwards, of corners, sides, face, numbered as in geometry/pair.h */
} pd_rest_surface;

/* The rest shape of a body: a signed distance on a grid, which bounds the exact one, and the surface that this is measured from. Its tets
 * are known by their rows in a list of those of all shapes. */
typedef struct pd_rest_field {
    pd_collider distance; /* a grid, where the rest positions are, within sqrt(3)/2 of its spacing of the distance */
    pd_rest_surface surface;
    int body;
    real apart;       /* m: a proxy of the body itself is not in what was nearer to it at rest */
    real cell;        /* m: side of the cells that the box of the grid is cut into */
    int cells[3];     /* how many, along each axis, by x, then y, then z */
    const int *start; /* B [cells+1] */
    const int *tets;  /* B rows: of each cell the tets that come near it, ascending */
} pd_rest_field;

/* All B. */
typedef struct pd_rest_fields {
    const pd_rest_field *fields;
    const int *tets, *field_of; /* [n_tets,4] vertices, [n_tets] */
    const real *rest;           /* [n_vertices,3] m */
    const int *body;            /* [n] of each proxy */
    const real *place;          /* [n,3] m, where it is at rest */
    const unsigned char *fixed; /* [n_vertices] */
} pd_rest_fields;

/* active and target of every proxy, from where it is: in the collider that it is deepest in, of equal ones the first.
 * Where one of them is silent (geometry/collider.h) the proxy is lost, and has no target.  colliders  B [n_colliders] */
pd_status pd_proxy_detect(pd_context *context, int n_colliders, const pd_collider *colliders, const pd_proxy_points *proxies);

/* After that: what is deeper in the rest shape of a body that it lies in now, or in nothing else, has its target on the surface of that,
 * and target_rows, target_weights and free_rows say which vertices carry it.
 *   pairs  B [n_pairs,2]  in  proxies and rows of tets whose boxes meet, sorted      x  B [n_vertices,3]  in  m */
pd_status pd_proxy_detect_rest(pd_context *context, size_t n_pairs, const int *pairs, const pd_rest_fields *fields, const real *x,
                               const pd_proxy_points *proxies);

/* Targets that bodies carry, at x. */
pd_status pd_proxy_carry(pd_context *context, const real *x, const pd_proxy_points *proxies);

/* gradient of each vertex -= sum of c w (y - t) over the targets it carries, in the order of the roles. */
pd_status pd_proxy_gather_targets(pd_context *context, int n_vertices, const pd_incidence *of, const pd_proxy_points *proxies,
                                  real *gradient);

/* gradient of vertices[i] += sum of c w (y - t) over its roles, 4 proxy + corner, roles[start[i]] to roles[start[i+1]-1], in that order,
 * those that are active.   vertices B [n], each once   start B [n+1]   gradient B [.,3] N */
pd_status pd_proxy_gather(pd_context *context, int n, const int *vertices, const int *start, const int *roles,
                          const pd_proxy_points *proxies, real *gradient);

#ifdef __cplusplus
}
#endif

#endif
