/* The method with a function of the caller as its iteration; see dynamics/callback.h. The function may move the iterate any number of
 * times. Each move is limited by the step limiter and made immediately, so the frame has nothing left to move or to limit.
 *
 * Data for queries are created at first use: the Hessian, the matrix A of Projective Dynamics and its factor. Their time counts as setup
 * (pd_iterate.setup), as for methods that create them before the first step. */
#include "dynamics/callback.h"

#include "base/clock.h"
#include "contact/potential/contact.h"
#include "dynamics/problem/assembled_hessian.h"
#include "dynamics/problem/block_hessian.h"
#include "dynamics/problem/global_step.h"
#include "dynamics/problem/line_search.h"
#include "dynamics/problem/path.h"
#include "dynamics/problem/potential.h"

#include <stdlib.h>
#include <string.h>

enum { NO_PRODUCT = -1 };

typedef struct memory {
    real *moved;       /* B [n,3] by the moves of this iteration */
    double changed;    /* coordinates, by all of them */
    double part;       /* the smallest accepted fraction of a move by the step limiter */
    int cut;           /* it has shortened a move */
    int has_gradient;  /* iterate->gradient is the gradient at x */
    real *looked_at;   /* H [n,3] the last d with a known limit, from x; */
    double free_part;  /* its contact-free fraction; 0: unknown */
    int product;       /* the filter of the Hessian at x in cg, or NO_PRODUCT */
    pd_hessian_cg *cg; /* products; NULL until first used */
    pd_linear *linear; /* the factor of A; likewise */
    real *solution;    /* H [n,3] scratch, with it */
} memory;

static void destroy(void *self, const pd_problem *problem) {
    memory *memory = self;
    if (!memory) return;
    pd_memory_destroy(problem->context, memory->moved);
    pd_hessian_cg_destroy(memory->cg);
    pd_linear_destroy(memory->linear);
    free(memory->looked_at);
    free(memory->solution);
    free(memory);
}

static pd_status create(void **self, const pd_problem *problem, const void *given) {
    (void)given;
    memory *made = *self = calloc(1, sizeof *made);
    if (made) made->looked_at = malloc(pd_problem_bytes(problem) + 1);
    if (!made || !made->looked_at) return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory");
    return pd_memory_create(problem->context, (void **)&made->moved, pd_problem_bytes(problem));
}

/* Discards data of x: it has changed, or a query places prescribed points elsewhere. */
static void forget(memory *self) {
    self->has_gradient = 0;
    self->free_part = 0.0;
    self->product = NO_PRODUCT;
}

static pd_status correction(void *self, const pd_problem *problem, pd_iterate *iterate) {
    memory *memory = self;
    const pd_callback *callback = iterate->callback;
    pd_callback_step step = {self, problem, iterate};
    pd_status status = PD_OK;
    if (!callback || !callback->iterate)
        return pd_fail(problem->error, PD_ERROR_VALUE, "CustomSolver: there is no function for its iterations");
    forget(memory);
    memory->changed = 0.0, memory->part = 1.0, memory->cut = 0;
    PD_TRY(pd_memory_clear(problem->context, memory->moved, pd_problem_bytes(problem)));
    if (iterate->number == 0 && callback->begin) PD_TRY(callback->begin(callback->user, &step));
    PD_TRY(callback->iterate(callback->user, &step));

    // a stall of a line search is not one of this method
    iterate->stalled = 0;
    iterate->limit = memory->part;
    iterate->cut = memory->cut;
    PD_TRY(pd_memory_copy(problem->context, iterate->increment, memory->moved, pd_problem_bytes(problem)));
    PD_TRY(pd_dot(problem->context, problem->model, memory->moved, memory->moved, problem->scalars));
    PD_TRY(pd_memory_upload(problem->context, problem->scalars + 1, &memory->changed, sizeof memory->changed));
done:
    return status;
}

/* ---- the point of a query ---- */

typedef struct point {
    const real *x, *offset; /* B [n,3] */
} point;

