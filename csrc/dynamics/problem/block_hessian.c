/* The Hessian of the incremental potential in blocks of 3x3; see block_hessian.h. */
#include "dynamics/problem/block_hessian.h"

#include "dynamics/problem/custom_elements.h"
#include "dynamics/response.h"

#include <stdlib.h>

void pd_block_hessian_destroy(pd_block_hessian *self, pd_context *context) {
    pd_csr_destroy(&self->pattern);
    for (int k = 0; k < PD_KIND_COUNT; k++) pd_memory_destroy(context, self->slots[k]);
    pd_memory_destroy(context, self->diagonal_slots);
    pd_memory_destroy(context, self->blocks);
}

pd_status pd_problem_need_pattern(const pd_problem *problem) {
    pd_block_hessian *self = problem->hessian;
    if (self->pattern.row_start) return PD_OK;
    return pd_pattern_create(&self->pattern, problem->model->n_vertices, problem->sets, problem->n_sets, problem->corners, problem->error);
}

pd_status pd_problem_need_hessian(const pd_problem *problem) {
    pd_block_hessian *self = problem->hessian;
    pd_context *context = problem->context;
    pd_status status = PD_OK;
    int n = problem->model->n_vertices, *host = NULL;
    if (self->blocks) return PD_OK;
    PD_TRY(pd_problem_need_pattern(problem));
    for (int s = 0; s < problem->n_sets; s++) {
        int k = pd_kind_shape_of(problem->sets[s].kind).vertices;
        size_t count = (size_t)problem->sets[s].n * (size_t)k * (size_t)k;
        host = malloc(count * sizeof(int) + 1);
        if (!host) goto memory;
        pd_pattern_slots(&self->pattern, &problem->sets[s], host, pd_context_threads(context));
        if (!self->slots[s]) PD_TRY(pd_memory_create(context, (void **)&self->slots[s], count * sizeof(int)));
        PD_TRY(pd_memory_upload(context, self->slots[s], host, count * sizeof(int)));
        free(host);
        host = NULL;
    }
    size_t scratch = pd_hessian_scratch(problem->model);
    if (scratch && !problem->model->element_hessians)
        PD_TRY(pd_memory_create(context, (void **)&problem->model->element_hessians, scratch));
    host = malloc((size_t)n * sizeof(int) + 1);
    if (!host) goto memory;
    for (int i = 0; i < n; i++)
        for (int s = self->pattern.row_start[i]; s < self->pattern.row_start[i + 1]; s++)
            if (self->pattern.columns[s] == i) host[i] = s;
    if (!self->diagonal_slots) PD_TRY(pd_memory_create(context, (void **)&self->diagonal_slots, (size_t)n * sizeof(int)));
    PD_TRY(pd_memory_upload(context, self->diagonal_slots, host, (size_t)n * sizeof(int)));
    status = pd_memory_create(context, (void **)&self->blocks, (size_t)self->pattern.row_start[n] * 9 * sizeof(real));
    goto done;
memory:
    status = pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for the Hessian of %d vertices", n);
done:
    free(host);
    return status;
}

static pd_status add_contact(const pd_problem *problem, const real *x, pd_hessian_filter filter) {
    return problem->response->hessian ? problem->response->hessian(problem, x, filter) : PD_OK;
}

pd_status pd_problem_hessian(const pd_problem *problem, const real *x, pd_hessian_filter filter) {
    const pd_block_hessian *self = problem->hessian;
    pd_context_tally(problem->context)->hessians++;
    pd_status status = pd_custom_refresh(problem, x, PD_REQUEST_HESSIAN);
    if (!status)
        status = pd_hessian(problem->context, problem->model, &problem->step, x, filter, self->slots, self->diagonal_slots,
                            self->pattern.row_start[self->pattern.n], self->blocks);
    return status ? status : add_contact(problem, x, filter);
}

pd_status pd_problem_hessian_on(const pd_problem *problem, const real *base, const real *x) {
    const pd_block_hessian *self = problem->hessian;
    size_t bytes = 9 * (size_t)self->pattern.row_start[self->pattern.n] * sizeof(real);
    pd_status status = pd_memory_copy(problem->context, self->blocks, base, bytes);
    return status ? status : add_contact(problem, x, PD_FILTER_CLAMP);
}
