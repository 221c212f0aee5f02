/* The Schur complement on the contact region; see schur.h. */
#include "linear/schur.h"

#include "base/clock.h"
#include "linear/linear_method.h"
#include "linear/schur_resident.h"
#include "loops/dense_loops.h"

#include <stdlib.h>
#include <string.h>

struct pd_schur {
    pd_context *context;
    const pd_cholesky_functions *library;
    pd_cholesky *cholesky;
    pd_dense *dense;             /* the present one */
    pd_dense *dense_of[2];       /* without and with contact; if contact counts by its added stiffness, the first is both */
    double active;               /* pd_linear_settings */
    int n;                       /* rows of A */
    int *rows;                   /* [interior+in_contact] rows of A in the order of the factor: interior region first, both ascending */
    double *vector;              /* [interior+in_contact,3] */
    real *staging;               /* [n,3] */
    pd_schur_resident *resident; /* replaces the host's first and last part by backend memory; NULL: none */
    double *base, *total;        /* [n] the diagonal of A at its factorisation, and the present one */
    double *added;               /* [in_contact] the diagonal that the dense factor adds to Sigma */
    pd_dense_entries entries;    /* and the off-diagonal entries (pd_linear_set_entries) */
    long long *places;           /* [entries.capacity]; NULL: none so far */
    int *slots;                  /* [n] of rows of the contact region, otherwise -1; with entries only */
    long long revision;          /* of the entries with these places */
    int factored;
    pd_schur_cost cost;
};

static void destroy(void *memory, pd_context *context) {
    pd_schur *self = memory;
    if (self->library) self->library->destroy(self->cholesky);
    for (int k = 0; k < 2; k++) pd_dense_destroy(self->dense_of[k], context);
    pd_schur_resident_destroy(self->resident, context);
    free(self->rows);
    free(self->vector);
    free(self->staging);
    free(self->base);
    free(self->total);
    free(self->added);
    free(self->places);
    free(self->slots);
    free(self);
}

int pd_schur_contact_size(const pd_schur *self) { return self->cost.in_contact; }
const int *pd_schur_contact_rows(const pd_schur *self) { return self->rows + self->cost.interior; }
pd_schur_cost pd_schur_cost_of(const pd_schur *self) { return self->cost; }

/* The upper triangle of A over the rows of the factor, by columns; with rows and values NULL only counts. slot [n]: place of a row of A,
 * or -1. */
static void upper_triangle(const pd_schur *self, const pd_csr *A, const int *slot, int *column_start, int *rows, double *values) {
    int interior = self->cost.interior, total = interior + self->cost.in_contact, next = 0;
    for (int f = 0; f < total; f++) {
        int i = self->rows[f];
        column_start[f] = next;
        // columns of A ascend, and so do places within a part: first those of the interior region
        for (int part = 0; part < 2; part++)
            for (int s = A->row_start[i]; s < A->row_start[i + 1]; s++) {
                int j = slot[A->columns[s]];
                if (j < 0 || j > f || (j >= interior) != part) continue;
                if (rows) rows[next] = j, values[next] = A->values[s];
                next++;
            }
    }
    column_start[total] = next;
}

static pd_status factor_sparse(pd_schur *self, const pd_csr *A, const int *slot) {
    pd_error *error = pd_context_error(self->context);
    int total = self->cost.interior + self->cost.in_contact, *rows = NULL, *column_start = malloc(((size_t)total + 1) * sizeof(int));
    double *values = NULL, start = pd_seconds();
    pd_status status = PD_OK;
    if (!column_start) goto memory;
    upper_triangle(self, A, slot, column_start, NULL, NULL);
    rows = malloc(((size_t)column_start[total] + 1) * sizeof(int));
    values = malloc(((size_t)column_start[total] + 1) * sizeof(double));
    if (!rows || !values) goto memory;
    upper_triangle(self, A, slot, column_start, rows, values);
    PD_TRY(self->library->create_partitioned(&self->cholesky, total, self->cost.in_contact, column_start, rows, error));
    pd_context_tally(self->context)->factorizations++;
    status = self->library->factor(self->cholesky, values, error);
    if (status == PD_ERROR_SINGULAR) {
        error->vertex = self->rows[error->vertex];
        status = pd_fail(error, PD_ERROR_SINGULAR, "the matrix is not positive definite at row %d (in a simulation: is the body held?)",
                         error->vertex);
    }
    self->cost.sparse_seconds = pd_seconds() - start;
    goto done;

memory:
    status = pd_fail(error, PD_ERROR_MEMORY, "out of memory for the Schur complement of %d rows", self->cost.in_contact);
done:
    free(column_start);
    free(rows);
    free(values);
    return status;
}

