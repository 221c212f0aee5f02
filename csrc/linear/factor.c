/* A sparse Cholesky factor over the free vertices of a symmetric matrix; see factor.h. */
#include "linear/factor.h"

#include <stdlib.h>

pd_status pd_factor_create(pd_factor *self, const pd_cholesky_functions *library, int n, const unsigned char *fixed, size_t numbers,
                           pd_error *error) {
    *self = (pd_factor){.library = library};
    self->free_rows = malloc(((size_t)n + 1) * sizeof(int));
    self->compressed = malloc(((size_t)n + 1) * sizeof(int));
    self->vector = malloc(((size_t)n * numbers + 1) * sizeof(double));
    if (!self->free_rows || !self->compressed || !self->vector)
        return pd_fail(error, PD_ERROR_MEMORY, "out of memory for a factor of %d vertices", n);
    for (int i = 0; i < n; i++) {
        int is_free = !fixed || !fixed[i];
        self->compressed[i] = is_free ? self->n_free : -1;
        if (is_free) self->free_rows[self->n_free++] = i;
    }
    return PD_OK;
}

void pd_factor_destroy(pd_factor *self) {
    if (self->cholesky) self->library->destroy(self->cholesky);
    free(self->free_rows);
    free(self->compressed);
    free(self->column_start);
    free(self->values);
    free(self->vector);
    *self = (pd_factor){0};
}

void pd_factor_forget_values(pd_factor *self) {
    free(self->values);
    self->values = NULL;
}

static pd_status out_of_memory(const pd_factor *self, pd_error *error) {
    return pd_fail(error, PD_ERROR_MEMORY, "out of memory for a factor of %d rows", self->n_unknowns);
}

pd_status pd_factor_pattern(pd_factor *self, int n_unknowns, pd_upper_triangle triangle, const void *owner, int **rows, pd_error *error) {
    *rows = NULL;
    self->n_unknowns = n_unknowns;
    pd_factor_forget_values(self);
    int *column_start = realloc(self->column_start, ((size_t)n_unknowns + 1) * sizeof(int));
    if (!column_start) return out_of_memory(self, error);
    self->column_start = column_start;
    triangle(owner, column_start, NULL, NULL);
    *rows = malloc(((size_t)column_start[n_unknowns] + 1) * sizeof(int));
    if (!*rows) return out_of_memory(self, error);
    triangle(owner, column_start, *rows, NULL);
    return PD_OK;
}

pd_status pd_factor_analyse(pd_factor *self, int n_unknowns, int block, pd_upper_triangle triangle, const void *owner, pd_error *error) {
    int *rows;
    if (self->cholesky) self->library->destroy(self->cholesky);
    self->cholesky = NULL;
    pd_status status = pd_factor_pattern(self, n_unknowns, triangle, owner, &rows, error);
    if (!status) status = self->library->create(&self->cholesky, n_unknowns, self->column_start, rows, block, error);
    free(rows);
    return status;
}

pd_status pd_factor_values(pd_factor *self, pd_upper_triangle triangle, const void *owner, pd_error *error) {
    if (!self->values) self->values = malloc(((size_t)self->column_start[self->n_unknowns] + 1) * sizeof(double));
    if (!self->values) return out_of_memory(self, error);
    triangle(owner, self->column_start, NULL, self->values);
    return PD_OK;
}

pd_status pd_factor_refresh(pd_factor *self, pd_upper_triangle triangle, const void *owner, pd_error *error) {
    pd_status status = pd_factor_values(self, triangle, owner, error);
    return status ? status : self->library->factor(self->cholesky, self->values, error);
}

void pd_factor_solve(pd_factor *self, real *rows, size_t width, size_t first, size_t numbers, int columns, int threads) {
    double *vector = self->vector;
    if (self->n_unknowns == 0) return;
    for (int f = 0; f < self->n_free; f++)
        for (size_t c = 0; c < numbers; c++) vector[numbers * (size_t)f + c] = (double)rows[width * (size_t)self->free_rows[f] + first + c];
    self->library->solve(self->cholesky, vector, vector, columns, threads);
    for (int f = 0; f < self->n_free; f++)
        for (size_t c = 0; c < numbers; c++) rows[width * (size_t)self->free_rows[f] + first + c] = (real)vector[numbers * (size_t)f + c];
}
