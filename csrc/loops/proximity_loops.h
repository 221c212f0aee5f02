/* The loops of proximity: from the candidates of a broad phase to the active pairs. A part of backend.h with the same rules, which only
 * csrc/contact and both backends include.
 *
 * Candidates are numbered consecutively: the vertex-triangle pairs of the broad phase, its edge-edge pairs, then every collider with
 * every vertex tested against it. Each of these ranges is sorted, and a selection keeps the order. So the active pairs are sorted by
 * kind, first and second of the pair, for any number of threads and on every device. */
#ifndef PD_LOOPS_PROXIMITY_LOOPS_H
#define PD_LOOPS_PROXIMITY_LOOPS_H

#include "loops/collision_loops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of contact in the order of the lists; the numbers are visible in Python (KINDS of python/pdgpu/simulation/contacts.py). */
enum { PD_CONTACT_VERTEX_TRIANGLE, PD_CONTACT_EDGE_EDGE, PD_CONTACT_VERTEX_COLLIDER, PD_CONTACT_KINDS };

/* In addition to the kinds of pairs of geometry/pair.h: a vertex and a collider, which has no corners. */
enum { PD_VERTEX_COLLIDER = 64 };

/* The candidate pairs. */
typedef struct pd_candidates {
    size_t n, n_vertex_triangle, n_edge_edge;                /* n: of all; the others are vertices and colliders */
    const int *vertex_triangle, *edge_edge;                  /* B [.,2] rows of the primitives below, sorted */
    const uint64_t *count_vertex_triangle, *count_edge_edge; /* B [1] numbers of valid rows; NULL: all */
    const int *vertices, *edges, *triangles;                 /* B [.,1] [.,2] [.,3] points */
    const pd_collider *colliders;                            /* B geometry/collider.h */
    const int *tested;                                       /* B [n_tested] points tested against each collider, ascending */
    int n_tested;
    const int *planes; /* B [.] rows of y, replace the colliders by planes through a point, whose unit normal is the next row */
    const real *radii; /* B [n_points] m, equal at all corners of a primitive, subtracted from its distances; NULL: zero */
} pd_candidates;

/* Active pairs, sorted by key. Loops of a step cover the capacity and stop at the count. */
typedef struct pd_active_pairs {
    size_t capacity;
    uint64_t *count; /* B [1] */
    int *kind;       /* B [capacity] PD_VERTEX_TRIANGLE, PD_EDGE_EDGE (as in contact_loops.h), PD_VERTEX_COLLIDER */
    int *points;     /* B [capacity,4] (vertex; t0, t1, t2), (a0, a1; b0, b1), (vertex; -1, -1, -1) */
    uint64_t *key;   /* B [capacity] PD_CONTACT_... << 62 | first << 31 | second: the same name in every list of the surface. First and
                            second: point and triangle, two edges, collider and point */
} pd_active_pairs;

/* The pairs of each point. */
typedef struct pd_incidence {
    size_t capacity;
    int *start; /* B [n_points+1] */
    int *roles; /* B [capacity] 4 pair + corner, ascending for each point */
} pd_incidence;

/* The measures of pairs. */
typedef struct pd_contact_measures {
    unsigned char *kind, *feature; /* B [n] PD_CONTACT_..., PD_NEAREST_... */
    int *points;                   /* B [n,4] */
    real *weights;                 /* B [n,4] signed barycentric weights of the closest points */
    real *distance, *normal;       /* B [n] m, [n,3] out of the second of the pair */
    real *closest;                 /* B [n,2,3] the closest points of the first and of the second, m */
    int *bodies;                   /* B [n,2] owners of both */
} pd_contact_measures;

/* ---- points ------------------------------------------------------------------------------------------------------------------- */

/* y_i = sum_j weights_ij x_{rows_ij}; a row of -1 is skipped.
 *   rows, weights  B [n,4]  in      x  B [.,3]  in  m      y  B [n,3]  out  m */
pd_status pd_embed_points(pd_context *context, int n, const int *rows, const real *weights, const real *x, real *y);

