/* The smallest distance of a surface or net of edges to itself: the number a certificate reports beside its verdict. */
#ifndef PD_JUDGE_SMALLEST_GAP_H
#define PD_JUDGE_SMALLEST_GAP_H

#include "judge/intersections.h"

/* A vertex and a triangle, two edges, or a vertex and an edge of no triangle, with no vertex in common. */
typedef enum pd_gap_kind { PD_GAP_NONE, PD_GAP_VERTEX_TRIANGLE, PD_GAP_EDGE_EDGE, PD_GAP_VERTEX_EDGE } pd_gap_kind;

typedef struct pd_gap {
    double distance; /* m; infinite where there is no pair */
    pd_gap_kind kind;
    int pair[2]; /* vertex or edge, triangle or edge: of the pairs at this distance the first kind, then the smallest indices */
} pd_gap;

/* The smallest distance of one frame, computed in double: off by less than 1e-14 of the largest coordinate difference in the pair,
 * a sliver's far side apart, so small distances are good to that and no more.
 *   points [n,3]  in  m      vertices [n_vertices]  in  those that take part, ascending
 * Errors: PD_ERROR_MEMORY, PD_INTERRUPTED. The same for any number of threads. */
pd_status pd_smallest_gap(pd_gap *out, const double *points, const int *vertices, int n_vertices, const pd_simplices *simplices,
                          int threads, pd_interruption *interruption, pd_error *error);

#endif