/* Uses trial and trial_offset if x is not the iterate. */
static pd_status place(const pd_callback_step *step, const real *x, point *at) {
    const pd_problem *problem = step->problem;
    const pd_model *model = problem->model;
    memory *memory = step->memory;
    pd_status status = PD_OK;
    *at = (point){step->iterate->x, step->iterate->offset};
    if (!x) return PD_OK;
    if (problem->contact) memory->product = NO_PRODUCT; // pairs and their Hessians are those of the last point
    PD_TRY(pd_memory_upload(problem->context, problem->trial, x, pd_problem_bytes(problem)));
    PD_TRY(pd_add_scaled(problem->context, model, problem->trial, -1.0, step->iterate->x, problem->trial_offset));
    PD_TRY(pd_add_scaled(problem->context, model, step->iterate->offset, 1.0, problem->trial_offset, problem->trial_offset));
    *at = (point){problem->trial, problem->trial_offset};
done:
    return status;
}

static pd_status read_back(const pd_callback_step *step, real *to, const real *from) {
    return pd_memory_download(step->problem->context, to, from, pd_problem_bytes(step->problem));
}

pd_status pd_callback_positions(const pd_callback_step *step, real *x) { return read_back(step, x, step->iterate->x); }
pd_status pd_callback_start(const pd_callback_step *step, real *x) { return read_back(step, x, step->problem->x_t); }

pd_status pd_callback_inertial_target(const pd_callback_step *step, real *y) {
    const pd_problem *problem = step->problem;
    pd_status status = PD_OK;
    PD_TRY(read_back(step, problem->staging, problem->step.predicted_displacement));
    PD_TRY(read_back(step, y, problem->x_t));
    for (int i = 0; i < 3 * problem->model->n_vertices; i++)
        if (!problem->fixed[i / 3]) y[i] += problem->staging[i];
done:
    return status;
}

pd_status pd_callback_potential(pd_callback_step *step, const real *x, double *potential) {
    point at;
    pd_status status = place(step, x, &at);
    return status ? status : pd_problem_potential(step->problem, at.x, at.offset, potential, NULL);
}

/* iterate->gradient = the gradient at the iterate. */
static pd_status need_gradient(const pd_callback_step *step) {
    memory *memory = step->memory;
    const pd_iterate *iterate = step->iterate;
    if (memory->has_gradient) return PD_OK;
    pd_status status = pd_problem_gradient(step->problem, iterate->x, iterate->offset, iterate->gradient);
    memory->has_gradient = !status;
    return status;
}

pd_status pd_callback_gradient(pd_callback_step *step, const real *x, real *gradient) {
    const pd_problem *problem = step->problem;
    point at;
    pd_status status = PD_OK;
    if (!x) {
        PD_TRY(need_gradient(step));
        return read_back(step, gradient, step->iterate->gradient);
    }
    PD_TRY(place(step, x, &at));
    PD_TRY(pd_problem_gradient(problem, at.x, at.offset, problem->trial_gradient));
    PD_TRY(read_back(step, gradient, problem->trial_gradient));
done:
    return status;
}

/* ---- the Hessian ---------------------------------------------------------------------------------------------------------------------- */

/* Its pattern and memory, and with `products` the operator. */
static pd_status need_hessian(pd_callback_step *step, int products) {
    memory *memory = step->memory;
    const pd_problem *problem = step->problem;
    const pd_linear_settings settings = {.kind = PD_LINEAR_PCG, .iterations = 1, .check_every = 1, .degree = 1};
    double start = pd_seconds();
    int assembled = pd_problem_needs_assembled(problem), made = problem->hessian->blocks && (!products || memory->cg);
    pd_status status = PD_OK;
    if (made) return PD_OK;
    PD_TRY(pd_problem_need_hessian(problem));
    if (products && assembled) PD_TRY(pd_problem_create_assembled(problem));
    if (products) PD_TRY(pd_hessian_cg_create(&memory->cg, problem, &settings, NULL));
    step->iterate->setup += pd_seconds() - start;
done:
    return status;
}

