/* The matrix of the Projective Dynamics global step, with contact on it, and linear solvers over it. */
#ifndef PD_DYNAMICS_PROBLEM_GLOBAL_STEP_H
#define PD_DYNAMICS_PROBLEM_GLOBAL_STEP_H

#include "dynamics/problem/hessian_cg.h"
#include "dynamics/problem/hessian_factor.h"
#include "linear/linear_solver.h"

/* A = M/h^2 + sum w S^T S over all vertices, N/m; made on first use, owned by the problem. Errors: PD_ERROR_MEMORY, PD_ERROR_VALUE. */
pd_status pd_problem_system_matrix(const pd_problem *problem, const pd_csr **out);

/* A solver of A d = r over the free rows, three columns; with contact of (A + K) d = r, K of the pairs where pairs are last found:
 *
 *     Direct, PCG      their projected Hessians [Li et al. 2020, Sec. 4.2], as Newton's method has them. Direct factorises again whenever
 *                      pairs are found again, three rows a vertex, and where no pair is near has the factor of A, made once; PCG keeps the
 *                      blocks beside A, so that tangents stay as free as they are.
 *     the others       a diagonal above those (contact/potential/contact.h: pd_contact_bounds), since they sweep over A. It holds tangents
 *                      too, and what moves together, so they need more iterations.
 *
 * With rigid bodies, which Direct alone takes, A + K is that in the six numbers of rigid.h, whose arms turn: factorised again whenever it is
 * refreshed.
 *
 * Entries of a response (dynamics/response.h), such as W^T C W of springs, stand in the factors of Direct and Schur. The others have a
 * diagonal above them.
 *
 * No constant bounds a barrier's curvature, so no K makes a whole step safe: whoever minimises G goes along d by a line search. */
typedef struct pd_global_step {
    pd_linear *linear;         /* NULL with rigid bodies */
    pd_contact *contact;       /* of the problem; NULL: none, and what follows is used with rigid bodies alone */
    real *base;                /* B [nnz,3,3] A in blocks */
    pd_hessian_factor *factor; /* Direct */
    pd_hessian_cg *cg;         /* PCG */
    double tolerance;          /* of it */
    int most;                  /* iterations of it */
    double *bounds;            /* B [n] N/m, the others */
    pd_linear *alone;          /* A without contact, for products, where it was made from `sets` */
    int touched;               /* whether a pair is near, or a body is rigid: A alone is not what to solve with */
    int extra;                 /* the response of contact has entries of its own in the matrix (dynamics/response.h) */
    int exact;                 /* whether the solver takes these, and not a diagonal */
} pd_global_step;

/* `sets` [n_sets] or NULL: with their parameters instead of the problem's. Not prepared yet; after a failure destroy it too.
 * Errors: PD_ERROR_MEMORY, PD_ERROR_VALUE. */
pd_status pd_global_step_create(pd_global_step *self, const pd_problem *problem, const pd_linear_settings *settings,
                                const pd_element_set *sets);
void pd_global_step_destroy(pd_global_step *self, pd_context *context);
/* Factors and what else follows from A alone. */
pd_status pd_global_step_prepare(pd_global_step *self);
/* Whether a solve can be part of a graph: not with contact, whose lists may grow. */
int pd_global_step_capturable(const pd_global_step *self);

/* K of the pairs at x (B [n,3]), or the entries of the response at the last gradient; `rebuild`: in the first iteration of a step,
 * whole_hessian.h. Without contact and rigid bodies nothing. Memory: allocates nothing but for
 * growth and for what Direct factorises. Errors: PD_ERROR_SINGULAR, PD_ERROR_MEMORY. */
pd_status pd_global_step_refresh(pd_global_step *self, const pd_problem *problem, const real *x, int rebuild);
/* direction [n,3] from residual [n,3], both B. */
pd_status pd_global_step_solve(pd_global_step *self, const pd_problem *problem, real *residual, real *direction);
/* p . A p without contact, p B [n,3]: of one with contact that was made from `sets`. Waits; uses trial and scalars of the problem. */
pd_status pd_global_step_curvature(const pd_global_step *self, const pd_problem *problem, const real *p, double *curvature);

#endif
