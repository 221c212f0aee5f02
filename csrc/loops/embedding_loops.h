/* Loops over embedded points, y = W x; updates/contact/embedding_update.h has the work on one point or vertex. The rules of backend.h
 * hold. */
#ifndef PD_LOOPS_EMBEDDING_LOOPS_H
#define PD_LOOPS_EMBEDDING_LOOPS_H

#include "loops/proximity_loops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* W by rows, and by columns; all B. */
typedef struct pd_embedding {
    int n_points, n_vertices;
    const int *rows;     /* [n_points,4]  the vertices of a point; -1: none */
    const real *weights; /* [n_points,4] */
    const real *sizes;   /* [n_points]  sum of the |weights|: bound of a point's displacement relative to that of its vertices */
    const int *start;    /* [n_vertices+1]  of the points of a vertex */
    const int *points;   /* [start[n_vertices]]  ascending for each vertex */
    const real *shares;  /* the same length  its weight in each of them */
} pd_embedding;

/* out += W^T forces, for the free vertices of the model, projected on their lines and planes.
 *   forces  B [n_points,3]      out  B [n_vertices,3] */
pd_status pd_embedding_gather(pd_context *context, const pd_model *model, const pd_embedding *embedding, const real *forces, real *out);

/* out_a = sum over the points i of vertex a of |w_ia| size_i bounds_i: a diagonal upper bound of W^T diag(bounds) W, since (sum_a w_a
 * x_a)^2 <= sum_b |w_b| sum_a |w_a| x_a^2; 0 at fixed vertices.
 *   bounds  B [n_points] double      out  B [n_vertices] double */
pd_status pd_embedding_bounds(pd_context *context, const pd_model *model, const pd_embedding *embedding, const double *bounds, double *out);

/* The displacement bound of each vertex, for any moves of the others within theirs: the minimum of reach_i / size_i over its points. And
 * its contact flag, which stays set once one of its points is in contact.
 *   of_points  B [n_points] m      marks  B [n_points]      bound  B [n_vertices]  out  m      touching  B [n_vertices]  in/out */
pd_status pd_embedding_displacement_bounds(pd_context *context, const pd_embedding *embedding, const real *of_points,
                                           const unsigned char *marks, real *bound, unsigned char *touching);

#ifdef __cplusplus
}
#endif

#endif
