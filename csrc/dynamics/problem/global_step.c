/* The matrix of the Projective Dynamics global step, with contact, and linear solvers over it; see global_step.h. */
#include "dynamics/problem/global_step.h"

#include "contact/potential/contact.h"
#include "dynamics/method.h"
#include "dynamics/problem/block_hessian.h"
#include "dynamics/problem/potential.h"
#include "dynamics/problem/reduced_hessian.h"
#include "dynamics/response.h"
#include "dynamics/rigid/rigid.h"
#include "linear/upload.h"

#include <stdlib.h>

enum { MAX_SHIFTS = 8 };

/* M/h^2 + sum w S^T S, w the first parameter of the elements of `sets`. */
static pd_status create_matrix(pd_csr *out, const pd_problem *problem, const pd_element_set *sets) {
    int n = problem->model->n_vertices;
    double inverse_h = problem->step.inverse_h;
    pd_status status = pd_problem_need_pattern(problem);
    if (status) return status;
    double *inertia = malloc((size_t)n * sizeof(double) + 1);
    if (!inertia) return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for a system matrix of %d rows", n);
    for (int i = 0; i < n; i++) inertia[i] = problem->masses[i] * inverse_h * inverse_h;
    status = pd_system_matrix_create(out, n, inertia, inverse_h, sets, problem->n_sets, &problem->hessian->pattern, problem->corners,
                                     pd_context_threads(problem->context), problem->error);
    free(inertia);
    return status;
}

pd_status pd_problem_system_matrix(const pd_problem *problem, const pd_csr **out) {
    *out = problem->system_matrix;
    return problem->system_matrix->row_start ? PD_OK : create_matrix(problem->system_matrix, problem, problem->sets);
}

/* The part of the system matrix by bending of shells; out->n = 0 without bending. */
static pd_status create_bending(pd_csr *out, const pd_problem *problem) {
    int n = problem->model->n_vertices, threads = pd_context_threads(problem->context), one;
    pd_corners corners = {0};
    pd_csr pattern = {0};
    double *zeros = calloc((size_t)n + 1, sizeof(double));
    pd_status status = zeros ? PD_OK : pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for a bending matrix of %d rows", n);
    for (one = 0; one < problem->n_sets && problem->sets[one].kind != PD_BENDING; one++) {}
    if (status || one == problem->n_sets) goto done;
    PD_TRY(pd_corners_create(&corners, n, problem->sets + one, 1, problem->error));
    PD_TRY(pd_pattern_create(&pattern, n, problem->sets + one, 1, &corners, problem->error));
    PD_TRY(pd_system_matrix_create(out, n, zeros, problem->step.inverse_h, problem->sets + one, 1, &pattern, &corners, threads,
                                   problem->error));
done:
    pd_corners_destroy(&corners);
    pd_csr_destroy(&pattern);
    free(zeros);
    return status;
}

/* A linear solver over A, and `base`: its blocks, if requested. */
static pd_status create_linear(pd_global_step *self, const pd_problem *problem, const pd_linear_settings *settings, const pd_csr *A) {
    pd_csr bending = {0};
    pd_status status = PD_OK;
    if (settings->suppression == PD_SUPPRESS_BENDING) PD_TRY(create_bending(&bending, problem));
    PD_TRY(
        pd_linear_create(&self->linear, problem->context, problem->cholesky, settings, A, problem->fixed, bending.n ? &bending : NULL, 3));
    PD_TRY(pd_linear_restrict(self->linear, problem->subspace, problem->model->subspace));
    const real *coupling = problem->response->coupling ? problem->response->coupling(problem) : NULL;
    if (coupling) status = pd_linear_couple(self->linear, coupling);
done:
    pd_csr_destroy(&bending);
    return status;
}

