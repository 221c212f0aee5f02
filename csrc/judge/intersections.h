/* The judge: every place where a surface or a net of edges meets itself, decided without rounding.
 *
 * Triangles, edges and vertices are closed sets, and two of them may meet in the vertices they share and nowhere else; whatever is
 * more than that is an intersection. Two triangles that meet do so on an edge of one of them, so edges against triangles find all of
 * it, coplanar overlap and folded neighbours too; edges that belong to no triangle are tested against each other as well.
 * An edge with the same vertex twice is a particle. */
#ifndef PD_JUDGE_INTERSECTIONS_H
#define PD_JUDGE_INTERSECTIONS_H

#include "judge/box_tree.h"
#include "threads/interruption.h"

/* Simplices over points that move from points_0 to points_1 (equal for a still frame). */
typedef struct pd_simplices {
    const int *triangles;       /* [n_triangles,3] */
    const int *edges;           /* [n_edges,2] those of the triangles and others */
    const unsigned char *alone; /* [n_edges] 1: belongs to no triangle */
    int n_triangles, n_edges;
} pd_simplices;

typedef struct pd_intersections {
    pd_pair_list edge_triangle; /* (edge, triangle), sorted */
    pd_pair_list edge_edge;     /* (edge, edge), i < j, both alone, sorted */
    int *flat_triangles;        /* [n_flat_triangles] of zero area, ascending */
    int n_flat_triangles;
} pd_intersections;

/* All intersections of one frame. Exact for finite coordinates; the same for any number of threads.
 *   points [n,3]  in  m      threads >= 1
 * Errors: PD_ERROR_MEMORY, PD_INTERRUPTED, PD_ERROR_UNSUPPORTED in a build without GMP. Zeroed or filled, _free is allowed. */
pd_status pd_intersections_find(pd_intersections *out, const double *points, const pd_simplices *simplices, int threads,
                                pd_interruption *interruption, pd_error *error);
void pd_intersections_free(pd_intersections *intersections);

/* What came of the query boxes [n_queries] against the boxes of a tree: pairs sorted by query, then by box.
 * accept(data, query, box) says which pairs are kept, and is called from several threads. */
pd_status pd_host_pairs_find(pd_pair_list *out, const pd_host_box *queries, int n_queries, const pd_host_box *boxes, int n_boxes,
                             int (*accept)(const void *data, int query, int box), const void *data, int threads,
                             pd_interruption *interruption, pd_error *error);

/* Keeps the pairs of a list that have a time, with the times: time_of(data, pair) is negative where there is none, and is called from
 * several threads. *times [list->n] belongs to the caller also where this fails. */
pd_status pd_host_pairs_time(pd_pair_list *list, double **times, double (*time_of)(const void *data, const int pair[2]), const void *data,
                             int threads, pd_interruption *interruption, pd_error *error);

#endif
