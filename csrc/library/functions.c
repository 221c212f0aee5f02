/* The solver of the C interface with the caller's iteration: dynamics/callback.h for pdgpu_functions. */
#include "library/simulation_object.h"
#include "library/solver_object.h"

pdgpu_status pdgpu_solver_set_functions(pdgpu_solver *solver, const pdgpu_functions *functions, pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = PD_OK;
    PD_TRY(pd_need(solver, "solver", &found));
    PD_TRY(pd_need(functions, "functions", &found));
    if (!solver->settings.method->commits)
        PD_TRY(pd_fail(&found, PD_ERROR_TYPE, "functions: %s calls none; CustomSolver does", solver->traits->name));
    if (!functions->iterate) PD_TRY(pd_fail(&found, PD_ERROR_VALUE, "functions: iterate is NULL; it has to move the iterate"));
    solver->functions = *functions;
done:
    return pd_report(status, &found, error);
}

typedef pdgpu_status (*own_function)(void *user, pdgpu_solved *step);

static pd_status call(pdgpu_simulation *self, own_function function, const char *name, pd_callback_step *step) {
    pd_error *error = step->problem->error;
    error->text[0] = 0;
    pd_status status = (pd_status)function(self->functions.user, (pdgpu_solved *)(void *)step);
    if (status && !error->text[0])
        return pd_fail(error, status, "%s: returned %s at iteration %d", name, pdgpu_status_name((pdgpu_status)status),
                       step->iterate->number);
    return status;
}

static pd_status begin(void *user, pd_callback_step *step) {
    pdgpu_simulation *self = user;
    return self->functions.begin ? call(self, self->functions.begin, "begin", step) : PD_OK;
}

static pd_status iterate(void *user, pd_callback_step *step) {
    pdgpu_simulation *self = user;
    return call(self, self->functions.iterate, "iterate", step);
}

pd_status pd_functions_connect(pdgpu_simulation *self, const pdgpu_functions *functions, pd_error *error) {
    if (!functions->iterate)
        return pd_fail(error, PD_ERROR_VALUE, "solver: CustomSolver has no functions; give them by pdgpu_solver_set_functions");
    self->functions = *functions;
    self->callback = (pd_callback){self, begin, iterate};
    return pd_simulation_set_callback(self->core, &self->callback);
}

/* ---- queries ------------------------------------------------------------------------------------------------------------------------- */

static pd_callback_step *step_of(pdgpu_solved *step) { return (pd_callback_step *)(void *)step; }

static const pd_callback_step *known(const pdgpu_solved *step) { return (const pd_callback_step *)(const void *)step; }

/* Checks pointers, which may be NULL if optional, and numbers. */
static pd_status check(const pdgpu_solved *step, const void *out, const real *given, const char *name, int optional, pd_error *error) {
    pd_status status = pd_need(step, "step", error);
    if (!status) status = pd_need(out, "out", error);
    if (status || (optional && !given)) return status;
    if ((status = pd_need(given, name, error))) return status;
    return pd_need_finite_reals(given, 3 * (size_t)known(step)->problem->model->n_vertices, name, error);
}

/* The text of a failed core function is that of the problem. */
static pdgpu_status keep_error(const pdgpu_solved *step, pd_status status, const pd_error *found, pdgpu_error *error) {
    if (!status) return pd_report(PD_OK, found, error);
    pd_problem_keep_error(known(step)->problem, status);
    return pd_report(status, known(step)->problem->error, error);
}

typedef pd_status (*vectors_function)(pd_callback_step *step, const real *given, real *out);
typedef pd_status (*number_function)(pd_callback_step *step, const real *given, double *out);

static pdgpu_status ask_vectors(vectors_function function, pdgpu_solved *step, const real *given, const char *name, int optional, real *out,
                                pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = check(step, out, given, name, optional, &found);
    return status ? pd_report(status, &found, error) : keep_error(step, function(step_of(step), given, out), &found, error);
}

static pdgpu_status ask_number(number_function function, pdgpu_solved *step, const real *given, const char *name, int optional, double *out,
                               pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = check(step, out, given, name, optional, &found);
    return status ? pd_report(status, &found, error) : keep_error(step, function(step_of(step), given, out), &found, error);
}

static pdgpu_status read(pd_status (*function)(const pd_callback_step *, real *), const pdgpu_solved *step, real *out, pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = check(step, out, NULL, "", 1, &found);
    return status ? pd_report(status, &found, error) : keep_error(step, function(known(step), out), &found, error);
}

