/* Upload of host matrices to backend memory. */
#include "linear/linear_method.h"
#include "linear/upload.h"

#include <stdlib.h>

void pd_matrix_destroy(pd_matrix *matrix, pd_context *context) {
    PD_MEMORIES_DESTROY(context, matrix->row_start, matrix->columns, matrix->values, matrix->diagonal, matrix->partial_sums,
                        matrix->iterates);
    *matrix = (pd_matrix){0};
}

pd_status pd_matrix_upload(pd_matrix *out, pd_context *context, const pd_csr *A, const int *order, int width) {
    pd_status status = PD_OK;
    size_t n = (size_t)A->n, count = (size_t)A->row_start[A->n], blocks = n / (PD_SUM_BLOCK - 2) + 1;
    int *row_start = malloc((n + 1) * sizeof(int)), *columns = malloc((count + 1) * sizeof(int));
    double *values = malloc((count + 1) * sizeof(double)), *diagonal = malloc((n + 1) * sizeof(double));
    if (!row_start || !columns || !values || !diagonal) {
        status = pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for a matrix of %d rows", A->n);
        goto done;
    }
    int next = 0;
    for (int t = 0; t < A->n; t++) {
        int i = order ? order[t] : t;
        row_start[t] = next;
        diagonal[t] = 0.0;
        for (int s = A->row_start[i]; s < A->row_start[i + 1]; s++)
            if (A->columns[s] == i)
                diagonal[t] += A->values[s];
            else
                columns[next] = A->columns[s], values[next++] = A->values[s];
    }
    row_start[n] = next;
    out->n = A->n;
    PD_TRY(pd_memory_create(context, (void **)&out->partial_sums, 2 * blocks * (size_t)width * sizeof(double)));
    PD_TRY(pd_upload_ints(context, &out->row_start, row_start, n + 1));
    PD_TRY(pd_upload_ints(context, &out->columns, columns, (size_t)next));
    PD_TRY(pd_upload_reals(context, &out->values, values, (size_t)next));
    status = pd_upload_reals(context, &out->diagonal, diagonal, n);

done:
    free(row_start);
    free(columns);
    free(values);
    free(diagonal);
    return status;
}

pd_status pd_linear_need_iterates(pd_linear *self, pd_matrix *matrix, int iterates) {
    size_t bytes = pd_iterates_scratch(matrix->n, self->width, iterates);
    return !bytes || matrix->iterates ? PD_OK : pd_memory_create(self->context, (void **)&matrix->iterates, bytes);
}

pd_status pd_linear_accept(pd_linear *self, double omega, double gamma) {
    pd_status status = PD_OK;
    if (omega == 1.0 && gamma == 1.0) {
        real *swap = self->previous;
        self->previous = self->current;
        self->current = self->spare;
        self->spare = swap;
        return PD_OK;
    }
    PD_TRY(pd_extrapolate(self->context, &self->matrix, self->width, omega, gamma, self->spare, self->current, self->previous));
    pd_linear_exchange(self);
done:
    return status;
}