/* move [2]  B  out: the largest |x_i - previous_i|^2, m^2, and the largest |coordinate| of x, m, both in double; infinite for NaN */
pd_status pd_largest_move(pd_context *context, int n, const int *rows, const real *x, const real *previous, double *move);

/* ---- from candidates to pairs ------------------------------------------------------------------------------------------------- */

/* The candidates at most `limit` (m) apart, radii subtracted, and the corners that carry their closest points.
 *   y        B [n_points,3]  in   m
 *   support  B [n]           out  geometry/nearest_feature.h, 1 for colliders; 0: farther than the limit, or NaN */
pd_status pd_candidate_support(pd_context *context, const pd_candidates *candidates, const real *y, real limit, unsigned char *support);

/* rows [capacity]  B  out: the indices of nonzero flags [n], ascending, up to the capacity; found [1]  B  out: the number of all.
 *   starts  B [n / 32 + 2]  scratch      work: pd_work_bytes of n / 32 + 1 */
pd_status pd_select_rows(pd_context *context, size_t n, const unsigned char *flags, int *starts, const pd_work *work, size_t capacity,
                         int *rows, uint64_t *found);

/* points [n,4]  B  out: the corners of n candidates from `first` on, without colliders; rows of missing candidates are not written. */
pd_status pd_candidate_points(pd_context *context, const pd_candidates *candidates, size_t first, int n, int *points);

/* kind, points and key of the active pairs from their rows [capacity] in the candidates, up to active->count. */
pd_status pd_active_fill(pd_context *context, const pd_candidates *candidates, const int *rows, pd_active_pairs *active);

/* The measures of n active pairs: of chosen [n], or of the first n if it is NULL.
 *   rows, support, limit   as above      owner  B [n_points]      collider_owner  B [.] */
pd_status pd_measure_pairs(pd_context *context, size_t n, const int *chosen, const pd_candidates *candidates, const int *rows, real limit,
                           const unsigned char *support, const pd_active_pairs *active, const real *y, const int *owner,
                           const int *collider_owner, const pd_contact_measures *out);

/* ---- pairs with the same nearest features ------------------------------------------------------------------------------------- */

/* Numbers of the edges and of the triangles' sides of a surface: sides with the same two points have the same number. */
typedef struct pd_side_names {
    int n_points, n; /* n: different numbers */
    int *of_edges;   /* B [edges] */
    int *of_sides;   /* B [triangles,3] side j from corner j to the next */
} pd_side_names;

/* names [n]  B  out: of the nearest features of n active pairs, candidate_update.h. */
pd_status pd_nearest_names(pd_context *context, size_t n, const pd_side_names *sides, const pd_active_pairs *active, const int *rows,
                           const unsigned char *support, uint64_t *names);

/* Keys that sort by names, or by a part of them, and then by index.
 *   keys  B [n]  in/out: index i in the lower index_bits if `fresh`; otherwise the existing index stays */
enum { PD_NAME_WHOLE, PD_NAME_LOW, PD_NAME_HIGH };
pd_status pd_nearest_keys(pd_context *context, size_t n, const uint64_t *names, int fresh, int part, int low_bits, int index_bits,
                          uint64_t *keys);

/* first [n]  B  out: 1 for each pair with unique nearest features, or the first of those that share them. keys: sorted by name, then by
 * index. */
pd_status pd_mark_first(pd_context *context, size_t n, const uint64_t *names, int index_bits, const uint64_t *keys, unsigned char *first);

/* ---- incidence ---------------------------------------------------------------------------------------------------------------- */

/* The roles of each point, ascending: of n active pairs, 4 pair + corner. Missing corners, and those of pairs beyond active->count, come
 * last.
 *   role_bits, point_bits  of 4 n, and of n_points + 1      keys, scratch  B [pd_role_keys(n)]  scratch, for the sort on a device
 *   work: for as many keys */
size_t pd_role_keys(size_t n);
pd_status pd_role_lists(pd_context *context, size_t n, const pd_active_pairs *active, int n_points, int role_bits, int point_bits,
                        uint64_t *keys, uint64_t *scratch, const pd_work *work, pd_incidence *out);

#ifdef __cplusplus
}
#endif

#endif
