/* Newton's method on the incremental potential, with a sparse Cholesky factor or conjugate gradients, and a backtracking line search.
 *
 * The Hessian is factorised as it is; only where its Cholesky fails are the elements' Hessians projected to be positive
 * semidefinite, since projection alone is only linearly convergent where an element's Hessian stays indefinite at the minimum. With contact
 * an iteration or two after that begin with the projected ones.
 * Near the minimum the potential no longer resolves a decrease: a step that changes it by no more than rounding is
 * taken if it lowers the gradient norm by a tenth, so the iteration goes on down to the floor of the gradient and ends there.
 * A line search may find no decrease although the slope g . d is far above the rounding of G. Then the Hessian is singular up to rounding.
 * Its diagonal is shifted until a direction lowers G [Levenberg 1944].
 *
 * Friction has its secant matrix where the slip of a pair has reversed in the iteration before, or would have with the whole correction: the
 * line search would otherwise shorten the steps of all vertices for the sake of a few that slip to and fro, and a shortened step hides that
 * they do.
 *
 * With `reuse` a pass begins with conjugate gradients, preconditioned by the inverses of 3x3 blocks. They end at the forcing term of
 * Eisenstat and Walker [1996, Choice 2], and at the work of a factorisation or, where they are slow, at half of it: then the Hessian is
 * factorised. That factor is the preconditioner in the next iterations, which end at the forcing term or at the work of another one. The
 * Hessian is factorised again at once where the last solve took half of that. All of this follows from the state that the step begins with,
 * and from work that is counted, so that a run that is resumed has the same bits.
 *
 * Conjugate gradients (inexact Newton) follow the same rule: where they meet negative curvature in the full Hessian they restart
 * with the projected one, and where even that is singular with a shift on its diagonal. Where the tolerance is left to this method it is
 * the forcing term min(0.01, sqrt(|g| / |g_0|)): superlinear convergence [Nocedal and Wright 2006, Theorem 7.2]. */
#include "contact/potential/contact.h"
#include "dynamics/problem/block_hessian.h"
#include "dynamics/problem/hessian_cg.h"
#include "dynamics/problem/hessian_factor.h"
#include "dynamics/problem/line_search.h"
#include "dynamics/problem/potential.h"
#include "dynamics/problem/reduced_hessian.h"
#include "dynamics/problem/rounding.h"
#include "dynamics/rigid/rigid.h"

#include <stdlib.h>

enum { MAX_SHIFTS = 8, LONGEST_PAUSE = 2 };

/* g . d of a direction d without a decrease, in units of the rounding of G, above which the Hessian counts as singular. */
static const double SINGULAR_SLOPE = 10.0;

/* The Hessians of the linear systems. AUTO: as it is, and clamped where that is not positive definite. ADAPTIVE: clamped where the quadratic
 * model of the iteration before, with the Hessian as it is, has predicted the decrease of G, and absolute elsewhere [Chen, Liu, Jacobson,
 * Levin, Zheng 2024, Trust-Region Eigenvalue Filtering for Projected Newton]. EXACT: as it is, or an error. */
enum {
    AUTO = PD_HESSIAN_AUTO,
    CLAMP = PD_HESSIAN_CLAMP,
    ABSOLUTE = PD_HESSIAN_ABSOLUTE,
    ADAPTIVE = PD_HESSIAN_ADAPTIVE,
    EXACT = PD_HESSIAN_EXACT,
    HESSIAN_COUNT = PD_HESSIAN_SETTING_COUNT
};

/* A ratio of actual and predicted decrease that is no further from 1 says that the model holds. */
static const double MODEL_HOLDS = 0.01;

/* eta_k = GAMMA (|g_k| / |g_k-1|)^2, and GAMMA eta_k-1^2 where that is above MOST_FALL [Eisenstat and Walker 1996, Sec. 2]; at most
 * LOOSEST, and at least TIGHTEST: a gradient that falls to a thousandth in each iteration needs no more, and a factor of another Hessian
 * gains no quadratic convergence cheaply. */
static const double GAMMA = 0.9, MOST_FALL = 0.1, LOOSEST = 0.1, TIGHTEST = 1e-3;

typedef struct settings {
    int line_search;
    int hessian;               /* AUTO, .. */
    int reuse;                 /* direct: conjugate gradients where they are less work */
    pd_linear_settings linear; /* direct or conjugate gradients */
} settings;

static const pd_option options[] = {PD_FLAG(settings, line_search), PD_FLAG(settings, reuse),
                                    PD_OPTION(settings, hessian, PD_OPTION_COUNT, AUTO, HESSIAN_COUNT - 1), PD_LINEAR(settings, linear),
                                    PD_OPTIONS_END};

