/* Weighted Jacobi as the global step, with Chebyshev extrapolation if asked for [Wang 2015, Sec. 4.1, Eq. 20].
 *
 * Undamped Jacobi diverges on real tet meshes: it converges only for weight < 2/lambda with lambda the largest eigenvalue
 * of D^-1 A, which lies between 2.2 and 3.3 there. weight = 0 asks for 1.8/lambda, lambda from 30 power iterations. */
#include "linear/global_step.h"

#include <stdint.h>
#include <stdlib.h>

enum { POWER_ITERATIONS = 30 };

struct pd_jacobi {
    pd_context *context;
    const pd_model *model;
    pd_matrix matrix;
    double weight;
    int iterations;
    double *omegas; /* H [iterations] */
    real *scratch;  /* B [2,n,3] */
    double *scalar; /* B [1] */
};

void pd_jacobi_destroy(pd_jacobi *self) {
    if (!self) return;
    pd_memory_destroy(self->context, self->matrix.row_start);
    pd_memory_destroy(self->context, self->matrix.columns);
    pd_memory_destroy(self->context, self->matrix.values);
    pd_memory_destroy(self->context, self->matrix.diagonal);
    pd_memory_destroy(self->context, self->scratch);
    pd_memory_destroy(self->context, self->scalar);
    free(self->omegas);
    free(self);
}

/* Copies the free block, the diagonal apart; fixed rows become rows of the identity. */
static pd_status upload_matrix(pd_jacobi *self, const pd_csr *A, const unsigned char *fixed) {
    pd_context *context = self->context;
    pd_status status = PD_OK;
    size_t n = (size_t)A->n, nnz = (size_t)A->row_start[A->n];
    int *row_start = malloc((n + 1) * sizeof(int)), *columns = malloc((nnz + 1) * sizeof(int));
    real *values = malloc((nnz + 1) * sizeof(real)), *diagonal = malloc((n + 1) * sizeof(real));
    if (!row_start || !columns || !values || !diagonal) {
        status = pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for a matrix of %d rows", A->n);
        goto done;
    }
    int next = 0;
    for (int i = 0; i < A->n; i++) {
        row_start[i] = next;
        diagonal[i] = 1;
        for (int s = A->row_start[i]; s < A->row_start[i + 1] && !fixed[i]; s++) {
            int j = A->columns[s];
            if (j == i)
                diagonal[i] = (real)A->values[s];
            else if (!fixed[j])
                columns[next] = j, values[next++] = (real)A->values[s];
        }
    }
    row_start[n] = next;
    self->matrix.n = A->n;
    if ((status = pd_memory_create(context, (void **)&self->matrix.row_start, (n + 1) * sizeof(int)))) goto done;
    if ((status = pd_memory_create(context, (void **)&self->matrix.columns, (size_t)next * sizeof(int)))) goto done;
    if ((status = pd_memory_create(context, (void **)&self->matrix.values, (size_t)next * sizeof(real)))) goto done;
    if ((status = pd_memory_create(context, (void **)&self->matrix.diagonal, n * sizeof(real)))) goto done;
    if ((status = pd_memory_upload(context, self->matrix.row_start, row_start, (n + 1) * sizeof(int)))) goto done;
    if ((status = pd_memory_upload(context, self->matrix.columns, columns, (size_t)next * sizeof(int)))) goto done;
    if ((status = pd_memory_upload(context, self->matrix.values, values, (size_t)next * sizeof(real)))) goto done;
    status = pd_memory_upload(context, self->matrix.diagonal, diagonal, n * sizeof(real));

done:
    free(row_start);
    free(columns);
    free(values);
    free(diagonal);
    return status;
}

/* Rayleigh quotient x.Ax / x.Dx after a few power iterations on three columns at once: a lower bound of the largest eigenvalue,
 * within 2 % on every mesh tried. x, y [n,3] B are scratch. */
static pd_status largest_eigenvalue(pd_jacobi *self, real *x, real *y, double *lambda) {
    pd_context *context = self->context;
    size_t count = (size_t)self->matrix.n * 3, bytes = count * sizeof(real);
    pd_status status = PD_OK;
    real *start = malloc(bytes + 1);
    if (!start) return pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for a power iteration");
    // the same "random" start in every run: a linear congruential generator
    uint32_t state = 12345u;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        start[i] = (real)((double)(state >> 8) / 16777216.0 - 0.5);
    }
    if ((status = pd_memory_upload(context, x, start, bytes))) goto done;
    for (int k = 0; k <= POWER_ITERATIONS; k++) {
        double numerator, denominator;
        if ((status = pd_apply_diagonal(context, &self->matrix, 0, x, y))) goto done;
        if ((status = pd_dot(context, self->model, x, y, self->scalar))) goto done;
        if ((status = pd_memory_download(context, &denominator, self->scalar, sizeof denominator))) goto done;
        if ((status = pd_matrix_multiply(context, &self->matrix, x, y))) goto done;
        if ((status = pd_dot(context, self->model, x, y, self->scalar))) goto done;
        if ((status = pd_memory_download(context, &numerator, self->scalar, sizeof numerator))) goto done;
        *lambda = denominator > 0 ? numerator / denominator : 1.0;
        if ((status = pd_apply_diagonal(context, &self->matrix, 1, y, x))) goto done;
    }

done:
    free(start);
    return status;
}

pd_status pd_jacobi_create(pd_jacobi **out, pd_context *context, const pd_model *model, const pd_linear_settings *settings, const pd_csr *A,
                           const unsigned char *fixed) {
    pd_status status = PD_OK;
    size_t n = (size_t)A->n;
    pd_jacobi *self = calloc(1, sizeof *self);
    *out = NULL;
    if (!self) return pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory");
    self->context = context;
    self->model = model;
    self->weight = settings->weight;
    self->iterations = settings->iterations;
    self->omegas = malloc((size_t)settings->iterations * sizeof(double));
    if (!self->omegas) {
        status = pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for %d iterations", settings->iterations);
        goto done;
    }
    for (int k = 0; k < settings->iterations; k++)
        self->omegas[k] = pd_chebyshev_omega(&settings->chebyshev, k, k ? self->omegas[k - 1] : 1.0);
    if ((status = upload_matrix(self, A, fixed))) goto done;
    if ((status = pd_memory_create(context, (void **)&self->scratch, 6 * n * sizeof(real)))) goto done;
    if ((status = pd_memory_create(context, (void **)&self->scalar, sizeof(double)))) goto done;
    if (self->weight <= 0) {
        double lambda = 1.0;
        if ((status = largest_eigenvalue(self, self->scratch, self->scratch + 3 * n, &lambda))) goto done;
        self->weight = 1.8 / lambda;
    }

done:
    if (status)
        pd_jacobi_destroy(self);
    else
        *out = self;
    return status;
}

pd_status pd_jacobi_solve(pd_jacobi *self, const real *residual, real *direction) {
    return pd_jacobi_sweeps(self->context, &self->matrix, residual, self->weight, self->omegas, self->iterations, direction, self->scratch);
}

double pd_jacobi_weight(const pd_jacobi *self) { return self->weight; }

const pd_matrix *pd_jacobi_matrix(const pd_jacobi *self) { return &self->matrix; }
