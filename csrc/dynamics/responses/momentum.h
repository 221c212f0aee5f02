/* Linear momentum in contact by projections. The contact terms of the matrix bound the curvature of the pairs from above, and some of
 * them resist a common motion that the pairs themselves do not resist. So iterations that end early leave a wrong momentum. A coarse
 * correction removes it: one translation for each group of free parts, by a Newton step of G in these translations only.
 *
 *     part     vertices connected by elements; it is free if it has no fixed vertex and no element ties it to a place
 *     group    free parts that press on each other at x
 *     (sum m/h^2 I + sum k beta^2 n n^T) s = - sum dG/dx,   the second sum over the pairs between the group and anything else
 *
 * All forces inside a group sum to zero. So only the outer forces change its momentum, along every direction without an outer pair. */
#ifndef PD_DYNAMICS_RESPONSES_MOMENTUM_H
#define PD_DYNAMICS_RESPONSES_MOMENTUM_H

#include "contact/projective/projective.h"
#include "dynamics/problem/problem.h"

typedef struct pd_momentum pd_momentum;

/* NULL without a free part. Errors: PD_ERROR_MEMORY. */
pd_status pd_momentum_create(pd_momentum **out, const pd_problem *problem);
void pd_momentum_destroy(pd_momentum *self); /* NULL is allowed */

/* The translations at x and offset, B [n_vertices,3], from the pairs of the last freeze: those with a force, or with `near` all of them.
 * *largest: the largest component, m; NaN if one is.
 *   shift  B [n_vertices,3]  out  m
 * Synchronises. Errors: PD_ERROR_MEMORY. */
pd_status pd_momentum_shift(pd_momentum *self, const pd_problem *problem, pd_projective *projective, const real *x, const real *offset,
                            int near, real *shift, double *largest);

#endif
