/* Newton's method on the incremental potential, with a sparse Cholesky factor or conjugate gradients, and a backtracking line search.
 *
 * The Hessian is factorised as it is; only where its Cholesky fails are the elements' Hessians projected to be positive
 * semidefinite, since projection alone is only linearly convergent where an element's Hessian stays indefinite at the minimum. With contact
 * an iteration or two after that begin with the projected ones.
 * Near the minimum the potential no longer resolves a decrease: a step that changes it by no more than rounding is
 * taken if it lowers the gradient norm by a tenth, so the iteration goes on down to the floor of the gradient and ends there.
 *
 * Friction has its secant matrix where the slip of a pair has reversed in the iteration before: the line search would otherwise shorten the
 * steps of all vertices for the sake of a few that slip to and fro.
 *
 * Conjugate gradients (inexact Newton) follow the same rule: where they meet negative curvature in the full Hessian they start anew
 * with the projected one, and where even that is singular with a shift on its diagonal. Where the tolerance is left to this method it is
 * the forcing term min(0.01, sqrt(|g| / |g_0|)): superlinear convergence [Nocedal and Wright 2006, Theorem 7.2]. */
#include "contact/potential/contact.h"
#include "dynamics/problem/block_hessian.h"
#include "dynamics/problem/hessian_cg.h"
#include "dynamics/problem/hessian_factor.h"
#include "dynamics/problem/line_search.h"
#include "dynamics/problem/potential.h"
#include "dynamics/problem/rounding.h"
#include "dynamics/problem/whole_hessian.h"
#include "dynamics/rigid/rigid.h"

#include <stdlib.h>

enum { MAX_SHIFTS = 8, LONGEST_PAUSE = 2 };

typedef struct settings {
    int line_search;
    pd_linear_settings linear; /* direct or conjugate gradients */
} settings;

static const pd_option options[] = {PD_FLAG(settings, line_search), PD_LINEAR(settings, linear), PD_OPTIONS_END};

typedef struct pd_newton {
    settings settings;
    int n_free;
    pd_hessian_factor *factor; /* one of the two */
    pd_hessian_cg *cg;
    double first_norm;     /* of the gradient in this step, N */
    int pause, next_pause; /* iterations without a trial of the Hessian as it is: left, and after the next that fails */
} pd_newton;

static void destroy(void *self, const pd_problem *problem) {
    pd_newton *newton = self;
    (void)problem;
    if (!newton) return;
    pd_hessian_cg_destroy(newton->cg);
    pd_hessian_factor_destroy(newton->factor);
    free(newton);
}

static pd_status create(void **self, const pd_problem *problem, const void *given) {
    pd_status status = PD_OK;
    int n = problem->model->n_vertices;
    pd_newton *newton = *self = calloc(1, sizeof *newton);
    if (!newton) return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory");
    newton->settings = *(const settings *)given;
    for (int i = 0; i < n; i++) newton->n_free += !problem->fixed[i];
    PD_TRY(pd_problem_need_hessian(problem));
    if (newton->settings.linear.kind == PD_LINEAR_PCG && pd_problem_wants_whole(problem)) PD_TRY(pd_problem_need_whole(problem));
    if (newton->settings.linear.kind == PD_LINEAR_PCG)
        PD_TRY(pd_hessian_cg_create(&newton->cg, problem, &newton->settings.linear));
    else // without contact the pattern stays: it is analysed here, where it counts as setup
        PD_TRY(pd_hessian_factor_create(&newton->factor, problem));
done:
    return status;
}

/* The Hessian as it is in the first attempt at a linear system, and clamped from the second one on. */
static pd_hessian_filter filter_of(int attempt) { return attempt > 0 ? PD_FILTER_CLAMP : PD_FILTER_NONE; }

/* The whole Hessian at the iterate on the host, in the six numbers of bodies where there are any. */
static pd_status fill(const pd_problem *problem, const pd_iterate *iterate, pd_hessian_filter filter) {
    pd_status status = pd_problem_whole_hessian(problem, iterate->x, filter, 1, iterate->number == 0);
    return status || !problem->rigid ? status : pd_rigid_hessian(problem, iterate->x, filter);
}

/* Factorises the Hessian at the iterate: as it is, then projected, then projected and shifted until it is positive
 * definite (a quasistatic body may leave a projected Hessian singular). */
