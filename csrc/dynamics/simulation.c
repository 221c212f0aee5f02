/* The frame every solver runs in; see simulation.h. */
#include "base/clock.h"
#include "dynamics/chunk.h"
#include "dynamics/energy.h"

#include <stdlib.h>
#include <string.h>

static size_t vector_bytes(const pd_simulation *self) { return (size_t)self->model.n_vertices * 3 * sizeof(real); }

const pd_method *pd_simulation_method(const pd_simulation *self) {
    switch (self->settings.solver) {
    case PD_SOLVER_NEWTON: return &pd_newton_method;
    case PD_SOLVER_NONLINEAR_CG: return &pd_nonlinear_cg_method;
    case PD_SOLVER_POSITION_BASED: return &pd_position_based_method;
    case PD_SOLVER_VERTEX_BLOCK_DESCENT: return &pd_vertex_block_descent_method;
    case PD_SOLVER_BLOCK_JACOBI: return &pd_block_jacobi_method;
    case PD_SOLVER_GRADIENT_DESCENT: return &pd_gradient_descent_method;
    case PD_SOLVER_QUASI_NEWTON: return &pd_quasi_newton_method;
    case PD_SOLVER_XPBD: return &pd_xpbd_method;
    case PD_SOLVER_ADMM: return &pd_admm_method;
    default: return &pd_projective_dynamics_method;
    }
}

/* ---- creation ------------------------------------------------------------------------------------------------------------ */

void pd_simulation_destroy(pd_simulation *self) {
    if (!self) return;
    pd_linear_destroy(self->linear);
    pd_newton_destroy(self->newton);
    pd_nonlinear_cg_destroy(self->cg);
    pd_descent_destroy(self->descent);
    pd_quasi_newton_destroy(self->quasi_newton);
    pd_xpbd_destroy(self->xpbd);
    pd_admm_destroy(self->admm);
    if (self->context) {
        pd_chunks_destroy(self->chunks, self->context);
        void *memory[] = {self->x,
                          self->v,
                          self->v_previous,
                          self->load,
                          self->x_t,
                          self->offset,
                          self->targets,
                          self->gradient,
                          self->direction,
                          self->step,
                          self->trial,
                          self->trial_offset,
                          self->trial_gradient,
                          self->scalars,
                          self->diagonal_slots,
                          self->hessian_blocks};
        for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) pd_memory_destroy(self->context, memory[i]);
        for (int k = 0; k < PD_KIND_COUNT; k++) pd_memory_destroy(self->context, self->slots[k]);
        pd_model_destroy(&self->model, self->context);
        pd_context_destroy(self->context);
    }
    free(self->sets);
    free(self->staging);
    free(self->stiffness_rows);
    pd_corners_destroy(&self->corners);
    pd_csr_destroy(&self->pattern);
    pd_csr_destroy(&self->system_matrix);
    free(self);
}

/* The description is borrowed. */
static pd_status keep_description(pd_simulation *self, const pd_description *description) {
    size_t n = (size_t)description->n_vertices, sets_bytes = (size_t)description->n_sets * sizeof(pd_element_set);
    self->masses = description->masses;
    self->fixed = description->fixed;
    self->subspace = description->subspace;
    self->n_sets = description->n_sets;
    self->sets = malloc(sets_bytes + 1);
    self->staging = calloc(n * 3 + 1, sizeof(real));
    if (!self->sets || !self->staging)
        return pd_fail(&self->error, PD_ERROR_MEMORY, "out of memory for a model of %d vertices", description->n_vertices);
    if (sets_bytes) memcpy(self->sets, description->sets, sets_bytes);
    return PD_OK;
}

