/* A method with a function of the caller as its iteration: the function, and its queries of the present step. A solver in Python
 * (pdgpu.CustomSolver) and one of the C interface (pdgpu_functions) are this method with their own functions.
 *
 *     each step: begin { iterate { potential, gradient, .., move } }
 *
 * The functions run on the thread that called pd_simulation_step, outside parallel regions and within the timing. */
#ifndef PD_DYNAMICS_CALLBACK_H
#define PD_DYNAMICS_CALLBACK_H

#include "dynamics/method.h"

/* The present step in the view of a function, valid during its call. */
typedef struct pd_callback_step {
    void *memory; /* of the method */
    const pd_problem *problem;
    pd_iterate *iterate;
} pd_callback_step;

typedef struct pd_callback {
    void *user;
    /* Called before iteration 0 of a step, after the first guess, and again when contact begins another pass of iterations. NULL: none.
     * A failure of either ends the step with its status and restores the state. */
    pd_status (*begin)(void *user, pd_callback_step *step);
    pd_status (*iterate)(void *user, pd_callback_step *step);
} pd_callback;

/* All vectors are H [n,3]. x NULL: the iterate. Rows of fixed vertices in x are used as given. An offset x - y is that of the iterate
 * plus the difference of x, which loses no digits. Errors of all: those of a device, PD_ERROR_MEMORY. */

pd_status pd_callback_positions(const pd_callback_step *step, real *x);
/* x_t, and y = x_t + h v + h^2 a. */
pd_status pd_callback_start(const pd_callback_step *step, real *x);
pd_status pd_callback_inertial_target(const pd_callback_step *step, real *y);

pd_status pd_callback_potential(pd_callback_step *step, const real *x, double *potential);
pd_status pd_callback_gradient(pd_callback_step *step, const real *x, real *gradient);
/* The Hessian on *pattern, in blocks [nnz,3,3], H; valid until the next call. Rows of fixed vertices have their blocks. */
pd_status pd_callback_hessian(pd_callback_step *step, const real *x, pd_hessian_filter filter, const pd_csr **pattern, const real **blocks);
/* product = H v over the free vertices, 0 at fixed ones. The first of several products at the iterate computes H. */
pd_status pd_callback_product(pd_callback_step *step, const real *v, const real *x, pd_hessian_filter filter, real *product);
/* The diagonal of the Hessian, N/m. */
pd_status pd_callback_diagonal(pd_callback_step *step, const real *x, pd_hessian_filter filter, real *diagonal);

/* The right-hand side of the global step of Projective Dynamics at x, b = A x - dG/dx at the free vertices, x at the fixed ones. Without
 * contact it is M/h^2 y + sum w S^T T. Errors: PD_ERROR_TYPE for a material without a projection, and for vertices that slide. */
pd_status pd_callback_local_step(pd_callback_step *step, const real *x, real *b);
/* u = A^-1 b with the rows and columns of fixed vertices those of the identity: u = b there. With vertices that slide P A P u = P b. The
 * first call makes the factor, which counts as setup (pd_iterate.setup). Errors: PD_ERROR_SINGULAR, PD_ERROR_UNSUPPORTED. */
pd_status pd_callback_global_solve(pd_callback_step *step, const real *b, real *u);

/* The fraction of the move d from the iterate that the step limiter allows; 1 without contact. */
pd_status pd_callback_limit(pd_callback_step *step, const real *d, double *part);
/* The fraction of d by pd_line_search with PD_NEAR_SLOPE; 0 without a decrease, and for a zero d or gradient.
 * Errors: PD_ERROR_VALUE if d is no descent direction. */
pd_status pd_callback_line_search(pd_callback_step *step, const real *d, double *part);
/* Moves the iterate by fraction d at its free vertices, within the step limit: *gone d. Results of limit and line_search for the same d
 * are reused.
 * Errors: PD_ERROR_VALUE for a negative fraction, PD_ERROR_NOT_FINITE for one that is not finite, and for a row of d. */
pd_status pd_callback_move(pd_callback_step *step, const real *d, double fraction, double *gone);

#endif
