/* Verification of one frame: every intersection of a surface or net of edges with itself, decided exactly.
 *
 * Triangles, edges and vertices are closed sets. Two of them may meet only in common vertices; anything more is an intersection. Two
 * intersecting triangles do so on an edge of one of them. So edges against triangles find all, also coplanar overlap and folded
 * neighbours. Edges without a triangle are tested against each other as well. An edge with two equal vertices is a particle. */
#ifndef PD_VERIFY_INTERSECTIONS_H
#define PD_VERIFY_INTERSECTIONS_H

#include "threads/interruption.h"
#include "verify/box_tree.h"

/* Simplices over points that move from points_0 to points_1 (equal for a static frame). */
typedef struct pd_simplices {
    const int *triangles;       /* [n_triangles,3] */
    const int *edges;           /* [n_edges,2] those of the triangles and single ones */
    const unsigned char *alone; /* [n_edges] 1: an edge without a triangle */
    int n_triangles, n_edges;
} pd_simplices;

typedef struct pd_intersections {
    pd_pair_list edge_triangle; /* (edge, triangle), sorted */
    pd_pair_list edge_edge;     /* (edge, edge), i < j, both without a triangle, sorted */
    int *flat_triangles;        /* [n_flat_triangles] of zero area, ascending */
    int n_flat_triangles;
} pd_intersections;

/* All intersections of one frame. Exact for finite coordinates. The result does not depend on the number of threads.
 *   points [n,3]  in  m      threads >= 1
 * Errors: PD_ERROR_MEMORY, PD_INTERRUPTED; PD_ERROR_UNSUPPORTED in a build without GMP. _free is allowed after zeroing, success or
 * failure. */
pd_status pd_intersections_find(pd_intersections *out, const double *points, const pd_simplices *simplices, int threads,
                                pd_interruption *interruption, pd_error *error);
void pd_intersections_free(pd_intersections *intersections);

/* The accepted pairs of query boxes [n_queries] and boxes of a tree, sorted by query, then by box. accept(data, query, box) selects
 * pairs, and is called from several threads. */
pd_status pd_host_pairs_find(pd_pair_list *out, const pd_host_box *queries, int n_queries, const pd_host_box *boxes, int n_boxes,
                             int (*accept)(const void *data, int query, int box), const void *data, int threads,
                             pd_interruption *interruption, pd_error *error);

/* Keeps the pairs of a list with a time >= 0, and their times. time_of(data, pair) is called from several threads. The caller owns
 * *times [list->n], also after a failure. */
pd_status pd_host_pairs_time(pd_pair_list *list, double **times, double (*time_of)(const void *data, const int pair[2]), const void *data,
                             int threads, pd_interruption *interruption, pd_error *error);

#endif
