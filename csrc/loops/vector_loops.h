/* The loops over the coordinates of vectors. The rules of backend.h hold. */
#ifndef PD_LOOPS_VECTOR_LOOPS_H
#define PD_LOOPS_VECTOR_LOOPS_H

#include "loops/element_loops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* out = sum x_i y_i over 3n numbers, in double. */
pd_status pd_dot(pd_context *context, const pd_model *model, const real *x, const real *y, double *out /* B */);

/* Nonlinear conjugate gradients: p = z + beta p, and d = alpha p, over 3n numbers; beta and alpha from sums [PD_CONJUGATE_COUNT]  B, as
 * in updates/conjugate_factors.h. */
pd_status pd_conjugate_redirect(pd_context *context, const pd_model *model, const double *sums, const real *z, real *p);
pd_status pd_conjugate_scale(pd_context *context, const pd_model *model, const double *sums, const real *p, real *d);

/* v_i <- P_i v_i for the n rows of v [n,3], P the projectors on the lines and planes of vertices.
 *   subspace  B [n,3,3] */
pd_status pd_project(pd_context *context, int n, const real *subspace, real *v);

/* index = first vertex with a non-finite coordinate, or -1. */
pd_status pd_find_not_finite(pd_context *context, const pd_model *model, const real *x, int *index /* H */);

#ifdef __cplusplus
}
#endif

#endif