/* base = A in blocks on the pattern of the elements' Hessian; A lacks entries that cancel. */
static pd_status upload_base(pd_global_step *self, const pd_problem *problem, const pd_csr *A) {
    const pd_csr *pattern = &problem->hessian->pattern;
    size_t count = (size_t)pattern->row_start[A->n];
    real *blocks = calloc(9 * count + 1, sizeof *blocks);
    pd_status status = PD_OK;
    if (!blocks) return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for a matrix of %zu blocks", count);
    for (int i = 0; i < A->n; i++)
        for (int s = pattern->row_start[i], a = A->row_start[i]; a < A->row_start[i + 1]; s++) {
            if (pattern->columns[s] != A->columns[a]) continue;
            for (size_t c = 0; c < 9; c += 4) blocks[9 * (size_t)s + c] = (real)A->values[a];
            a++;
        }
    status = pd_upload(problem->context, (void **)&self->base, blocks, 9 * count * sizeof *blocks);
    free(blocks);
    return status;
}

pd_status pd_global_step_create(pd_global_step *self, const pd_problem *problem, const pd_linear_settings *settings,
                                const pd_element_set *sets) {
    pd_csr weighed = {0}, roomy = {0};
    const pd_csr *A = &weighed;
    pd_status status = PD_OK;
    const pd_contact_response *response = problem->response;
    *self = (pd_global_step){.contact = problem->contact, .extra = response->entries != NULL};
    if (problem->rigid && settings->kind != PD_LINEAR_DIRECT)
        PD_TRY(pd_fail(problem->error, PD_ERROR_TYPE, "linear: with rigid bodies a global step takes the direct solver alone"));
    PD_TRY(sets ? create_matrix(&weighed, problem, sets) : pd_problem_system_matrix(problem, &A));
    if (self->extra && settings->kind == PD_LINEAR_DIRECT) {
        PD_TRY(pd_csr_with_capacity(&roomy, A, response->pattern(problem), problem->error));
        A = &roomy;
    }
    // with two factors it is always exact
    self->exact = settings->kind == PD_LINEAR_DIRECT || (settings->kind == PD_LINEAR_SCHUR && !(settings->active > 0));
    if (!problem->rigid) PD_TRY(create_linear(self, problem, settings, A)); // rows of bodies have no blocks of their own in A
    if (!self->contact && !problem->rigid) goto done;
    if (sets) {
        pd_linear_settings product = {.kind = PD_LINEAR_JACOBI, .iterations = 1, .check_every = 1, .weight = 1.0};
        PD_TRY(pd_linear_create(&self->alone, problem->context, problem->cholesky, &product, A, problem->fixed, NULL, 3));
    }
    if (settings->kind != PD_LINEAR_DIRECT && settings->kind != PD_LINEAR_PCG) {
        PD_TRY(pd_memory_create(problem->context, (void **)&self->bounds, (size_t)A->n * sizeof(double)));
        goto done;
    }
    PD_TRY(pd_problem_need_hessian(problem));
    PD_TRY(upload_base(self, problem, A));
    if (settings->kind == PD_LINEAR_DIRECT)
        PD_TRY(pd_hessian_factor_create(&self->factor, problem));
    else
        PD_TRY(pd_hessian_cg_create(&self->cg, problem, settings, NULL));
    self->tolerance = settings->tolerance, self->most = settings->iterations;
done:
    pd_csr_destroy(&roomy);
    pd_csr_destroy(&weighed);
    return status;
}

void pd_global_step_destroy(pd_global_step *self, pd_context *context) {
    pd_linear_destroy(self->linear);
    pd_linear_destroy(self->alone);
    pd_hessian_factor_destroy(self->factor);
    pd_hessian_cg_destroy(self->cg);
    pd_memory_destroy(context, self->base);
    pd_memory_destroy(context, self->bounds);
}

pd_status pd_global_step_prepare(pd_global_step *self) { return self->linear ? pd_linear_prepare(self->linear) : PD_OK; }

int pd_global_step_capturable(const pd_global_step *self) { return !self->contact && !self->extra && pd_linear_capturable(self->linear); }

