/* Calls the functions of materials of the caller, batch by batch; see custom_elements.h. */
#include "dynamics/problem/custom_elements.h"

#include "elements/custom.h"
#include "mesh/material_values.h"

#include <stdlib.h>

enum { POSITION = 3 };

struct pd_custom_elements {
    real *F, *values;           /* B [most,9], [most,width of tets] */
    real *host_F, *host_values; /* H, the same */
    double *found;              /* H [most,width of tets] */
};

void pd_custom_elements_destroy(pd_custom_elements *self, pd_context *context) {
    if (!self) return;
    PD_MEMORIES_DESTROY(context, self->F, self->values);
    free(self->host_F);
    free(self->host_values);
    free(self->found);
    free(self);
}

/* Tests that the functions of a set contain each element once; `most` = the largest batch. */
static pd_status check(const pd_element_set *set, size_t *most, pd_error *error) {
    const char *kind = pd_kind_shape_of(set->kind).name;
    int next = 0;
    for (int m = 0; m < set->n_functions; m++) {
        const pd_material_functions *f = &set->functions[m];
        const int buffers = f->F && f->out && f->elements && f->evaluate && (f->has_hessian || f->shifted);
        if (f->first != next || f->n < 0 || f->n > set->n - next || f->most < 1 || !buffers)
            return pd_fail(error, PD_ERROR_VALUE, "functions: number %d of %s has elements %d to %d, and the next one is %d of %d", m, kind,
                           f->first, f->first + f->n, next, set->n);
        next += f->n;
        if ((size_t)f->most > *most) *most = (size_t)f->most;
    }
    if (next == set->n) return PD_OK;
    return pd_fail(error, PD_ERROR_VALUE, "functions: %s has %d elements, and functions for %d", kind, set->n, next);
}

