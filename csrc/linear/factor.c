/* A sparse Cholesky factor over the free vertices of a symmetric matrix; see factor.h. */
#include "linear/factor.h"

#include <stdlib.h>

/* Right-hand sides per pass over the host's factor. */
enum { COLUMNS_AT_ONCE = 4 };

static pd_status out_of_memory(const pd_factor *self, int rows) {
    return pd_fail(self->error, PD_ERROR_MEMORY, "out of memory for a factor of %d rows", rows);
}

/* Moves the error text out of the backend's context. There it would be taken for the reason of a later failure. */
static pd_status keep_error(const pd_factor *self, pd_status status) {
    pd_error *said = pd_context_error(self->context);
    if (!status || said == self->error) return status;
    *self->error = *said;
    said->text[0] = 0;
    return status;
}

pd_status pd_factor_create(pd_factor *self, pd_context *context, const pd_cholesky_functions *library, int n, int width,
                           const unsigned char *fixed, pd_error *error) {
    *self = (pd_factor){.context = context, .library = library, .error = error, .n = n, .width = width};
    size_t rows = (size_t)n, columns = (size_t)(width < COLUMNS_AT_ONCE ? width : COLUMNS_AT_ONCE);
    self->free_rows = malloc((rows + 1) * sizeof(int));
    self->compressed = malloc((rows + 1) * sizeof(int));
    self->vector = malloc((rows * columns + 1) * sizeof(double));
    self->staging = calloc(rows * (size_t)width + 1, sizeof(real));
    if (!self->free_rows || !self->compressed || !self->vector || !self->staging) return out_of_memory(self, n);
    for (int i = 0; i < n; i++) {
        int is_free = !fixed || !fixed[i];
        self->compressed[i] = is_free ? self->n_free : -1;
        if (is_free) self->free_rows[self->n_free++] = i;
    }
    return PD_OK;
}

static void forget(pd_factor *self) {
    pd_factor_forget_values(self);
    if (self->cholesky) self->library->destroy(self->cholesky);
    if (self->resident) pd_sparse_factor_destroy(self->resident, self->context);
    self->cholesky = NULL;
    self->resident = NULL;
}

void pd_factor_destroy(pd_factor *self) {
    forget(self);
    free(self->free_rows);
    free(self->compressed);
    free(self->column_start);
    free(self->vector);
    free(self->staging);
    *self = (pd_factor){0};
}

void pd_factor_forget_values(pd_factor *self) {
    free(self->values);
    self->values = NULL;
}

/* ---- the analysis ------------------------------------------------------------------------------------------------------------- */

/* column_start, and *rows [column_start[n]], which the caller frees. */
static pd_status read_pattern(pd_factor *self, pd_upper_triangle triangle, const void *owner, int **rows) {
    int n = self->unknowns.n, *column_start = realloc(self->column_start, ((size_t)n + 1) * sizeof(int));
    *rows = NULL;
    if (!column_start) return out_of_memory(self, n);
    self->column_start = column_start;
    triangle(owner, column_start, NULL, NULL);
    *rows = malloc(((size_t)column_start[n] + 1) * sizeof(int));
    if (!*rows) return out_of_memory(self, n);
    triangle(owner, column_start, *rows, NULL);
    return PD_OK;
}

static pd_status analyse_by_host(pd_factor *self, pd_upper_triangle triangle, const void *owner) {
    int *rows;
    pd_status status = read_pattern(self, triangle, owner, &rows);
    if (!status)
        status = self->library->create(&self->cholesky, self->unknowns.n, self->column_start, rows, self->unknowns.block, self->error);
    free(rows);
    return status;
}

/* The row of each unknown in a vector: of one vertex, of one number of it, or of the vertex whose coordinate it is. */
static void find_places(const pd_factor *self, int *places) {
    const pd_unknowns *unknowns = &self->unknowns;
    for (int f = 0; f < self->n_free; f++) {
        int i = self->free_rows[f], block = unknowns->block;
        if (unknowns->start)
            for (int a = unknowns->start[f]; a < unknowns->start[f + 1]; a++) places[a] = i;
        else
            for (int c = 0; c < block; c++) places[block * f + c] = block * i + c;
    }
}

static pd_status analyse_in_backend(pd_factor *self, pd_upper_triangle triangle, const void *owner) {
    int n = self->unknowns.n, *rows, *places = malloc(((size_t)n + 1) * sizeof(int));
    pd_status status = read_pattern(self, triangle, owner, &rows);
    if (!status && !places) status = out_of_memory(self, n);
    if (!status) {
        find_places(self, places);
        status = keep_error(self, pd_sparse_factor_create(&self->resident, self->context, n, self->column_start, rows, places,
                                                          self->width / self->unknowns.block, self->unknowns.directions));
    }
    free(rows);
    free(places);
    return status;
}

pd_status pd_factor_analyse(pd_factor *self, const pd_unknowns *unknowns, pd_upper_triangle triangle, const void *owner) {
    forget(self);
    self->unknowns = *unknowns;
    if (unknowns->n == 0) return PD_OK;
    return (pd_sparse_factor_there() ? analyse_in_backend : analyse_by_host)(self, triangle, owner);
}

/* ---- factor and solve ----------------------------------------------------------------------------------------------------------- */

