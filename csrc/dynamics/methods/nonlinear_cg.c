/* The nonlinear preconditioned conjugate gradient method on the incremental potential [Wang 2015, Algorithm 2].
 *
 *     r = -dG/dx(x),  z = B^-1 r,  beta = (z.r) / (z'.r') of this and the last iteration,  p <- z + beta p,
 *     alpha = (p.r) / (p.A p),  x <- x + alpha p,
 *
 * with the matrix A of Projective Dynamics, and B its diagonal ("jacobi") or A itself ("direct"). Two misprints of Algorithm 2 are
 * corrected: the line search is made for k = 0 too, and it moves the positions q (printed: x). The argument rho is unused.
 *
 * Half the squared distance to a set, |F - T(F)|^2 / 2, is |F|^2 / 2 minus a convex function. So A is an upper bound of the Hessian of G,
 * everywhere and along every p:
 *     G(x + alpha p) <= G(x) - alpha p.r + alpha^2/2 p.A p.
 * alpha minimises the right-hand side. For any beta, G decreases by at least (p.r)^2 / (2 p.A p) in every iteration, without a line search
 * that evaluates G. alpha never passes the minimum of G along p, so the new r has r.p >= 0, and the next correction has p.r >= z.r > 0. It
 * is a descent direction; the restart p = z for p.r <= 0 covers rounding. The price: if G is much softer along p than A, alpha is too
 * short, r.p is not 0 and the directions are not conjugate. With B = A there is no gain over Projective Dynamics: its step is z, and alpha
 * p is the A-orthogonal projection of z onto p, at best as good in the bound. For a quadratic G with Hessian A (attachments, hinges flat at
 * rest) this is the linear method.
 *
 * With contact A becomes A + K(x) in p.A p and in the preconditioner, with the projected Hessians of the neighbour list (global_step.h). K
 * is no bound, so a line search along p starts at alpha; if it finds no decrease, p = z is tried before the step ends. After a shortened
 * move r is not conjugate to p, which still points into the obstacle: the next iteration restarts with p = z. The Hessian of a material of
 * the caller has no bound either, and the same line search is made.
 *
 * Signs: the frame subtracts the correction, so gradient, z and p here are the negatives of the above. */
#include "contact/potential/contact.h"
#include "dynamics/problem/global_step.h"
#include "dynamics/problem/line_search.h"
#include "dynamics/problem/potential.h"
#include "updates/conjugate_factors.h"

#include <stdlib.h>

typedef struct settings {
    pd_linear_settings linear; /* direct: B = A; otherwise B is the diagonal */
} settings;

static const pd_option options[] = {PD_LINEAR(settings, linear), PD_OPTIONS_END};

typedef struct pd_nonlinear_cg {
    real *p;               /* B [n,3] search direction */
    int cut;               /* the last move was shortened: it did not end where the gradient is conjugate to p */
    double *sums;          /* B [PD_CONJUGATE_COUNT] */
    pd_global_step global; /* the preconditioner: A^-1 r, or D^-1 r by one Jacobi sweep of weight 1 */
    pd_linear *matrix;     /* A for the product A p, if the preconditioner does not store it; or NULL */
} pd_nonlinear_cg;

static void destroy(void *self, const pd_problem *problem) {
    pd_nonlinear_cg *cg = self;
    if (!cg) return;
    pd_memory_destroy(problem->context, cg->p);
    pd_memory_destroy(problem->context, cg->sums);
    pd_linear_destroy(cg->matrix);
    pd_global_step_destroy(&cg->global, problem->context);
    free(cg);
}

static pd_status create(void **self, const pd_problem *problem, const void *given) {
    const settings *settings = given;
    pd_status status = PD_OK;
    pd_linear_settings diagonal = {.kind = PD_LINEAR_JACOBI, .iterations = 1, .check_every = 1, .weight = 1.0};
    int direct = settings->linear.kind == PD_LINEAR_DIRECT;
    pd_nonlinear_cg *cg = *self = calloc(1, sizeof *cg);
    if (!cg) return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory");
    PD_TRY(pd_memory_create(problem->context, (void **)&cg->p, pd_problem_bytes(problem)));
    PD_TRY(pd_memory_create(problem->context, (void **)&cg->sums, PD_CONJUGATE_COUNT * sizeof(double)));
    PD_TRY(pd_global_step_create(&cg->global, problem, direct ? &settings->linear : &diagonal, NULL));
    if (direct || problem->contact) {
        const pd_csr *A;
        PD_TRY(pd_problem_system_matrix(problem, &A));
        PD_TRY(pd_linear_create(&cg->matrix, problem->context, problem->cholesky, &diagonal, A, problem->fixed, NULL, 3));
    }
done:
    return status;
}

