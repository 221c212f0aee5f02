/* The global step of Projective Dynamics with a Schur complement on the contact region [Wang et al. 2021, Algorithm 1]. Between the two
 * triangular solves, the main cost of a global step, the elements in the region are projected, proxies detected and the small dense
 * system solved again, `inner` times in all. */
#ifndef PD_DYNAMICS_METHODS_SCHUR_STEP_H
#define PD_DYNAMICS_METHODS_SCHUR_STEP_H

#include "dynamics/problem/problem.h"
#include "linear/linear_solver.h"

typedef struct pd_schur_step pd_schur_step;

/* `linear`, of kind PD_LINEAR_SCHUR with its `in_contact` H [n], is borrowed. Nothing is factorised. With proxies the active ones after a
 * solve are those of its last inner iteration. Errors: PD_ERROR_MEMORY. */
pd_status pd_schur_step_create(pd_schur_step **out, const pd_problem *problem, pd_linear *linear, const unsigned char *in_contact,
                               int inner);
void pd_schur_step_destroy(pd_schur_step *self, pd_context *context); /* NULL is allowed */

/* As in pd_method; also updates the copy in its own model. */
pd_status pd_schur_step_set_targets(pd_schur_step *self, const pd_problem *problem, int first, int n, const real *rows);

/* correction [n,3] from gradient = dG/dx at x, all B [n,3]. With inner = 1 it is that of the linear solver. */
pd_status pd_schur_step_solve(pd_schur_step *self, const pd_problem *problem, const real *x, const real *gradient, real *correction);

#endif
