/* The common frame of the linear solvers: Chebyshev extrapolation, stopping rules, records; see linear_solver.h. */
#include "base/clock.h"
#include "linear/linear_method.h"
#include "linear/preconditioner.h"
#include "linear/upload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Records with an unchanged residual norm, to the last bit, after which a solve has stalled. */
enum { STALLED_AFTER = 8 };

#define OPTION(member, type, least, most) PD_OPTION(pd_linear_settings, member, PD_OPTION_##type, least, most)

const pd_option pd_linear_options[] = {OPTION(kind, COUNT, 0, PD_LINEAR_COUNT - 1),
                                       PD_COUNT_FROM(pd_linear_settings, iterations, 1),
                                       PD_NUMBER_FROM(pd_linear_settings, tolerance, 0.0),
                                       PD_COUNT_FROM(pd_linear_settings, check_every, 1),
                                       PD_NUMBER_FROM(pd_linear_settings, weight, 0.0),
                                       OPTION(omega, NUMBER, 0.0, 2.0),
                                       PD_NUMBER_FROM(pd_linear_settings, rho, 0.0),
                                       PD_FLAG(pd_linear_settings, natural),
                                       OPTION(preconditioner, COUNT, 0, PD_PRECONDITIONER_COUNT - 1),
                                       OPTION(function, FUNCTION, 0, 0),
                                       OPTION(degree, COUNT, 1, PD_LARGEST_PRECONDITIONER_DEGREE),
                                       OPTION(order, COUNT, 1, 4),
                                       PD_FLAG(pd_linear_settings, composed),
                                       OPTION(suppression, COUNT, PD_SUPPRESS_NOTHING, PD_SUPPRESS_BENDING),
                                       PD_FLAG(pd_linear_settings, biased),
                                       PD_NUMBER_FROM(pd_linear_settings, threshold, 0.0),
                                       PD_FLAG(pd_linear_settings, positive),
                                       OPTION(anderson, ANDERSON, 0, 0),
                                       OPTION(chebyshev, CHEBYSHEV, 0, 0),
                                       PD_OPTIONS_END};

static const pd_linear_method *const methods[] = {
#define PD_LINEAR_ENTRY(KIND, name) [KIND] = &pd_##name##_method,
    PD_LINEAR_TABLE(PD_LINEAR_ENTRY)
#undef PD_LINEAR_ENTRY
};

/* ---- creation --------------------------------------------------------------------------------------------------------------- */

static void forget(pd_linear *self) {
    if (self->method && self->method->destroy && self->memory) self->method->destroy(self->memory, self->context);
    self->memory = NULL;
}

void pd_linear_destroy(pd_linear *self) {
    if (!self) return;
    forget(self);
    pd_matrix_destroy(&self->matrix, self->context);
    PD_MEMORIES_DESTROY(self->context, self->buffers[0], self->buffers[1], self->scalars);
    pd_csr_destroy(&self->A);
    pd_csr_destroy(&self->bending);
    PD_MEMORIES_DESTROY(self->context, self->base, self->total, self->inverses, self->uploaded);
    if (self->anderson) pd_anderson_destroy(self->anderson);
    free(self->anderson);
    free(self->added);
    free(self);
}

/* A copy; rows and columns of fixed vertices become those of the identity. */
static pd_status copy_matrix(pd_csr *out, const pd_csr *A, const unsigned char *fixed, pd_error *error) {
    size_t n = (size_t)A->n, count = (size_t)A->row_start[A->n] + n;
    out->n = A->n;
    out->row_start = malloc((n + 1) * sizeof(int));
    out->columns = malloc((count + 1) * sizeof(int));
    out->values = malloc((count + 1) * sizeof(double));
    if (!out->row_start || !out->columns || !out->values)
        return pd_fail(error, PD_ERROR_MEMORY, "out of memory for a matrix of %d rows", A->n);
    int next = 0;
    for (int i = 0; i < A->n; i++) {
        out->row_start[i] = next;
        if (fixed && fixed[i]) {
            out->columns[next] = i;
            out->values[next++] = 1.0;
            continue;
        }
        for (int s = A->row_start[i]; s < A->row_start[i + 1]; s++) {
            if (fixed && fixed[A->columns[s]]) continue;
            out->columns[next] = A->columns[s];
            out->values[next++] = A->values[s];
        }
    }
    out->row_start[n] = next;
    return PD_OK;
}

