/* A function of the caller as a linear solver: d += f(r - A d), f an approximation of A^-1 on the host, such as a multigrid cycle. The
 * iteration converges if the spectral radius of I - f A is below 1 [Saad 2003, Iterative Methods for Sparse Linear Systems, Sec. 4.2].
 * Contact may add entries to the diagonal of A that f does not contain. */
#include "linear/linear_method.h"

#include <stdlib.h>

typedef struct by_function {
    real *r, *product, *z; /* H [n,width] */
} by_function;

static void destroy(void *memory, pd_context *context) {
    by_function *self = memory;
    (void)context;
    free(self->r);
    free(self->product);
    free(self->z);
    free(self);
}

static pd_status prepare(pd_linear *self) {
    size_t bytes = pd_linear_bytes(self) + 1;
    pd_error *error = pd_context_error(self->context);
    if (!self->settings.function.apply) return pd_fail(error, PD_ERROR_VALUE, "linear: there is no function");
    by_function *made = self->memory ? self->memory : calloc(1, sizeof *made);
    self->memory = made;
    if (made && !made->r) made->r = malloc(bytes);
    if (made && !made->product) made->product = malloc(bytes);
    if (made && !made->z) made->z = malloc(bytes);
    if (made && made->r && made->product && made->z) return PD_OK;
    return pd_fail(error, PD_ERROR_MEMORY, "out of memory for a linear solver of %d rows", self->A.n);
}

static pd_status iterate(pd_linear *self, int k, int n, const double *omegas, double gamma) {
    by_function *made = self->memory;
    pd_context *context = self->context;
    const pd_vector_function *f = &self->settings.function;
    size_t count = (size_t)self->A.n * (size_t)self->width, bytes = pd_linear_bytes(self);
    pd_status status = PD_OK;
    (void)omegas, (void)gamma;
    for (int j = k; j < k + n; j++) {
        PD_TRY(pd_memory_download(context, made->r, self->residual, bytes));
        if (j == 0) PD_TRY(pd_memory_clear(context, self->current, bytes));
        pd_context_tally(context)->products++;
        PD_TRY(pd_matrix_multiply(context, &self->matrix, self->width, self->current, self->previous));
        if (self->projectors) PD_TRY(pd_project(context, self->A.n, self->projectors, self->previous));
        PD_TRY(pd_memory_download(context, made->product, self->previous, bytes));
        for (size_t i = 0; i < count; i++) made->r[i] -= made->product[i];
        PD_TRY(f->apply(f->user, made->r, made->z, self->A.n, self->width));
        for (size_t i = 0; i < count && self->fixed; i++)
            if (self->fixed[i / (size_t)self->width]) made->z[i] = 0;
        PD_TRY(pd_memory_upload(context, self->previous, made->z, bytes));
        if (self->projectors) PD_TRY(pd_project(context, self->A.n, self->projectors, self->previous));
        PD_TRY(pd_memory_download(context, made->z, self->previous, bytes));
        PD_TRY(pd_memory_download(context, made->product, self->current, bytes));
        for (size_t i = 0; i < count; i++) made->product[i] += made->z[i];
        PD_TRY(pd_memory_upload(context, self->current, made->product, bytes));
    }
done:
    return status;
}

const pd_linear_method pd_function_method = {
    .name = "LinearFunction", .destroy = destroy, .prepare = prepare, .iterate = iterate, .waits = 1};
