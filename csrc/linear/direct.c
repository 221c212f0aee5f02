/* Direct solver: a sparse Cholesky factor, computed once and used for every global step [Bouaziz et al. 2014, Sec. 4].
 *
 * Pinned vertices are eliminated, not penalised: only the free block is factorised. The factor is double whatever `real`
 * is; vectors are converted at this edge. */
#include "linear/linear_solver.h"

#include <stdlib.h>

/* Right-hand sides that one pass over the factor serves. */
enum { COLUMNS_AT_ONCE = 4 };

struct pd_direct {
    pd_context *context;
    const pd_cholesky_functions *library;
    pd_cholesky *cholesky;
    int n, n_free, width;
    int *free_rows;  /* [n_free] vertex of each row of the factor */
    int *compressed; /* [n] row of each vertex, or -1 */
    double *vector;  /* [n_free,columns at once] */
    real *staging;   /* [n,width] */
};

void pd_direct_destroy(pd_direct *self) {
    if (!self) return;
    if (self->library) self->library->destroy(self->cholesky);
    free(self->free_rows);
    free(self->compressed);
    free(self->vector);
    free(self->staging);
    free(self);
}

/* The upper triangle of the free block by columns: A is symmetric, so column i is the part j <= i of row i.
 * With rows and values NULL only counts. */
static void free_upper_triangle(const pd_direct *self, const pd_csr *A, const double *diagonal, int *column_start, int *rows,
                                double *values) {
    int next = 0;
    column_start[0] = 0;
    for (int f = 0; f < self->n_free; f++) {
        int i = self->free_rows[f];
        for (int s = A->row_start[i]; s < A->row_start[i + 1]; s++) {
            int j = self->compressed[A->columns[s]];
            if (j < 0 || j > f) continue;
            if (rows) rows[next] = j, values[next] = diagonal && j == f ? diagonal[i] : A->values[s];
            next++;
        }
        column_start[f + 1] = next;
    }
}

/* Builds the triangle, and analyses it when `analyse` is set, then factorises. */
static pd_status factor(pd_direct *self, const pd_csr *A, const double *diagonal, int analyse) {
    pd_error *error = pd_context_error(self->context);
    pd_status status = PD_OK;
    int *column_start = malloc(((size_t)self->n_free + 1) * sizeof(int)), *rows = NULL;
    double *values = NULL;
    if (!column_start) goto memory;
    free_upper_triangle(self, A, diagonal, column_start, NULL, NULL);
    rows = malloc(((size_t)column_start[self->n_free] + 1) * sizeof *rows);
    values = malloc(((size_t)column_start[self->n_free] + 1) * sizeof *values);
    if (!rows || !values) goto memory;
    free_upper_triangle(self, A, diagonal, column_start, rows, values);
    if (analyse) status = self->library->create(&self->cholesky, self->n_free, column_start, rows, 1, error);
    if (!status) status = self->library->factor(self->cholesky, values, error);
    if (status == PD_ERROR_SINGULAR) {
        error->vertex = self->free_rows[error->vertex];
        status = pd_fail(error, PD_ERROR_SINGULAR, "the matrix is not positive definite at row %d (in a simulation: is the body held?)",
                         error->vertex);
    }
    goto done;

memory:
    status = pd_fail(error, PD_ERROR_MEMORY, "out of memory for the direct solver of %d rows", self->n);
done:
    free(column_start);
    free(rows);
    free(values);
    return status;
}

pd_status pd_direct_create(pd_direct **out, pd_context *context, const pd_cholesky_functions *cholesky, const pd_csr *A,
                           const double *diagonal, const unsigned char *fixed, int width) {
    pd_error *error = pd_context_error(context);
    pd_status status = PD_OK;
    pd_direct *self = calloc(1, sizeof *self);
    *out = NULL;
    if (!self) return pd_fail(error, PD_ERROR_MEMORY, "out of memory");
    self->context = context;
    self->library = cholesky;
    self->n = A->n;
    self->width = width;
    size_t columns = (size_t)(width < COLUMNS_AT_ONCE ? width : COLUMNS_AT_ONCE);
    self->free_rows = malloc(((size_t)A->n + 1) * sizeof(int));
    self->compressed = malloc(((size_t)A->n + 1) * sizeof(int));
    self->vector = malloc(((size_t)A->n * columns + 1) * sizeof(double));
    self->staging = calloc((size_t)A->n * (size_t)width + 1, sizeof(real));
    if (!self->free_rows || !self->compressed || !self->vector || !self->staging) {
        status = pd_fail(error, PD_ERROR_MEMORY, "out of memory for the direct solver of %d rows", A->n);
        goto done;
    }
    for (int i = 0; i < A->n; i++) {
        int free_row = !fixed || !fixed[i];
        self->compressed[i] = free_row ? self->n_free : -1;
        if (free_row) self->free_rows[self->n_free++] = i;
    }
    if (self->n_free > 0) status = factor(self, A, diagonal, 1);

done:
    if (status)
        pd_direct_destroy(self);
    else
        *out = self;
    return status;
}

pd_status pd_direct_factor(pd_direct *self, const pd_csr *A, const double *diagonal) {
    return self->n_free > 0 ? factor(self, A, diagonal, 0) : PD_OK;
}

pd_status pd_direct_solve(pd_direct *self, const real *residual, real *direction) {
    size_t width = (size_t)self->width, bytes = (size_t)self->n * width * sizeof(real);
    pd_status status = pd_memory_download(self->context, self->staging, residual, bytes);
    if (status) return status;
    for (size_t first = 0; first < width; first += COLUMNS_AT_ONCE) {
        size_t columns = width - first < COLUMNS_AT_ONCE ? width - first : COLUMNS_AT_ONCE;
        for (int f = 0; f < self->n_free; f++)
            for (size_t c = 0; c < columns; c++)
                self->vector[columns * (size_t)f + c] = (double)self->staging[width * (size_t)self->free_rows[f] + first + c];
        if (self->n_free > 0)
            self->library->solve(self->cholesky, self->vector, self->vector, (int)columns, pd_context_threads(self->context));
        for (int f = 0; f < self->n_free; f++)
            for (size_t c = 0; c < columns; c++)
                self->staging[width * (size_t)self->free_rows[f] + first + c] = (real)self->vector[columns * (size_t)f + c];
    }
    return pd_memory_upload(self->context, direction, self->staging, bytes);
}