/* A + K is positive definite except for rounding: with float blocks, a pair at a very small distance can make it indefinite. Then it is
 * shifted. */
static pd_status factorise(pd_global_step *self, const pd_problem *problem) {
    pd_status status = pd_hessian_factor_update(self->factor, problem, 0.0, 1);
    double shift = (double)PD_EPSILON * pd_hessian_factor_trace(self->factor) / (3.0 * problem->model->n_vertices);
    for (int k = 0; k < MAX_SHIFTS && status == PD_ERROR_SINGULAR; k++, shift *= 10.0)
        status = pd_hessian_factor_update(self->factor, problem, shift, 1);
    if (status == PD_ERROR_SINGULAR)
        status = pd_fail(problem->error, PD_ERROR_SINGULAR,
                         "the matrix is not positive definite at row %d (in a simulation: is the body held?)", problem->error->vertex);
    return status;
}

pd_status pd_global_step_refresh(pd_global_step *self, const pd_problem *problem, const real *x, int rebuild) {
    pd_status status = PD_OK;
    if (problem->rigid) {
        self->touched = 1;
        PD_TRY(pd_problem_reduced_hessian_on(problem, self->base, x, rebuild));
        return factorise(self, problem);
    }
    if (self->extra) {
        const pd_entries *entries;
        PD_TRY(problem->response->entries(problem, &entries));
        return self->exact ? pd_linear_set_entries(self->linear, entries)
                           : pd_linear_upload_diagonal(self->linear, problem->response->bounds(problem));
    }
    if (!self->contact) return PD_OK;
    if (rebuild) pd_hessian_cg_begin(self->cg);
    PD_TRY(pd_contact_find(self->contact, x));
    pd_contact_view near = pd_contact_pairs_of(self->contact);
    self->touched = near.n > 0 || near.friction.pairs.n > 0;
    if (self->bounds) {
        PD_TRY(pd_contact_hessians(self->contact, x, PD_FILTER_CLAMP));
        PD_TRY(pd_contact_bounds(self->contact, problem->model, self->bounds));
        PD_TRY(pd_linear_set_diagonal(self->linear, self->bounds));
    } else if (self->cg && self->touched) {
        self->x = x;
        if (pd_hessian_cg_is_assembled(self->cg))
            PD_TRY(pd_problem_assembled_hessian_on(problem, self->base, x, rebuild));
        else
            PD_TRY(pd_problem_hessian_on(problem, self->base, x));
    } else if (self->factor && self->touched) {
        PD_TRY(pd_problem_assembled_hessian_on(problem, self->base, x, rebuild));
        status = factorise(self, problem);
    }
done:
    return status;
}

pd_status pd_global_step_solve(pd_global_step *self, const pd_problem *problem, real *residual, real *correction) {
    pd_linear_result result;
    pd_hessian_cg_end end;
    if (self->touched && self->factor) {
        pd_status status = pd_hessian_factor_solve(self->factor, problem, residual, correction);
        if (status || !problem->subspace) return status;
        // removes components by rounding of the blocks
        return pd_project(problem->context, problem->model->n_vertices, problem->model->subspace, correction);
    }
    if (!self->touched || !self->cg) return pd_linear_solve(self->linear, residual, correction, NULL, &result);
    pd_iterate solved = {.x = (real *)self->x, .gradient = residual, .correction = correction};
    return pd_hessian_cg_solve(self->cg, &solved, self->tolerance, self->most, 0.0, 0, &end);
}

pd_status pd_global_step_curvature(const pd_global_step *self, const pd_problem *problem, const real *p, double *curvature) {
    pd_context_tally(problem->context)->products++;
    pd_status status = pd_matrix_multiply(problem->context, pd_linear_matrix(self->alone), 3, p, problem->trial);
    return status ? status : pd_problem_product(problem, p, problem->trial, curvature);
}
