/* Conjugate gradients on the Hessian of the incremental potential: the inner solves of an inexact Newton method. */
#ifndef PD_DYNAMICS_PROBLEM_HESSIAN_CG_H
#define PD_DYNAMICS_PROBLEM_HESSIAN_CG_H

#include "dynamics/method.h"
#include "dynamics/problem/hessian_factor.h"

typedef struct pd_hessian_cg pd_hessian_cg;

/* The end of a solve. */
typedef struct pd_hessian_cg_end {
    int indefinite, converged; /* below; converged: the residual is within the tolerance */
    int iterations;            /* an upper bound if the device ends them between two reads */
} pd_hessian_cg_end;

/* For the pattern of the problem, after pd_problem_need_hessian, and the preconditioner of `settings`. With a factor, which may be NULL
 * and is borrowed, this is the preconditioner, and the operator is the assembled Hessian (assembled_hessian.h), whose pattern must exist.
 * Errors: PD_ERROR_MEMORY. */
pd_status pd_hessian_cg_create(pd_hessian_cg **out, const pd_problem *problem, const pd_linear_settings *settings,
                               pd_hessian_factor *factor);
/* Tells whether a solve needs the assembled Hessian: where pd_problem_needs_assembled does, with a factor, and in contact for a preconditioner
 * that reads the entries. */
int pd_hessian_cg_is_assembled(const pd_hessian_cg *self);
void pd_hessian_cg_destroy(pd_hessian_cg *self); /* NULL is allowed */
/* A step begins: its preconditioner shall not depend on earlier ones. NULL is allowed. */
void pd_hessian_cg_begin(pd_hessian_cg *self);

/* When a solve gives up: never, at negative curvature, or also where half of the iterations have reduced the residual by less than half of
 * the digits. */
enum { PD_CG_GOES_ON, PD_CG_GIVES_UP, PD_CG_GIVES_UP_SLOW };

/* correction = an approximation of H^-1 gradient, both the iterate's. H is the problem's hessian->blocks, or with rigid bodies those of
 * rigid.h, which include contact pairs, plus `shift` [N/m] on the diagonal. At most `most` iterations from 0, up to |g - H d| <=
 * tolerance |g|, or to the precision of the numbers. end->indefinite = 1 after a correction p with p.Hp <= 0, or if the preconditioner is
 * not positive definite. With give_up != 0 the solve then ends and correction is invalid. Otherwise correction is the last iterate, or
 * M^-1 g if that is zero [Nocedal and Wright 2006, Algorithm 7.1]: both are descent directions.
 * Memory: allocates only for growth. */
pd_status pd_hessian_cg_solve(pd_hessian_cg *self, const pd_iterate *iterate, double tolerance, int most, double shift, int give_up,
                              pd_hessian_cg_end *end);

/* product = H v, both B [n,3], with the present hessian->blocks of the problem, or its assembled Hessian if that is used. v is read at
 * the free vertices, and the product is 0 at the others. Memory: as above. */
pd_status pd_hessian_cg_multiply(pd_hessian_cg *self, const real *v, real *product);

#endif