static pd_status factorise(pd_newton *newton, const pd_problem *problem, const pd_iterate *iterate) {
    pd_status status = PD_OK;
    double shift = 0.0;
    if (iterate->number == 0) newton->pause = 0, newton->next_pause = 1;
    // a barrier is curved downwards along its contours, far from the minimum most often by more than all else makes up for
    int projected = problem->contact && newton->pause > 0;
    newton->pause -= projected;
    for (int attempt = projected; attempt < 2 + MAX_SHIFTS; attempt++) {
        if (attempt < 2) {
            PD_TRY(fill(problem, iterate, filter_of(attempt)));
        } else if (attempt == 2) {
            double trace = pd_hessian_factor_trace(newton->factor);
            // where all elements rest on no energy at all, such as cloth within its strain limits, their stiffness gives the scale
            shift = 1e-10 * (trace > 0.0 ? trace / 3.0 : problem->rounding->matrix_trace) / newton->n_free;
        } else
            shift *= 10.0;
        status = pd_hessian_factor_update(newton->factor, problem, shift, attempt > 0);
        if (attempt == 0 && status == PD_ERROR_SINGULAR) newton->pause = newton->next_pause, newton->next_pause = LONGEST_PAUSE;
        if (status != PD_ERROR_SINGULAR) break;
    }
    if (status == PD_ERROR_SINGULAR) { // as where nothing is stiff, and no inertia helps
        problem->error->iteration = iterate->number + 1;
        status = pd_fail(problem->error, PD_DIVERGED,
                         "Newton diverged at iteration %d: the projected Hessian is not positive definite at vertex %d",
                         problem->error->iteration, problem->error->vertex);
    }
done:
    return status;
}

/* direction = H^-1 gradient by conjugate gradients: on the Hessian as it is, on the projected one, on the projected and shifted one. */
static pd_status solve_inexactly(pd_newton *newton, const pd_problem *problem, const pd_iterate *iterate) {
    pd_status status = PD_OK;
    double tolerance = newton->settings.linear.tolerance, norm;
    PD_TRY(pd_problem_norm(problem, iterate->gradient, &norm));
    if (iterate->number == 0) newton->first_norm = norm;
    if (tolerance <= 0) tolerance = norm < newton->first_norm ? fmin(0.01, sqrt(norm / newton->first_norm)) : 0.01;
    double shift = fmax(1e-10, 8.0 * (double)PD_EPSILON) * problem->rounding->matrix_trace / newton->n_free;
    for (int attempt = 0, indefinite = 1; attempt < 3 && indefinite; attempt++) {
        if (attempt < 2)
            PD_TRY(pd_problem_wants_whole(problem) ? fill(problem, iterate, filter_of(attempt))
                                                   : pd_problem_hessian(problem, iterate->x, filter_of(attempt)));
        PD_TRY(pd_hessian_cg_solve(newton->cg, iterate, tolerance, attempt < 2 ? 0.0 : shift, attempt < 2, &indefinite));
    }
done:
    return status;
}

static pd_status direction(void *self, const pd_problem *problem, pd_iterate *iterate) {
    pd_newton *newton = self;
    pd_status status = PD_OK;
    PD_TRY(pd_problem_gradient(problem, iterate->x, iterate->offset, iterate->gradient));
    if (newton->n_free == 0) {
        iterate->stalled = 1;
        return PD_OK;
    }
    if (problem->contact && iterate->number == 0) pd_contact_forget_slips(problem->contact);
    if (newton->cg) {
        PD_TRY(solve_inexactly(newton, problem, iterate));
    } else {
        PD_TRY(factorise(newton, problem, iterate));
        PD_TRY(pd_hessian_factor_solve(newton->factor, problem, iterate->gradient, iterate->direction));
    }
    if (problem->contact) PD_TRY(pd_contact_remember_slips(problem->contact, iterate->x));
    if (newton->settings.line_search) PD_TRY(pd_line_search(problem, iterate, PD_NEAR_GRADIENT_NORM));
done:
    return status;
}

const pd_method pd_newton_method = {.name = "Newton",
                                    .options = options,
                                    .settings_size = sizeof(settings),
                                    .create = create,
                                    .destroy = destroy,
                                    .direction = direction,
                                    .takes_rigid = 1,
                                    .minimises_potential = 1,
                                    .fills_gradient = 1};
