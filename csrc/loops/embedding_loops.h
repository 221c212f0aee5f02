/* Loops over points that vertices carry along, y = W x; what one of them does with one point or vertex stands in
 * updates/contact/embedding_update.h. The rules of backend.h hold. */
#ifndef PD_LOOPS_EMBEDDING_LOOPS_H
#define PD_LOOPS_EMBEDDING_LOOPS_H

#include "loops/proximity_loops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* W by rows, and by columns; all B. */
typedef struct pd_embedding {
    int n_points, n_vertices;
    const int *rows;     /* [n_points,4]  vertices that carry a point; -1: none */
    const real *weights; /* [n_points,4] */
    const real *sizes;   /* [n_points]  sum of the |weights|: so many times farther than its vertices a point may go */
    const int *start;    /* [n_vertices+1]  of the points that a vertex carries */
    const int *points;   /* [start[n_vertices]]  ascending for each vertex */
    const real *shares;  /* the same length  its weight in each of them */
} pd_embedding;

/* out += W^T forces, for the free vertices of the model, in the subspace they are held in.
 *   forces  B [n_points,3]      out  B [n_vertices,3] */
pd_status pd_embedding_gather(pd_context *context, const pd_model *model, const pd_embedding *embedding, const real *forces, real *out);

/* out_a = sum over the points i of vertex a of |w_ia| size_i bounds_i: as a diagonal matrix nowhere below W^T diag(bounds) W, since
 * (sum_a w_a x_a)^2 <= sum_b |w_b| sum_a |w_a| x_a^2; 0 for what is fixed.
 *   bounds  B [n_points] double      out  B [n_vertices] double */
pd_status pd_embedding_bounds(pd_context *context, const pd_model *model, const pd_embedding *embedding, const double *bounds, double *out);

/* How far each vertex can go so that no point goes farther than its own reach, whatever the other vertices do within theirs: the least of
 * reach_i / size_i; and whether one of its points touches: it stays so.
 *   of_points  B [n_points] m      marks  B [n_points]      reach  B [n_vertices]  out  m      touching  B [n_vertices]  in/out */
pd_status pd_embedding_reaches(pd_context *context, const pd_embedding *embedding, const real *of_points, const unsigned char *marks,
                               real *reach, unsigned char *touching);

#ifdef __cplusplus
}
#endif

#endif
