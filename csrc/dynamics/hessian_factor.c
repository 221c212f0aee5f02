/* A sparse Cholesky factor of the Hessian of the incremental potential; see hessian_factor.h. */
#include "dynamics/hessian_factor.h"

#include "dynamics/whole_hessian.h"

#include <math.h>
#include <stdlib.h>

struct pd_hessian_factor {
    const pd_cholesky_functions *library;
    pd_cholesky *cholesky;
    int n_free;
    int *free_rows, *compressed; /* vertex of a block row; block row of a vertex or -1 */
    int *column_start;           /* [3 n_free + 1] upper triangle by columns */
    double *values;
    double *vector; /* [n_free,3] */
    int revision;   /* of the pattern that was analysed; 0: none */
};

void pd_hessian_factor_destroy(pd_hessian_factor *self) {
    if (!self) return;
    if (self->cholesky) self->library->destroy(self->cholesky);
    free(self->free_rows);
    free(self->compressed);
    free(self->column_start);
    free(self->values);
    free(self->vector);
    free(self);
}

/* Walks the upper triangle of the free Hessian column by column: column 3f+b holds the rows of all blocks j < f and rows <= b of the
 * diagonal block. Writes rows and/or values where given; returns the number of entries. The block (i,j) of the pattern's
 * row i is read transposed, which for a symmetric Hessian is the block (j,i) of column i. */
static int upper_triangle(const pd_hessian_factor *self, const pd_whole_hessian *whole, int *column_start, int *rows, double *values,
                          double shift) {
    const pd_csr *pattern = &whole->pattern;
    int next = 0;
    for (int f = 0; f < self->n_free; f++) {
        int i = self->free_rows[f];
        for (int b = 0; b < 3; b++) {
            if (column_start) column_start[3 * f + b] = next;
            for (int s = pattern->row_start[i]; s < pattern->row_start[i + 1]; s++) {
                int j = self->compressed[pattern->columns[s]];
                if (j < 0 || j > f) continue;
                for (int a = 0; a < (j == f ? b + 1 : 3); a++) {
                    if (rows) rows[next] = 3 * j + a;
                    if (values)
                        values[next] = (double)whole->blocks[9 * (size_t)s + (size_t)(3 * b + a)] + (j == f && a == b ? shift : 0.0);
                    next++;
                }
            }
        }
    }
    if (column_start) column_start[3 * self->n_free] = next;
    return next;
}

/* Analyses the pattern of the whole Hessian, where it has not been yet. */
static pd_status analyse(pd_hessian_factor *self, const pd_problem *problem) {
    const pd_whole_hessian *whole = problem->whole;
    pd_status status = PD_OK;
    if (self->revision == whole->revision) return PD_OK;
    self->library->destroy(self->cholesky);
    self->cholesky = NULL;
    self->revision = 0;
    int count = upper_triangle(self, whole, self->column_start, NULL, NULL, 0.0);
    int *rows = malloc(((size_t)count + 1) * sizeof(int));
    double *values = realloc(self->values, ((size_t)count + 1) * sizeof(double));
    if (values) self->values = values;
    if (!rows || !values)
        PD_TRY(pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for a factor of %d vertices", problem->model->n_vertices));
    upper_triangle(self, whole, self->column_start, rows, NULL, 0.0);
    PD_TRY(self->library->create(&self->cholesky, 3 * self->n_free, self->column_start, rows, 3, problem->error));
    self->revision = whole->revision;
done:
    free(rows);
    return status;
}

pd_status pd_hessian_factor_create(pd_hessian_factor **out, const pd_problem *problem) {
    pd_status status = PD_OK;
    size_t n = (size_t)problem->model->n_vertices;
    pd_hessian_factor *self = calloc(1, sizeof *self);
    *out = NULL;
    if (!self) return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory");
    self->library = problem->cholesky;
    self->free_rows = malloc((n + 1) * sizeof(int));
    self->compressed = malloc((n + 1) * sizeof(int));
    self->column_start = malloc((n * 3 + 1) * sizeof(int));
    self->vector = malloc((n * 3 + 1) * sizeof(double));
    if (!self->free_rows || !self->compressed || !self->column_start || !self->vector)
        PD_TRY(pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for a factor of %zu vertices", n));
    for (int i = 0; i < (int)n; i++) {
        self->compressed[i] = problem->fixed[i] ? -1 : self->n_free;
        if (!problem->fixed[i]) self->free_rows[self->n_free++] = i;
    }
    if (self->n_free > 0) {
        PD_TRY(pd_problem_need_whole(problem));
        PD_TRY(analyse(self, problem));
    }
done:
    if (status)
        pd_hessian_factor_destroy(self);
    else
        *out = self;
    return status;
}

pd_status pd_hessian_factor_update(pd_hessian_factor *self, const pd_problem *problem, double shift) {
    pd_status status = PD_OK;
    if (self->n_free == 0) return PD_OK;
    PD_TRY(analyse(self, problem));
    upper_triangle(self, problem->whole, NULL, NULL, self->values, shift);
    status = self->library->factor(self->cholesky, self->values, problem->error);
    if (status == PD_ERROR_SINGULAR) problem->error->vertex = self->free_rows[problem->error->vertex];
done:
    return status;
}

double pd_hessian_factor_trace(const pd_hessian_factor *self) {
    double trace = 0.0;
    for (int c = 0; c < 3 * self->n_free; c++) trace += fabs(self->values[self->column_start[c + 1] - 1]);
    return trace;
}

pd_status pd_hessian_factor_solve(pd_hessian_factor *self, const pd_problem *problem, const real *residual, real *direction) {
    real *staging = problem->staging;
    pd_status status = pd_memory_download(problem->context, staging, residual, pd_problem_bytes(problem));
    if (status || self->n_free == 0) return status ? status : pd_memory_clear(problem->context, direction, pd_problem_bytes(problem));
    for (int f = 0; f < self->n_free; f++)
        for (int c = 0; c < 3; c++) self->vector[3 * f + c] = (double)staging[3 * (size_t)self->free_rows[f] + (size_t)c];
    self->library->solve(self->cholesky, self->vector, self->vector, 1, pd_context_threads(problem->context));
    for (int f = 0; f < self->n_free; f++)
        for (int c = 0; c < 3; c++) staging[3 * (size_t)self->free_rows[f] + (size_t)c] = (real)self->vector[3 * f + c];
    return pd_memory_upload(problem->context, direction, staging, pd_problem_bytes(problem));
}