static pd_status make_sigma(pd_schur *self) {
    size_t m = (size_t)self->cost.in_contact, bytes = m * m * sizeof(double);
    double start = pd_seconds(), *sigma = malloc(bytes);
    pd_status status = PD_OK;
    if (!sigma)
        return pd_fail(pd_context_error(self->context), PD_ERROR_MEMORY, "out of memory for the Schur complement of %d rows: %zu bytes",
                       self->cost.in_contact, bytes);
    self->library->schur_complement(self->cholesky, sigma);
    for (int k = 0; k < (self->active > 0 ? 2 : 1); k++) {
        PD_TRY(pd_dense_create(&self->dense_of[k], self->context, self->library, self->cost.in_contact));
        PD_TRY(pd_dense_upload(self->context, self->dense_of[k], sigma));
    }
    self->cost.sigma_seconds = pd_seconds() - start;
    self->cost.factor_entries = self->library->factor_entries(self->cholesky);
    self->cost.bytes = (self->active > 0 ? 5 : 3) * (long long)bytes;
done:
    free(sigma);
    return status;
}

static pd_status factor_dense(pd_schur *self) {
    pd_error *error = pd_context_error(self->context);
    double start = pd_seconds();
    pd_status status = pd_dense_factor(self->context, self->dense, self->added, self->places ? &self->entries : NULL);
    self->cost.dense_seconds = pd_seconds() - start;
    self->cost.factorizations++;
    pd_context_tally(self->context)->factorizations++;
    self->factored = !status;
    if (status != PD_ERROR_SINGULAR) return status;
    error->vertex = pd_schur_contact_rows(self)[error->vertex];
    return pd_fail(error, PD_ERROR_SINGULAR, "the Schur complement is not positive definite at row %d (in a simulation: is the body held?)",
                   error->vertex);
}

/* All factors that will be used. */
static pd_status factor_all(pd_schur *self) {
    pd_status status = PD_OK;
    for (int k = self->active > 0 ? 1 : 0; k >= 0; k--) {
        for (int j = 0; j < self->cost.in_contact; j++) self->added[j] = k ? self->active : 0.0;
        self->dense = self->dense_of[k];
        PD_TRY(factor_dense(self));
    }
done:
    return status;
}

static pd_status create(pd_schur **out, pd_context *context, const pd_cholesky_functions *cholesky, const pd_csr *A,
                        const unsigned char *fixed, const unsigned char *in_contact, double active) {
    pd_error *error = pd_context_error(context);
    size_t n = (size_t)A->n;
    pd_status status = PD_OK;
    int *slot = malloc((n + 1) * sizeof *slot);
    pd_schur *self = calloc(1, sizeof *self);
    *out = NULL;
    if (!self || !slot) goto memory;
    self->context = context;
    self->library = cholesky;
    self->active = active;
    self->n = A->n;
    self->rows = malloc((n + 1) * sizeof(int));
    self->vector = malloc((3 * n + 1) * sizeof(double));
    self->staging = calloc(3 * n + 1, sizeof(real));
    self->base = calloc(n + 1, sizeof(double));
    self->total = malloc((n + 1) * sizeof(double));
    self->added = calloc(n + 1, sizeof(double));
    if (!self->rows || !self->vector || !self->staging || !self->base || !self->total || !self->added) goto memory;
    for (int i = 0; i < A->n; i++) self->base[i] = pd_csr_entry(A, i, i);
    int next = 0;
    for (int part = 0; part < 2; part++) {
        for (int i = 0; i < A->n; i++) {
            if (fixed && fixed[i]) slot[i] = -1;
            if ((fixed && fixed[i]) || !in_contact || (in_contact[i] != 0) != part) continue;
            slot[i] = next;
            self->rows[next++] = i;
        }
        if (part == 0) self->cost.interior = next;
    }
    self->cost.in_contact = next - self->cost.interior;
    if (self->cost.interior == 0 || self->cost.in_contact == 0) {
        status = pd_fail(error, PD_ERROR_VALUE, "a Schur complement of %d rows beside %d others: both parts need some",
                         self->cost.in_contact, self->cost.interior);
        goto done;
    }
    PD_TRY(factor_sparse(self, A, slot));
    PD_TRY(make_sigma(self));
    if (pd_sparse_factor_there()) {
        status = pd_schur_resident_create(&self->resident, context, A, self->rows, self->cost.interior, self->cost.in_contact);
        if (status && status != PD_ERROR_SINGULAR) goto done;
        if (status) error->text[0] = 0; // its library rejects a matrix that the host's has factorised
    }
    if (self->resident) {
        cholesky->destroy(self->cholesky); // only Sigma was needed
        self->cholesky = NULL;
    }
    status = factor_all(self);
    goto done;

memory:
    status = pd_fail(error, PD_ERROR_MEMORY, "out of memory for a solver of %d rows", A->n);
done:
    free(slot);
    if (status && self)
        destroy(self, context);
    else if (!status)
        *out = self;
    return status;
}