typedef struct pd_newton {
    settings settings;
    int n_free;
    pd_hessian_factor *factor; /* direct; NULL else */
    pd_hessian_cg *cg;         /* of the settings, or by blocks with settings.reuse; NULL: neither */
    pd_hessian_cg *by_factor;  /* settings.reuse: by the last factor */
    int most_by_blocks;        /* iterations of the former, as much work as a factorisation */
    double first_norm;         /* of the gradient in this step, N */
    double norm, forcing;      /* of the gradient in the iteration before, N, and the forcing term there; 0: it was exact */
    int factored, worn;        /* in this pass there is a factor; it is no preconditioner any more */
    int filled, assembled;     /* the filter of the Hessian that problem->hessian has at the iterate, -1: none; it is assembled, too */
    int covered;               /* the pattern of the assembled Hessian has been rebuilt in this pass */
    pd_hessian_cg *model;      /* ADAPTIVE: for products with the Hessian as it is */
    double potential;          /* ADAPTIVE: G where the iteration before began, J */
    double predicted;          /* ADAPTIVE: the decrease that its model predicts, J */
    int near;                  /* ADAPTIVE: the model holds */
    int pause, next_pause;     /* iterations without a trial of the Hessian as it is: left, and after the next that fails */
    double shift;              /* of the diagonal in the last factorisation with one, N/m */
} pd_newton;

static void destroy(void *self, const pd_problem *problem) {
    pd_newton *newton = self;
    (void)problem;
    if (!newton) return;
    pd_hessian_cg_destroy(newton->cg);
    pd_hessian_cg_destroy(newton->by_factor);
    pd_hessian_cg_destroy(newton->model);
    pd_hessian_factor_destroy(newton->factor);
    free(newton);
}

/* What settings.reuse needs beside a factor. The work of a factorisation is that on the pattern of the elements: that of the last pattern
 * would depend on steps before. */
static pd_status create_choice(pd_newton *newton, const pd_problem *problem) {
    pd_linear_settings by_blocks = pd_linear_by_blocks(newton->settings.linear);
    pd_status status = PD_OK;
    newton->most_by_blocks = pd_hessian_factor_products(newton->factor, problem);
    PD_TRY(pd_hessian_cg_create(&newton->cg, problem, &by_blocks, NULL));
    PD_TRY(pd_hessian_cg_create(&newton->by_factor, problem, &newton->settings.linear, newton->factor));
done:
    return status;
}

static pd_status create(void **self, const pd_problem *problem, const void *given) {
    pd_status status = PD_OK;
    int n = problem->model->n_vertices;
    pd_newton *newton = *self = calloc(1, sizeof *newton);
    if (!newton) return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory");
    newton->settings = *(const settings *)given;
    for (int i = 0; i < n; i++) newton->n_free += !problem->fixed[i];
    PD_TRY(pd_problem_need_hessian(problem));
    if (newton->settings.linear.kind == PD_LINEAR_PCG && pd_problem_needs_assembled(problem)) PD_TRY(pd_problem_need_reduced(problem));
    if (newton->settings.linear.kind == PD_LINEAR_PCG)
        PD_TRY(pd_hessian_cg_create(&newton->cg, problem, &newton->settings.linear, NULL));
    else // without contact the pattern stays: it is analysed here, where it counts as setup
        PD_TRY(pd_hessian_factor_create(&newton->factor, problem));
    if (newton->factor && newton->settings.reuse && newton->n_free > 0) PD_TRY(create_choice(newton, problem));
    if (newton->settings.hessian == ADAPTIVE && newton->n_free > 0) {
        const pd_linear_settings products = {.kind = PD_LINEAR_PCG, .iterations = 1, .check_every = 1, .degree = 1};
        if (pd_problem_needs_assembled(problem)) PD_TRY(pd_problem_need_reduced(problem));
        PD_TRY(pd_hessian_cg_create(&newton->model, problem, &products, NULL));
    }
done:
    return status;
}

/* The Hessian of an attempt at a linear system: with AUTO as it is in the first one, and clamped from the second one on. */
static pd_hessian_filter filter_of(const pd_newton *newton, int attempt) {
    switch (newton->settings.hessian) {
    case CLAMP: return PD_FILTER_CLAMP;
    case ABSOLUTE: return PD_FILTER_ABSOLUTE;
    case ADAPTIVE: return newton->near ? PD_FILTER_CLAMP : PD_FILTER_ABSOLUTE;
    case EXACT: return PD_FILTER_NONE;
    default: return attempt > 0 ? PD_FILTER_CLAMP : PD_FILTER_NONE;
    }
}