pd_status pd_simulation_create(pd_simulation **out, const pd_description *description, const pd_settings *settings,
                               const pd_cholesky_functions *cholesky, int threads, pd_error *error) {
    pd_status status = PD_OK;
    pd_simulation *self = calloc(1, sizeof *self);
    *out = NULL;
    if (!self) return pd_fail(error, PD_ERROR_MEMORY, "out of memory");
    self->settings = *settings;
    self->cholesky = cholesky;
    int n = description->n_vertices;
    PD_TRY(keep_description(self, description));
    PD_TRY(pd_corners_create(&self->corners, n, self->sets, self->n_sets, &self->error));
    PD_TRY(pd_context_create(&self->context, threads, &self->error));
    PD_TRY(pd_chunks_create(&self->chunks, &self->error));
    status = pd_model_create(&self->model, self->context, description, &self->corners);
    if (!status) PD_TRY(pd_simulation_sum_stiffness(self));
    real **vectors[] = {
        &self->x,        &self->v,         &self->v_previous, &self->load,  &self->x_t,          &self->offset,        &self->targets,
        &self->gradient, &self->direction, &self->step,       &self->trial, &self->trial_offset, &self->trial_gradient};
    for (size_t i = 0; !status && i < sizeof vectors / sizeof *vectors; i++)
        status = pd_memory_create(self->context, (void **)vectors[i], vector_bytes(self));
    if (!status) status = pd_memory_create(self->context, (void **)&self->scalars, (PD_ENERGY_COUNT + 2) * sizeof(double));
    if (status) self->error = *pd_context_error(self->context);

done:
    if (status) {
        if (error) *error = self->error;
        pd_simulation_destroy(self);
    } else
        *out = self;
    return status;
}

/* A loop wrote its text into the context: keep it where the caller looks. */
static pd_status keep_error(pd_simulation *self, pd_status status) {
    if (status && pd_context_error(self->context)->text[0]) {
        self->error = *pd_context_error(self->context);
        pd_context_error(self->context)->text[0] = 0;
    }
    return status;
}

pd_status pd_simulation_prepare(pd_simulation *self, double *seconds) {
    double start = pd_seconds();
    if (seconds) *seconds = 0.0;
    if (self->prepared) return PD_OK;
    pd_status status = keep_error(self, pd_simulation_method(self)->prepare(self));
    if (status) return status;
    self->prepared = 1;
    if (seconds) *seconds = pd_seconds() - start;
    return PD_OK;
}

/* ---- what methods and diagnostics share -------------------------------------------------------------------------------------- */

pd_step_data pd_simulation_step_data(const pd_simulation *self) {
    double h = self->settings.h;
    pd_step_data step = {h > 0 ? 1.0 / h : 0.0, self->x_t, self->load};
    return step;
}

pd_status pd_simulation_norm(pd_simulation *self, const real *vector, double *norm) {
    pd_status status = pd_dot(self->context, &self->model, vector, vector, self->scalars);
    if (!status) status = pd_memory_download(self->context, norm, self->scalars, sizeof *norm);
    *norm = sqrt(*norm);
    return status;
}

static pd_status energies_at(pd_simulation *self, const real *x, const real *offset, double *energies) {
    pd_step_data step = pd_simulation_step_data(self);
    pd_status status = pd_potential(self->context, &self->model, &step, x, offset, self->scalars);
    return status ? status : pd_memory_download(self->context, energies, self->scalars, PD_ENERGY_COUNT * sizeof(double));
}

pd_status pd_simulation_potential_at(pd_simulation *self, const real *x, const real *offset, double *potential, double *magnitude) {
    double energies[PD_ENERGY_COUNT];
    pd_status status = energies_at(self, x, offset, energies);
    if (status) return status;
    *potential = 0.0;
    for (int i = 0; i < PD_ENERGY_COUNT; i++) *potential += energies[i];
    if (magnitude) {
        *magnitude = 0.0;
        for (int i = 0; i < PD_ENERGY_COUNT; i++) *magnitude += fabs(energies[i]);
    }
    return PD_OK;
}