pd_status pd_custom_elements_create(pd_custom_elements **out, const pd_problem *problem) {
    const size_t width = (size_t)pd_material_width(PD_MAX_COLUMNS);
    pd_status status = PD_OK;
    size_t most = 0;
    int n_kinds = 0;
    *out = NULL;
    for (int s = 0; s < problem->n_sets; s++) {
        if (!pd_kind_is_custom(problem->sets[s].kind)) continue;
        if ((status = check(&problem->sets[s], &most, problem->error))) return status;
        n_kinds++;
    }
    if (!n_kinds) return PD_OK;
    pd_custom_elements *self = calloc(1, sizeof *self);
    if (!self) return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory");
    self->host_F = malloc(most * 9 * sizeof(real) + 1);
    self->host_values = malloc(most * width * sizeof(real) + 1);
    self->found = malloc(most * width * sizeof(double) + 1);
    if (!self->host_F || !self->host_values || !self->found)
        PD_TRY(pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for batches of %zu elements", most));
    PD_TRY(pd_memory_create(problem->context, (void **)&self->F, most * 9 * sizeof(real)));
    PD_TRY(pd_memory_create(problem->context, (void **)&self->values, most * width * sizeof(real)));
    *out = self;
done:
    if (status) pd_custom_elements_destroy(self, problem->context);
    return status;
}

/* The list of elements of a batch. */
typedef struct place {
    const int *listed, *in_backend; /* NULL: consecutive elements */
    int stride;
    const real *positions;
    const int *corners;
} place;

/* Elements number begin .. begin + n - 1 of the list, all of functions `f`. */
static pd_status refresh_batch(const pd_problem *problem, int s, const pd_material_functions *f, int requested, const place *at, int begin,
                               int n) {
    const pd_custom_elements *self = problem->custom;
    const pd_elements *g = &problem->model->kinds[s];
    const pd_element_set *set = &problem->sets[s];
    const pd_kind_shape shape = pd_kind_shape_of(set->kind);
    const int d = shape.columns, width = pd_material_width(d);
    const size_t count = 3 * (size_t)n * (size_t)d;
    const pd_element_part part = {at->in_backend ? at->in_backend + begin : NULL, begin, n};
    int from = width, to = 0;
    pd_status status = PD_OK;
    PD_TRY(pd_custom_deformations(problem->context, g, part, at->stride, at->positions, at->corners, self->F));
    PD_TRY(pd_memory_download(problem->context, self->host_F, self->F, count * sizeof(real)));
    for (size_t i = 0; i < count; i++) f->F[i] = (double)self->host_F[i];
    for (int i = 0; i < n; i++) f->elements[i] = (at->listed ? at->listed[begin + i] : begin + i) - f->first;
    PD_TRY(pd_material_values(f, requested, n, d, self->found, problem->error));

    // the requested columns are contiguous: energies, stresses, or stresses and Hessians
    for (int q = 0; q < PD_MATERIAL_QUANTITIES; q++) {
        int first, end;
        if (!(requested & 1 << q)) continue;
        pd_material_columns((pd_material_quantity)q, d, &first, &end);
        if (first < from) from = first;
        to = end;
    }
    real *packed = self->host_values;
    for (int i = 0; i < n; i++) {
        const size_t e = (size_t)(f->elements[i] + f->first);
        const double measure = set->parameters[e * (size_t)shape.parameters + PD_CUSTOM_MEASURE];
        for (int c = from; c < to; c++) *packed++ = (real)(measure * self->found[(size_t)i * (size_t)width + (size_t)c]);
    }
    PD_TRY(pd_memory_upload(problem->context, self->values, self->host_values, (size_t)n * (size_t)(to - from) * sizeof(real)));
    PD_TRY(pd_custom_store(problem->context, g, part, PD_CUSTOM_ENERGY + from, to - from, self->values));
done:
    return status;
}

static pd_status refresh_run(const pd_problem *problem, int s, const pd_material_functions *f, int requested, const place *at, int begin,
                             int end) {
    pd_status status = PD_OK;
    for (int b = begin; b < end && !status; b += f->most)
        status = refresh_batch(problem, s, f, requested, at, b, end - b < f->most ? end - b : f->most);
    return status;
}

static pd_status refresh_set(const pd_problem *problem, int s, const real *x, int requested) {
    const pd_element_set *set = &problem->sets[s];
    const place at = {NULL, NULL, POSITION, x, problem->model->kinds[s].vertices};
    pd_status status = PD_OK;
    for (int m = 0; m < set->n_functions && !status; m++) {
        const pd_material_functions *f = &set->functions[m];
        status = refresh_run(problem, s, f, requested, &at, f->first, f->first + f->n);
    }
    return status;
}

pd_status pd_custom_refresh(const pd_problem *problem, const real *x, int requested) {
    pd_status status = PD_OK;
    for (int s = 0; problem->custom && s < problem->n_sets && !status; s++)
        if (pd_kind_is_custom(problem->sets[s].kind)) status = refresh_set(problem, s, x, requested);
    return status;
}

pd_status pd_custom_refresh_damping(const pd_problem *problem, const real *x) {
    pd_status status = PD_OK;
    for (int s = 0; problem->custom && s < problem->n_sets && !status; s++)
        if (pd_kind_is_custom(problem->sets[s].kind) && problem->sets[s].damping) status = refresh_set(problem, s, x, PD_REQUEST_HESSIAN);
    return status;
}

pd_status pd_custom_refresh_listed(const pd_problem *problem, int set, int requested, int n, const int *listed,
                                   const int *listed_in_backend, int stride, const real *positions, const int *corners) {
    const pd_element_set *elements = &problem->sets[set];
    const place at = {listed, listed_in_backend, stride, positions, corners};
    pd_status status = PD_OK;
    int begin = 0;
    for (int m = 0; m < elements->n_functions && !status; m++) {
        const pd_material_functions *f = &elements->functions[m];
        int end = begin;
        while (end < n && listed[end] < f->first + f->n) end++;
        status = refresh_run(problem, set, f, requested, &at, begin, end);
        begin = end;
    }
    return status;
}
