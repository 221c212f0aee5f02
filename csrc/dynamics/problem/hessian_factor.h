/* A sparse Cholesky factor of the assembled Hessian (assembled_hessian.h), or of its replacement, over the free vertices. */
#ifndef PD_DYNAMICS_PROBLEM_HESSIAN_FACTOR_H
#define PD_DYNAMICS_PROBLEM_HESSIAN_FACTOR_H

#include "dynamics/problem/problem.h"

typedef struct pd_hessian_factor pd_hessian_factor;

/* Analyses the pattern of the elements; requires pd_problem_need_hessian. Errors: PD_ERROR_MEMORY, PD_ERROR_VALUE. */
pd_status pd_hessian_factor_create(pd_hessian_factor **out, const pd_problem *problem);
void pd_hessian_factor_destroy(pd_hessian_factor *self); /* NULL is allowed */

/* Factorises problem->assembled + shift I, or that of problem->rigid, after an analysis of its pattern if that has changed. `sure`: it
 * should be positive definite.
 * Errors: PD_ERROR_SINGULAR; with `sure` error->vertex is the vertex of the row that is not positive; PD_ERROR_MEMORY. */
pd_status pd_hessian_factor_update(pd_hessian_factor *self, const pd_problem *problem, double shift, int sure);
/* The sum of the absolute values on the diagonal of the last update, N/m. */
double pd_hessian_factor_trace(const pd_hessian_factor *self);
/* The number of iterations of conjugate gradients, preconditioned by the last factor, that cost as much as another factorisation. */
int pd_hessian_factor_worth(const pd_hessian_factor *self);
/* The number of iterations, preconditioned by 3x3 blocks, that cost as much as a factorisation on the pattern of the last analysis. */
int pd_hessian_factor_products(const pd_hessian_factor *self, const pd_problem *problem);
/* correction = H^-1 residual, B [n,3], 0 at fixed vertices. The host's factor synchronises. */
pd_status pd_hessian_factor_solve(pd_hessian_factor *self, const pd_problem *problem, const real *residual, real *correction);

#endif