pd_status pd_simulation_evaluate(pd_simulation *self, double *potential, double *gradient_norm) {
    pd_step_data step = pd_simulation_step_data(self);
    pd_status status = pd_simulation_potential_at(self, self->x, self->offset, potential, NULL);
    if (status) return status;
    // trial_gradient, not gradient: a method may still need its own
    status = pd_gradient(self->context, &self->model, &step, self->x, self->offset, self->trial_gradient);
    return status ? status : pd_simulation_norm(self, self->trial_gradient, gradient_norm);
}

pd_status pd_simulation_need_pattern(pd_simulation *self) {
    if (self->pattern.row_start) return PD_OK;
    return pd_pattern_create(&self->pattern, self->model.n_vertices, self->sets, self->n_sets, &self->corners, &self->error);
}

pd_status pd_simulation_need_hessian(pd_simulation *self) {
    pd_status status = PD_OK;
    int n = self->model.n_vertices, *host = NULL;
    if (self->hessian_blocks) return PD_OK;
    PD_TRY(pd_simulation_need_pattern(self));
    for (int s = 0; s < self->n_sets; s++) {
        int k = pd_kind_shape_of(self->sets[s].kind).vertices;
        size_t count = (size_t)self->sets[s].n * (size_t)k * (size_t)k;
        host = malloc(count * sizeof(int) + 1);
        if (!host) goto memory;
        pd_pattern_slots(&self->pattern, &self->sets[s], host, pd_context_threads(self->context));
        if (!self->slots[s]) PD_TRY(pd_memory_create(self->context, (void **)&self->slots[s], count * sizeof(int)));
        PD_TRY(pd_memory_upload(self->context, self->slots[s], host, count * sizeof(int)));
        free(host);
        host = NULL;
    }
    size_t scratch = pd_hessian_scratch(&self->model);
    if (scratch && !self->model.element_hessians) PD_TRY(pd_memory_create(self->context, (void **)&self->model.element_hessians, scratch));
    host = malloc((size_t)n * sizeof(int) + 1);
    if (!host) goto memory;
    for (int i = 0; i < n; i++)
        for (int s = self->pattern.row_start[i]; s < self->pattern.row_start[i + 1]; s++)
            if (self->pattern.columns[s] == i) host[i] = s;
    if (!self->diagonal_slots) PD_TRY(pd_memory_create(self->context, (void **)&self->diagonal_slots, (size_t)n * sizeof(int)));
    PD_TRY(pd_memory_upload(self->context, self->diagonal_slots, host, (size_t)n * sizeof(int)));
    status = pd_memory_create(self->context, (void **)&self->hessian_blocks, (size_t)self->pattern.row_start[n] * 9 * sizeof(real));
    goto done;
memory:
    status = pd_fail(&self->error, PD_ERROR_MEMORY, "out of memory for the Hessian of %d vertices", n);
done:
    free(host);
    return status;
}

pd_status pd_simulation_system_matrix(pd_simulation *self, const pd_csr **out) {
    int n = self->model.n_vertices;
    double h = self->settings.h, inverse_h = h > 0 ? 1.0 / h : 0.0;
    *out = &self->system_matrix;
    if (self->system_matrix.row_start) return PD_OK;
    pd_status status = pd_simulation_need_pattern(self);
    if (status) return status;
    double *scaled = malloc((size_t)n * sizeof(double) + 1);
    if (!scaled) return pd_fail(&self->error, PD_ERROR_MEMORY, "out of memory for a system matrix of %d rows", n);
    for (int i = 0; i < n; i++) scaled[i] = self->masses[i] * inverse_h * inverse_h;
    status = pd_system_matrix_create(&self->system_matrix, n, scaled, inverse_h, self->sets, self->n_sets, &self->pattern, &self->corners,
                                     pd_context_threads(self->context), &self->error);
    free(scaled);
    return status;
}