static pd_hessian_filter filter_of(int exact) { return exact ? PD_FILTER_NONE : PD_FILTER_CLAMP; }

int pdgpu_solved_iteration(const pdgpu_solved *step) { return step ? known(step)->iterate->number : -1; }

pdgpu_status pdgpu_solved_positions(const pdgpu_solved *step, pdgpu_real *x, pdgpu_error *error) {
    return read(pd_callback_positions, step, x, error);
}

pdgpu_status pdgpu_solved_start(const pdgpu_solved *step, pdgpu_real *x, pdgpu_error *error) {
    return read(pd_callback_start, step, x, error);
}

pdgpu_status pdgpu_solved_inertial_target(const pdgpu_solved *step, pdgpu_real *y, pdgpu_error *error) {
    return read(pd_callback_inertial_target, step, y, error);
}

pdgpu_status pdgpu_solved_potential(pdgpu_solved *step, const pdgpu_real *x, double *potential, pdgpu_error *error) {
    return ask_number(pd_callback_potential, step, x, "x", 1, potential, error);
}

pdgpu_status pdgpu_solved_gradient(pdgpu_solved *step, const pdgpu_real *x, pdgpu_real *gradient, pdgpu_error *error) {
    return ask_vectors(pd_callback_gradient, step, x, "x", 1, gradient, error);
}

pdgpu_status pdgpu_solved_hessian(pdgpu_solved *step, const pdgpu_real *x, int exact, const int **row_start, const int **columns,
                                  const pdgpu_real **blocks, pdgpu_error *error) {
    pd_error found = {0};
    const pd_csr *pattern;
    pd_status status = check(step, row_start && columns && blocks ? step : NULL, x, "x", 1, &found);
    if (status) return pd_report(status, &found, error);
    status = pd_callback_hessian(step_of(step), x, filter_of(exact), &pattern, blocks);
    if (!status) *row_start = pattern->row_start, *columns = pattern->columns;
    return keep_error(step, status, &found, error);
}

pdgpu_status pdgpu_solved_hessian_product(pdgpu_solved *step, const pdgpu_real *v, const pdgpu_real *x, int exact, pdgpu_real *product,
                                          pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = check(step, product, v, "v", 0, &found);
    if (!status) status = check(step, product, x, "x", 1, &found);
    if (status) return pd_report(status, &found, error);
    return keep_error(step, pd_callback_product(step_of(step), v, x, filter_of(exact), product), &found, error);
}

pdgpu_status pdgpu_solved_diagonal(pdgpu_solved *step, const pdgpu_real *x, int exact, pdgpu_real *diagonal, pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = check(step, diagonal, x, "x", 1, &found);
    if (status) return pd_report(status, &found, error);
    return keep_error(step, pd_callback_diagonal(step_of(step), x, filter_of(exact), diagonal), &found, error);
}

pdgpu_status pdgpu_solved_local_step(pdgpu_solved *step, const pdgpu_real *x, pdgpu_real *b, pdgpu_error *error) {
    return ask_vectors(pd_callback_local_step, step, x, "x", 1, b, error);
}

pdgpu_status pdgpu_solved_global_solve(pdgpu_solved *step, const pdgpu_real *b, pdgpu_real *u, pdgpu_error *error) {
    return ask_vectors(pd_callback_global_solve, step, b, "b", 0, u, error);
}

pdgpu_status pdgpu_solved_limit(pdgpu_solved *step, const pdgpu_real *d, double *part, pdgpu_error *error) {
    return ask_number(pd_callback_limit, step, d, "d", 0, part, error);
}

pdgpu_status pdgpu_solved_line_search(pdgpu_solved *step, const pdgpu_real *d, double *part, pdgpu_error *error) {
    return ask_number(pd_callback_line_search, step, d, "d", 0, part, error);
}

pdgpu_status pdgpu_solved_move(pdgpu_solved *step, const pdgpu_real *d, double fraction, double *gone, pdgpu_error *error) {
    pd_error found = {0};
    double part;
    pd_status status = check(step, step, d, "d", 0, &found);
    if (status) return pd_report(status, &found, error);
    status = pd_callback_move(step_of(step), d, fraction, &part);
    if (!status && gone) *gone = part;
    return keep_error(step, status, &found, error);
}
