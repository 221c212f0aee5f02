/* The backtracking line search of Newton and quasi-Newton, and of whoever minimises G in contact. */
#ifndef PD_DYNAMICS_PROBLEM_LINE_SEARCH_H
#define PD_DYNAMICS_PROBLEM_LINE_SEARCH_H

#include "dynamics/method.h"

/* What a step must do where it changes the potential by no more than rounding. */
enum {
    PD_NEAR_GRADIENT_NORM, /* lower the gradient norm by a tenth: for steps that converge faster than linearly, and end where they cannot */
    PD_NEAR_SLOPE          /* the approximate Wolfe condition: for steps that may raise that norm on their way */
};

/* Halves alpha from 1 on until x - alpha d lowers the potential, d = iterate->direction, and scales d by alpha, which is what the frame
 * subtracts. iterate->gradient must be that at x. iterate->stalled = 1 where 50 halvings found no decrease; d is left as it was then.
 * Armijo's condition with 1e-4 [Nocedal and Wright 2006, Eq. 3.4] decides as long as the potential resolves it. Below that
 * (pd_rounding_of_potential) the gradient at the trial point does, by `near`: PD_NEAR_SLOPE asks for g(x - alpha d).d >= -0.8 g(x).d, which
 * for a potential that is quadratic along d is Armijo's condition with 0.1 [Hager and Zhang 2005, approximate Wolfe conditions].
 * Under a barrier and with PD_NEAR_GRADIENT_NORM, alpha = 2 is taken where alpha = 1 lowers the potential by more than the quadratic model
 * predicts, alpha = 2 lowers it further, and nothing touches on the way.
 * With contact it begins at the part of d that touches nothing (pd_contact_limit) instead of 1, and leaves that in iterate->limit, and
 * alpha in iterate->part.
 * Friction is told where the first trial led (pd_contact_try_slips), since a shortened step does not show that a slip would reverse.
 * Memory: allocates nothing; uses trial, trial_offset, trial_gradient and scalars of the problem. */
pd_status pd_line_search(const pd_problem *problem, pd_iterate *iterate, int near);

/* x, offset = where alpha of iterate->direction leads, bit by bit where the frame will have it. They may be those of the iterate.
 * Uses trial_gradient. */
pd_status pd_point_along(const pd_problem *problem, const pd_iterate *iterate, double alpha, real *x, real *offset);

/* direction = alpha direction. Uses trial. */
pd_status pd_direction_scale(const pd_problem *problem, pd_iterate *iterate, double alpha);

#endif
