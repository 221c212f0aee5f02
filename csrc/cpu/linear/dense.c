/* A dense matrix and its factor through LAPACK; see loops/dense_loops.h. */
#include "loops/dense_loops.h"

#include "cpu/context.h"

#include <stdlib.h>
#include <string.h>

struct pd_dense {
    const pd_cholesky_functions *library;
    int n;
    double *sigma, *factor; /* [n,n] by columns, the lower triangle */
    double *vector;         /* [3,n] */
};

void pd_dense_destroy(pd_dense *self, pd_context *context) {
    if (!self) return;
    PD_MEMORIES_DESTROY(context, self->sigma, self->factor, self->vector);
    free(self);
}

pd_status pd_dense_create(pd_dense **out, pd_context *context, const pd_cholesky_functions *library, int n) {
    size_t size = (size_t)n;
    pd_status status = PD_OK;
    pd_dense *self = calloc(1, sizeof *self);
    *out = NULL;
    if (!self) return pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory");
    self->library = library;
    self->n = n;
    PD_TRY(pd_memory_create(context, (void **)&self->sigma, size * size * sizeof(double)));
    PD_TRY(pd_memory_create(context, (void **)&self->factor, size * size * sizeof(double)));
    PD_TRY(pd_memory_create(context, (void **)&self->vector, 3 * size * sizeof(double)));
done:
    if (status)
        pd_dense_destroy(self, context);
    else
        *out = self;
    return status;
}

pd_status pd_dense_upload(pd_context *context, pd_dense *self, const double *sigma) {
    return pd_memory_upload(context, self->sigma, sigma, (size_t)self->n * (size_t)self->n * sizeof *sigma);
}

pd_status pd_dense_factor(pd_context *context, pd_dense *self, const double *added, const pd_dense_entries *entries) {
    int n = self->n;
    size_t size = (size_t)n;
#pragma omp parallel for num_threads(pd_threads(context, n, n / 4 + 1)) schedule(dynamic, 16)
    for (int j = 0; j < n; j++) {
        size_t diagonal = (size_t)j * (size + 1);
        memcpy(self->factor + diagonal, self->sigma + diagonal, (size - (size_t)j) * sizeof(double));
        if (added) self->factor[diagonal] += added[j];
    }
    for (int e = 0; entries && e < entries->n; e++) self->factor[entries->places[e]] += entries->values[e];
    return self->library->dense_factor(self->factor, n, pd_context_error(context));
}

pd_status pd_dense_solve(pd_context *context, pd_dense *self, const real *g, real *u) {
    size_t n = (size_t)self->n;
    (void)context;
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < 3; c++) self->vector[c * n + i] = (double)g[3 * i + c];
    self->library->dense_solve(self->factor, self->n, self->vector, 3);
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < 3; c++) u[3 * i + c] = (real)self->vector[c * n + i];
    return PD_OK;
}

pd_status pd_rows_gather(pd_context *context, int n, const int *rows, const real *x, real *out) {
#pragma omp parallel for num_threads(pd_threads(context, n, 3)) schedule(static)
    for (int i = 0; i < n; i++)
        for (size_t c = 0; c < 3; c++) out[3 * (size_t)i + c] = x[3 * (size_t)rows[i] + c];
    return PD_OK;
}

pd_status pd_rows_scatter(pd_context *context, int n, const int *rows, const real *x, real *out) {
#pragma omp parallel for num_threads(pd_threads(context, n, 3)) schedule(static)
    for (int i = 0; i < n; i++)
        for (size_t c = 0; c < 3; c++) out[3 * (size_t)rows[i] + c] = x[3 * (size_t)i + c];
    return PD_OK;
}
