/* The matrix of the Projective Dynamics global step, with contact on it, and linear solvers over it. */
#ifndef PD_DYNAMICS_PROBLEM_GLOBAL_STEP_H
#define PD_DYNAMICS_PROBLEM_GLOBAL_STEP_H

#include "dynamics/problem/hessian_cg.h"
#include "dynamics/problem/hessian_factor.h"
#include "linear/linear_solver.h"

/* A = M/h^2 + sum w S^T S over all vertices, N/m; made on first use, owned by the problem. Errors: PD_ERROR_MEMORY, PD_ERROR_VALUE. */
pd_status pd_problem_system_matrix(const pd_problem *problem, const pd_csr **out);

/* A solver of A d = r over the free rows, three columns; with contact of (A + K) d = r, K of the pairs of the last detection:
 *
 *     Direct, PCG      their projected Hessians [Li et al. 2020, Sec. 4.2], as in Newton's method. Direct factorises again after every
 *                      detection of pairs, three rows per vertex; without pairs it uses the factor of A, made once. PCG keeps the blocks
 *                      separate from A, so that tangential motion stays free.
 *     the others       a diagonal upper bound of those (contact/potential/contact.h: pd_contact_bounds), since they sweep over A. It also
 *                      resists tangential and common motion, so they need more iterations.
 *
 * With rigid bodies, which only Direct supports, A + K is in the six numbers of rigid.h, whose arms rotate: every refresh factorises
 * again.
 *
 * The factors of Direct and Schur contain the entries of a response (dynamics/response.h), such as W^T C W of springs. The others use a
 * diagonal upper bound.
 *
 * No constant bounds a barrier's curvature, so no K makes a whole step safe: a method that minimises G needs a line search along d. */
typedef struct pd_global_step {
    pd_linear *linear;         /* NULL with rigid bodies */
    pd_contact *contact;       /* of the problem; NULL: none, and the following is used with rigid bodies only */
    real *base;                /* B [nnz,3,3] A in blocks */
    pd_hessian_factor *factor; /* Direct */
    pd_hessian_cg *cg;         /* PCG */
    double tolerance;          /* of it */
    int most;                  /* iterations of it */
    const real *x;             /* B [n,3] where the pairs were found, borrowed */
    double *bounds;            /* B [n] N/m, the others */
    pd_linear *alone;          /* A without contact, for products, if it was made from `sets` */
    int touched;               /* there are neighbour pairs or rigid bodies: A is not the matrix of the solve */
    int extra;                 /* the response of contact has its own entries in the matrix (dynamics/response.h) */
    int exact;                 /* the solver takes these, and not a diagonal */
} pd_global_step;

/* `sets` [n_sets] or NULL: its parameters replace the problem's. Not prepared yet; destroy it also after a failure. Errors:
 * PD_ERROR_MEMORY, PD_ERROR_VALUE. */
pd_status pd_global_step_create(pd_global_step *self, const pd_problem *problem, const pd_linear_settings *settings,
                                const pd_element_set *sets);
void pd_global_step_destroy(pd_global_step *self, pd_context *context);
/* Factors and other data that depend on A only. */
pd_status pd_global_step_prepare(pd_global_step *self);
/* Tells whether a graph can contain a solve: not with contact, whose lists may grow. */
int pd_global_step_capturable(const pd_global_step *self);

/* K of the pairs at x (B [n,3]), or the entries of the response at the last gradient; `rebuild`: in the first iteration of a step,
 * assembled_hessian.h. Has no effect without contact and rigid bodies. Memory: allocates only for growth and for factorisations of Direct.
 * Errors: PD_ERROR_SINGULAR, PD_ERROR_MEMORY. */
pd_status pd_global_step_refresh(pd_global_step *self, const pd_problem *problem, const real *x, int rebuild);
/* correction [n,3] from residual [n,3], both B. */
pd_status pd_global_step_solve(pd_global_step *self, const pd_problem *problem, real *residual, real *correction);
/* p . A p without contact, p B [n,3]: for a step with contact that was made from `sets`. Synchronises; uses trial and scalars of the
 * problem. */
pd_status pd_global_step_curvature(const pd_global_step *self, const pd_problem *problem, const real *p, double *curvature);

#endif
