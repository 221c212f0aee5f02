/* Quasi-Newton on the incremental potential, started from the matrix of Projective Dynamics [Liu et al. 2017, Quasi-Newton Methods for
 * Real-Time Simulation of Hyperelastic Materials, Sec. 4 and 5].
 *
 *     d = B dG/dx(x),    x <- x - alpha d,
 *
 * with alpha from a backtracking line search and B the inverse that L-BFGS builds out of A^-1, A = M/h^2 + sum w S^T S, and the last
 * `history` pairs s = x_{k+1} - x_k, y = g_{k+1} - g_k, by the two-loop recursion [Nocedal and Wright 2006, Algorithm 7.4]. A, the first
 * guess of the Hessian, is constant and factorised once; for a material without a projection its w is that of the Laplacian which
 * Liu et al. take, 2 mu volume for the solids here, and the line search makes up for what it leaves out.
 *
 * With contact the first guess is A + K(x), K of the pairs that are near (global_step.h): their curvature is as large as it is new.
 *
 * A pair whose curvature s.y is not positive, to rounding, is left out: B stays positive definite and d a descent direction. Pairs of
 * another step belong to another potential, so the history starts empty in each. Without history and line search this is
 * Projective Dynamics to the bit.
 *
 * Signs: the frame subtracts the direction d. */
#include "dynamics/global_step.h"
#include "dynamics/line_search.h"
#include "dynamics/potential.h"

#include <stdlib.h>

typedef struct settings {
    int history; /* pairs that are kept */
    int line_search;
    pd_linear_settings linear;
} settings;

static const pd_option options[] = {PD_COUNT_FROM(settings, history, 0), PD_FLAG(settings, line_search), PD_LINEAR(settings, linear),
                                    PD_OPTIONS_END};

typedef struct pd_quasi_newton {
    int line_search;
    int size, count, next; /* capacity, pairs held, place of the next one */
    pd_global_step step;   /* with A */
    real *last_gradient;   /* B [n,3] of the iterate before */
    real **s, **y;         /* [size] of B [n,3] */
    double *curvature;     /* [size] s.y */
    double *factor;        /* [size] scratch of the recursion */
} pd_quasi_newton;

static void destroy(void *self, const pd_problem *problem) {
    pd_quasi_newton *own = self;
    if (!own) return;
    for (int i = 0; i < own->size; i++) {
        if (own->s) pd_memory_destroy(problem->context, own->s[i]);
        if (own->y) pd_memory_destroy(problem->context, own->y[i]);
    }
    pd_memory_destroy(problem->context, own->last_gradient);
    pd_global_step_destroy(&own->step, problem->context);
    free(own->s);
    free(own->y);
    free(own->curvature);
    free(own->factor);
    free(own);
}

static pd_status create(void **self, const pd_problem *problem, const void *given) {
    const settings *settings = given;
    pd_status status = PD_OK;
    size_t size = (size_t)settings->history, bytes = pd_problem_bytes(problem);
    pd_quasi_newton *own = calloc(1, sizeof *own);
    if (!own) return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory");
    own->line_search = settings->line_search;
    own->size = (int)size;
    own->s = calloc(size + 1, sizeof *own->s);
    own->y = calloc(size + 1, sizeof *own->y);
    own->curvature = calloc(size + 1, sizeof *own->curvature);
    own->factor = calloc(size + 1, sizeof *own->factor);
    if (!own->s || !own->y || !own->curvature || !own->factor) {
        status = pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for a history of %d", own->size);
        goto done;
    }
    for (size_t i = 0; i < size; i++) {
        PD_TRY(pd_memory_create(problem->context, (void **)&own->s[i], bytes));
        PD_TRY(pd_memory_create(problem->context, (void **)&own->y[i], bytes));
    }
    if (size) PD_TRY(pd_memory_create(problem->context, (void **)&own->last_gradient, bytes));
    PD_TRY(pd_global_step_create(&own->step, problem, &settings->linear, NULL));
done:
    if (status)
        destroy(own, problem);
    else
        *self = own;
    return status;
}

static pd_status refresh(void *self, const pd_problem *problem) {
    (void)problem;
    return pd_linear_prepare(((pd_quasi_newton *)self)->step.linear);
}

