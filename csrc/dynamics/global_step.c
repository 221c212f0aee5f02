/* The matrix of the Projective Dynamics global step, and linear solvers over it; see global_step.h. */
#include "dynamics/global_step.h"

#include "dynamics/block_hessian.h"

#include <stdlib.h>

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

/* The part of the system matrix that comes from bending; out->n = 0 where nothing bends. */
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

pd_status pd_problem_linear_create(pd_linear **out, const pd_problem *problem, const pd_linear_settings *settings) {
    const pd_csr *A;
    pd_csr bending = {0};
    pd_status status = PD_OK;
    PD_TRY(pd_problem_system_matrix(problem, &A));
    if (settings->suppression == PD_SUPPRESS_BENDING) PD_TRY(create_bending(&bending, problem));
    PD_TRY(pd_linear_create(out, problem->context, problem->cholesky, settings, A, problem->fixed, bending.n ? &bending : NULL, 3));
done:
    pd_csr_destroy(&bending);
    return status;
}

pd_status pd_problem_weighed_linear_create(pd_linear **out, const pd_problem *problem, const pd_linear_settings *settings,
                                           const pd_element_set *sets) {
    pd_csr A = {0};
    pd_status status = create_matrix(&A, problem, sets);
    if (!status) status = pd_linear_create(out, problem->context, problem->cholesky, settings, &A, problem->fixed, NULL, 3);
    pd_csr_destroy(&A);
    return status;
}