pd_status pd_callback_hessian(pd_callback_step *step, const real *x, pd_hessian_filter filter, const pd_csr **pattern,
                              const real **blocks) {
    const pd_problem *problem = step->problem;
    memory *memory = step->memory;
    point at;
    pd_status status = PD_OK;
    PD_TRY(need_hessian(step, 0));
    PD_TRY(place(step, x, &at));
    memory->product = NO_PRODUCT;
    PD_TRY(pd_problem_assembled_hessian(problem, at.x, filter, 0, step->iterate->number == 0));
    *pattern = &problem->assembled->pattern;
    *blocks = problem->assembled->blocks;
done:
    return status;
}

pd_status pd_callback_product(pd_callback_step *step, const real *v, const real *x, pd_hessian_filter filter, real *product) {
    const pd_problem *problem = step->problem;
    memory *memory = step->memory;
    point at;
    pd_status status = PD_OK;
    PD_TRY(need_hessian(step, 1));
    PD_TRY(place(step, x, &at));
    if (x || memory->product != (int)filter) {
        memory->product = NO_PRODUCT;
        if (pd_problem_needs_assembled(problem))
            PD_TRY(pd_problem_assembled_hessian(problem, at.x, filter, 0, step->iterate->number == 0));
        else
            PD_TRY(pd_problem_hessian(problem, at.x, filter));
        if (!x) memory->product = (int)filter;
    }
    PD_TRY(pd_memory_upload(problem->context, problem->trial, v, pd_problem_bytes(problem)));
    PD_TRY(pd_hessian_cg_multiply(memory->cg, problem->trial, problem->trial_gradient));
    PD_TRY(read_back(step, product, problem->trial_gradient));
done:
    return status;
}

pd_status pd_callback_diagonal(pd_callback_step *step, const real *x, pd_hessian_filter filter, real *diagonal) {
    const pd_csr *pattern;
    const real *blocks;
    pd_status status = pd_callback_hessian(step, x, filter, &pattern, &blocks);
    if (status) return status;
    for (int i = 0; i < pattern->n; i++) {
        const real *block = blocks + 9 * (size_t)pd_csr_slot(pattern, i, i);
        for (size_t c = 0; c < 3; c++) diagonal[3 * (size_t)i + c] = block[4 * c];
    }
    return PD_OK;
}

/* ---- the global step ------------------------------------------------------------------------------------------------------------------ */

/* A without its factor. */
static pd_status need_matrix(pd_callback_step *step, const pd_csr **A) {
    double start = pd_seconds();
    int made = step->problem->system_matrix->row_start != NULL;
    pd_status status = pd_problem_system_matrix(step->problem, A);
    if (!made) step->iterate->setup += pd_seconds() - start;
    return status;
}

/* dG/dx at x, counted as a local step; not computed again if the gradient at the iterate is known. */
static pd_status count_as_projection(pd_callback_step *step, const real *x, real *gradient) {
    pd_tally *tally = pd_context_tally(step->problem->context);
    const long long before = tally->gradients;
    pd_status status = pd_callback_gradient(step, x, gradient);
    tally->projections += tally->gradients - before;
    tally->gradients = before;
    return status;
}

pd_status pd_callback_local_step(pd_callback_step *step, const real *x, real *b) {
    const pd_problem *problem = step->problem;
    const pd_csr *A;
    real *at_x = problem->staging;
    pd_status status = PD_OK;
    for (int s = 0; s < problem->n_sets; s++)
        if (problem->sets[s].n > 0 && !pd_kind_has_projection(problem->sets[s].kind))
            return pd_fail(problem->error, PD_ERROR_TYPE,
                           "%s has no projection, so that there is no local step; global_solve(gradient()) needs none",
                           pd_kind_shape_of(problem->sets[s].kind).name);
    if (problem->subspace)
        return pd_fail(problem->error, PD_ERROR_TYPE,
                       "vertices slide on lines or planes, which the right-hand side does not contain; take global_solve(gradient())");
    PD_TRY(need_matrix(step, &A));
    PD_TRY(count_as_projection(step, x, b));
    if (x)
        memcpy(at_x, x, pd_problem_bytes(problem));
    else
        PD_TRY(pd_callback_positions(step, at_x));
    for (int i = 0; i < A->n; i++)
        for (size_t c = 0; c < 3; c++) {
            size_t j = 3 * (size_t)i + c;
            double sum = -(double)b[j];
            for (int s = A->row_start[i]; s < A->row_start[i + 1]; s++) sum += A->values[s] * (double)at_x[3 * (size_t)A->columns[s] + c];
            b[j] = problem->fixed[i] ? at_x[j] : (real)sum;
        }
done:
    return status;
}