/* The part of the system matrix that comes from bending; out->n = 0 where nothing bends. */
static pd_status bending_matrix(pd_simulation *self, pd_csr *out) {
    int n = self->model.n_vertices, threads = pd_context_threads(self->context), one;
    pd_corners corners = {0};
    pd_csr pattern = {0};
    double *zeros = calloc((size_t)n + 1, sizeof(double));
    pd_status status = zeros ? PD_OK : pd_fail(&self->error, PD_ERROR_MEMORY, "out of memory for a bending matrix of %d rows", n);
    for (one = 0; one < self->n_sets && self->sets[one].kind != PD_BENDING; one++) {}
    if (status || one == self->n_sets) goto done;
    PD_TRY(pd_corners_create(&corners, n, self->sets + one, 1, &self->error));
    PD_TRY(pd_pattern_create(&pattern, n, self->sets + one, 1, &corners, &self->error));
    PD_TRY(pd_system_matrix_create(out, n, zeros, self->settings.h > 0 ? 1.0 / self->settings.h : 0.0, self->sets + one, 1, &pattern,
                                   &corners, threads, &self->error));
done:
    pd_corners_destroy(&corners);
    pd_csr_destroy(&pattern);
    free(zeros);
    return status;
}

pd_status pd_simulation_linear(pd_simulation *self, pd_linear **out) {
    const pd_linear_settings *settings = &self->settings.linear;
    const pd_csr *A;
    pd_csr bending = {0};
    pd_status status = PD_OK;
    if (!self->linear && pd_simulation_method(self)->uses_linear) {
        PD_TRY(pd_simulation_system_matrix(self, &A));
        if (settings->suppression == PD_SUPPRESS_BENDING) PD_TRY(bending_matrix(self, &bending));
        PD_TRY(pd_linear_create(&self->linear, self->context, self->cholesky, settings, A, self->fixed, bending.n ? &bending : NULL, 3));
    }
done:
    pd_csr_destroy(&bending);
    *out = self->linear;
    return keep_error(self, status);
}

/* ---- state and diagnostics --------------------------------------------------------------------------------------------------- */

pd_status pd_simulation_set_state(pd_simulation *self, const real *positions, const real *velocities, const real *previous_velocities) {
    pd_status status = PD_OK;
    if (positions) PD_TRY(pd_memory_upload(self->context, self->x, positions, vector_bytes(self)));
    if (velocities) PD_TRY(pd_memory_upload(self->context, self->v, velocities, vector_bytes(self)));
    self->has_previous = previous_velocities != NULL;
    if (previous_velocities) PD_TRY(pd_memory_upload(self->context, self->v_previous, previous_velocities, vector_bytes(self)));
    PD_TRY(pd_energy_start(self));
done:
    return keep_error(self, status);
}

pd_status pd_simulation_get_state(pd_simulation *self, real *positions, real *velocities, real *previous_velocities) {
    pd_status status = PD_OK;
    if (positions) PD_TRY(pd_memory_download(self->context, positions, self->x, vector_bytes(self)));
    if (velocities) PD_TRY(pd_memory_download(self->context, velocities, self->v, vector_bytes(self)));
    if (previous_velocities) PD_TRY(pd_memory_download(self->context, previous_velocities, self->v_previous, vector_bytes(self)));
done:
    return keep_error(self, status);
}

int pd_simulation_has_previous(const pd_simulation *self) { return self->has_previous; }

void pd_simulation_share(pd_simulation *self, real **positions, real **velocities) {
    self->shared = 1;
    *positions = self->x;
    *velocities = self->v;
}

pd_status pd_simulation_wait(pd_simulation *self) { return keep_error(self, pd_context_wait(self->context)); }
pd_place pd_simulation_place(const pd_simulation *self) { return pd_context_place(self->context); }
pd_counts pd_simulation_counts(const pd_simulation *self) { return pd_context_counts(self->context); }

