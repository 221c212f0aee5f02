/* Conjugate gradients on the Hessian of the incremental potential: the inner solves of an inexact Newton method. */
#ifndef PD_DYNAMICS_PROBLEM_HESSIAN_CG_H
#define PD_DYNAMICS_PROBLEM_HESSIAN_CG_H

#include "dynamics/method.h"
#include "dynamics/problem/hessian_factor.h"

typedef struct pd_hessian_cg pd_hessian_cg;

/* How a solve ended. */
typedef struct pd_hessian_cg_end {
    int indefinite, converged; /* below; whether the residual is within the tolerance */
    int iterations;            /* an upper bound where the device ends them between two looks */
} pd_hessian_cg_end;

/* For the pattern of the problem, whose pd_problem_need_hessian has been called, and the preconditioner of `settings`. factor, may be NULL:
 * it is the preconditioner, and the operator the whole Hessian (whole_hessian.h), whose pattern is there; it is borrowed.
 * Errors: PD_ERROR_MEMORY. */
pd_status pd_hessian_cg_create(pd_hessian_cg **out, const pd_problem *problem, const pd_linear_settings *settings,
                               pd_hessian_factor *factor);
void pd_hessian_cg_destroy(pd_hessian_cg *self); /* NULL is allowed */

/* direction = an approximation of H^-1 gradient, both the iterate's, H the problem's hessian->blocks, or with rigid bodies those of
 * rigid.h, in which pairs in contact are, plus `shift` [N/m] on the diagonal: at most `most` iterations from 0, up to |g - H d| <=
 * tolerance |g|, or to the precision of the numbers. end->indefinite = 1 where a direction p has p.Hp <= 0 or the preconditioner is not
 * positive definite: with give_up != 0 it ends there and direction is not to be used; else direction is what had been reached, and M^-1 g
 * if that is nothing [Nocedal and Wright 2006, Algorithm 7.1]: in both cases of descent.
 * Memory: allocates nothing but for growth. */
pd_status pd_hessian_cg_solve(pd_hessian_cg *self, const pd_iterate *iterate, double tolerance, int most, double shift, int give_up,
                              pd_hessian_cg_end *end);

/* product = H v, both B [n,3], H as the problem's hessian->blocks, or its whole Hessian where that is wanted, stand now. v counts at the
 * free vertices, and the product is 0 at the others. Memory: as above. */
pd_status pd_hessian_cg_multiply(pd_hessian_cg *self, const real *v, real *product);

#endif
