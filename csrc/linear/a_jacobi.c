/* A-Jacobi: l Jacobi iterations aggregated into one product with a precomputed sparse operator [Lan et al. 2022, Sec. 5].
 *
 *   power     x_{k+1} = R^l x_k + (I + R + .. + R^{l-1}) w D^-1 r                              [Eq. 11]
 *   composed  the same with the Chebyshev polynomial of R, T_l = C_l(R/rho) / C_l(1/rho): operator of the same sparsity, but an outer
 *             Chebyshev extrapolation then gains the factor l, where R^l gains sqrt(l)
 *
 * In both the constant term is what l (Chebyshev-) Jacobi sweeps make of zero, so it is computed by them, once per solve.
 *
 * Suppression leaves small couplings out. As a preconditioner, x += (I + R_s + .. ) w D^-1 (r - A x), it keeps the answer; inside R^2, as
 * printed in Eq. 16, it moves the fixed point, for a cloth with weak bending by a quarter of the distance travelled: `biased` shows
 * that, iterating on x itself, since the fixed point it is led to depends on it. */
#include "base/clock.h"
#include "linear/linear_method.h"
#include "linear/upload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct pd_a_jacobi {
    pd_aggregation aggregation; /* H */
    int made, suppressed, order;
    double omegas[PD_LARGEST_DEGREE]; /* of the sweeps that make the constant term */
    pd_block_matrix P;                /* B */
    pd_path_products paths;           /* B, degree 2 */
    int *places;                      /* B [n] */
    real *constant, *defect;          /* B [n,width]; the defect only where suppressed */
    unsigned char *marks;             /* H [n] */
    int *places_host;                 /* H [n] */
    pd_a_jacobi_cost cost;
};

void pd_a_jacobi_destroy(pd_a_jacobi *self, pd_context *context) {
    if (!self) return;
    void *memory[] = {self->P.rows,           self->P.list_start, self->P.list,         self->P.segment_start,
                      self->P.entry_start,    self->P.local,      self->P.values,       self->P.scratch,
                      self->paths.path_start, self->paths.via,    self->paths.products, self->paths.hops,
                      self->paths.own,        self->places,       self->constant,       self->defect};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) pd_memory_destroy(context, memory[i]);
    if (self->made) pd_aggregation_destroy(&self->aggregation);
    free(self->marks);
    free(self->places_host);
    free(self);
}

pd_a_jacobi_cost pd_a_jacobi_cost_of(const pd_a_jacobi *self) { return self->cost; }

/* C_l(1/rho) */
static double chebyshev_polynomial(int order, double x) {
    double before = 1.0, value = x;
    for (int k = 1; k < order; k++) {
        double next = 2.0 * x * value - before;
        before = value, value = next;
    }
    return order == 0 ? 1.0 : value;
}

static double step_rho(const pd_linear_settings *settings, double rho) {
    return settings->composed ? 1.0 / chebyshev_polynomial(settings->order, 1.0 / rho) : pow(rho, settings->order);
}

/* The coefficients of the operator as a polynomial in R; returns its degree. */
static int polynomial(const pd_linear_settings *settings, int suppressed, double *a) {
    int order = settings->order;
    double rho = settings->rho, square = rho * rho;
    for (int k = 0; k <= PD_LARGEST_DEGREE; k++) a[k] = 0.0;
    if (suppressed) {
        for (int k = 0; k < order; k++) a[k] = 1.0;
        return order - 1;
    }
    if (!settings->composed || order == 1)
        a[order] = 1.0;
    else if (order == 2)
        a[2] = 2.0 / square, a[0] = -1.0;
    else if (order == 3)
        a[3] = 4.0 / (square * rho), a[1] = -3.0 / rho;
    else
        a[4] = 8.0 / (square * square), a[2] = -8.0 / square, a[0] = 1.0;
    double scale = settings->composed && order > 1 ? chebyshev_polynomial(order, 1.0 / rho) : 1.0;
    for (int k = 0; k <= order; k++) a[k] /= scale;
    return order;
}

/* values of the given places (host list), in the backend. */
static pd_status refresh(pd_linear *self, const int *places, int n_places) {
    pd_a_jacobi *own = self->a_jacobi;
    pd_aggregation *aggregation = &own->aggregation;
    pd_error *error = pd_context_error(self->context);
    pd_status status = PD_OK;
    double start = pd_seconds();
    const double *a = aggregation->coefficients;
    double w = aggregation->weight;
    if (aggregation->degree == 2) {
        PD_TRY(pd_memory_upload(self->context, own->places, places, (size_t)n_places * sizeof(int)));
        // (1-w) I + w D^-1 B, squared: the cross term is twice (1-w) w D^-1 B
        PD_TRY(pd_refresh_products(self->context, &own->paths, &own->P, self->matrix.diagonal,
                                   a[0] + a[1] * (1 - w) + a[2] * (1 - w) * (1 - w), a[1] * w + 2 * a[2] * w * (1 - w), a[2] * w * w,
                                   own->places, n_places));
    } else {
        PD_TRY(pd_aggregation_compute(aggregation, places, n_places, pd_context_threads(self->context), error));
        for (int first = 0, last; first < n_places; first = last) { // runs of neighbouring places in one upload each
            last = first + 1;
            while (last < n_places && places[last] == places[last - 1] + 1) last++;
            int begin = aggregation->entry_start[aggregation->segment_start[places[first]]];
            int end = aggregation->entry_start[aggregation->segment_start[places[last - 1] + 1]];
            real *target = own->P.values + begin;
            PD_TRY(pd_upload_reals(self->context, &target, aggregation->values + begin, (size_t)(end - begin)));
        }
    }
    own->cost.rows_recomputed = n_places;
    own->cost.refresh_seconds = pd_seconds() - start;
done:
    return status;
}