/* base and total: the diagonal of A_0. */
static pd_status upload_diagonal(pd_linear *self) {
    size_t bytes = (size_t)self->A.n * sizeof(double);
    double *diagonal = calloc((size_t)self->A.n + 1, sizeof(double));
    pd_status status = PD_OK;
    if (!diagonal) return pd_fail(pd_context_error(self->context), PD_ERROR_MEMORY, "out of memory for a diagonal");
    for (int i = 0; i < self->A.n; i++)
        for (int s = self->A.row_start[i]; s < self->A.row_start[i + 1]; s++)
            if (self->A.columns[s] == i) diagonal[i] += self->A.values[s];
    PD_TRY(pd_upload(self->context, (void **)&self->base, diagonal, bytes));
    PD_TRY(pd_upload(self->context, (void **)&self->total, diagonal, bytes));
done:
    free(diagonal);
    return status;
}

/* Over the iterates of a solve, which change in place. */
static pd_status accelerate(pd_linear *self) {
    pd_anderson_settings settings = self->settings.anderson;
    const pd_linear_method *method = self->method;
    pd_error *error = pd_context_error(self->context);
    if (!settings.window) return PD_OK;
    if (method->exact || method->krylov)
        return pd_fail(error, PD_ERROR_VALUE, "acceleration: %s is no fixed-point iteration: give None", method->name);
    if (self->settings.chebyshev.enabled || self->settings.biased)
        return pd_fail(error, PD_ERROR_VALUE, "acceleration: Anderson's takes neither Chebyshev's next to it nor biased=True");
    if (settings.safeguard == PD_SAFEGUARD_POTENTIAL)
        return pd_fail(error, PD_ERROR_VALUE, "safeguard: a linear solver has no potential: give 'residual'");
    if (settings.safeguard == PD_SAFEGUARD_AUTOMATIC) settings.safeguard = PD_SAFEGUARD_RESIDUAL;
    if (!(self->anderson = calloc(1, sizeof *self->anderson))) return pd_fail(error, PD_ERROR_MEMORY, "out of memory for an acceleration");
    self->anderson->n_parts = 1;
    self->anderson->parts[0] = (pd_anderson_part){.n = self->A.n, .width = self->width, .scale = 1.0, .in_place = 1};
    return pd_anderson_create(self->anderson, self->context, &settings);
}

pd_status pd_linear_create(pd_linear **out, pd_context *context, const pd_cholesky_functions *cholesky, const pd_linear_settings *settings,
                           const pd_csr *A, const unsigned char *fixed, const pd_csr *bending, int width) {
    pd_error *error = pd_context_error(context);
    pd_status status = PD_OK;
    pd_linear *self = calloc(1, sizeof *self);
    *out = NULL;
    if (!self) return pd_fail(error, PD_ERROR_MEMORY, "out of memory");
    self->context = context;
    self->cholesky = cholesky;
    self->settings = *settings;
    self->method = methods[settings->kind];
    self->width = width;
    self->fixed = fixed;
    PD_TRY(copy_matrix(&self->A, A, fixed, error));
    if (bending) PD_TRY(copy_matrix(&self->bending, bending, fixed, error));
    PD_TRY(pd_memory_create(context, (void **)&self->scalars, ((size_t)width * 6 + 2) * sizeof(double)));
    PD_TRY(upload_diagonal(self));
    PD_TRY(accelerate(self));
    if (self->method->exact && fixed) goto done; // a simulation does not read its residual
    PD_TRY(pd_memory_create(context, (void **)&self->buffers[0], pd_linear_bytes(self)));
    PD_TRY(pd_memory_create(context, (void **)&self->buffers[1], pd_linear_bytes(self)));
    PD_TRY(pd_matrix_upload(&self->matrix, context, &self->A, NULL, width));
    if (self->method->weighted) {
        PD_TRY(pd_largest_eigenvalue(self, &self->largest_eigenvalue));
        if (!(settings->weight > 0)) self->settings.weight = 1.8 / self->largest_eigenvalue;
    }

done:
    if (status)
        pd_linear_destroy(self);
    else
        *out = self;
    return status;
}