static pd_status need_factor(pd_callback_step *step, const pd_csr **A) {
    memory *memory = step->memory;
    const pd_problem *problem = step->problem;
    const pd_linear_settings settings = {.kind = PD_LINEAR_DIRECT, .iterations = 1, .check_every = 1};
    pd_linear *linear = NULL;
    pd_status status = PD_OK;
    PD_TRY(need_matrix(step, A));
    if (memory->linear) return PD_OK;
    double start = pd_seconds();
    if (!memory->solution) memory->solution = malloc(pd_problem_bytes(problem) + 1);
    if (!memory->solution) return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory");
    PD_TRY(pd_linear_create(&linear, problem->context, problem->cholesky, &settings, *A, problem->fixed, NULL, 3));
    PD_TRY(pd_linear_restrict(linear, problem->subspace, problem->model->subspace));
    PD_TRY(pd_linear_prepare(linear));
    memory->linear = linear;
    step->iterate->setup += pd_seconds() - start;
done:
    if (status) pd_linear_destroy(linear);
    return status;
}

pd_status pd_callback_global_solve(pd_callback_step *step, const real *b, real *u) {
    const pd_problem *problem = step->problem;
    memory *memory = step->memory;
    const pd_csr *A;
    real *residual;
    pd_linear_result result;
    pd_status status = PD_OK;
    PD_TRY(need_factor(step, &A));
    residual = memory->solution;
    for (int i = 0; i < A->n; i++)
        for (size_t c = 0; c < 3; c++) {
            double sum = (double)b[3 * (size_t)i + c];
            for (int s = A->row_start[i]; s < A->row_start[i + 1] && !problem->fixed[i]; s++)
                if (problem->fixed[A->columns[s]]) sum -= A->values[s] * (double)b[3 * (size_t)A->columns[s] + c];
            residual[3 * (size_t)i + c] = problem->fixed[i] ? (real)0 : (real)sum;
        }
    PD_TRY(pd_memory_upload(problem->context, problem->trial, residual, pd_problem_bytes(problem)));
    if (problem->subspace) PD_TRY(pd_project(problem->context, A->n, problem->model->subspace, problem->trial));
    PD_TRY(pd_linear_solve(memory->linear, problem->trial, problem->trial_gradient, NULL, &result));
    PD_TRY(read_back(step, residual, problem->trial_gradient));
    for (size_t j = 0; j < 3 * (size_t)A->n; j++) u[j] = problem->fixed[j / 3] ? b[j] : residual[j];
done:
    return status;
}

/* ---- moves ---------------------------------------------------------------------------------------------------------------------------- */

/* iterate->correction = -fraction d at the free vertices, projected on their lines and planes. */
static pd_status take_direction(pd_callback_step *step, const real *d, double fraction) {
    const pd_problem *problem = step->problem;
    pd_iterate *iterate = step->iterate;
    pd_status status = PD_OK;
    for (size_t j = 0; j < 3 * (size_t)problem->model->n_vertices; j++)
        if (!(pd_fabs(d[j]) < (real)INFINITY))
            return pd_fail(problem->error, PD_ERROR_NOT_FINITE, "d: %g at vertex %zu is not finite", (double)d[j], j / 3);
    PD_TRY(pd_memory_upload(problem->context, iterate->correction, d, pd_problem_bytes(problem)));
    PD_TRY(pd_direction_scale(problem, iterate, -fraction));
    if (problem->subspace) PD_TRY(pd_project(problem->context, problem->model->n_vertices, problem->model->subspace, iterate->correction));
done:
    return status;
}

