/* The smallest distance of a surface or net of edges to itself, which a certificate reports with its result. */
#ifndef PD_VERIFY_SMALLEST_GAP_H
#define PD_VERIFY_SMALLEST_GAP_H

#include "verify/intersections.h"

/* A vertex and a triangle, two edges, or a vertex and an edge without a triangle; without a common vertex. */
typedef enum pd_gap_kind { PD_GAP_NONE, PD_GAP_VERTEX_TRIANGLE, PD_GAP_EDGE_EDGE, PD_GAP_VERTEX_EDGE } pd_gap_kind;

typedef struct pd_gap {
    double distance; /* m; infinite without a pair */
    pd_gap_kind kind;
    int pair[2]; /* vertex or edge, triangle or edge: at equal distance the first kind, then the smallest indices */
} pd_gap;

/* The smallest distance of one frame, in double. Its error is below 1e-14 of the largest difference of coordinates in the pair, except
 * on the far side of a sliver. Smaller distances are not resolved. The result does not depend on the number of threads.
 *   points [n,3]  in  m      vertices [n_vertices]  in  the vertices to test, ascending
 * Errors: PD_ERROR_MEMORY, PD_INTERRUPTED. */
pd_status pd_smallest_gap(pd_gap *out, const double *points, const int *vertices, int n_vertices, const pd_simplices *simplices,
                          int threads, pd_interruption *interruption, pd_error *error);

#endif