pd_status pd_linear_restrict(pd_linear *self, const double *subspace, const real *projectors) {
    if (!subspace) return PD_OK;
    if (self->method->polynomial)
        return pd_fail(pd_context_error(self->context), PD_ERROR_VALUE,
                       "linear: %s takes several steps in one product, and what is held must be projected after each", self->method->name);
    self->subspace = subspace;
    self->matrix.subspace = self->projectors = projectors;
    return PD_OK;
}

static pd_status refresh_inverses(pd_linear *self) {
    return self->inverses ? pd_coupled_inverses(self->context, self->A.n, self->total, self->coupling, self->inverses) : PD_OK;
}

pd_status pd_linear_couple(pd_linear *self, const real *coupling) {
    pd_status status = PD_OK;
    if (!self->method->coupled)
        return pd_fail(pd_context_error(self->context), PD_ERROR_VALUE,
                       "blocks: %s has one matrix for x, y and z, and 3x3 blocks couple them", self->method->name);
    self->coupling = self->matrix.coupling = coupling;
    if (self->method->exact) return PD_OK;
    PD_TRY(pd_memory_create(self->context, (void **)&self->inverses, 9 * (size_t)self->A.n * sizeof(real)));
    self->matrix.inverses = self->inverses;
    status = refresh_inverses(self);
done:
    return status;
}

double pd_linear_weight(const pd_linear *self) { return self->settings.weight; }
double pd_linear_largest_eigenvalue(const pd_linear *self) { return self->largest_eigenvalue; }
const pd_matrix *pd_linear_matrix(const pd_linear *self) { return &self->matrix; }

int pd_linear_capturable(const pd_linear *self) {
    return !self->method->exact && !self->method->waits && !(self->settings.tolerance > 0) &&
           !pd_preconditioner_of(self->settings.preconditioner)->waits;
}

int pd_linear_revision(const pd_linear *self) { return self->revision; }
int pd_linear_colours(const pd_linear *self) { return self->method->colours ? self->method->colours(self) : 0; }

pd_status pd_linear_cost(pd_linear *self, pd_a_jacobi_cost *out) {
    *out = (pd_a_jacobi_cost){0};
    return self->method->cost && self->memory ? self->method->cost(self, out) : PD_OK;
}

pd_status pd_linear_set(pd_linear *self, double weight, double omega, double rho, const pd_chebyshev *chebyshev) {
    int again = self->method->polynomial && self->memory &&
                (weight != self->settings.weight || (self->settings.composed && rho != self->settings.rho));
    if (again) forget(self); // the operator is a polynomial in both
    self->revision++;
    self->settings.weight = weight;
    self->settings.omega = omega;
    self->settings.rho = rho;
    self->settings.chebyshev = *chebyshev;
    return again && self->prepared ? self->method->prepare(self) : PD_OK;
}

pd_status pd_linear_prepare(pd_linear *self) {
    pd_status status = self->prepared ? PD_OK : self->method->prepare(self);
    self->prepared = self->prepared || !status;
    return status;
}

pd_status pd_linear_set_diagonal(pd_linear *self, const double *added) {
    pd_status status = PD_OK;
    self->shifted |= added != NULL;
    PD_TRY(pd_diagonal_sum(self->context, self->A.n, self->base, added, self->total));
    if (self->matrix.diagonal) PD_TRY(pd_diagonal_round(self->context, self->A.n, self->total, NULL, self->matrix.diagonal));
    PD_TRY(refresh_inverses(self));
    if (self->prepared && self->method->refresh) PD_TRY(self->method->refresh(self));
done:
    self->prepared = self->prepared && !status;
    return status;
}

pd_status pd_linear_set_entries(pd_linear *self, const pd_entries *entries) {
    size_t bytes = (size_t)entries->n * sizeof(double);
    pd_status status = PD_OK;
    if (!self->method->add_entries)
        return pd_fail(pd_context_error(self->context), PD_ERROR_VALUE, "%s takes no entries beside the diagonal", self->method->name);
    if (!self->added && !(self->added = calloc((size_t)entries->capacity + 1, sizeof(double))))
        return pd_fail(pd_context_error(self->context), PD_ERROR_MEMORY, "out of memory for %d entries", entries->capacity);
    PD_TRY(pd_linear_prepare(self));
    self->entries = entries;
    if (self->entered == entries->revision && !memcmp(self->added, entries->values, bytes)) return PD_OK;
    memcpy(self->added, entries->values, bytes);
    status = self->method->add_entries(self);
    self->entered = status ? -1 : entries->revision;
done:
    self->prepared = self->prepared && !status;
    return status;
}