/* Sets the diagonal of A to `total`, B [n]: factorises Sigma again if it has changed, or takes the other of the two factors.
 * Synchronises. */
static pd_status set_diagonal(pd_schur *self, const double *total) {
    const int *in_contact = pd_schur_contact_rows(self);
    int same = self->factored, touched = 0;
    pd_status status = pd_memory_download(self->context, self->total, total, (size_t)self->n * sizeof *total);
    if (status) return status;
    for (int f = 0; f < self->cost.interior; f++) {
        int i = self->rows[f];
        if (self->total[i] == self->base[i]) continue;
        pd_context_error(self->context)->vertex = i;
        return pd_fail(pd_context_error(self->context), PD_ERROR_VALUE,
                       "vertex %d is in contact, but not in the region of SchurDirect: make the region larger, "
                       "or take linear=pdgpu.Direct()",
                       i);
    }
    for (int k = 0; k < self->cost.in_contact; k++) {
        double added = self->total[in_contact[k]] - self->base[in_contact[k]];
        if (self->active > 0) {
            touched |= added != 0.0;
            if (!(added > self->active * (1.0 + 1e-12))) continue;
            pd_context_error(self->context)->vertex = in_contact[k];
            return pd_fail(
                pd_context_error(self->context), PD_ERROR_VALUE,
                "active: contact adds %g N/m at vertex %d, and SchurDirect was given %g for every vertex of its region; give more", added,
                in_contact[k], self->active);
        }
        same = same && added == self->added[k];
        self->added[k] = added;
    }
    if (self->active > 0) {
        self->dense = self->dense_of[touched];
        return PD_OK;
    }
    return same ? PD_OK : factor_dense(self);
}

pd_status pd_schur_forward(pd_schur *self, const real *residual, real *y2) {
    int total = self->cost.interior + self->cost.in_contact, threads = pd_context_threads(self->context);
    if (self->resident) return pd_schur_resident_forward(self->resident, self->context, residual, y2);
    pd_status status = pd_memory_download(self->context, self->staging, residual, 3 * (size_t)self->n * sizeof(real));
    if (status) return status;
    for (int f = 0; f < total; f++)
        for (size_t c = 0; c < 3; c++) self->vector[3 * (size_t)f + c] = (double)self->staging[3 * (size_t)self->rows[f] + c];
    self->library->forward(self->cholesky, self->vector, self->vector, 3, threads); // b has been read: y2 may overwrite it
    for (size_t k = 0; k < 3 * (size_t)self->cost.in_contact; k++) self->staging[k] = (real)self->vector[k];
    return pd_memory_upload(self->context, y2, self->staging, 3 * (size_t)self->cost.in_contact * sizeof(real));
}

pd_status pd_schur_dense(pd_schur *self, const real *g2, real *u2) {
    pd_context_tally(self->context)->solves++;
    return pd_dense_solve(self->context, self->dense, g2, u2);
}