pd_status pd_factor_refresh(pd_factor *self, int sure, pd_upper_triangle triangle, const void *owner) {
    if (self->unknowns.n == 0) return PD_OK;
    pd_context_tally(self->context)->factorizations++; // one also where the host's is used as well
    if (!self->values) self->values = malloc(((size_t)self->column_start[self->unknowns.n] + 1) * sizeof(double));
    if (!self->values) return out_of_memory(self, self->unknowns.n);
    triangle(owner, self->column_start, NULL, self->values);
    self->by_host = !self->resident;
    if (self->resident) {
        pd_status told = keep_error(self, pd_sparse_factor_refresh(self->context, self->resident, self->values));
        if (told != PD_ERROR_SINGULAR || !sure) return told;
        const pd_error said = *self->error;
        self->error->text[0] = 0;
        pd_status status = self->cholesky ? PD_OK : analyse_by_host(self, triangle, owner);
        if (status == PD_ERROR_UNSUPPORTED) { // a build without a library
            *self->error = said;
            return PD_ERROR_VALUE;
        }
        if (status) return status;
        self->by_host = 1;
    }
    return self->library->factor(self->cholesky, self->values, self->error);
}

/* The rate of a factorisation relative to that of a solve, which reads the factor twice, with a multiplication and an addition per entry, and
 * to that of a product, which reads the matrix once. Both are limited by memory; a matrix is more often in the cache. PER_UNKNOWN: operations
 * of the vectors of an iteration and the blocks on the diagonal. The cost of a library's factor in backend memory is unknown. */
static const double SLOWER = 6.0, SLOWER_PRODUCT = 4.0;
enum { WORTH_IN_BACKEND = 8, PRODUCTS_IN_BACKEND = 200, MOST_WORTH = 1000, PER_UNKNOWN = 20 };

int pd_factor_worth(const pd_factor *self) {
    if (!self->cholesky || !self->by_host) return WORTH_IN_BACKEND;
    double worth = self->library->factor_work(self->cholesky) / (4.0 * SLOWER * (double)self->library->factor_entries(self->cholesky));
    return worth > 1.0 ? worth < MOST_WORTH ? (int)worth : MOST_WORTH : 1;
}

int pd_factor_products(const pd_factor *self, double entries) {
    if (!self->cholesky) return PRODUCTS_IN_BACKEND;
    double worth = self->library->factor_work(self->cholesky) / (SLOWER_PRODUCT * (2.0 * entries + PER_UNKNOWN * self->unknowns.n));
    return worth > 1.0 ? worth < MOST_WORTH ? (int)worth : MOST_WORTH : 1;
}

/* Solves for the numbers first .. first + columns - 1 of each free vertex in staging: as separate right-hand sides, or with blocks all
 * three as one. */
static void solve_columns(pd_factor *self, size_t first, size_t numbers, int columns) {
    double *vector = self->vector;
    size_t width = (size_t)self->width;
    for (int f = 0; f < self->n_free; f++)
        for (size_t c = 0; c < numbers; c++)
            vector[numbers * (size_t)f + c] = (double)self->staging[width * (size_t)self->free_rows[f] + first + c];
    self->library->solve(self->cholesky, vector, vector, columns, pd_context_threads(self->context));
    for (int f = 0; f < self->n_free; f++)
        for (size_t c = 0; c < numbers; c++)
            self->staging[width * (size_t)self->free_rows[f] + first + c] = (real)vector[numbers * (size_t)f + c];
}

/* The same in coordinates of the free directions. */
static void solve_along(pd_factor *self) {
    const int *start = self->unknowns.start;
    const double *directions = self->unknowns.directions;
    for (int f = 0; f < self->n_free; f++)
        for (int a = start[f]; a < start[f + 1]; a++) {
            const real *r = self->staging + 3 * (size_t)self->free_rows[f];
            const double *u = directions + 3 * (size_t)a;
            self->vector[a] = u[0] * (double)r[0] + u[1] * (double)r[1] + u[2] * (double)r[2];
        }
    if (self->cholesky) self->library->solve(self->cholesky, self->vector, self->vector, 1, pd_context_threads(self->context));
    for (int f = 0; f < self->n_free; f++)
        for (size_t c = 0; c < 3; c++) {
            double sum = 0.0;
            for (int a = start[f]; a < start[f + 1]; a++) sum += self->vector[a] * directions[3 * (size_t)a + c];
            self->staging[3 * (size_t)self->free_rows[f] + c] = (real)sum;
        }
}

pd_status pd_factor_solve(pd_factor *self, const real *residual, real *correction) {
    int width = self->width, block = self->unknowns.block;
    size_t bytes = (size_t)self->n * (size_t)width * sizeof(real);
    pd_context_tally(self->context)->solves++;
    if (self->resident && !self->by_host)
        return keep_error(self, pd_sparse_factor_solve(self->context, self->resident, block * self->n, residual, correction));
    pd_status status = keep_error(self, pd_memory_download(self->context, self->staging, residual, bytes));
    if (status) return status;
    if (self->unknowns.start)
        solve_along(self);
    else if (self->cholesky && block == 3)
        solve_columns(self, 0, 3, 1);
    else
        for (int first = 0; self->cholesky && first < width; first += COLUMNS_AT_ONCE) {
            int columns = width - first < COLUMNS_AT_ONCE ? width - first : COLUMNS_AT_ONCE;
            solve_columns(self, (size_t)first, (size_t)columns, columns);
        }
    return keep_error(self, pd_memory_upload(self->context, correction, self->staging, bytes));
}
