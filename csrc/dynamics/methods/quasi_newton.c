/* Quasi-Newton on the incremental potential, initialised with the matrix of Projective Dynamics [Liu et al. 2017, Quasi-Newton Methods for
 * Real-Time Simulation of Hyperelastic Materials, Sec. 4 and 5].
 *
 *     d = B dG/dx(x),    x <- x - alpha d,
 *
 * with alpha from a backtracking line search. L-BFGS builds the inverse B from A^-1, A = M/h^2 + sum w S^T S, and the last `history` pairs
 * s = x_{k+1} - x_k, y = g_{k+1} - g_k, by the two-loop recursion [Nocedal and Wright 2006, Algorithm 7.4]. A, the initial Hessian, is
 * constant and factorised once. For a material without a projection w is that of the Laplacian of Liu et al., 2 mu volume for solids; the
 * line search compensates for the difference.
 *
 * With contact the initial Hessian is A + K(x), K of the neighbour list (global_step.h): its curvature is too large and too new for the
 * history.
 *
 * A pair whose curvature s.y is not positive, to rounding, is omitted: so B is positive definite and d a descent direction. Pairs of
 * another step belong to another potential, so the history is empty at the start of each step. Without history and line search this is
 * Projective Dynamics to the bit.
 *
 * Signs: the frame subtracts the correction d. */
#include "dynamics/problem/global_step.h"
#include "dynamics/problem/line_search.h"
#include "dynamics/problem/potential.h"

#include <stdlib.h>

typedef struct settings {
    int history; /* the number of stored pairs */
    int line_search;
    pd_linear_settings linear;
} settings;

static const pd_option options[] = {PD_COUNT_FROM(settings, history, 0), PD_FLAG(settings, line_search), PD_LINEAR(settings, linear),
                                    PD_OPTIONS_END};

typedef struct pd_quasi_newton {
    int line_search;
    int size, count, next; /* capacity, pairs stored, slot of the next one */
    pd_global_step global; /* with A */
    real *last_gradient;   /* B [n,3] of the previous iterate */
    real *last_correction; /* B [n,3] from it, six numbers of a rigid body; without bodies the increment contains it */
    real **s, **y;         /* [size] of B [n,3] */
    double *curvature;     /* [size] s.y */
    double *factor;        /* [size] scratch of the recursion */
} pd_quasi_newton;

static void destroy(void *self, const pd_problem *problem) {
    pd_quasi_newton *memory = self;
    if (!memory) return;
    for (int i = 0; i < memory->size; i++) {
        if (memory->s) pd_memory_destroy(problem->context, memory->s[i]);
        if (memory->y) pd_memory_destroy(problem->context, memory->y[i]);
    }
    pd_memory_destroy(problem->context, memory->last_gradient);
    pd_memory_destroy(problem->context, memory->last_correction);
    pd_global_step_destroy(&memory->global, problem->context);
    free(memory->s);
    free(memory->y);
    free(memory->curvature);
    free(memory->factor);
    free(memory);
}

static pd_status create(void **self, const pd_problem *problem, const void *given) {
    const settings *settings = given;
    pd_status status = PD_OK;
    size_t size = (size_t)settings->history, bytes = pd_problem_bytes(problem);
    pd_quasi_newton *memory = *self = calloc(1, sizeof *memory);
    if (!memory) return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory");
    memory->line_search = settings->line_search;
    memory->size = (int)size;
    memory->s = calloc(size + 1, sizeof *memory->s);
    memory->y = calloc(size + 1, sizeof *memory->y);
    memory->curvature = calloc(size + 1, sizeof *memory->curvature);
    memory->factor = calloc(size + 1, sizeof *memory->factor);
    if (!memory->s || !memory->y || !memory->curvature || !memory->factor) {
        status = pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for a history of %d", memory->size);
        goto done;
    }
    for (size_t i = 0; i < size; i++) {
        PD_TRY(pd_memory_create(problem->context, (void **)&memory->s[i], bytes));
        PD_TRY(pd_memory_create(problem->context, (void **)&memory->y[i], bytes));
    }
    if (size) PD_TRY(pd_memory_create(problem->context, (void **)&memory->last_gradient, bytes));
    if (size && problem->rigid) PD_TRY(pd_memory_create(problem->context, (void **)&memory->last_correction, bytes));
    PD_TRY(pd_global_step_create(&memory->global, problem, &settings->linear, NULL));
done:
    return status;
}

static pd_status refresh(void *self, const pd_problem *problem) {
    (void)problem;
    return pd_global_step_prepare(&((pd_quasi_newton *)self)->global);
}