/* The fraction of iterate->correction within the step limit. */
static pd_status find_limit(const pd_callback_step *step, double *part) {
    const pd_problem *problem = step->problem;
    const pd_iterate *iterate = step->iterate;
    pd_status status = PD_OK;
    *part = 1.0;
    if (!problem->contact && !problem->model->is_oriented) return PD_OK;
    ((memory *)step->memory)->product = NO_PRODUCT;
    PD_TRY(pd_add_scaled(problem->context, problem->model, iterate->x, -1.0, iterate->correction, problem->trial));
    PD_TRY(pd_path_limit(problem, iterate->x, problem->trial, 0, part));
done:
    return status;
}

static void remember_limit(const pd_callback_step *step, const real *d, double part) {
    memory *memory = step->memory;
    memcpy(memory->looked_at, d, pd_problem_bytes(step->problem));
    memory->free_part = part;
}

pd_status pd_callback_limit(pd_callback_step *step, const real *d, double *part) {
    pd_status status = take_direction(step, d, 1.0);
    if (!status) status = find_limit(step, part);
    if (!status) remember_limit(step, d, *part);
    return status;
}

pd_status pd_callback_line_search(pd_callback_step *step, const real *d, double *part) {
    const pd_problem *problem = step->problem;
    memory *memory = step->memory;
    pd_iterate *iterate = step->iterate;
    double slope;
    pd_status status = PD_OK;
    *part = 0.0;
    PD_TRY(need_gradient(step));
    PD_TRY(take_direction(step, d, 1.0));
    PD_TRY(pd_problem_product(problem, iterate->gradient, iterate->correction, &slope));
    if (!(slope >= 0.0))
        return pd_fail(problem->error, PD_ERROR_VALUE,
                       "d: not a descent direction, its product with the gradient is %g J and must be negative", -slope);
    if (slope == 0.0) return PD_OK;
    memory->product = problem->contact ? NO_PRODUCT : memory->product;
    PD_TRY(pd_line_search(problem, iterate, PD_NEAR_SLOPE));
    if (!iterate->stalled) *part = iterate->fraction;
    remember_limit(step, d, problem->contact || problem->model->is_oriented ? iterate->limit : 1.0);
    memory->cut |= iterate->cut;
    iterate->stalled = 0;
done:
    return status;
}

pd_status pd_callback_move(pd_callback_step *step, const real *d, double fraction, double *gone) {
    const pd_problem *problem = step->problem;
    memory *memory = step->memory;
    pd_iterate *iterate = step->iterate;
    const double weights[2] = {-1.0, 0.0};
    double part = 1.0, report[2];
    pd_status status = PD_OK;
    *gone = 0.0;
    if (!(fraction >= 0.0 && fraction < (double)INFINITY))
        return pd_fail(problem->error, fraction < 0.0 ? PD_ERROR_VALUE : PD_ERROR_NOT_FINITE,
                       "fraction: must be finite and at least 0, got %g", fraction);
    PD_TRY(take_direction(step, d, fraction));
    if (fraction == 0.0) return PD_OK;
    const int known =
        memory->free_part > 0.0 && fraction <= memory->free_part && memcmp(d, memory->looked_at, pd_problem_bytes(problem)) == 0;
    if (!known) PD_TRY(find_limit(step, &part));
    if (part < 1.0) {
        memory->cut = 1;
        PD_TRY(pd_direction_scale(problem, iterate, part));
    }
    memory->part = fmin(memory->part, known ? fmin(memory->free_part, 1.0) : part);
    PD_TRY(pd_iterate_advance(problem, iterate, problem->contact ? NULL : &problem->step, weights, 1));
    PD_TRY(pd_memory_download(problem->context, report, problem->scalars, sizeof report));
    memory->changed += report[1];
    PD_TRY(pd_add_scaled(problem->context, problem->model, memory->moved, 1.0, iterate->increment, memory->moved));
    forget(memory);
    *gone = part * fraction;
done:
    return status;
}

const pd_method pd_callback_method = {.name = "CustomSolver",
                                      .options = (const pd_option[]){PD_OPTIONS_END},
                                      .create = create,
                                      .destroy = destroy,
                                      .correction = correction,
                                      .minimises_potential = 1,
                                      .takes_custom = 1,
                                      .takes_oriented = 1,
                                      .commits = 1};
