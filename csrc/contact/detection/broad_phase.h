/* The broad phase: candidate pairs of a step. Lists every vertex-triangle pair and every edge pair whose boxes overlap.
 *
 * Three structures give the same sorted list:
 *     PD_BROAD_PHASE_TREE     linear bounding volume hierarchies over swept boxes, one of triangles and one of edges, along a Morton
 *                             curve: binary on a GPU [Karras 2012], with eight boxes per node on the CPU
 *     PD_BROAD_PHASE_PATCHES  voxel patches with a tree of constant topology above them, and listed pairs inside a patch
 *                             [Lan et al. 2022, Projective IPC, Sec. 7.2]
 *     PD_BROAD_PHASE_HASH     a hashed grid of several levels [Wang et al. 2023, two-way interior point method, Sec. 3.1]. A large
 *                             triangle then covers no more cells than a small one. */
#ifndef PD_CONTACT_DETECTION_BROAD_PHASE_H
#define PD_CONTACT_DETECTION_BROAD_PHASE_H

#include "loops/collision_loops.h"

enum { PD_BROAD_PHASE_TREE, PD_BROAD_PHASE_PATCHES, PD_BROAD_PHASE_HASH, PD_BROAD_PHASE_COUNT };

enum { PD_VERTICES, PD_EDGES, PD_TRIANGLES, PD_PRIMITIVE_KINDS };

typedef struct pd_broad_phase pd_broad_phase;

typedef struct pd_broad_phase_description {
    int method, n_points;
    int n[PD_PRIMITIVE_KINDS];              /* vertices of the surface, edges, triangles */
    const int *corners[PD_PRIMITIVE_KINDS]; /* H [n,1] [n,2] [n,3] */
    const int *names[PD_PRIMITIVE_KINDS];   /* H as corners; NULL: corners (pd_primitives) */
    const int *tags[PD_PRIMITIVE_KINDS];    /* H [n] geometry/box.h */
    const real *radii[PD_PRIMITIVE_KINDS];  /* H [n] m, added thickness of each primitive; NULL: zero */
    const real *rest;                       /* H [n_points,3] m, for the forming of patches; only PD_BROAD_PHASE_PATCHES reads it */
} pd_broad_phase_description;

/* Pairs of one kind: vertex and triangle, or two edges i < j; rows of corners, sorted. */
typedef struct pd_pairs {
    size_t n;
    int *pairs;            /* B [n,2] */
    const uint64_t *count; /* B [1] number of pairs, n is then an upper bound; NULL: n pairs */
} pd_pairs;

/* Counters of a broad phase. */
typedef struct pd_broad_phase_counts {
    long long builds, refits; /* of trees; searches of a hashed grid count as builds */
    long long searches;
    long long retries;    /* searches repeated with larger lists */
    size_t pair_capacity; /* of both kinds */
} pd_broad_phase_counts;

/* Memory: allocates everything here, except the lists of pairs. These grow when they overflow and never shrink.
 * Errors: PD_ERROR_MEMORY; PD_ERROR_VALUE for more than 2^27 primitives of a kind. */
pd_status pd_broad_phase_create(pd_broad_phase **out, pd_context *context, const pd_broad_phase_description *description);
void pd_broad_phase_destroy(pd_broad_phase *phase); /* NULL is allowed */

/* The primitives of a kind, PD_VERTICES, .. */
const pd_primitives *pd_broad_phase_primitives(const pd_broad_phase *phase, int kind);

/* Finds all pairs whose boxes overlap, each box widened by margin (rounded up). A tree is refitted to the new boxes. It is built again
 * if its cost has grown by half, or with `rebuild`.
 *   x_t0, x_t1 [n_points,3]  B  in  m; x_t1 NULL: no motion      margin >= 0 m
 * The lists stay valid until the next call. Primitives with NaN are in no pair. Errors: PD_ERROR_MEMORY, PD_ERROR_NOT_FINITE. */
pd_status pd_broad_phase_find(pd_broad_phase *phase, const real *x_t0, const real *x_t1, double margin, int rebuild,
                              pd_pairs *vertex_triangle, pd_pairs *edge_edge);

/* Search distances of each kind of pair, m, in addition to the radii. They hold at any time of straight paths. */
typedef struct pd_nearness {
    double vertex_triangle, edge_edge;
} pd_nearness;

/* As pd_broad_phase_find, with boxes widened by the search distance. Pairs that a conservative test finds farther apart along the whole
 * path are dropped before the sort. */
pd_status pd_broad_phase_find_within(pd_broad_phase *phase, const real *x_t0, const real *x_t1, const pd_nearness *within,
                                     pd_pairs *vertex_triangle, pd_pairs *edge_edge);

/* pd_broad_phase_find_within without synchronisation: the counts of the lists stay on the device. `capacities` collects the counts and
 * capacities to check (collision_loops.h). On the CPU, and with methods other than trees, the call synchronises and adds nothing to
 * `capacities`.
 *
 * pd_broad_phase_fetch enqueues the transfer of the results of the last search, after the searches and before a synchronisation. Then
 * pd_broad_phase_find_within_result compares the largest counts, in the order of `capacities`, with the capacities. If *enough is 0, a
 * list overflowed and its capacity has been increased: repeat everything from the first search on. A tree is built again as in
 * pd_broad_phase_find_async. */
pd_status pd_broad_phase_find_within_async(pd_broad_phase *phase, const real *x_t0, const real *x_t1, const pd_nearness *within,
                                           pd_pairs *vertex_triangle, pd_pairs *edge_edge, pd_watched_capacities *capacities);
pd_status pd_broad_phase_fetch(pd_broad_phase *phase);
pd_status pd_broad_phase_find_within_result(pd_broad_phase *phase, const uint64_t *most, int *enough);

/* pd_broad_phase_find without synchronisation: the counts of the lists stay on the device, and rows past them are undefined. After a
 * synchronisation, pd_broad_phase_find_result gives the counts n [2]. If *enough is 0, a list overflowed and its capacity has been increased:
 * repeat the search. A tree that has become too costly is built again by the next search, not by this one. Methods other than trees
 * synchronise. */
pd_status pd_broad_phase_find_async(pd_broad_phase *phase, const real *x_t0, const real *x_t1, double margin, pd_pairs *vertex_triangle,
                                    pd_pairs *edge_edge);
pd_status pd_broad_phase_find_result(pd_broad_phase *phase, size_t n[2], int *enough);
/* The counts of the last search, B [1] each, and the capacities of the lists. */
void pd_broad_phase_capacity(const pd_broad_phase *phase, const uint64_t *found[2], size_t capacity[2]);

/* The number of searches so far. The lists hold the pairs of the last one. */
long long pd_broad_phase_searches(const pd_broad_phase *phase);

pd_broad_phase_counts pd_broad_phase_counted(const pd_broad_phase *phase);

/* Device seconds of the last search: of the boxes and the structure, and of the pairs; 0 before the first search. Synchronises. */
pd_status pd_broad_phase_seconds(pd_broad_phase *phase, double *structure, double *pairs);

#endif