/* The first attempt where no earlier one says otherwise: 1 if the Hessian is filtered in all of them. */
static int lowest_attempt(const pd_newton *newton) { return newton->settings.hessian != AUTO && newton->settings.hessian != EXACT; }

/* The Hessian at the iterate; `assembled`: on the host as a whole, in the six numbers of bodies where there are any. */
static pd_status fill(pd_newton *newton, const pd_problem *problem, const pd_iterate *iterate, pd_hessian_filter filter, int assembled) {
    pd_status status = PD_OK;
    if (newton->filled != (int)filter) {
        newton->filled = -1, newton->assembled = 0;
        PD_TRY(pd_problem_hessian(problem, iterate->x, filter));
        newton->filled = (int)filter;
    }
    if (!assembled || newton->assembled) return PD_OK;
    PD_TRY(pd_problem_reduced_assemble(problem, iterate->x, filter, 1, !newton->covered));
    newton->covered = newton->assembled = 1;
done:
    return status;
}

/* The first attempt at the linear system of an iteration. */
static int first_attempt(pd_newton *newton, const pd_problem *problem) {
    if (newton->settings.hessian != AUTO) return lowest_attempt(newton);
    // a barrier is curved downwards along its contours, far from the minimum most often by more than all else makes up for
    int projected = problem->contact && newton->pause > 0;
    newton->pause -= projected;
    return projected;
}

/* The Hessian as it is was not positive definite. */
static void pause(pd_newton *newton) { newton->pause = newton->next_pause, newton->next_pause = LONGEST_PAUSE; }

/* Factorises the Hessian at the iterate: as it is, then projected, then projected and shifted until it is positive
 * definite (a quasistatic body may leave a projected Hessian singular). From attempt `first` on. */
static pd_status factorise(pd_newton *newton, const pd_problem *problem, const pd_iterate *iterate, int first) {
    pd_status status = PD_OK;
    const int exact = newton->settings.hessian == EXACT;
    for (int attempt = first; attempt < (exact ? 1 : 2 + MAX_SHIFTS); attempt++) {
        PD_TRY(fill(newton, problem, iterate, filter_of(newton, attempt), 1));
        if (attempt == 2) {
            double trace = pd_hessian_factor_trace(newton->factor);
            // where all elements rest on no energy at all, such as cloth within its strain limits, their stiffness gives the scale
            newton->shift = 1e-10 * (trace > 0.0 ? trace / 3.0 : problem->rounding->matrix_trace) / newton->n_free;
        } else if (attempt > 2)
            newton->shift *= 10.0;
        status = pd_hessian_factor_update(newton->factor, problem, attempt < 2 ? 0.0 : newton->shift, attempt > 0 || exact);
        if (attempt == 0 && status == PD_ERROR_SINGULAR) pause(newton);
        if (status != PD_ERROR_SINGULAR) break;
    }
    if (status == PD_ERROR_SINGULAR) { // as where nothing is stiff, and no inertia helps
        problem->error->iteration = iterate->number + 1;
        status =
            pd_fail(problem->error, PD_DIVERGED,
                    exact ? "Newton diverged at iteration %d: the Hessian is not positive definite at vertex %d; hessian='auto' filters it"
                          : "Newton diverged at iteration %d: the projected Hessian is not positive definite at vertex %d",
                    problem->error->iteration, problem->error->vertex);
    }
done:
    return status;
}

/* correction = H^-1 gradient by conjugate gradients: on the Hessian as it is, on the projected one, on the projected and shifted one. */
static pd_status solve_inexactly(pd_newton *newton, const pd_problem *problem, const pd_iterate *iterate) {
    pd_status status = PD_OK;
    double tolerance = newton->settings.linear.tolerance, norm;
    PD_TRY(pd_problem_norm(problem, iterate->gradient, &norm));
    if (iterate->number == 0) newton->first_norm = norm;
    if (tolerance <= 0) tolerance = norm < newton->first_norm ? fmin(0.01, sqrt(norm / newton->first_norm)) : 0.01;
    double shift = fmax(1e-10, 8.0 * (double)PD_EPSILON) * problem->rounding->matrix_trace / newton->n_free;
    pd_hessian_cg_end end = {.indefinite = 1};
    const int exact = newton->settings.hessian == EXACT;
    for (int attempt = lowest_attempt(newton); attempt < (exact ? 1 : 3) && end.indefinite; attempt++) {
        if (attempt < 2) PD_TRY(fill(newton, problem, iterate, filter_of(newton, attempt), pd_hessian_cg_is_assembled(newton->cg)));
        PD_TRY(pd_hessian_cg_solve(newton->cg, iterate, tolerance, newton->settings.linear.iterations, attempt < 2 ? 0.0 : shift,
                                   attempt < 2 ? PD_CG_GIVES_UP : PD_CG_GOES_ON, &end));
    }
    if (exact && end.indefinite) {
        problem->error->iteration = iterate->number + 1;
        status = pd_fail(problem->error, PD_DIVERGED,
                         "Newton diverged at iteration %d: conjugate gradients met negative curvature; hessian='auto' filters it",
                         problem->error->iteration);
    }
done:
    return status;
}

