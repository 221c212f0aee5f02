/* The backtracking line search; see line_search.h. */
#include "dynamics/problem/line_search.h"

#include "contact/potential/contact.h"
#include "dynamics/problem/path.h"
#include "dynamics/problem/potential.h"
#include "dynamics/problem/rounding.h"
#include "dynamics/response.h"
#include "dynamics/rigid/rigid.h"

enum { MAX_HALVINGS = 50 };

/* rad; the path of a body that makes half a turn or more is not determined by its ends. */
static const double LARGEST_TURN = 1.0;

/* Tells whether the trial point x - alpha d is better by its gradient. */
static pd_status better_by_gradient(const pd_problem *problem, const pd_iterate *iterate, int near, double slope, double gradient_norm,
                                    int *better) {
    pd_status status = PD_OK;
    double trial;
    PD_TRY(pd_problem_gradient(problem, problem->trial, problem->trial_offset, problem->trial_gradient));
    if (near == PD_NEAR_SLOPE) {
        PD_TRY(pd_problem_product(problem, problem->trial_gradient, iterate->correction, &trial));
        *better = trial >= -0.8 * slope;
    } else {
        PD_TRY(pd_problem_norm(problem, problem->trial_gradient, &trial));
        *better = trial < 0.9 * gradient_norm;
        // far from the origin the rounding of G may hide an impact, where the gradient norm may grow
        if (!*better && problem->contact && gradient_norm > pd_rounding_of_gradient(problem, problem->trial)) {
            PD_TRY(pd_problem_product(problem, problem->trial_gradient, iterate->correction, &trial));
            *better = fabs(trial) <= 0.8 * slope;
        }
    }
done:
    return status;
}

pd_status pd_point_along(const pd_problem *problem, const pd_iterate *iterate, double alpha, real *x, real *offset) {
    const real *correction = iterate->correction;
    pd_status status = PD_OK;
    if (problem->rigid) { // on an arc
        status = pd_memory_copy(problem->context, problem->trial_gradient, correction, pd_problem_bytes(problem));
        if (!status) status = pd_rigid_spread(problem, iterate->x, alpha, problem->trial_gradient);
        correction = problem->trial_gradient;
    }
    if (!status) status = pd_add_scaled(problem->context, problem->model, iterate->offset, -alpha, correction, offset);
    if (status) return status;
    if (problem->contact) return pd_add_scaled(problem->context, problem->model, iterate->x, -alpha, correction, x);
    return pd_place_at_offset(problem->context, problem->model, &problem->step, iterate->x, offset, x);
}

/* A barrier is nearly cubic in the depth below its activation distance. A Newton step halves the depth then, and lowers G by 7/6 of the
 * decrease of the quadratic model; the double step ends at the activation distance. MORE_THAN_PREDICTED distinguishes such steps. */
static const double LONGER = 2.0, MORE_THAN_PREDICTED = 1.05;

/* problem->trial, with contact: the end of the whole correction, or of the part that rotates no body by more than LARGEST_TURN. */
static pd_status first_point(const pd_problem *problem, const pd_iterate *iterate, double *alpha) {
    pd_status status = PD_OK;
    double turn;
    *alpha = 1.0;
    if (!problem->rigid) return pd_add_scaled(problem->context, problem->model, iterate->x, -1.0, iterate->correction, problem->trial);
    PD_TRY(pd_rigid_largest_turn(problem, iterate->correction, &turn));
    if (turn > LARGEST_TURN) *alpha = LARGEST_TURN / turn;
    PD_TRY(pd_point_along(problem, iterate, *alpha, problem->trial, problem->trial_offset));
done:
    return status;
}

/* *alpha = LONGER, if the whole correction, with the potential `trial`, was too short, and contact and rotating bodies allow it. */
static pd_status lengthen(const pd_problem *problem, const pd_iterate *iterate, double trial, double *alpha) {
    pd_status status = PD_OK;
    double fraction, potential, turn = 0.0;
    if (problem->rigid) PD_TRY(pd_rigid_largest_turn(problem, iterate->correction, &turn));
    if (LONGER * turn > LARGEST_TURN) return PD_OK;
    PD_TRY(pd_point_along(problem, iterate, LONGER, problem->trial, problem->trial_offset));
    PD_TRY(pd_problem_potential(problem, problem->trial, problem->trial_offset, &potential, NULL));
    if (!(potential < trial)) return PD_OK; // tested first, since it takes less work than a time of impact
    PD_TRY(pd_path_limit(problem, iterate->x, problem->trial, 0, &fraction));
    if (fraction >= 1.0) *alpha = LONGER;
done:
    return status;
}

/* From the potential of the iterate. */
static pd_status search(const pd_problem *problem, pd_iterate *iterate, int near) {
    pd_status status = PD_OK;
    double slope, gradient_norm, alpha = 1.0;
    int lengthens = problem->response->lengthens;
    const double start = iterate->potential, rounding = pd_rounding_of_potential(problem, iterate->magnitude);
    PD_TRY(pd_problem_norm(problem, iterate->gradient, &gradient_norm));
    PD_TRY(pd_problem_product(problem, iterate->gradient, iterate->correction, &slope));
    iterate->stalled = 1;
    if (problem->contact || problem->model->is_oriented) { // within the step limit
        double fraction;
        PD_TRY(first_point(problem, iterate, &alpha));
        PD_TRY(pd_path_limit(problem, iterate->x, problem->trial, 0, &fraction));
        iterate->limit = alpha *= fraction;
        iterate->cut = fraction < 1.0;
        if (!(alpha > 0.0)) return PD_OK;
    }
    for (int k = 0; k < MAX_HALVINGS; k++, alpha *= 0.5) {
        double trial;
        PD_TRY(pd_point_along(problem, iterate, alpha, problem->trial, problem->trial_offset));
        PD_TRY(pd_problem_potential(problem, problem->trial, problem->trial_offset, &trial, NULL));
        if (k == 0 && problem->contact) PD_TRY(pd_contact_try_slips(problem->contact, problem->trial));
        int better = trial <= start - 1e-4 * alpha * slope && start - trial > rounding;
        if (!better && fabs(trial - start) <= rounding) PD_TRY(better_by_gradient(problem, iterate, near, slope, gradient_norm, &better));
        if (better) {
            int more = start - trial > fmax(0.5 * MORE_THAN_PREDICTED * slope, rounding);
            iterate->stalled = 0;
            if (lengthens && near == PD_NEAR_GRADIENT_NORM && alpha == 1.0 && more) PD_TRY(lengthen(problem, iterate, trial, &alpha));
            break;
        }
    }
    iterate->fraction = alpha;
    // the frame subtracts the correction: scale it by alpha
    if (!iterate->stalled && alpha != 1.0) PD_TRY(pd_direction_scale(problem, iterate, alpha));
done:
    return status;
}

pd_status pd_line_search(const pd_problem *problem, pd_iterate *iterate, int near) {
    pd_status status = pd_iterate_potential(problem, iterate);
    return status ? status : search(problem, iterate, near);
}

pd_status pd_line_search_again(const pd_problem *problem, pd_iterate *iterate, int near) {
    pd_context_tally(problem->context)->potentials++; // as in pd_iterate_potential
    return search(problem, iterate, near);
}

pd_status pd_direction_scale(const pd_problem *problem, pd_iterate *iterate, double alpha) {
    pd_status status = pd_memory_clear(problem->context, problem->trial, pd_problem_bytes(problem));
    if (status) return status;
    return pd_add_scaled(problem->context, problem->model, problem->trial, alpha, iterate->correction, iterate->correction);
}