static pd_linear *preconditioner(const void *self) { return ((const pd_nonlinear_cg *)self)->global.linear; }

static pd_status refresh(void *self, const pd_problem *problem) {
    (void)problem;
    return pd_linear_prepare(preconditioner(self));
}

/* p = z + beta p and correction = alpha p; without `also` p = z. */
static pd_status go_on(pd_nonlinear_cg *cg, const pd_problem *problem, pd_iterate *iterate, int also) {
    pd_context *context = problem->context;
    const pd_model *model = problem->model;
    pd_status status = PD_OK;
    real *z = iterate->correction, *A_p = problem->trial;
    double *sums = cg->sums; // the scalars stay in backend memory: no decision on the host
    if (!also) {
        PD_TRY(pd_memory_clear(context, cg->p, pd_problem_bytes(problem)));
        PD_TRY(pd_memory_clear(context, sums, PD_CONJUGATE_COUNT * sizeof *sums));
    }
    PD_TRY(pd_global_step_solve(&cg->global, problem, iterate->gradient, z));

    // p = z + beta p
    PD_TRY(pd_dot(context, model, z, iterate->gradient, sums + PD_CONJUGATE_ZR));
    PD_TRY(pd_dot(context, model, cg->p, iterate->gradient, sums + PD_CONJUGATE_PR));
    PD_TRY(pd_conjugate_redirect(context, model, sums, z, cg->p));

    // the correction of the frame is alpha p
    pd_context_tally(context)->products++;
    PD_TRY(pd_matrix_multiply(context, pd_linear_matrix(cg->matrix ? cg->matrix : cg->global.linear), 3, cg->p, A_p));
    PD_TRY(pd_dot(context, model, cg->p, A_p, sums + PD_CONJUGATE_PAP));
    if (problem->contact) PD_TRY(pd_contact_add_curvature(problem->contact, model, cg->p, sums + PD_CONJUGATE_PAP));
    PD_TRY(pd_conjugate_scale(context, model, sums, cg->p, iterate->correction));
    PD_TRY(pd_memory_copy(context, sums + PD_CONJUGATE_LAST, sums + PD_CONJUGATE_ZR, sizeof *sums));
done:
    return status;
}

/* A bounds neither the Hessian of pairs nor that of a material of the caller. */
static int searches(const pd_problem *problem) { return problem->contact || problem->custom; }

static pd_status correction(void *self, const pd_problem *problem, pd_iterate *iterate) {
    pd_nonlinear_cg *cg = self;
    pd_status status = PD_OK;
    PD_TRY(pd_iterate_gradient(problem, iterate));
    PD_TRY(pd_global_step_refresh(&cg->global, problem, iterate->x, iterate->number == 0));
    PD_TRY(go_on(cg, problem, iterate, iterate->number > 0 && !cg->cut));
    if (!searches(problem)) goto done;
    PD_TRY(pd_line_search(problem, iterate, PD_NEAR_SLOPE));
    if (iterate->stalled) { // before the step ends, only the preconditioned gradient
        PD_TRY(pd_global_step_refresh(&cg->global, problem, iterate->x, 0));
        PD_TRY(go_on(cg, problem, iterate, 0));
        PD_TRY(pd_line_search_again(problem, iterate, PD_NEAR_SLOPE));
    }
    cg->cut = iterate->fraction < 1.0;
done:
    return status;
}

static int capturable(const void *self) { return pd_global_step_capturable(&((const pd_nonlinear_cg *)self)->global); }

const pd_method pd_nonlinear_cg_method = {.name = "NonlinearCG",
                                          .options = options,
                                          .settings_size = sizeof(settings),
                                          .create = create,
                                          .destroy = destroy,
                                          .refresh = refresh,
                                          .correction = correction,
                                          .capturable = capturable,
                                          .linear = preconditioner,
                                          .takes_custom = 1,
                                          .minimises_potential = 1,
                                          .fills_gradient = 1,
                                          .takes_gradient = 1};