pd_status pd_linear_upload_diagonal(pd_linear *self, const double *added) {
    pd_status status = added ? pd_upload(self->context, (void **)&self->uploaded, added, (size_t)self->A.n * sizeof(double)) : PD_OK;
    return status ? status : pd_linear_set_diagonal(self, added ? self->uploaded : NULL);
}

/* ---- the solve ---------------------------------------------------------------------------------------------------------------- */

/* Norms of r - A d and of d - target. */
static pd_status measure(pd_linear *self, const real *d, const real *target, double *residual_norm, double *distance) {
    double squares[2] = {0.0, 0.0};
    pd_context_tally(self->context)->products++;
    pd_status status =
        pd_matrix_residual(self->context, &self->matrix, self->width, self->residual, d, target, self->scalars + 6 * (size_t)self->width);
    if (!status) status = pd_memory_download(self->context, squares, self->scalars + 6 * (size_t)self->width, sizeof squares);
    *residual_norm = sqrt(squares[0]);
    *distance = sqrt(squares[1]);
    return status;
}

/* The same at d = 0, without a product. */
static pd_status measure_zero(pd_linear *self, const real *target, double *residual_norm, double *distance) {
    double squares[2] = {0.0, 0.0}, *out = self->scalars + 6 * (size_t)self->width;
    pd_status status = PD_OK;
    PD_TRY(pd_matrix_dot(self->context, &self->matrix, self->width, self->residual, self->residual, out));
    if (target) PD_TRY(pd_matrix_dot(self->context, &self->matrix, self->width, target, target, out + 1));
    PD_TRY(pd_memory_download(self->context, squares, out, (target ? 2 : 1) * sizeof(double)));
    *residual_norm = sqrt(squares[0]);
    *distance = sqrt(squares[1]);
done:
    return status;
}

pd_status pd_linear_solve_between(pd_linear *self, const pd_gather *gather, const real *residual, const pd_move *move, real *correction) {
    pd_linear_result result;
    pd_status status = PD_OK;
    PD_TRY(pd_linear_prepare(self));
    int folds = self->method->folds && self->method->folds(self) && !(self->settings.tolerance > 0) && !self->anderson;
    if (folds)
        self->ends = (pd_sweep_ends){gather, move};
    else
        PD_TRY(pd_gather_now(self->context, gather));
    status = pd_linear_solve(self, residual, correction, NULL, &result);
    self->ends = (pd_sweep_ends){NULL, NULL};
    if (!status && !folds) status = pd_move_now(self->context, move, correction);
done:
    return status;
}

/* Iterations k .. k+n-1, each with the combination of its iterate. */
static pd_status iterate_combined(pd_linear *self, int k, int n, const double *ones) {
    pd_anderson *anderson = self->anderson;
    pd_anderson_part *part = &anderson->parts[0];
    pd_status status = PD_OK;
    for (int j = 0; j < n; j++) {
        PD_TRY(self->method->iterate(self, k + j, 1, ones + j, 1.0));
        part->values = self->current;
        PD_TRY(pd_anderson_observe(anderson));
        PD_TRY(pd_anderson_combine(self->context, part, anderson->settings.window, anderson->state, NULL));
    }
done:
    return status;
}

/* A sequence that begins at d = 0. */
static pd_status begin_combinations(pd_linear *self) {
    pd_status status = pd_anderson_reset(self->anderson);
    return status ? status : pd_memory_clear(self->context, self->anderson->parts[0].held, pd_linear_bytes(self));
}

