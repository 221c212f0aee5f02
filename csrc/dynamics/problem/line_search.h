/* The backtracking line search of Newton, quasi-Newton, and other methods that minimise G in contact. */
#ifndef PD_DYNAMICS_PROBLEM_LINE_SEARCH_H
#define PD_DYNAMICS_PROBLEM_LINE_SEARCH_H

#include "dynamics/method.h"

/* The criterion for a step that changes the potential by no more than rounding. */
enum {
    PD_NEAR_GRADIENT_NORM, /* the gradient norm falls by a tenth: for superlinear convergence, which ends at the limit of precision */
    PD_NEAR_SLOPE          /* the approximate Wolfe condition: for steps that may temporarily raise that norm */
};

/* Halves alpha from 1 on until x - alpha d lowers the potential, d = iterate->correction, and scales d by alpha, as the frame subtracts
 * d. iterate->gradient must be that at x. iterate->stalled = 1 if 50 halvings found no decrease; d is then unchanged.
 *
 * Armijo's condition with 1e-4 [Nocedal and Wright 2006, Eq. 3.4] decides while the potential resolves it. Below that
 * (pd_rounding_of_potential) the gradient at the trial point decides, by `near`. PD_NEAR_SLOPE requires g(x - alpha d).d >= -0.8 g(x).d,
 * which for a potential that is quadratic along d is Armijo's condition with 0.1 [Hager and Zhang 2005, approximate Wolfe conditions].
 *
 * Under a barrier and with PD_NEAR_GRADIENT_NORM, alpha = 2 is taken if alpha = 1 lowers the potential by more than the quadratic model
 * predicts, alpha = 2 lowers it further, and the path is free of contact. With contact, or tets that must not invert, the search begins at
 * the free fraction of d (pd_path_limit) instead of 1, which is stored in iterate->limit, and alpha in iterate->fraction. Friction gets the end of the first
 * trial (pd_contact_try_slips), since a shortened step does not show that a slip would reverse.
 * Memory: allocates nothing; uses trial, trial_offset, trial_gradient and scalars of the problem. */
pd_status pd_line_search(const pd_problem *problem, pd_iterate *iterate, int near);

/* The same along another correction from the same x, after a search that stalled: iterate->potential is known. */
pd_status pd_line_search_again(const pd_problem *problem, pd_iterate *iterate, int near);

/* x, offset = the end of alpha times iterate->correction, with the rounding of the frame. They may be those of the iterate. Uses
 * trial_gradient. */
pd_status pd_point_along(const pd_problem *problem, const pd_iterate *iterate, double alpha, real *x, real *offset);

/* correction = alpha correction. Uses trial. */
pd_status pd_direction_scale(const pd_problem *problem, pd_iterate *iterate, double alpha);

#endif