static pd_status upload_operator(pd_linear *self) {
    pd_a_jacobi *own = self->a_jacobi;
    pd_aggregation *from = &own->aggregation;
    pd_context *context = self->context;
    pd_status status = PD_OK;
    size_t n = (size_t)from->n, segments = (size_t)from->segment_start[n], entries = (size_t)from->entry_start[segments];
    size_t lists = (size_t)from->list_start[from->n_blocks], width = (size_t)self->width;
    own->P.n = from->n;
    own->P.n_blocks = from->n_blocks;
    own->P.largest_list = from->largest_list;
    PD_TRY(pd_upload_ints(context, &own->P.rows, from->rows, n));
    PD_TRY(pd_upload_ints(context, &own->P.list_start, from->list_start, (size_t)from->n_blocks + 1));
    PD_TRY(pd_upload_ints(context, &own->P.list, from->list, lists));
    PD_TRY(pd_upload_ints(context, &own->P.segment_start, from->segment_start, n + 1));
    PD_TRY(pd_upload_ints(context, &own->P.entry_start, from->entry_start, segments + 1));
    PD_TRY(pd_memory_create(context, (void **)&own->P.local, entries * sizeof(unsigned short)));
    PD_TRY(pd_memory_upload(context, own->P.local, from->local, entries * sizeof(unsigned short)));
    PD_TRY(pd_upload_reals(context, &own->P.values, from->values, entries));
    PD_TRY(pd_memory_create(context, (void **)&own->P.scratch,
                            (size_t)pd_context_threads(context) * (size_t)from->largest_list * width * sizeof(real)));
    PD_TRY(pd_memory_create(context, (void **)&own->places, n * sizeof(int)));
    PD_TRY(pd_memory_create(context, (void **)&own->constant, n * width * sizeof(real)));
    if (own->suppressed) PD_TRY(pd_memory_create(context, (void **)&own->defect, n * width * sizeof(real)));
    own->cost.nonzeros = (long long)entries;
    own->cost.paths = from->n_paths;
    own->cost.bytes = (long long)(entries * (sizeof(real) + sizeof(unsigned short)) + (lists + segments + 2 * n) * sizeof(int));
    if (from->degree == 2) {
        size_t paths = (size_t)from->n_paths;
        PD_TRY(pd_memory_create(context, (void **)&own->paths.path_start, (entries + 1) * sizeof(long long)));
        PD_TRY(pd_memory_upload(context, own->paths.path_start, from->path_start, (entries + 1) * sizeof(long long)));
        PD_TRY(pd_upload_ints(context, &own->paths.via, from->via, paths));
        PD_TRY(pd_upload_reals(context, &own->paths.products, from->products, paths));
        PD_TRY(pd_upload_reals(context, &own->paths.hops, from->hops, entries));
        PD_TRY(pd_memory_create(context, (void **)&own->paths.own, entries));
        PD_TRY(pd_memory_upload(context, own->paths.own, from->own, entries));
        own->cost.bytes += (long long)(paths * (sizeof(real) + sizeof(int)) + entries * (sizeof(long long) + sizeof(real) + 1));
        // the host's copies have done their work
        free(from->products), free(from->via), free(from->hops), free(from->own), free(from->path_start);
        from->products = from->hops = NULL, from->via = NULL, from->own = NULL, from->path_start = NULL;
    }
done:
    return status;
}