pd_status pd_simulation_set_load(pd_simulation *self, const real *load) {
    pd_status status = PD_OK;
    double h = self->settings.h;
    pd_energy_set_load(self, load);
    // the adaptive guess asks what elasticity left of the load in the last step: as if the new load had acted in it
    if (self->has_previous) PD_TRY(pd_add_scaled(self->context, &self->model, self->v_previous, h, self->load, self->v_previous));
    PD_TRY(pd_memory_upload(self->context, self->load, load, vector_bytes(self)));
    if (self->has_previous) PD_TRY(pd_add_scaled(self->context, &self->model, self->v_previous, -h, self->load, self->v_previous));
done:
    return keep_error(self, status);
}

pd_error *pd_simulation_error(pd_simulation *self) { return &self->error; }
int pd_simulation_n_vertices(const pd_simulation *self) { return self->model.n_vertices; }
pd_status pd_simulation_pattern(pd_simulation *self, const pd_csr **out) {
    *out = &self->pattern;
    return pd_simulation_need_pattern(self);
}

int pd_simulation_constraint_colours(const pd_simulation *self) { return pd_xpbd_colours(self->xpbd); }

void pd_simulation_set_chebyshev(pd_simulation *self, const pd_chebyshev *chebyshev) {
    self->settings.chebyshev = *chebyshev;
    pd_chunks_forget(self->chunks, self->context); // those of the old weights will not come again
}

pd_status pd_simulation_begin(pd_simulation *self) {
    self->largest_coordinate = -1.0;
    pd_status status = pd_memory_copy(self->context, self->x_t, self->x, vector_bytes(self));
    if (!status) status = pd_damping_hessian(self->context, &self->model, self->x_t);
    return keep_error(self, status);
}

/* trial, trial_offset = the point a diagnostic is asked for. */
static pd_status place_trial(pd_simulation *self, const real *x) {
    pd_status status = PD_OK;
    if (x)
        PD_TRY(pd_memory_upload(self->context, self->trial, x, vector_bytes(self)));
    else
        PD_TRY(pd_memory_copy(self->context, self->trial, self->x, vector_bytes(self)));
    PD_TRY(pd_offset(self->context, &self->model, self->settings.h, self->trial, self->x_t, self->v, self->load, self->trial_offset));
done:
    return status;
}

pd_status pd_simulation_energies(pd_simulation *self, const real *x, double *energies) {
    pd_status status = place_trial(self, x);
    if (!status) status = energies_at(self, self->trial, self->trial_offset, energies);
    return keep_error(self, status);
}

pd_status pd_simulation_gradient(pd_simulation *self, const real *x, real *gradient) {
    pd_step_data step = pd_simulation_step_data(self);
    pd_status status = place_trial(self, x);
    if (!status) status = pd_gradient(self->context, &self->model, &step, self->trial, self->trial_offset, self->trial_gradient);
    if (!status) status = pd_memory_download(self->context, gradient, self->trial_gradient, vector_bytes(self));
    return keep_error(self, status);
}

/* C = A B, in double whatever `real` is. */
static void multiply3(const double *A, const double *B, double *C) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) C[3 * i + j] = A[3 * i] * B[j] + A[3 * i + 1] * B[3 + j] + A[3 * i + 2] * B[6 + j];
}

void pd_simulation_restrict(const pd_simulation *self, real *blocks, int filled) {
    const pd_csr *pattern = &self->pattern;
    for (int i = 0; i < pattern->n && self->subspace; i++)
        for (int s = pattern->row_start[i]; s < pattern->row_start[i + 1]; s++) {
            const double *P = self->subspace + 9 * (size_t)i, *Q = self->subspace + 9 * (size_t)pattern->columns[s];
            double block[9], left[9], trace = 0.0;
            for (int c = 0; c < 9; c++) block[c] = (double)blocks[9 * (size_t)s + (size_t)c];
            for (int c = 0; c < 9; c += 4) trace += fabs(block[c]);
            multiply3(P, block, left);
            multiply3(left, Q, block);
            for (int c = 0; c < 9; c++) {
                double fill = filled && pattern->columns[s] == i ? trace / 3.0 * ((double)(c % 4 == 0) - P[c]) : 0.0;
                blocks[9 * (size_t)s + (size_t)c] = (real)(block[c] + fill);
            }
        }
}

