/* Projective Dynamics [Bouaziz et al. 2014, Algorithm 1; Wang 2015, Sec. 4; Lan et al. 2022, Eqs. 1-3].
 *
 * One iteration projects every element (local step) and solves one linear system with the constant matrix A = M/h^2 + sum w S^T S (global
 * step):
 *
 *     A x^{k+1} = M/h^2 y + sum w S^T T^k,   T^k = projection of S x^k.
 *
 * For the correction d = x^{k+1} - x^k this reads A d = M/h^2 (y - x^k) + sum w S^T (T^k - S x^k) = -dG/dx. The right-hand side is the
 * gradient of the incremental potential, and float32 loses no digits to the size of the coordinates. Every element's Hessian is at most w
 * S^T S. So A is an upper bound of the Hessian of G, and an exact global step never raises G.
 *
 * With contact the matrix is A + K(x^k), K of the neighbour list (global_step.h). No constant bounds the curvature of a barrier, so a line
 * search goes along d: up to the step limit, then halved until G decreases. So G decreases in every iteration, for any linear solver. A
 * Schur complement has its own global step (schur_step.h). */
#include "dynamics/methods/schur_step.h"
#include "dynamics/problem/global_step.h"
#include "dynamics/problem/line_search.h"
#include "dynamics/problem/potential.h"
#include "dynamics/response.h"

#include <stdlib.h>

typedef struct settings {
    pd_linear_settings linear;
    const unsigned char *in_contact; /* [n] of PD_LINEAR_SCHUR: 1 in the contact region */
    int inner;                       /* of the same: solves of the small system in a global step */
    double active;                   /* of the same */
} settings;

static const pd_option options[] = {PD_LINEAR(settings, linear), PD_OPTION(settings, in_contact, PD_OPTION_VERTICES, 0, 0),
                                    PD_COUNT_FROM(settings, inner, 1), PD_NUMBER_FROM(settings, active, 0), PD_OPTIONS_END};

typedef struct memory {
    pd_global_step global;
    pd_schur_step *schur; /* NULL: only the linear solver */
} memory;

static void destroy(void *self, const pd_problem *problem) {
    memory *memory = self;
    if (!memory) return;
    pd_schur_step_destroy(memory->schur, problem->context);
    pd_global_step_destroy(&memory->global, problem->context);
    free(memory);
}

static pd_status create(void **self, const pd_problem *problem, const void *given) {
    const settings *settings = given;
    pd_linear_settings linear = settings->linear;
    pd_status status = PD_OK;
    memory *made = *self = calloc(1, sizeof *made);
    if (!made) return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory");
    linear.in_contact = settings->in_contact;
    linear.active = settings->active;
    PD_TRY(pd_global_step_create(&made->global, problem, &linear, NULL));
    if (linear.kind == PD_LINEAR_SCHUR && linear.in_contact)
        status = pd_schur_step_create(&made->schur, problem, made->global.linear, linear.in_contact, settings->inner);
done:
    return status;
}

static pd_status refresh(void *self, const pd_problem *problem) {
    (void)problem;
    return pd_linear_prepare(((memory *)self)->global.linear);
}

/* Tells whether an iteration is exactly the local step, one linear solve and the move. */
static int is_plain(const memory *self, const pd_problem *problem) {
    return !problem->response->gradient && !problem->rigid && !self->schur;
}

static pd_status correction(void *self, const pd_problem *problem, pd_iterate *iterate) {
    memory *memory = self;
    pd_global_step *global = &memory->global;
    pd_status status = PD_OK;

    if (is_plain(memory, problem)) {
        const pd_gather gather = {problem->model, &problem->step, iterate->offset, iterate->gradient};
        const int damped = pd_is_damped(problem->model, &problem->step);
        pd_context_tally(problem->context)->projections++;
        if (damped)
            PD_TRY(pd_gradient(problem->context, problem->model, &problem->step, iterate->x, iterate->offset, iterate->gradient));
        else
            PD_TRY(pd_corner_forces(problem->context, problem->model, iterate->x));
        PD_TRY(pd_linear_solve_between(global->linear, damped ? NULL : &gather, iterate->gradient, iterate->move, iterate->correction));
        iterate->move = NULL;
        return PD_OK;
    }

    // local step and right-hand side
    PD_TRY(pd_problem_local_step(problem, iterate->x, iterate->offset, iterate->gradient));

    // global step: A d = gradient, used with a minus sign by the frame
    PD_TRY(pd_global_step_refresh(global, problem, iterate->x, iterate->number == 0));
    if (memory->schur) {
        PD_TRY(pd_schur_step_solve(memory->schur, problem, iterate->x, iterate->gradient, iterate->correction));
    } else
        PD_TRY(pd_global_step_solve(global, problem, iterate->gradient, iterate->correction));
    if (problem->contact) PD_TRY(pd_line_search(problem, iterate, PD_NEAR_SLOPE));
done:
    return status;
}

static pd_status set_targets(void *self, const pd_problem *problem, int first, int n, const real *rows) {
    pd_schur_step *schur = ((memory *)self)->schur;
    return schur ? pd_schur_step_set_targets(schur, problem, first, n, rows) : PD_OK;
}

static int capturable(const void *self) { return pd_global_step_capturable(&((const memory *)self)->global); }

static pd_linear *linear_of(const void *self) { return ((const memory *)self)->global.linear; }

const pd_method pd_projective_dynamics_method = {.name = "ProjectiveDynamics",
                                                 .options = options,
                                                 .settings_size = sizeof(settings),
                                                 .create = create,
                                                 .destroy = destroy,
                                                 .refresh = refresh,
                                                 .correction = correction,
                                                 .capturable = capturable,
                                                 .set_targets = set_targets,
                                                 .linear = linear_of,
                                                 .takes = PD_TAKES_PROJECTIVE | PD_TAKES_PROXIES,
                                                 .moves = 1,
                                                 .minimises_potential = 1,
                                                 .fills_gradient = 1};