/* The off-diagonal parts, the operator's structure, the first values. */
static pd_status create(pd_linear *self) {
    pd_error *error = pd_context_error(self->context);
    const pd_linear_settings *settings = &self->settings;
    int n = self->A.n, suppress = settings->suppression;
    pd_csr B = {0}, bending = {0};
    double a[PD_LARGEST_DEGREE + 1];
    pd_status status = PD_OK;
    pd_a_jacobi *own = self->a_jacobi = calloc(1, sizeof *own);
    if (!own) {
        status = pd_fail(error, PD_ERROR_MEMORY, "out of memory");
        goto done;
    }
    own->order = settings->order;
    own->suppressed = suppress != PD_SUPPRESS_NOTHING && !settings->biased;
    own->marks = calloc((size_t)n + 1, 1);
    own->places_host = malloc(((size_t)n + 1) * sizeof(int));
    if (!own->marks || !own->places_host) {
        status = pd_fail(error, PD_ERROR_MEMORY, "out of memory");
        goto done;
    }
    int biased = suppress != PD_SUPPRESS_NOTHING && settings->biased, has_bending = suppress == PD_SUPPRESS_BENDING && self->bending.n > 0;
    PD_TRY(pd_off_diagonal(&B, &self->A, NULL, own->suppressed && has_bending ? &self->bending : NULL,
                           own->suppressed && suppress == PD_SUPPRESS_THRESHOLD ? settings->threshold : 0.0, error));
    if (biased && has_bending) PD_TRY(pd_off_diagonal(&bending, &self->bending, NULL, NULL, 0.0, error));
    int degree = polynomial(settings, own->suppressed, a);
    PD_TRY(pd_aggregation_create(&own->aggregation, &B, degree, settings->weight, a, bending.n ? &bending : NULL,
                                 biased && suppress == PD_SUPPRESS_THRESHOLD ? settings->threshold : 0.0, PD_BLOCK_ROWS, PD_SEGMENT,
                                 pd_context_threads(self->context), error));
    own->made = 1;
    status = upload_operator(self);

done:
    pd_csr_destroy(&B);
    pd_csr_destroy(&bending);
    return status;
}

static pd_status prepare(pd_linear *self) {
    pd_status status = PD_OK;
    int n = self->A.n, fresh = !self->a_jacobi;
    if (fresh) PD_TRY(create(self));
    pd_a_jacobi *own = self->a_jacobi;
    double a[PD_LARGEST_DEGREE + 1];
    int degree = polynomial(&self->settings, own->suppressed, a);
    fresh |= memcmp(a, own->aggregation.coefficients, ((size_t)degree + 1) * sizeof(double)) != 0;
    memcpy(own->aggregation.coefficients, a, ((size_t)degree + 1) * sizeof(double));
    pd_chebyshev sweeps = {self->settings.composed, self->settings.rho, 1, 1.0};
    for (int k = 0; k < own->order; k++) own->omegas[k] = pd_chebyshev_omega(&sweeps, k, k ? own->omegas[k - 1] : 1.0);

    // rows that feel a changed diagonal; all of them the first time
    memset(own->marks, 0, (size_t)n);
    for (int i = 0; i < n; i++) {
        double diagonal = self->added ? self->added[i] : 0.0;
        for (int s = self->A.row_start[i]; s < self->A.row_start[i + 1]; s++)
            if (self->A.columns[s] == i) diagonal += self->A.values[s];
        own->marks[i] = fresh || diagonal != own->aggregation.diagonal[i];
        own->aggregation.diagonal[i] = diagonal;
    }
    status = refresh(self, own->places_host, pd_aggregation_affected(&own->aggregation, own->marks, own->places_host));
done:
    return status;
}

static pd_status iterate(pd_linear *self, int k, int n, const double *omegas, double gamma) {
    pd_a_jacobi *own = self->a_jacobi;
    pd_context *context = self->context;
    pd_status status = PD_OK;
    int j = k;
    if (own->suppressed) {
        if (k == 0) {
            PD_TRY(pd_memory_clear(context, self->current, pd_linear_bytes(self)));
            PD_TRY(pd_memory_clear(context, self->previous, pd_linear_bytes(self)));
        }
        for (; j < k + n; j++) {
            PD_TRY(pd_matrix_correction(context, &self->matrix, self->width, self->settings.weight, self->residual, self->current,
                                        own->defect));
            PD_TRY(pd_block_sweep(context, &own->P, self->width, own->defect, self->current, omegas[j - k], gamma, self->current,
                                  self->previous));
            pd_linear_exchange(self);
        }
        return PD_OK;
    }
    if (k == 0) {
        // the constant term; it is also the first iterate. An odd number of exchanges ends in the second buffer.
        int odd = own->order % 2;
        real *buffers[2] = {odd ? self->spare : own->constant, odd ? own->constant : self->spare};
        PD_TRY(pd_jacobi_sweeps(context, &self->matrix, self->width, self->residual, self->settings.weight, own->omegas, own->order, 1,
                                buffers));
        PD_TRY(pd_memory_clear(context, self->previous, pd_linear_bytes(self)));
        if (!self->start) {
            PD_TRY(pd_memory_clear(context, self->current, pd_linear_bytes(self)));
            PD_TRY(pd_extrapolate(context, &self->matrix, self->width, omegas[0], gamma, own->constant, self->current, self->previous));
            pd_linear_exchange(self);
            j++;
        }
    }
    real *buffers[2] = {self->current, self->previous};
    status = pd_block_sweeps(context, &own->P, self->width, own->constant, omegas + (j - k), gamma, k + n - j, buffers);
    self->current = buffers[0];
    self->previous = buffers[1];
done:
    return status;
}

const pd_linear_method pd_a_jacobi_method = {"AJacobi", prepare, iterate, step_rho, NULL, 1};
