/* Which primitives may collide in a step: every pair of vertex and triangle, and of two edges, whose boxes overlap.
 *
 * Three structures give the same sorted list:
 *     PD_BROAD_PHASE_TREE     a linear bounding volume hierarchy over swept boxes, one over triangles, one over edges: along a Morton
 *                             curve, binary on a GPU [Karras 2012], eight boxes to a node on the CPU
 *     PD_BROAD_PHASE_PATCHES  voxel patches with a tree above them, whose topology stays, and listed pairs inside a patch
 *                             [Lan et al. 2022, Projective IPC, Sec. 7.2]
 *     PD_BROAD_PHASE_HASH     a hashed grid [Wang et al. 2023, two-way interior point method, Sec. 3.1], of several levels, so that a huge
 *                             triangle among tiny ones covers no more cells than they do */
#ifndef PD_CONTACT_DETECTION_BROAD_PHASE_H
#define PD_CONTACT_DETECTION_BROAD_PHASE_H

#include "loops/collision_loops.h"

enum { PD_BROAD_PHASE_TREE, PD_BROAD_PHASE_PATCHES, PD_BROAD_PHASE_HASH, PD_BROAD_PHASE_COUNT };

enum { PD_VERTICES, PD_EDGES, PD_TRIANGLES, PD_PRIMITIVE_KINDS };

typedef struct pd_broad_phase pd_broad_phase;

typedef struct pd_broad_phase_description {
    int method, n_points;
    int n[PD_PRIMITIVE_KINDS];              /* vertices that take part, edges, triangles */
    const int *corners[PD_PRIMITIVE_KINDS]; /* H [n,1] [n,2] [n,3] */
    const int *names[PD_PRIMITIVE_KINDS];   /* H as corners; NULL: corners (pd_primitives) */
    const int *tags[PD_PRIMITIVE_KINDS];    /* H [n] geometry/box.h */
    const real *radii[PD_PRIMITIVE_KINDS];  /* H [n] m, of primitives that are thicker than others; NULL: zero */
    const real *rest;                       /* H [n_points,3] m, where patches are formed; used by PD_BROAD_PHASE_PATCHES only */
} pd_broad_phase_description;

/* Pairs of one kind: vertex and triangle, or two edges i < j; rows of corners, sorted. */
typedef struct pd_pairs {
    size_t n;
    int *pairs;            /* B [n,2] */
    const uint64_t *count; /* B [1] how many there are, where n is the most that there are; NULL: n */
} pd_pairs;

/* What a broad phase has done, and what it holds. */
typedef struct pd_broad_phase_counts {
    long long builds, refits; /* of trees; searches of a hashed grid count as builds */
    long long searches;
    long long retries;    /* searches that had to be run again with more room */
    size_t pair_capacity; /* pairs there is room for, of both kinds */
} pd_broad_phase_counts;

/* Memory: all of it here, but for the lists of pairs, which double when they are too short and never shrink.
 * Errors: PD_ERROR_MEMORY, PD_ERROR_VALUE for more than 2^27 primitives of a kind. */
pd_status pd_broad_phase_create(pd_broad_phase **out, pd_context *context, const pd_broad_phase_description *description);
void pd_broad_phase_destroy(pd_broad_phase *phase); /* NULL is allowed */

/* The primitives of a kind, PD_VERTICES, .. */
const pd_primitives *pd_broad_phase_primitives(const pd_broad_phase *phase, int kind);

/* All pairs whose boxes, each widened by margin (rounded up), overlap. A tree is refitted to the new boxes, and built again where that has
 * made it half as costly again as it was, or `rebuild` says so.
 *   x_t0, x_t1 [n_points,3]  B  in  m; x_t1 NULL: nothing moves      margin >= 0 m
 * The lists stay valid until the next call. Primitives with NaN are in no pair. Errors: PD_ERROR_MEMORY, PD_ERROR_NOT_FINITE. */
pd_status pd_broad_phase_find(pd_broad_phase *phase, const real *x_t0, const real *x_t1, double margin, int rebuild,
                              pd_pairs *vertex_triangle, pd_pairs *edge_edge);

/* How near pairs of each kind are looked for, m, and their radii: at any time of straight ways. */
typedef struct pd_nearness {
    double vertex_triangle, edge_edge;
} pd_nearness;

/* Of the pairs whose boxes overlap, each wide enough for that nearness, those that are not plainly farther apart all the way: few of them,
 * and no other is sorted. As above. */
pd_status pd_broad_phase_find_near(pd_broad_phase *phase, const real *x_t0, const real *x_t1, const pd_nearness *within,
                                   pd_pairs *vertex_triangle, pd_pairs *edge_edge);

/* The same, and the host waits for nothing: the lists have their counts on the device, and `rooms` watches what there must be room for
 * (collision_loops.h); where this waited all the same (other methods than trees, and the CPU), it gets nothing to watch, and the lists no
 * counts. Between searches and a wait the host asks for what the last of them found out; then the second says of the most that was counted,
 * in the order of `rooms`, whether it had room: if not, there is more now, and all from the first search on is to be asked for again. A
 * tree is built again as in the next two. */
pd_status pd_broad_phase_ask_near(pd_broad_phase *phase, const real *x_t0, const real *x_t1, const pd_nearness *within,
                                  pd_pairs *vertex_triangle, pd_pairs *edge_edge, pd_rooms_watched *rooms);
pd_status pd_broad_phase_fetch(pd_broad_phase *phase);
pd_status pd_broad_phase_near_told(pd_broad_phase *phase, const uint64_t *most, int *enough);

/* pd_broad_phase_find, and the host waits for nothing: the lists have their counts on the device, where rows behind them mean nothing. Once
 * the host has waited, n [2] says how many there are, and *enough whether they had room; if not, there is more now, and the search is to be
 * asked for again. A tree that has become too costly is built again by the next search, not by this one. Trees alone: other methods
 * wait. */
pd_status pd_broad_phase_ask(pd_broad_phase *phase, const real *x_t0, const real *x_t1, double margin, pd_pairs *vertex_triangle,
                             pd_pairs *edge_edge);
pd_status pd_broad_phase_told(pd_broad_phase *phase, size_t n[2], int *enough);
/* Where the counts of the last search stand, B [1] each, and how many pairs there is room for. */
void pd_broad_phase_room(const pd_broad_phase *phase, const uint64_t *found[2], size_t room[2]);

/* How often it was searched so far: what lists hold is of the last one. */
long long pd_broad_phase_searches(const pd_broad_phase *phase);

pd_broad_phase_counts pd_broad_phase_counted(const pd_broad_phase *phase);

/* Seconds of the last search by the device's clock: of the boxes and the structure, and of the pairs; 0 before the first. Waits for it. */
pd_status pd_broad_phase_seconds(pd_broad_phase *phase, double *structure, double *pairs);

#endif
