/* Newton's method on the incremental potential, with a sparse Cholesky factor or conjugate gradients, and a backtracking line search.
 *
 * The Hessian is factorised as it is; only where its Cholesky fails are the elements' Hessians projected to be positive
 * semidefinite, since projection alone is only linearly convergent where an element's Hessian stays indefinite at the minimum. With contact
 * an iteration or two after that begin with the projected ones.
 * Near the minimum the potential no longer resolves a decrease: a step that changes it by no more than rounding is
 * taken if it lowers the gradient norm by a tenth, so the iteration goes on down to the floor of the gradient and ends there.
 *
 * Conjugate gradients (inexact Newton) follow the same rule: where they meet negative curvature in the full Hessian they start anew
 * with the projected one, and where even that is singular with a shift on its diagonal. Where the tolerance is left to this method it is the
 * forcing term min(0.01, sqrt(|g| / |g_0|)): superlinear convergence [Nocedal and Wright 2006, Theorem 7.2]. */
#include "dynamics/block_hessian.h"
#include "dynamics/hessian_cg.h"
#include "dynamics/line_search.h"
#include "dynamics/potential.h"
#include "dynamics/rounding.h"
#include "dynamics/whole_hessian.h"

#include <stdlib.h>

enum { MAX_SHIFTS = 8, LONGEST_PAUSE = 2 };

typedef struct settings {
    int line_search;
    pd_linear_settings linear; /* direct or conjugate gradients */
} settings;

static const pd_option options[] = {PD_FLAG(settings, line_search), PD_LINEAR(settings, linear), PD_OPTIONS_END};

typedef struct pd_newton {
    settings settings;
    const pd_cholesky_functions *library;
    pd_cholesky *cholesky;
    int n_free;
    int *free_rows, *compressed; /* vertex of a block row; block row of a vertex or -1 */
    int *column_start;           /* [3 n_free + 1] upper triangle by columns */
    double *values;
    double *vector; /* [n_free,3] */
    int revision;   /* of the pattern that was analysed; 0: none */
    pd_hessian_cg *cg;
    double first_norm;     /* of the gradient in this step, N */
    int pause, next_pause; /* iterations without a trial of the Hessian as it is: left, and after the next that fails */
} pd_newton;

static void destroy(void *self, const pd_problem *problem) {
    pd_newton *newton = self;
    (void)problem;
    if (!newton) return;
    pd_hessian_cg_destroy(newton->cg);
    if (newton->library && newton->cholesky) newton->library->destroy(newton->cholesky);
    free(newton->free_rows);
    free(newton->compressed);
    free(newton->column_start);
    free(newton->values);
    free(newton->vector);
    free(newton);
}

/* Walks the upper triangle of the free Hessian column by column: column 3f+b holds the rows of all blocks j < f and rows <= b of the
 * diagonal block. Writes rows and/or values where given; returns the number of entries. The block (i,j) of the pattern's
 * row i is read transposed, which for a symmetric Hessian is the block (j,i) of column i. */
static int upper_triangle(const pd_newton *newton, const pd_whole_hessian *whole, int *column_start, int *rows, double *values,
                          double shift) {
    const pd_csr *pattern = &whole->pattern;
    int next = 0;
    for (int f = 0; f < newton->n_free; f++) {
        int i = newton->free_rows[f];
        for (int b = 0; b < 3; b++) {
            if (column_start) column_start[3 * f + b] = next;
            for (int s = pattern->row_start[i]; s < pattern->row_start[i + 1]; s++) {
                int j = newton->compressed[pattern->columns[s]];
                if (j < 0 || j > f) continue;
                for (int a = 0; a < (j == f ? b + 1 : 3); a++) {
                    if (rows) rows[next] = 3 * j + a;
                    if (values)
                        values[next] = (double)whole->blocks[9 * (size_t)s + (size_t)(3 * b + a)] + (j == f && a == b ? shift : 0.0);
                    next++;
                }
            }
        }
    }
    if (column_start) column_start[3 * newton->n_free] = next;
    return next;
}

