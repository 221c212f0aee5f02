/* The interior region of a Schur complement in backend memory; see schur_resident.h. */
#include "linear/schur_resident.h"

#include "linear/linear_method.h"
#include "linear/upload.h"
#include "loops/dense_loops.h"

#include <stdlib.h>

struct pd_schur_resident {
    int n, interior, in_contact;
    pd_sparse_factor *factor; /* of A11 */
    pd_matrix coupling;       /* C */
    int *contact_rows;        /* B [in_contact] */
    real *whole, *product;    /* B [n,3] */
    real *part;               /* B [in_contact,3] */
    const real *residual;     /* of the present solve */
};

void pd_schur_resident_destroy(pd_schur_resident *self, pd_context *context) {
    if (!self) return;
    pd_sparse_factor_destroy(self->factor, context);
    pd_matrix_destroy(&self->coupling, context);
    PD_MEMORIES_DESTROY(context, self->contact_rows, self->whole, self->product, self->part);
    free(self);
}

/* Kinds of a row of A; 0: fixed. */
enum { INTERIOR = 1, CONTACT_REGION = 2 };

static pd_status no_memory(pd_context *context, int n) {
    return pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for the Schur complement of %d rows", n);
}

/* The upper triangle of A11 by columns, analysed and factorised. slot [n]: place of an interior row. */
static pd_status factor_interior(pd_schur_resident *self, pd_context *context, const pd_csr *A, const int *rows, const unsigned char *kind,
                                 const int *slot) {
    size_t most = (size_t)A->row_start[A->n];
    int *column_start = malloc(((size_t)self->interior + 1) * sizeof(int)), *entries = malloc((most + 1) * sizeof(int)), next = 0;
    double *values = malloc((most + 1) * sizeof(double));
    pd_status status = PD_OK;
    if (!column_start || !entries || !values) {
        status = no_memory(context, self->interior);
        goto done;
    }
    for (int f = 0; f < self->interior; f++) {
        int i = rows[f];
        column_start[f] = next;
        for (int s = A->row_start[i]; s < A->row_start[i + 1] && A->columns[s] <= i; s++)
            if (kind[A->columns[s]] == INTERIOR) entries[next] = slot[A->columns[s]], values[next++] = A->values[s];
    }
    column_start[self->interior] = next;
    PD_TRY(pd_sparse_factor_create(&self->factor, context, self->interior, column_start, entries, rows, 3, NULL));
    status = pd_sparse_factor_refresh(context, self->factor, values);
done:
    free(column_start);
    free(entries);
    free(values);
    return status;
}

static pd_status couple(pd_schur_resident *self, pd_context *context, const pd_csr *A, const unsigned char *kind) {
    size_t most = (size_t)A->row_start[A->n] + (size_t)A->n;
    int next = 0;
    pd_csr C = {.n = A->n,
                .row_start = malloc(((size_t)A->n + 1) * sizeof(int)),
                .columns = malloc((most + 1) * sizeof(int)),
                .values = malloc((most + 1) * sizeof(double))};
    pd_status status = PD_OK;
    if (!C.row_start || !C.columns || !C.values) {
        status = no_memory(context, A->n);
        goto done;
    }
    for (int i = 0; i < A->n; i++) {
        C.row_start[i] = next;
        C.columns[next] = i, C.values[next++] = 1.0;
        for (int s = A->row_start[i]; s < A->row_start[i + 1]; s++)
            if (kind[i] + kind[A->columns[s]] == INTERIOR + CONTACT_REGION)
                C.columns[next] = A->columns[s], C.values[next++] = -A->values[s];
    }
    C.row_start[A->n] = next;
    status = pd_matrix_upload(&self->coupling, context, &C, NULL, 3);
done:
    pd_csr_destroy(&C);
    return status;
}

pd_status pd_schur_resident_create(pd_schur_resident **out, pd_context *context, const pd_csr *A, const int *rows, int interior,
                                   int in_contact) {
    size_t bytes = 3 * (size_t)A->n * sizeof(real);
    unsigned char *kind = calloc((size_t)A->n + 1, 1);
    int *slot = malloc(((size_t)A->n + 1) * sizeof *slot);
    pd_schur_resident *self = calloc(1, sizeof *self);
    pd_status status = PD_OK;
    *out = NULL;
    if (!kind || !slot || !self) {
        status = no_memory(context, A->n);
        goto done;
    }
    self->n = A->n, self->interior = interior, self->in_contact = in_contact;
    for (int f = 0; f < interior + in_contact; f++) kind[rows[f]] = f < interior ? INTERIOR : CONTACT_REGION, slot[rows[f]] = f;
    PD_TRY(factor_interior(self, context, A, rows, kind, slot));
    PD_TRY(couple(self, context, A, kind));
    PD_TRY(pd_upload_ints(context, &self->contact_rows, rows + interior, (size_t)in_contact));
    PD_TRY(pd_memory_create(context, (void **)&self->whole, bytes));
    PD_TRY(pd_memory_create(context, (void **)&self->product, bytes));
    status = pd_memory_create(context, (void **)&self->part, 3 * (size_t)in_contact * sizeof(real));
done:
    free(kind);
    free(slot);
    if (status)
        pd_schur_resident_destroy(self, context);
    else
        *out = self;
    return status;
}

pd_status pd_schur_resident_forward(pd_schur_resident *self, pd_context *context, const real *residual, real *y2) {
    pd_status status = PD_OK;
    self->residual = residual;
    PD_TRY(pd_sparse_factor_solve(context, self->factor, self->n, residual, self->whole));
    PD_TRY(pd_rows_gather(context, self->in_contact, self->contact_rows, residual, self->part));
    PD_TRY(pd_rows_scatter(context, self->in_contact, self->contact_rows, self->part, self->whole));
    PD_TRY(pd_matrix_multiply(context, &self->coupling, 3, self->whole, self->product));
    status = pd_rows_gather(context, self->in_contact, self->contact_rows, self->product, y2);
done:
    return status;
}

pd_status pd_schur_resident_backward(pd_schur_resident *self, pd_context *context, const real *u2, real *correction) {
    pd_status status = PD_OK;
    PD_TRY(pd_memory_copy(context, self->part, u2, 3 * (size_t)self->in_contact * sizeof(real))); // correction may be the memory of u2
    PD_TRY(pd_memory_copy(context, self->whole, self->residual, 3 * (size_t)self->n * sizeof(real)));
    PD_TRY(pd_rows_scatter(context, self->in_contact, self->contact_rows, self->part, self->whole));
    PD_TRY(pd_matrix_multiply(context, &self->coupling, 3, self->whole, self->product));
    PD_TRY(pd_sparse_factor_solve(context, self->factor, self->n, self->product, correction));
    status = pd_rows_scatter(context, self->in_contact, self->contact_rows, self->part, correction);
done:
    return status;
}