pd_status pd_linear_solve(pd_linear *self, const real *residual, real *correction, const pd_linear_observer *observer,
                          pd_linear_result *result) {
    const pd_linear_settings *settings = &self->settings;
    const pd_linear_method *method = self->method;
    pd_chebyshev chebyshev = settings->chebyshev;
    pd_status status = PD_OK;
    int measured = observer || settings->tolerance > 0, every = observer ? observer->every : settings->check_every, same = 0;
    double omegas[PD_LINEAR_CHUNK], omega = 1.0, first = 0.0, last = 0.0, norm = 0.0, distance = 0.0;
    *result = (pd_linear_result){PD_LINEAR_ITERATION_CAP, 0, 0.0};
    PD_TRY(pd_linear_prepare(self));

    // the interval of the extrapolation, for one step of this method
    double gamma = chebyshev.enabled ? chebyshev.under_relaxation : 1.0;
    if (chebyshev.enabled && method->step_rho) chebyshev.rho = method->step_rho(settings, chebyshev.rho);
    if (chebyshev.enabled && settings->positive) {
        gamma *= 2.0 / (2.0 - chebyshev.rho);
        chebyshev.rho /= 2.0 - chebyshev.rho;
    }

    if (self->anderson) PD_TRY(begin_combinations(self));
    // the last exchange should end in the caller's memory
    int other = method->exchanges && settings->iterations % 2;
    self->residual = residual;
    self->current = other ? self->buffers[0] : correction;
    self->previous = other ? correction : self->buffers[0];
    self->spare = self->buffers[1];
    self->measured = measured;

    self->start = observer ? observer->start : NULL;
    if (measured) {
        const real *target = observer ? observer->target : NULL;
        if (self->start) {
            PD_TRY(pd_memory_copy(self->context, self->current, self->start, pd_linear_bytes(self)));
            PD_TRY(measure(self, self->current, target, &first, &distance));
        } else {
            PD_TRY(pd_memory_clear(self->context, self->current, pd_linear_bytes(self)));
            PD_TRY(measure_zero(self, target, &first, &distance));
        }
        last = first;
        if (observer && observer->record) observer->record(observer->user, 0, 0.0, first, distance);
        if (first == 0.0) result->stop = PD_LINEAR_CONVERGED;
    }
    for (int k = 0; k < settings->iterations && result->stop == PD_LINEAR_ITERATION_CAP;) {
        if (observer && observer->interrupted && observer->interrupted(observer->user)) {
            status = PD_INTERRUPTED;
            goto done;
        }
        int n = settings->iterations - k;
        if (n > PD_LINEAR_CHUNK) n = PD_LINEAR_CHUNK;
        if (measured && n > every - k % every) n = every - k % every;
        double start = pd_seconds();
        for (int j = 0; j < n; j++) omegas[j] = omega = pd_chebyshev_omega(&chebyshev, k + j, omega);
        PD_TRY(self->anderson ? iterate_combined(self, k, n, omegas) : method->iterate(self, k, n, omegas, gamma));
        if (observer) PD_TRY(pd_context_synchronise(self->context)); // the clock is the host's
        double spent = pd_seconds() - start;
        result->iterations = k += n;
        // a solver that stops by the residual may carry its norm in a recurrence; a check confirms the value before it counts
        int carried = method->residual_norm && settings->tolerance > 0 && (!observer || observer->counted);
        if (carried) {
            PD_TRY(method->residual_norm(self, &norm));
            carried = norm > settings->tolerance * first && norm <= 1e8 * first && k < settings->iterations;
        }
        if (measured && !carried) PD_TRY(measure(self, self->current, observer ? observer->target : NULL, &norm, &distance));
        // a check of the residual is part of a solver that stops by it, and not of an observed one
        result->seconds += observer && !observer->counted ? spent : pd_seconds() - start;
        if (!measured) continue;
        if (observer && observer->record) observer->record(observer->user, k, result->seconds, norm, distance);
        same = norm == last ? same + 1 : 0;
        last = norm;
        if (!(norm <= 1e8 * first)) // also true for NaN
            result->stop = PD_LINEAR_DIVERGED;
        else if (norm == 0.0 || (settings->tolerance > 0 && norm <= settings->tolerance * first) || method->exact)
            result->stop = PD_LINEAR_CONVERGED;
        else if (same >= STALLED_AFTER)
            result->stop = PD_LINEAR_STALLED;
    }
    if (self->current != correction) PD_TRY(pd_memory_copy(self->context, correction, self->current, pd_linear_bytes(self)));

done:
    return status;
}
