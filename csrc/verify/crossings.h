/* Verification of the motion between two frames: every pair of simplices that touches while all vertices move along straight lines at
 * constant speed, decided exactly.
 *
 * Pairs are a vertex and a triangle, two edges, or a vertex and an edge without a triangle. Pairs with a common vertex always touch and
 * are skipped. They are not needed either: if neighbours fold onto each other, a vertex meets a triangle, or an edge an edge, without a
 * common vertex. Touching counts, times 0 and 1 count, and so do degenerate simplices. */
#ifndef PD_VERIFY_CROSSINGS_H
#define PD_VERIFY_CROSSINGS_H

#include "verify/intersections.h"

typedef struct pd_crossings {
    pd_pair_list vertex_triangle; /* (vertex, triangle), sorted */
    pd_pair_list edge_edge;       /* (edge, edge), i < j, sorted */
    pd_pair_list vertex_edge;     /* (vertex, edge), edges without a triangle, sorted */
    double *times[3];             /* per list: time of the first contact, in [0,1], at most 2^-52 early */
} pd_crossings;

/* All pairs that touch in [0,1].
 *   points_0, points_1 [n,3]  in  m     vertices [n_vertices]  in  the vertices to test, ascending    threads >= 1
 * Errors: PD_ERROR_MEMORY, PD_INTERRUPTED; PD_ERROR_UNSUPPORTED in a build without GMP. _free is allowed after zeroing, success or
 * failure. */
pd_status pd_crossings_find(pd_crossings *out, const double *points_0, const double *points_1, const int *vertices, int n_vertices,
                            const pd_simplices *simplices, int threads, pd_interruption *interruption, pd_error *error);
void pd_crossings_free(pd_crossings *crossings);

/* The time of the first contact of one pair; -1: no contact. x [8,3]: four points at time 0, then at time 1. */
double pd_vertex_triangle_contact(const double *x); /* vertex, corners of the triangle */
double pd_edge_edge_contact(const double *x);       /* ends of one edge, of the other */

/* vertex, ends of the edge: x [6,3], three points at time 0, then at time 1. */
double pd_vertex_edge_contact(const double *x);

#endif