/* correction = H^-1 gradient by a factor of the Hessian at the iterate. */
static pd_status solve_exactly(pd_newton *newton, const pd_problem *problem, const pd_iterate *iterate, int first) {
    pd_status status = factorise(newton, problem, iterate, first);
    newton->factored = 1, newton->worn = 0;
    newton->forcing = 0.0;
    return status ? status : pd_hessian_factor_solve(newton->factor, problem, iterate->gradient, iterate->correction);
}

/* The forcing term of an iteration in which the gradient has this norm. */
static double forcing_term(const pd_newton *newton, double norm) {
    double fall = newton->norm > 0.0 ? norm / newton->norm : 1.0, eta = GAMMA * fall * fall,
           least = GAMMA * newton->forcing * newton->forcing;
    if (least > MOST_FALL) eta = fmax(eta, least);
    return fmax(TIGHTEST, fmin(eta, LOOSEST));
}

/* The same by conjugate gradients, as long as these are less work than a factorisation, and else exactly. *exact: it was. */
static pd_status solve_by_choice(pd_newton *newton, const pd_problem *problem, const pd_iterate *iterate, int *exact) {
    pd_status status = PD_OK;
    const int factored = newton->factored;
    pd_hessian_cg *cg = factored ? newton->worn ? NULL : newton->by_factor : newton->cg;
    int attempt = first_attempt(newton, problem), most = factored ? pd_hessian_factor_worth(newton->factor) : newton->most_by_blocks;
    pd_hessian_cg_end end = {.indefinite = 1};
    double norm;
    PD_TRY(pd_problem_norm(problem, iterate->gradient, &norm));
    double eta = forcing_term(newton, norm);
    newton->norm = norm;
    for (int again = cg != NULL; again;) {
        PD_TRY(fill(newton, problem, iterate, filter_of(newton, attempt), factored || pd_problem_needs_assembled(problem)));
        PD_TRY(pd_hessian_cg_solve(cg, iterate, eta, most, 0.0, factored ? PD_CG_GIVES_UP : PD_CG_GIVES_UP_SLOW, &end));
        again = end.indefinite && attempt == 0 && newton->settings.hessian == AUTO;
        if (again) pause(newton), attempt = 1;
    }
    *exact = !end.converged || end.indefinite;
    newton->worn = 2 * end.iterations > most;
    newton->forcing = eta;
    if (*exact) status = solve_exactly(newton, problem, iterate, attempt);
done:
    return status;
}

/* ADAPTIVE: whether the model of the iteration before has held. Far from an answer until one has. */
static pd_status assess_model(pd_newton *newton, const pd_problem *problem, pd_iterate *iterate) {
    double before = newton->potential;
    pd_status status = pd_iterate_potential(problem, iterate);
    if (status) return status;
    newton->potential = iterate->potential;
    double actual = before - newton->potential, rounding = pd_rounding_of_potential(problem, iterate->magnitude);
    if (iterate->number == 0)
        newton->near = 0;
    else if (fabs(newton->predicted) > rounding)
        newton->near = fabs(actual / newton->predicted - 1.0) <= MODEL_HOLDS;
    return PD_OK;
}

/* After a line search: rigid bodies have the curvature of the last gradient, perhaps that of a trial point. */
static pd_status return_curvature(const pd_problem *problem, const pd_iterate *iterate) {
    return problem->rigid ? pd_problem_gradient(problem, iterate->x, iterate->offset, iterate->gradient) : PD_OK;
}

