/* Conjugate gradients on the Hessian of the incremental potential: the inner solves of an inexact Newton method. */
#ifndef PD_DYNAMICS_HESSIAN_CG_H
#define PD_DYNAMICS_HESSIAN_CG_H

#include "dynamics/method.h"

typedef struct pd_hessian_cg pd_hessian_cg;

/* For the pattern and the preconditioner (settings.linear.block) of the simulation, whose pd_simulation_need_hessian has been called.
 * Errors: PD_ERROR_MEMORY. */
pd_status pd_hessian_cg_create(pd_hessian_cg **out, pd_simulation *simulation);
void pd_hessian_cg_destroy(pd_hessian_cg *self); /* NULL is allowed */

/* direction = an approximation of H^-1 gradient, both the simulation's, H its hessian_blocks plus `shift` [N/m] on the diagonal: at most
 * settings.linear.iterations from 0, up to |g - H d| <= tolerance |g|, or to the precision of the numbers.
 * *indefinite = 1 where a direction p has p.Hp <= 0 or the preconditioner is not positive definite: with give_up != 0 it ends there and
 * direction is not to be used; else direction is what had been reached, and M^-1 g if that is nothing [Nocedal and Wright 2006,
 * Algorithm 7.1]: in both cases of descent.
 * Memory: allocates nothing. */
pd_status pd_hessian_cg_solve(pd_hessian_cg *self, pd_simulation *simulation, double tolerance, double shift, int give_up, int *indefinite);

#endif
