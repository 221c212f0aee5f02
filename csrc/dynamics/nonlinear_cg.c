/* The nonlinear preconditioned conjugate gradient method on the incremental potential [Wang 2015, Algorithm 2].
 *
 *     r = -dG/dx(x),  z = B^-1 r,  beta = (z.r) / (z'.r') of this and the last iteration,  p <- z + beta p,
 *     alpha = (p.r) / (p.A p),  x <- x + alpha p,
 *
 * with A the matrix of Projective Dynamics and B its diagonal ("jacobi") or A itself ("direct"). Two misprints of Algorithm 2 are put
 * right: the line search is done for k = 0 too, and what it moves are the positions q (printed: x). Its argument rho is unused.
 *
 * Half the squared distance to a set, |F - T(F)|^2 / 2, is |F|^2 / 2 minus a convex function, so A bounds the Hessian of G from above,
 * everywhere and along every p:
 *     G(x + alpha p) <= G(x) - alpha p.r + alpha^2/2 p.A p.
 * alpha is the minimum of the right-hand side: G falls by (p.r)^2 / (2 p.A p) or more in every iteration, without a line search that
 * would evaluate G, and whatever beta is. alpha never passes the minimum of G along p, so the new r has r.p >= 0 and the next
 * direction p.r >= z.r > 0: it is a descent direction, and the restart p = z, for p.r <= 0, is for rounding. The price: where
 * G is much softer along p than A, alpha is too short, r.p is not 0 and the directions are not conjugate. With B = A nothing is
 * gained on Projective Dynamics: its step is z, and alpha p is the A-orthogonal projection of z onto p, at best as good in the bound
 * (gradient norm down to 1e-8: 225 iterations, Projective Dynamics 221, "jacobi" 172, Chebyshev 52; twisted bar of 756 vertices).
 * Where G is quadratic with Hessian A (attachments, hinges flat at rest) this is the linear method.
 *
 * Signs: the frame subtracts the direction, so gradient, z and p here are the negatives of the above. */
#include "dynamics/global_step.h"
#include "dynamics/method.h"
#include "dynamics/potential.h"
#include "elements/conjugate_step.h"

#include <stdlib.h>

typedef struct settings {
    pd_linear_settings linear; /* direct: B = A; another: B is the diagonal */
} settings;

static const pd_option options[] = {PD_LINEAR(settings, linear), PD_OPTIONS_END};

typedef struct pd_nonlinear_cg {
    real *p;             /* B [n,3] search direction */
    double *sums;        /* B [PD_CONJUGATE_COUNT] */
    pd_linear *diagonal; /* one Jacobi sweep of weight 1: D^-1 r; it also holds A for the product A p */
    pd_linear *factor;   /* A^-1 r; NULL: the diagonal preconditions */
} pd_nonlinear_cg;

static void destroy(void *self, const pd_problem *problem) {
    pd_nonlinear_cg *cg = self;
    if (!cg) return;
    pd_memory_destroy(problem->context, cg->p);
    pd_memory_destroy(problem->context, cg->sums);
    pd_linear_destroy(cg->diagonal);
    pd_linear_destroy(cg->factor);
    free(cg);
}

static pd_status create(void **self, const pd_problem *problem, const void *given) {
    const settings *settings = given;
    pd_status status = PD_OK;
    pd_linear_settings diagonal = {.kind = PD_LINEAR_JACOBI, .iterations = 1, .check_every = 1, .weight = 1.0, .block = 1};
    pd_nonlinear_cg *cg = calloc(1, sizeof *cg);
    if (!cg) return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory");
    PD_TRY(pd_memory_create(problem->context, (void **)&cg->p, pd_problem_bytes(problem)));
    PD_TRY(pd_memory_create(problem->context, (void **)&cg->sums, PD_CONJUGATE_COUNT * sizeof(double)));
    PD_TRY(pd_problem_linear_create(&cg->diagonal, problem, &diagonal));
    if (settings->linear.kind == PD_LINEAR_DIRECT) PD_TRY(pd_problem_linear_create(&cg->factor, problem, &settings->linear));
done:
    if (status)
        destroy(cg, problem);
    else
        *self = cg;
    return status;
}

static pd_linear *preconditioner(const void *self) {
    const pd_nonlinear_cg *cg = self;
    return cg->factor ? cg->factor : cg->diagonal;
}

static pd_status refresh(void *self, const pd_problem *problem) {
    (void)problem;
    return pd_linear_prepare(preconditioner(self));
}

static pd_status direction(void *self, const pd_problem *problem, pd_iterate *iterate) {
    pd_nonlinear_cg *cg = self;
    pd_context *context = problem->context;
    const pd_model *model = problem->model;
    pd_status status = PD_OK;
    real *z = iterate->direction, *A_p = problem->trial;
    double *sums = cg->sums; // the scalars stay where the vectors are: the host decides nothing
    if (iterate->number == 0) {
        PD_TRY(pd_memory_clear(context, cg->p, pd_problem_bytes(problem)));
        PD_TRY(pd_memory_clear(context, sums, PD_CONJUGATE_COUNT * sizeof *sums));
    }
    PD_TRY(pd_problem_gradient(problem, iterate->x, iterate->offset, iterate->gradient));
    pd_linear_result result;
    PD_TRY(pd_linear_solve(preconditioner(cg), iterate->gradient, z, NULL, &result));

    // p = z + beta p
    PD_TRY(pd_dot(context, model, z, iterate->gradient, sums + PD_CONJUGATE_ZR));
    PD_TRY(pd_dot(context, model, cg->p, iterate->gradient, sums + PD_CONJUGATE_PR));
    PD_TRY(pd_conjugate_turn(context, model, sums, z, cg->p));

    // the direction of the frame is alpha p
    PD_TRY(pd_matrix_multiply(context, pd_linear_matrix(cg->diagonal), 3, cg->p, A_p));
    PD_TRY(pd_dot(context, model, cg->p, A_p, sums + PD_CONJUGATE_PAP));
    PD_TRY(pd_conjugate_scale(context, model, sums, cg->p, iterate->direction));
    PD_TRY(pd_memory_copy(context, sums + PD_CONJUGATE_LAST, sums + PD_CONJUGATE_ZR, sizeof *sums));
done:
    return status;
}

static int capturable(const void *self) { return pd_linear_capturable(preconditioner(self)); }

const pd_method pd_nonlinear_cg_method = {.name = "NonlinearCG",
                                          .options = options,
                                          .settings_size = sizeof(settings),
                                          .create = create,
                                          .destroy = destroy,
                                          .refresh = refresh,
                                          .direction = direction,
                                          .capturable = capturable,
                                          .linear = preconditioner,
                                          .minimises_potential = 1,
                                          .fills_gradient = 1};