/* Adds the pair of the previous iteration to the history; replaces the oldest pair of a full history. */
static pd_status remember(pd_quasi_newton *memory, const pd_problem *problem, const pd_iterate *iterate) {
    pd_status status = PD_OK;
    size_t bytes = pd_problem_bytes(problem);
    real *s = memory->s[memory->next], *y = memory->y[memory->next];
    double s_y, s_s, y_y;
    int full = memory->count == memory->size;
    if (memory->last_correction) {
        PD_TRY(pd_memory_clear(problem->context, s, bytes));
        PD_TRY(pd_add_scaled(problem->context, problem->model, s, -1.0, memory->last_correction, s));
    } else {
        PD_TRY(pd_memory_copy(problem->context, s, iterate->increment, bytes));
    }
    PD_TRY(pd_memory_copy(problem->context, y, iterate->gradient, bytes));
    PD_TRY(pd_add_scaled(problem->context, problem->model, y, -1.0, memory->last_gradient, y));
    PD_TRY(pd_problem_product(problem, s, y, &s_y));
    PD_TRY(pd_problem_product(problem, s, s, &s_s));
    PD_TRY(pd_problem_product(problem, y, y, &y_y));
    if (s_y > (double)PD_EPSILON * sqrt(s_s) * sqrt(y_y)) {
        memory->curvature[memory->next] = s_y;
        memory->next = (memory->next + 1) % memory->size;
        if (!full) memory->count++;
    } else if (full)
        memory->count--; // the pair in the slot is not valid
done:
    return status;
}

/* correction = B gradient: the two loops, newest pair first and oldest pair first. */
static pd_status two_loops(pd_quasi_newton *memory, const pd_problem *problem, const pd_iterate *iterate) {
    pd_status status = PD_OK;
    real *q = problem->trial, *r = iterate->correction;
    PD_TRY(pd_memory_copy(problem->context, q, iterate->gradient, pd_problem_bytes(problem)));
    for (int k = 1; k <= memory->count; k++) {
        int i = (memory->next - k + memory->size) % memory->size;
        PD_TRY(pd_problem_product(problem, memory->s[i], q, &memory->factor[i]));
        memory->factor[i] /= memory->curvature[i];
        PD_TRY(pd_add_scaled(problem->context, problem->model, q, -memory->factor[i], memory->y[i], q));
    }
    PD_TRY(pd_global_step_solve(&memory->global, problem, q, r));
    for (int k = memory->count; k >= 1; k--) {
        int i = (memory->next - k + memory->size) % memory->size;
        double y_r;
        PD_TRY(pd_problem_product(problem, memory->y[i], r, &y_r));
        PD_TRY(pd_add_scaled(problem->context, problem->model, r, memory->factor[i] - y_r / memory->curvature[i], memory->s[i], r));
    }
done:
    return status;
}

static pd_status correction(void *self, const pd_problem *problem, pd_iterate *iterate) {
    pd_quasi_newton *memory = self;
    pd_status status = PD_OK;
    double slope = 1.0;
    PD_TRY(pd_iterate_gradient(problem, iterate));
    if (iterate->number == 0)
        memory->count = memory->next = 0;
    else if (memory->size && !(problem->rigid && iterate->replaced)) // bodies moved by a part of that correction, on arcs
        PD_TRY(remember(memory, problem, iterate));
    PD_TRY(pd_global_step_refresh(&memory->global, problem, iterate->x, iterate->number == 0));
    PD_TRY(two_loops(memory, problem, iterate));
    if (memory->count) PD_TRY(pd_problem_product(problem, iterate->gradient, iterate->correction, &slope));
    if (!(slope > 0)) { // only by rounding; not with A^-1 without history
        memory->count = 0;
        PD_TRY(two_loops(memory, problem, iterate));
    }
    if (memory->size) PD_TRY(pd_memory_copy(problem->context, memory->last_gradient, iterate->gradient, pd_problem_bytes(problem)));
    if (memory->line_search) PD_TRY(pd_line_search(problem, iterate, PD_NEAR_SLOPE));
    if (memory->last_correction)
        PD_TRY(pd_memory_copy(problem->context, memory->last_correction, iterate->correction, pd_problem_bytes(problem)));
done:
    return status;
}

static pd_linear *linear_of(const void *self) { return ((const pd_quasi_newton *)self)->global.linear; }

const pd_method pd_quasi_newton_method = {.name = "QuasiNewton",
                                          .options = options,
                                          .settings_size = sizeof(settings),
                                          .create = create,
                                          .destroy = destroy,
                                          .refresh = refresh,
                                          .correction = correction,
                                          .linear = linear_of,
                                          .takes_rigid = 1,
                                          .takes_custom = 1,
                                          .takes_oriented = 1,
                                          .minimises_potential = 1,
                                          .fills_gradient = 1,
                                          .takes_gradient = 1};