/* Analyses the pattern of the whole Hessian, where it has not been yet. */
static pd_status analyse(pd_newton *newton, const pd_problem *problem) {
    const pd_whole_hessian *whole = problem->whole;
    pd_status status = PD_OK;
    if (newton->revision == whole->revision) return PD_OK;
    newton->library->destroy(newton->cholesky);
    newton->cholesky = NULL;
    newton->revision = 0;
    int count = upper_triangle(newton, whole, newton->column_start, NULL, NULL, 0.0);
    int *rows = malloc(((size_t)count + 1) * sizeof(int));
    double *values = realloc(newton->values, ((size_t)count + 1) * sizeof(double));
    if (values) newton->values = values;
    if (!rows || !values)
        PD_TRY(pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for Newton on %d vertices", problem->model->n_vertices));
    upper_triangle(newton, whole, newton->column_start, rows, NULL, 0.0);
    PD_TRY(newton->library->create(&newton->cholesky, 3 * newton->n_free, newton->column_start, rows, 3, problem->error));
    newton->revision = whole->revision;
done:
    free(rows);
    return status;
}

static pd_status create(void **self, const pd_problem *problem, const void *given) {
    pd_status status = PD_OK;
    int n = problem->model->n_vertices;
    pd_newton *newton = calloc(1, sizeof *newton);
    if (!newton) return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory");
    newton->settings = *(const settings *)given;
    newton->library = problem->cholesky;
    PD_TRY(pd_problem_need_hessian(problem));
    if (newton->settings.linear.kind == PD_LINEAR_PCG) {
        for (int i = 0; i < n; i++) newton->n_free += !problem->fixed[i];
        PD_TRY(pd_hessian_cg_create(&newton->cg, problem, &newton->settings.linear));
        goto done;
    }
    newton->free_rows = malloc(((size_t)n + 1) * sizeof(int));
    newton->compressed = malloc(((size_t)n + 1) * sizeof(int));
    newton->column_start = malloc(((size_t)n * 3 + 1) * sizeof(int));
    newton->vector = malloc(((size_t)n * 3 + 1) * sizeof(double));
    if (!newton->free_rows || !newton->compressed || !newton->column_start || !newton->vector) goto memory;
    for (int i = 0; i < n; i++) {
        newton->compressed[i] = problem->fixed[i] ? -1 : newton->n_free;
        if (!problem->fixed[i]) newton->free_rows[newton->n_free++] = i;
    }
    // without contact the pattern stays: it is analysed here, where it counts as setup
    if (newton->n_free > 0) {
        PD_TRY(pd_problem_need_whole(problem));
        PD_TRY(analyse(newton, problem));
    }
    goto done;

memory:
    status = pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for Newton on %d vertices", n);
done:
    if (status)
        destroy(newton, problem);
    else
        *self = newton;
    return status;
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
            PD_TRY(pd_problem_whole_hessian(problem, iterate->x, attempt > 0, 1, iterate->number == 0));
            PD_TRY(analyse(newton, problem));
        } else if (attempt == 2) {
            double trace = 0.0;
            for (int c = 0; c < 3 * newton->n_free; c++) trace += fabs(newton->values[newton->column_start[c + 1] - 1]);
            // where all elements rest on no energy at all, such as cloth within its strain limits, their stiffness gives the scale
            shift = 1e-10 * (trace > 0.0 ? trace / 3.0 : problem->rounding->matrix_trace) / newton->n_free;
        } else
            shift *= 10.0;
        upper_triangle(newton, problem->whole, NULL, NULL, newton->values, shift);
        status = newton->library->factor(newton->cholesky, newton->values, problem->error);
        if (attempt == 0 && status == PD_ERROR_SINGULAR) newton->pause = newton->next_pause, newton->next_pause = LONGEST_PAUSE;
        if (status != PD_ERROR_SINGULAR) break;
    }
    if (status == PD_ERROR_SINGULAR) { // as where nothing is stiff, and no inertia helps
        problem->error->iteration = iterate->number + 1;
        problem->error->vertex = newton->free_rows[problem->error->vertex];
        status = pd_fail(problem->error, PD_DIVERGED,
                         "Newton diverged at iteration %d: the projected Hessian is not positive definite at vertex %d",
                         problem->error->iteration, problem->error->vertex);
    }
done:
    return status;
}

/* -H^-1 g in place of g: direction = H^-1 gradient. */
static pd_status solve(pd_newton *newton, const pd_problem *problem, const pd_iterate *iterate) {
    real *staging = problem->staging;
    pd_status status = pd_memory_download(problem->context, staging, iterate->gradient, pd_problem_bytes(problem));
    if (status) return status;
    for (int f = 0; f < newton->n_free; f++)
        for (int c = 0; c < 3; c++) newton->vector[3 * f + c] = (double)staging[3 * (size_t)newton->free_rows[f] + (size_t)c];
    newton->library->solve(newton->cholesky, newton->vector, newton->vector, 1, pd_context_threads(problem->context));
    for (int f = 0; f < newton->n_free; f++)
        for (int c = 0; c < 3; c++) staging[3 * (size_t)newton->free_rows[f] + (size_t)c] = (real)newton->vector[3 * f + c];
    return pd_memory_upload(problem->context, iterate->direction, staging, pd_problem_bytes(problem));
}

/* The same by conjugate gradients: on the Hessian as it is, on the projected one, on the projected and shifted one. */
static pd_status solve_inexactly(pd_newton *newton, const pd_problem *problem, const pd_iterate *iterate) {
    pd_status status = PD_OK;
    double tolerance = newton->settings.linear.tolerance, norm;
    PD_TRY(pd_problem_norm(problem, iterate->gradient, &norm));
    if (iterate->number == 0) newton->first_norm = norm;
    if (tolerance <= 0) tolerance = norm < newton->first_norm ? fmin(0.01, sqrt(norm / newton->first_norm)) : 0.01;
    double shift = fmax(1e-10, 8.0 * (double)PD_EPSILON) * problem->rounding->matrix_trace / newton->n_free;
    for (int attempt = 0, indefinite = 1; attempt < 3 && indefinite; attempt++) {
        if (attempt < 2) PD_TRY(pd_problem_hessian(problem, iterate->x, attempt > 0));
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
    if (newton->cg) {
        PD_TRY(solve_inexactly(newton, problem, iterate));
    } else {
        PD_TRY(factorise(newton, problem, iterate));
        PD_TRY(solve(newton, problem, iterate));
    }
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
                                    .minimises_potential = 1,
                                    .fills_gradient = 1};