pd_status pd_schur_backward(pd_schur *self, const real *u2, real *correction) {
    int total = self->cost.interior + self->cost.in_contact, threads = pd_context_threads(self->context);
    size_t bytes = 3 * (size_t)self->n * sizeof(real);
    double *x2 = self->vector + 3 * (size_t)self->cost.interior;
    pd_context_tally(self->context)->solves++; // with the way forwards, which came before
    if (self->resident) return pd_schur_resident_backward(self->resident, self->context, u2, correction);
    pd_status status = pd_memory_download(self->context, self->staging, u2, 3 * (size_t)self->cost.in_contact * sizeof(real));
    if (status) return status;
    for (size_t k = 0; k < 3 * (size_t)self->cost.in_contact; k++) x2[k] = (double)self->staging[k];
    self->library->backward(self->cholesky, x2, self->vector, 3, threads);
    memset(self->staging, 0, bytes);
    for (int f = 0; f < total; f++)
        for (size_t c = 0; c < 3; c++) self->staging[3 * (size_t)self->rows[f] + c] = (real)self->vector[3 * (size_t)f + c];
    return pd_memory_upload(self->context, correction, self->staging, bytes);
}

/* ---- the frame around it ---------------------------------------------------------------------------------------------------- */

pd_schur *pd_linear_schur(const pd_linear *linear) { return linear->method == &pd_schur_method ? linear->memory : NULL; }

static pd_status prepare(pd_linear *self) {
    pd_schur *schur = self->memory;
    pd_status status = PD_OK;
    if (self->subspace)
        return pd_fail(pd_context_error(self->context), PD_ERROR_VALUE,
                       "linear: SchurDirect has one matrix for x, y and z, which slides on lines and planes couple; take Direct");
    if (!schur) {
        PD_TRY(create(&schur, self->context, self->cholesky, &self->A, self->fixed, self->settings.in_contact, self->settings.active));
        self->memory = schur;
    }
    if (self->shifted) status = set_diagonal(schur, self->total);
done:
    return status;
}

/* Increases the capacity for the places of entries. */
static pd_status make_places(pd_schur *self, int capacity) {
    const int *in_contact = pd_schur_contact_rows(self);
    self->places = malloc(((size_t)capacity + 1) * sizeof *self->places);
    self->slots = malloc(((size_t)self->n + 1) * sizeof *self->slots);
    if (!self->slots || !self->places) {
        free(self->places);
        free(self->slots);
        self->places = NULL, self->slots = NULL;
        return pd_fail(pd_context_error(self->context), PD_ERROR_MEMORY, "out of memory for %d entries", capacity);
    }
    for (int i = 0; i < self->n; i++) self->slots[i] = -1;
    for (int k = 0; k < self->cost.in_contact; k++) self->slots[in_contact[k]] = k;
    self->revision = -1;
    return PD_OK;
}

/* The places of the entries in Sigma. Errors: PD_ERROR_VALUE naming a vertex outside the contact region. */
static pd_status place_entries(pd_schur *self, const pd_entries *entries) {
    self->revision = -1;
    for (int e = 0; e < entries->n; e++) {
        int row = self->slots[entries->rows[e]], column = self->slots[entries->columns[e]];
        if (row < 0 || column < 0) {
            int v = pd_context_error(self->context)->vertex = row < 0 ? entries->rows[e] : entries->columns[e];
            return pd_fail(pd_context_error(self->context), PD_ERROR_VALUE,
                           "vertex %d carries a proxy or its target, and is not in the region of SchurDirect: make the region larger", v);
        }
        self->places[e] =
            row + (long long)self->cost.in_contact * column; // rows of the contact region ascend, so this is the lower triangle
    }
    self->entries = (pd_dense_entries){entries->n, entries->capacity, self->places, NULL};
    self->revision = entries->revision;
    return PD_OK;
}

static pd_status add_entries(pd_linear *self) {
    pd_schur *schur = self->memory;
    pd_status status = PD_OK;
    if (!schur->places) PD_TRY(make_places(schur, self->entries->capacity));
    if (schur->revision != self->entries->revision) PD_TRY(place_entries(schur, self->entries));
    schur->entries.values = self->added;
    status = factor_dense(schur);
done:
    return status;
}

static pd_status iterate(pd_linear *self, int k, int n, const double *omegas, double gamma) {
    pd_status status = PD_OK;
    (void)k, (void)n, (void)omegas, (void)gamma;
    PD_TRY(pd_schur_forward(self->memory, self->residual, self->current));
    PD_TRY(pd_schur_dense(self->memory, self->current, self->current));
    status = pd_schur_backward(self->memory, self->current, self->current);
done:
    return status;
}

const pd_linear_method pd_schur_method = {.name = "SchurDirect",
                                          .destroy = destroy,
                                          .prepare = prepare,
                                          .refresh = prepare,
                                          .add_entries = add_entries,
                                          .iterate = iterate,
                                          .exact = 1};