pd_status pd_simulation_hessian(pd_simulation *self, const real *x, int psd, real *blocks) {
    pd_step_data step = pd_simulation_step_data(self);
    pd_status status = PD_OK;
    int n_blocks = 0;
    PD_TRY(pd_simulation_need_hessian(self));
    n_blocks = self->pattern.row_start[self->model.n_vertices];
    PD_TRY(place_trial(self, x));
    PD_TRY(pd_hessian(self->context, &self->model, &step, self->trial, psd, self->slots, self->diagonal_slots, n_blocks,
                      self->hessian_blocks));
    PD_TRY(pd_memory_download(self->context, blocks, self->hessian_blocks, (size_t)n_blocks * 9 * sizeof(real)));
    pd_simulation_restrict(self, blocks, 0);
done:
    return keep_error(self, status);
}

/* ---- the step --------------------------------------------------------------------------------------------------------------- */

/* The vertex to blame: the first with a non-finite coordinate, else the one with the largest gradient. */
static pd_status worst_vertex(pd_simulation *self, int *vertex) {
    pd_step_data step = pd_simulation_step_data(self);
    pd_status status = PD_OK;
    double largest = -1.0;
    PD_TRY(pd_find_not_finite(self->context, &self->model, self->x, vertex));
    if (*vertex >= 0) goto done;
    PD_TRY(pd_gradient(self->context, &self->model, &step, self->x, self->offset, self->trial_gradient));
    PD_TRY(pd_memory_download(self->context, self->staging, self->trial_gradient, vector_bytes(self)));
    *vertex = 0;
    for (int i = 0; i < self->model.n_vertices; i++) {
        const real *g = self->staging + 3 * (size_t)i;
        double square = (double)g[0] * (double)g[0] + (double)g[1] * (double)g[1] + (double)g[2] * (double)g[2];
        if (!(square <= largest)) largest = square, *vertex = i;
        if (!isfinite(square)) break;
    }
done:
    return status;
}

static pd_status diverged(pd_simulation *self, int iteration, const char *why) {
    int vertex = 0;
    pd_status status = worst_vertex(self, &vertex);
    if (status) return status;
    self->error.iteration = iteration;
    self->error.vertex = vertex;
    return pd_fail(&self->error, PD_DIVERGED, "%s diverged at iteration %d: %s; worst vertex %d", pd_simulation_method(self)->name,
                   iteration, why, vertex);
}

/* Nothing moves, or nothing lowers G: the answer where the gradient is within the tolerance or what rounding leaves of it. */
static pd_status end_without_decrease(pd_simulation *self, int iteration, double tolerated, pd_step_result *result) {
    pd_step_data step = pd_simulation_step_data(self);
    pd_status status = PD_OK;
    double norm = 0.0;
    PD_TRY(pd_gradient(self->context, &self->model, &step, self->x, self->offset, self->trial_gradient));
    PD_TRY(pd_simulation_norm(self, self->trial_gradient, &norm));
    if (!isfinite(norm)) return diverged(self, iteration, "the gradient is not finite");
    result->at_rounding = norm <= pd_simulation_gradient_rounding(self);
    result->stop = result->at_rounding || norm <= tolerated ? PD_STOP_CONVERGED : PD_STOP_STALLED;
done:
    return status;
}

/* Whether the state that the step ends in has an energy that it can have. */
static pd_status check_energy(pd_simulation *self, const real *targets, int iteration) {
    pd_energy_excess excess;
    pd_status status = pd_energy_step(self, targets, &excess);
    if (status || excess.vertex < 0) return status;
    self->error.iteration = iteration;
    self->error.vertex = excess.vertex;
    return pd_fail(&self->error, PD_DIVERGED,
                   "%s diverged over the steps: the kinetic energy has come to %.3g J, where the state the run began with, load and pins "
                   "allow %.3g J at most; fastest vertex %d",
                   pd_simulation_method(self)->name, excess.kinetic, excess.energy, excess.vertex);
}

