/* Gauss-Seidel in three forms: forward, symmetric (a forward and a backward sweep are one iteration), and with over-relaxation.
 *
 * Rows are coloured, so that rows of a colour are updated in parallel and the result does not depend on the threads [Fratarcangeli et
 * al. 2016, Vivace]. The natural order, on one thread, is for reference. Chebyshev extrapolation needs real eigenvalues: the symmetric
 * form has them, the forward form does not [Wang 2015, Sec. 5.1]. */
#include "linear/linear_method.h"
#include "linear/upload.h"
#include "mesh/colouring.h"

#include <stdlib.h>

typedef struct pd_coloured {
    pd_coloured_matrix coloured;
    int *colour_start; /* H */
    int *order;        /* H */
} pd_coloured;

static void destroy(void *memory, pd_context *context) {
    pd_coloured *self = memory;
    pd_matrix_destroy(&self->coloured.matrix, context);
    pd_memory_destroy(context, self->coloured.rows);
    free(self->colour_start);
    free(self->order);
    free(self);
}

static int colours(const pd_linear *self) {
    const pd_coloured *method = self->memory;
    return method ? method->coloured.n_colours : 0;
}

/* Greedy colours of the graph of A, ascending vertices; order lists the rows colour by colour. */
static pd_status colour_rows(const pd_csr *A, int *order, int **colour_start, int *n_colours, pd_error *error) {
    size_t n = (size_t)A->n, count = (size_t)A->row_start[A->n];
    int *edges = malloc((count + 1) * sizeof(int)), *colours = malloc((n + 1) * sizeof(int)), *next = NULL;
    pd_status status = PD_OK;
    int n_edges = 0;
    if (!edges || !colours) goto memory;
    for (int i = 0; i < A->n; i++) // symmetric: edges once, as pairs (i < j), at most half of the entries
        for (int s = A->row_start[i]; s < A->row_start[i + 1]; s++)
            if (A->columns[s] > i) edges[2 * n_edges] = i, edges[2 * n_edges + 1] = A->columns[s], n_edges++;
    PD_TRY(pd_colouring_create(colours, n_colours, edges, n_edges, 2, A->n, PD_COLOURING_GREEDY, error));
    *colour_start = calloc((size_t)*n_colours + 1, sizeof(int));
    next = malloc(((size_t)*n_colours + 1) * sizeof(int));
    if (!*colour_start || !next) goto memory;
    for (size_t i = 0; i < n; i++) (*colour_start)[colours[i] + 1]++;
    for (int c = 0; c < *n_colours; c++) (*colour_start)[c + 1] += (*colour_start)[c], next[c] = (*colour_start)[c];
    for (int i = 0; i < A->n; i++) order[next[colours[i]]++] = i;
    goto done;

memory:
    status = pd_fail(error, PD_ERROR_MEMORY, "out of memory for the colours of %d rows", A->n);
done:
    free(edges);
    free(colours);
    free(next);
    return status;
}

static pd_status refresh(pd_linear *self) {
    const pd_coloured_matrix *coloured = &((const pd_coloured *)self->memory)->coloured;
    return pd_diagonal_round(self->context, coloured->matrix.n, self->total, coloured->rows, coloured->matrix.diagonal);
}

static pd_status prepare(pd_linear *self) {
    pd_error *error = pd_context_error(self->context);
    pd_status status = PD_OK;
    pd_coloured *method = self->memory;
    if (method) return refresh(self);
    method = self->memory = calloc(1, sizeof *method);
    if (!method) return pd_fail(error, PD_ERROR_MEMORY, "out of memory");
    method->order = malloc(((size_t)self->A.n + 1) * sizeof(int));
    if (!method->order) return pd_fail(error, PD_ERROR_MEMORY, "out of memory for the order of %d rows", self->A.n);
    if (self->settings.natural) {
        method->colour_start = malloc(2 * sizeof(int));
        if (!method->colour_start) return pd_fail(error, PD_ERROR_MEMORY, "out of memory");
        method->colour_start[0] = 0, method->colour_start[1] = self->A.n;
        method->coloured.n_colours = method->coloured.sequential = 1;
        for (int i = 0; i < self->A.n; i++) method->order[i] = i;
    } else
        PD_TRY(colour_rows(&self->A, method->order, &method->colour_start, &method->coloured.n_colours, error));
    method->coloured.colour_start = method->colour_start;
    PD_TRY(pd_upload_ints(self->context, &method->coloured.rows, method->order, (size_t)self->A.n));
    PD_TRY(pd_matrix_upload(&method->coloured.matrix, self->context, &self->A, method->order, self->width));
    PD_TRY(pd_linear_need_iterates(self, &method->coloured.matrix, 1));
    method->coloured.matrix.subspace = self->projectors;
    method->coloured.matrix.coupling = self->coupling, method->coloured.matrix.inverses = self->inverses;
    status = refresh(self);
done:
    return status;
}

/* In place without extrapolation. Otherwise into the spare vector, since extrapolation needs the previous iterate. */
static pd_status sweeps(pd_linear *self, int k, int n, const double *omegas, double gamma, double relaxation, int symmetric) {
    const pd_coloured_matrix *coloured = &((const pd_coloured *)self->memory)->coloured;
    pd_status status = PD_OK;
    pd_context_tally(self->context)->sweeps += symmetric ? 2 * n : n;
    if (!self->settings.chebyshev.enabled)
        return pd_gauss_seidel_sweeps(self->context, coloured, self->width, self->residual, relaxation, n, symmetric,
                                      k == 0 ? NULL : self->current, self->current);
    if (k == 0) PD_TRY(pd_memory_clear(self->context, self->current, pd_linear_bytes(self)));
    if (k == 0) PD_TRY(pd_memory_clear(self->context, self->previous, pd_linear_bytes(self)));
    for (int j = 0; j < n; j++) {
        PD_TRY(pd_gauss_seidel_sweeps(self->context, coloured, self->width, self->residual, relaxation, 1, symmetric,
                                      k + j == 0 ? NULL : self->current, self->spare));
        PD_TRY(pd_linear_accept(self, omegas[j], gamma));
    }
done:
    return status;
}

static pd_status iterate_forward(pd_linear *self, int k, int n, const double *omegas, double gamma) {
    return sweeps(self, k, n, omegas, gamma, 1.0, 0);
}

static pd_status iterate_symmetric(pd_linear *self, int k, int n, const double *omegas, double gamma) {
    return sweeps(self, k, n, omegas, gamma, 1.0, 1);
}

static pd_status iterate_over_relaxed(pd_linear *self, int k, int n, const double *omegas, double gamma) {
    return sweeps(self, k, n, omegas, gamma, self->settings.omega, 0);
}

#define PD_COLOURED_METHOD(name_, iterate_) \
    {.name = name_, .destroy = destroy, .prepare = prepare, .refresh = refresh, .iterate = iterate_, .colours = colours, .coupled = 1}

const pd_linear_method pd_gauss_seidel_method = PD_COLOURED_METHOD("GaussSeidel", iterate_forward);
const pd_linear_method pd_symmetric_gauss_seidel_method = PD_COLOURED_METHOD("SymmetricGaussSeidel", iterate_symmetric);
const pd_linear_method pd_sor_method = PD_COLOURED_METHOD("SOR", iterate_over_relaxed);
