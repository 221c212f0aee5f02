/* A function of the caller as a preconditioner: z = M^-1 r on the host, by pd_linear_settings.function. M must be symmetric, positive
 * definite and the same for every r of a solve. Only the sign of r.z is checked. Results at held vertices, and components that leave
 * lines and planes, are dropped. */
#include "linear/preconditioner.h"

#include <stdlib.h>

typedef struct by_function {
    pd_vector_function function;
    real *r, *z; /* H [n,width] */
} by_function;

static void destroy(void *self, pd_context *context) {
    by_function *made = self;
    (void)context;
    if (!made) return;
    free(made->r);
    free(made->z);
    free(made);
}

static size_t bytes_of(const pd_operator *A) { return (size_t)A->rows->n * (size_t)A->width * sizeof(real); }

static pd_status create(void **self, const pd_operator *A, const pd_linear_settings *settings) {
    by_function *made = *self = calloc(1, sizeof *made);
    pd_error *error = pd_context_error(A->context);
    if (!made) return pd_fail(error, PD_ERROR_MEMORY, "out of memory for a preconditioner of %d rows", A->rows->n);
    made->function = settings->function;
    if (!made->function.apply) return pd_fail(error, PD_ERROR_VALUE, "preconditioner: there is no function");
    made->r = malloc(bytes_of(A) + 1);
    made->z = malloc(bytes_of(A) + 1);
    if (!made->r || !made->z) return pd_fail(error, PD_ERROR_MEMORY, "out of memory for a preconditioner of %d rows", A->rows->n);
    return PD_OK;
}

static pd_status refresh(void *self, const pd_operator *A, double *indefinite) {
    const double no = 0.0;
    (void)self;
    return indefinite ? pd_memory_upload(A->context, indefinite, &no, sizeof no) : PD_OK;
}

static pd_status apply(void *self, const pd_operator *A, const real *r, real *z) {
    by_function *made = self;
    size_t count = (size_t)A->rows->n * (size_t)A->width, each = A->n_held ? count / (size_t)A->n_held : 1;
    pd_status status = PD_OK;
    PD_TRY(pd_memory_download(A->context, made->r, r, bytes_of(A)));
    PD_TRY(made->function.apply(made->function.user, made->r, made->z, A->rows->n, A->width));
    for (size_t i = 0; i < count && A->n_held; i++)
        if (A->held[i / each]) made->z[i] = 0;
    PD_TRY(pd_memory_upload(A->context, z, made->z, bytes_of(A)));
    if (A->projectors) status = pd_project(A->context, A->n_held, A->projectors, z);
done:
    return status;
}

const pd_preconditioner pd_function_preconditioner = {
    .name = "function", .create = create, .destroy = destroy, .refresh = refresh, .apply = apply, .waits = 1, .block = 1};