/* The next n iterations inside the clock; with `look` they end with reading back the report of pd_chunk_run. The seconds of the two phases
 * go into *times. On a device whose loops run on after their call, a phase is billed for what it waits for: the look for all of it. */
static pd_status iterate(pd_simulation *self, int n, pd_look look, int recording, double *omega, double report[3], int *stalled,
                         pd_iteration *times) {
    const pd_method *method = pd_simulation_method(self);
    double seconds[2], start;
    pd_status status = pd_chunk_run(self, n, look, recording, omega, stalled, seconds);
    times->direction_seconds = seconds[0];
    times->advance_seconds = seconds[1];
    if (status || *stalled) return status;
    start = pd_seconds();
    if (look) PD_TRY(pd_mark(self->context, PD_MARK_END));
    if (look) PD_TRY(pd_memory_download(self->context, report, self->scalars, (look == PD_LOOK_GRADIENT ? 3 : 2) * sizeof *report));
    if (method->finish && self->iteration + 1 == self->settings.iterations) PD_TRY(method->finish(self));
    times->advance_seconds += pd_seconds() - start;
done:
    return status;
}

pd_status pd_simulation_step(pd_simulation *self, const real *targets, const pd_observer *observer, int keep_diverged,
                             pd_step_result *result) {
    const pd_settings *settings = &self->settings;
    pd_status status = PD_OK;
    size_t bytes = vector_bytes(self);
    int recording = observer && observer->record, iteration = 0, begun = 0;
    int minimises = pd_simulation_method(self)->minimises_potential, fills_gradient = pd_simulation_method(self)->fills_gradient;
    double omega = 1.0, first_norm = 0.0, first_potential = 0.0, potential = 0.0, norm = 0.0, magnitude = 0.0;
    double moves = 0.0, first_moves = 0.0, start;
    pd_iteration row = {0};
    *result = (pd_step_result){.stop = PD_STOP_ITERATION_CAP};
    PD_TRY(pd_simulation_prepare(self, NULL));

    // first guess: x, offset = x - y
    start = pd_seconds();
    PD_TRY(pd_simulation_begin(self));
    begun = 1;
    result->phases[PD_PHASE_BEGIN] = pd_seconds() - start;
    start = pd_seconds();
    if (targets)
        PD_TRY(pd_memory_upload(self->context, self->targets, targets, bytes));
    else
        PD_TRY(pd_memory_copy(self->context, self->targets, self->x, bytes));
    PD_TRY(pd_first_guess(self->context, &self->model, settings->initialization, settings->h, self->x_t, self->v, self->v_previous,
                          self->has_previous, self->load, self->targets, self->x, self->offset));
    PD_TRY(pd_memory_clear(self->context, self->step, bytes));
    self->restarted = 0;
    result->phases[PD_PHASE_FIRST_GUESS] = pd_seconds() - start;
    if (recording || settings->tolerance > 0 || self->guarded) { // who guards himself against what grows needs a finite beginning
        PD_TRY(pd_simulation_evaluate(self, &first_potential, &first_norm));
        PD_TRY(pd_simulation_potential_at(self, self->x, self->offset, &first_potential, &magnitude));
    }
    // the first row also of a run that ends here
    if (recording) PD_TRY(observer->record(observer->user, self, &row));
    if (!isfinite(first_norm) || !isfinite(first_potential)) {
        status = diverged(self, 0, "the potential of the first guess is not finite");
        goto done;
    }

    PD_TRY(pd_mark(self->context, PD_MARK_BEGIN));
    PD_TRY(pd_mark(self->context, PD_MARK_END)); // of a run that is never looked at
    while (iteration < settings->iterations && result->stop == PD_STOP_ITERATION_CAP) {
        if (observer && observer->interrupted && observer->interrupted(observer->user)) {
            status = PD_INTERRUPTED;
            goto done;
        }
        self->iteration = iteration;
        int n = pd_chunk_length(self, recording), stalled = 0;
        int check = (iteration + n) % settings->check_every == 0 || iteration + n == settings->iterations;
        double report[3] = {0.0, 1.0, 0.0};
        // the gradient that the direction started from comes with the report: a lagging test for runs without a record
        pd_look look = fills_gradient && check && !recording && settings->tolerance <= 0 ? PD_LOOK_GRADIENT
                       : check || recording                                              ? PD_LOOK_MOVES
                                                                                         : PD_LOOK_NONE;
        PD_TRY(iterate(self, n, look, recording, &omega, report, &stalled, &row));
        result->phases[PD_PHASE_DIRECTION] += row.direction_seconds;
        result->phases[PD_PHASE_ADVANCE] += row.advance_seconds;
        result->seconds += row.direction_seconds + row.advance_seconds;
        if (stalled) {
            PD_TRY(end_without_decrease(self, iteration, settings->tolerance * first_norm, result));
            break;
        }
        result->iterations = iteration += n;

        if (look == PD_LOOK_GRADIENT) {
            norm = sqrt(report[2]);
            if (first_norm <= 0.0) first_norm = norm;
        }
        // without a gradient at hand, or a potential (forces may grow with what is soft), it is the moves that must not grow
        if (!fills_gradient && (check || recording)) {
            moves = sqrt(report[0]);
            if (first_moves <= 0.0) first_moves = moves;
        }
        if (recording || (check && settings->tolerance > 0)) PD_TRY(pd_simulation_evaluate(self, &potential, &norm));
        if (recording) {
            row.number = iteration, row.seconds = result->seconds, row.step_norm = sqrt(report[0]);
            PD_TRY(observer->record(observer->user, self, &row));
        }
        if (!check && !recording) continue;
        if (!self->guarded) {
            if (!isfinite(report[0]) || !isfinite(norm))
                status = diverged(self, iteration, "not finite");
            else if (moves > 1e8 * first_moves && moves > pd_simulation_size(self))
                status = diverged(self, iteration, "the moves grew by more than 1e8");
            else if (minimises && norm > 1e8 * first_norm && norm * norm > 1e8 * pd_simulation_rounding(self, 0.0) * self->matrix_trace)
                status = diverged(self, iteration, "the gradient norm grew by more than 1e8");
            if (status) goto done;
        }
        if (check && report[1] == 0.0) // looked at only where a run without a record ends too
            PD_TRY(end_without_decrease(self, iteration, settings->tolerance * first_norm, result));
        else if (check && settings->tolerance > 0 && norm <= settings->tolerance * first_norm)
            result->stop = PD_STOP_CONVERGED;
    }
    if (recording && minimises && potential > first_potential + 1e-6 * fabs(first_potential) + pd_simulation_rounding(self, magnitude))
        status = iteration ? diverged(self, iteration, "the incremental potential ended above its first value") : PD_OK;
    if (!status) status = check_energy(self, targets, iteration);

done:
    status = keep_error(self, status);
    if (status == PD_DIVERGED && keep_diverged) {
        result->stop = PD_STOP_DIVERGED;
        pd_memory_copy(self->context, self->x, self->x_t, bytes);
        return PD_OK;
    }
    if (status) {
        if (begun) pd_memory_copy(self->context, self->x, self->x_t, bytes);
        return status;
    }
    start = pd_seconds();
    status = keep_error(self, pd_update_velocity(self->context, &self->model, settings->h, self->x, self->x_t, self->load, self->offset,
                                                 self->v, self->v_previous));
    if (!status && iteration)
        status = keep_error(self, pd_marked_seconds(self->context, PD_MARK_BEGIN, PD_MARK_END, &result->device_seconds));
    if (!status && self->shared) status = pd_simulation_wait(self);
    result->phases[PD_PHASE_VELOCITY] = pd_seconds() - start;
    if (!status) self->has_previous = settings->h > 0;
    return status;
}