/* ADAPTIVE: the decrease g.d - d.H d/2 that the model with the Hessian as it is predicts for the move. */
static pd_status predict(pd_newton *newton, const pd_problem *problem, const pd_iterate *iterate) {
    pd_status status = PD_OK;
    double slope, curvature;
    PD_TRY(return_curvature(problem, iterate));
    PD_TRY(fill(newton, problem, iterate, PD_FILTER_NONE, pd_problem_needs_assembled(problem)));
    PD_TRY(pd_hessian_cg_multiply(newton->model, iterate->correction, problem->trial_gradient));
    PD_TRY(pd_problem_product(problem, problem->trial_gradient, iterate->correction, &curvature));
    PD_TRY(pd_problem_product(problem, iterate->gradient, iterate->correction, &slope));
    newton->predicted = slope - 0.5 * curvature;
done:
    return status;
}

/* Starts without data of earlier steps. */
static void begin_pass(pd_newton *newton, const pd_problem *problem) {
    newton->factored = newton->worn = newton->covered = 0;
    newton->norm = newton->forcing = 0.0;
    newton->pause = 0, newton->next_pause = 1;
    pd_hessian_cg_begin(newton->cg);
    if (problem->contact) pd_contact_forget_slips(problem->contact);
}

/* Tells whether an exact direction without a decrease has a slope g . d far above the rounding of G. Such a direction can be much longer
 * than the body, as that of a level chain without tension. */
static pd_status is_singular(const pd_newton *newton, const pd_problem *problem, const pd_iterate *iterate, int *singular) {
    double slope;
    *singular = 0;
    if (newton->settings.hessian == EXACT || iterate->cut) return PD_OK;
    pd_status status = pd_problem_product(problem, iterate->gradient, iterate->correction, &slope);
    *singular = !status && slope > SINGULAR_SLOPE * pd_rounding_of_potential(problem, iterate->magnitude);
    return status;
}

/* Directions of Hessians with growing shifts, until one lowers G. */
static pd_status search_shifted(pd_newton *newton, const pd_problem *problem, pd_iterate *iterate) {
    pd_status status = PD_OK;
    for (int attempt = 2; iterate->stalled && attempt < 2 + MAX_SHIFTS; attempt++) {
        PD_TRY(return_curvature(problem, iterate));
        status = solve_exactly(newton, problem, iterate, attempt);
        if (status == PD_DIVERGED) return PD_OK; // no shift helps: the step ends where it is
        PD_TRY(status);
        PD_TRY(pd_line_search_again(problem, iterate, PD_NEAR_GRADIENT_NORM));
    }
done:
    return status;
}

static pd_status correction(void *self, const pd_problem *problem, pd_iterate *iterate) {
    pd_newton *newton = self;
    pd_status status = PD_OK;
    int exact = 1, singular = 0;
    if (newton->model) PD_TRY(assess_model(newton, problem, iterate));
    PD_TRY(pd_iterate_gradient(problem, iterate));
    if (newton->n_free == 0) {
        iterate->stalled = 1;
        return PD_OK;
    }
    if (iterate->number == 0) begin_pass(newton, problem);
    newton->filled = -1;
    if (!newton->factor)
        PD_TRY(solve_inexactly(newton, problem, iterate));
    else if (newton->cg)
        PD_TRY(solve_by_choice(newton, problem, iterate, &exact));
    else
        PD_TRY(solve_exactly(newton, problem, iterate, first_attempt(newton, problem)));
    if (problem->contact) PD_TRY(pd_contact_remember_slips(problem->contact, iterate->x));
    if (newton->settings.line_search) PD_TRY(pd_line_search(problem, iterate, PD_NEAR_GRADIENT_NORM));
    if (newton->settings.line_search && iterate->stalled && !exact) { // only an exact direction says that there is no decrease
        PD_TRY(return_curvature(problem, iterate));
        PD_TRY(solve_exactly(newton, problem, iterate, lowest_attempt(newton)));
        PD_TRY(pd_line_search_again(problem, iterate, PD_NEAR_GRADIENT_NORM));
    }
    if (newton->settings.line_search && iterate->stalled && newton->factor) PD_TRY(is_singular(newton, problem, iterate, &singular));
    if (singular) PD_TRY(search_shifted(newton, problem, iterate));
    if (newton->model && !iterate->stalled) PD_TRY(predict(newton, problem, iterate));
done:
    return status;
}

const pd_method pd_newton_method = {.name = "Newton",
                                    .options = options,
                                    .settings_size = sizeof(settings),
                                    .create = create,
                                    .destroy = destroy,
                                    .correction = correction,
                                    .takes_rigid = 1,
                                    .takes_custom = 1,
                                    .takes_oriented = 1,
                                    .minimises_potential = 1,
                                    .fills_gradient = 1,
                                    .takes_gradient = 1};