/* Takes the pair of the iteration before into the history; the oldest makes room. */
static pd_status remember(pd_quasi_newton *own, const pd_problem *problem, const pd_iterate *iterate) {
    pd_status status = PD_OK;
    size_t bytes = pd_problem_bytes(problem);
    real *s = own->s[own->next], *y = own->y[own->next];
    double s_y, s_s, y_y;
    int full = own->count == own->size;
    PD_TRY(pd_memory_copy(problem->context, s, iterate->step, bytes));
    PD_TRY(pd_memory_copy(problem->context, y, iterate->gradient, bytes));
    PD_TRY(pd_add_scaled(problem->context, problem->model, y, -1.0, own->last_gradient, y));
    PD_TRY(pd_problem_product(problem, s, y, &s_y));
    PD_TRY(pd_problem_product(problem, s, s, &s_s));
    PD_TRY(pd_problem_product(problem, y, y, &y_y));
    if (s_y > (double)PD_EPSILON * sqrt(s_s) * sqrt(y_y)) {
        own->curvature[own->next] = s_y;
        own->next = (own->next + 1) % own->size;
        if (!full) own->count++;
    } else if (full)
        own->count--; // the place holds a pair that is none
done:
    return status;
}

/* direction = B gradient: the two loops, newest pair first and oldest pair first. */
static pd_status two_loops(pd_quasi_newton *own, const pd_problem *problem, const pd_iterate *iterate) {
    pd_status status = PD_OK;
    real *q = problem->trial, *r = iterate->direction;
    PD_TRY(pd_memory_copy(problem->context, q, iterate->gradient, pd_problem_bytes(problem)));
    for (int k = 1; k <= own->count; k++) {
        int i = (own->next - k + own->size) % own->size;
        PD_TRY(pd_problem_product(problem, own->s[i], q, &own->factor[i]));
        own->factor[i] /= own->curvature[i];
        PD_TRY(pd_add_scaled(problem->context, problem->model, q, -own->factor[i], own->y[i], q));
    }
    PD_TRY(pd_global_step_solve(&own->step, problem, q, r));
    for (int k = own->count; k >= 1; k--) {
        int i = (own->next - k + own->size) % own->size;
        double y_r;
        PD_TRY(pd_problem_product(problem, own->y[i], r, &y_r));
        PD_TRY(pd_add_scaled(problem->context, problem->model, r, own->factor[i] - y_r / own->curvature[i], own->s[i], r));
    }
done:
    return status;
}

static pd_status direction(void *self, const pd_problem *problem, pd_iterate *iterate) {
    pd_quasi_newton *own = self;
    pd_status status = PD_OK;
    double slope = 1.0;
    PD_TRY(pd_problem_gradient(problem, iterate->x, iterate->offset, iterate->gradient));
    if (iterate->number == 0)
        own->count = own->next = 0;
    else if (own->size)
        PD_TRY(remember(own, problem, iterate));
    PD_TRY(pd_global_step_place(&own->step, problem, iterate->x, iterate->number == 0));
    PD_TRY(two_loops(own, problem, iterate));
    if (own->count) PD_TRY(pd_problem_product(problem, iterate->gradient, iterate->direction, &slope));
    if (!(slope > 0)) { // only rounding can do that; the matrix alone cannot
        own->count = 0;
        PD_TRY(two_loops(own, problem, iterate));
    }
    if (own->size) PD_TRY(pd_memory_copy(problem->context, own->last_gradient, iterate->gradient, pd_problem_bytes(problem)));
    if (own->line_search) PD_TRY(pd_line_search(problem, iterate, PD_NEAR_SLOPE));
done:
    return status;
}

static pd_linear *linear_of(const void *self) { return ((const pd_quasi_newton *)self)->step.linear; }

const pd_method pd_quasi_newton_method = {.name = "QuasiNewton",
                                          .options = options,
                                          .settings_size = sizeof(settings),
                                          .create = create,
                                          .destroy = destroy,
                                          .refresh = refresh,
                                          .direction = direction,
                                          .linear = linear_of,
                                          .minimises_potential = 1,
                                          .fills_gradient = 1};
