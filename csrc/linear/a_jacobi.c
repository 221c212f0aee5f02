/* A-Jacobi: l Jacobi iterations aggregated into one product with a precomputed sparse operator [Lan et al. 2022, Sec. 5].
 *
 *   power     x_{k+1} = R^l x_k + (I + R + .. + R^{l-1}) w D^-1 r                              [Eq. 11]
 *   composed  the same with the Chebyshev polynomial of R, T_l = C_l(R/rho) / C_l(1/rho): operator of the same sparsity, but an outer
 *             Chebyshev extrapolation then gains the factor l, where R^l gains sqrt(l)
 *
 * In both the constant term is the result of l (Chebyshev-) Jacobi sweeps from zero. These compute it once per solve.
 *
 * Suppression leaves small couplings out. As a preconditioner, x += (I + R_s + .. ) w D^-1 (r - A x), it keeps the solution. Inside R^2,
 * as printed in Eq. 16, it moves the fixed point. `biased` shows that. It iterates on x itself, since its fixed point depends on x. */
#include "base/clock.h"
#include "linear/linear_method.h"
#include "linear/upload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(PD_LARGEST_DEGREE == 4, "pd_row_polynomial holds five coefficients");

typedef struct pd_a_jacobi {
    pd_aggregation aggregation; /* H */
    int made, suppressed, order;
    double omegas[PD_LARGEST_DEGREE]; /* of the sweeps for the constant term */
    pd_block_matrix P;                /* B */
    pd_path_products paths;           /* B, degree 2 */
    pd_row_polynomial polynomial;     /* B, other degrees; without its pattern, which all share */
    double *diagonal;                 /* B [n] the D of the values of P */
    unsigned char *marks[2];          /* B [n] rows that a change of D affects; the first are those of the last refresh */
    real *constant, *defect;          /* B [n,width]; defect only with suppression */
    pd_a_jacobi_cost cost;
} pd_a_jacobi;

static void destroy(void *of, pd_context *context) {
    pd_a_jacobi *self = of;
    pd_row_polynomial *rows = &self->polynomial;
    void *memory[] = {self->P.rows,
                      self->P.list_start,
                      self->P.list,
                      self->P.segment_start,
                      self->P.entry_start,
                      self->P.local,
                      self->P.values,
                      self->P.scratch,
                      self->paths.path_start,
                      self->paths.via,
                      self->paths.products,
                      self->paths.hops,
                      self->paths.own,
                      rows->row_start,
                      rows->columns,
                      rows->values,
                      rows->scratch,
                      self->diagonal,
                      self->marks[0],
                      self->marks[1],
                      self->constant,
                      self->defect,
                      rows->same ? NULL : rows->support_start,
                      rows->same ? NULL : rows->support};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) pd_memory_destroy(context, memory[i]);
    if (self->made) pd_aggregation_destroy(&self->aggregation);
    free(self);
}

static pd_status cost(pd_linear *self, pd_a_jacobi_cost *out) {
    pd_a_jacobi *method = self->memory;
    size_t n = (size_t)self->A.n;
    unsigned char *marks = malloc(n + 1);
    if (!marks) return pd_fail(pd_context_error(self->context), PD_ERROR_MEMORY, "out of memory for %zu marks", n);
    pd_status status = pd_memory_download(self->context, marks, method->marks[0], n);
    *out = method->cost;
    for (size_t i = 0; i < n && !status; i++) out->rows_recomputed += marks[i];
    free(marks);
    return status;
}

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

/* Recomputes P in the rows that a change of the diagonal affects: those within degree - 1 rings. */
static pd_status refresh(pd_linear *self) {
    pd_a_jacobi *method = self->memory;
    const pd_row_polynomial *rows = &method->polynomial;
    pd_context *context = self->context;
    const double *a = method->aggregation.coefficients;
    double w = method->aggregation.weight;
    int n = self->A.n;
    pd_status status = PD_OK;
    PD_TRY(pd_diagonal_compare(context, n, self->total, method->diagonal, method->marks[0]));
    for (int ring = 1; ring < method->aggregation.degree; ring++) {
        PD_TRY(pd_marks_spread(context, n, rows->row_start, rows->columns, method->marks[0], method->marks[1]));
        unsigned char *swap = method->marks[0];
        method->marks[0] = method->marks[1], method->marks[1] = swap;
    }
    if (method->aggregation.degree == 2) // (1-w) I + w D^-1 B, squared: the cross term is twice (1-w) w D^-1 B
        status = pd_refresh_products(context, &method->paths, &method->P, self->matrix.diagonal,
                                     a[0] + a[1] * (1 - w) + a[2] * (1 - w) * (1 - w), a[1] * w + 2 * a[2] * w * (1 - w), a[2] * w * w,
                                     method->marks[0]);
    else
        status = pd_refresh_rows(context, rows, &method->P, method->diagonal, method->marks[0]);
done:
    return status;
}

/* Uploads the data for recomputing rows. */
static pd_status upload_polynomial(pd_linear *self) {
    pd_a_jacobi *method = self->memory;
    pd_aggregation *from = &method->aggregation;
    pd_row_polynomial *rows = &method->polynomial;
    pd_context *context = self->context;
    pd_status status = PD_OK;
    size_t n = (size_t)from->n, count = (size_t)from->B.row_start[n];
    rows->same = 1;
    PD_TRY(pd_upload_ints(context, &rows->row_start, from->B.row_start, n + 1));
    PD_TRY(pd_upload_ints(context, &rows->columns, from->B.columns, count));
    method->cost.bytes += (long long)((n + 1 + count) * sizeof(int));
    if (from->degree == 2) goto done;
    rows->degree = from->degree;
    rows->weight = from->weight;
    memcpy(rows->coefficients, from->coefficients, sizeof rows->coefficients);
    rows->largest_support = from->largest_support;
    PD_TRY(pd_upload(context, (void **)&rows->values, from->B.values, count * sizeof(double)));
    method->cost.bytes += (long long)(count * sizeof(double));
    rows->same = !from->support;
    rows->support_start = rows->same ? method->P.list_start : NULL;
    rows->support = rows->same ? method->P.list : NULL;
    if (!rows->same) {
        size_t entries = (size_t)from->support_start[from->n_blocks];
        PD_TRY(pd_upload_ints(context, &rows->support_start, from->support_start, (size_t)from->n_blocks + 1));
        PD_TRY(pd_upload_ints(context, &rows->support, from->support, entries));
        method->cost.bytes += (long long)(((size_t)from->n_blocks + 1 + entries) * sizeof(int));
    }
    size_t scratch = pd_row_scratch(context, from->n, rows->largest_support, &rows->workers);
    PD_TRY(pd_memory_create(context, &rows->scratch, scratch));
    method->cost.bytes += (long long)scratch;
done:
    return status;
}

static pd_status upload_operator(pd_linear *self) {
    pd_a_jacobi *method = self->memory;
    pd_aggregation *from = &method->aggregation;
    pd_context *context = self->context;
    pd_status status = PD_OK;
    size_t n = (size_t)from->n, segments = (size_t)from->segment_start[n], entries = (size_t)from->entry_start[segments];
    size_t lists = (size_t)from->list_start[from->n_blocks], width = (size_t)self->width;
    method->P.n = from->n;
    method->P.n_blocks = from->n_blocks;
    method->P.largest_list = from->largest_list;
    PD_TRY(pd_upload_ints(context, &method->P.rows, from->rows, n));
    PD_TRY(pd_upload_ints(context, &method->P.list_start, from->list_start, (size_t)from->n_blocks + 1));
    PD_TRY(pd_upload_ints(context, &method->P.list, from->list, lists));
    PD_TRY(pd_upload_ints(context, &method->P.segment_start, from->segment_start, n + 1));
    PD_TRY(pd_upload_ints(context, &method->P.entry_start, from->entry_start, segments + 1));
    PD_TRY(pd_memory_create(context, (void **)&method->P.local, entries * sizeof(unsigned short)));
    PD_TRY(pd_memory_upload(context, method->P.local, from->local, entries * sizeof(unsigned short)));
    PD_TRY(pd_memory_create(context, (void **)&method->P.values, entries * sizeof(real)));
    PD_TRY(pd_memory_create(context, (void **)&method->P.scratch, pd_block_scratch(context, &method->P, self->width)));
    PD_TRY(pd_memory_create(context, (void **)&method->diagonal, n * sizeof(double)));
    PD_TRY(pd_memory_create(context, (void **)&method->marks[0], n));
    PD_TRY(pd_memory_create(context, (void **)&method->marks[1], n));
    PD_TRY(pd_memory_create(context, (void **)&method->constant, n * width * sizeof(real)));
    if (method->suppressed) PD_TRY(pd_memory_create(context, (void **)&method->defect, n * width * sizeof(real)));
    method->cost.nonzeros = (long long)entries;
    method->cost.paths = from->n_paths;
    method->cost.bytes = (long long)(entries * (sizeof(real) + sizeof(unsigned short)) + (lists + segments + 2 * n) * sizeof(int) +
                                     n * (sizeof(double) + 2));
    PD_TRY(upload_polynomial(self));
    if (from->degree == 2) {
        size_t paths = (size_t)from->n_paths;
        PD_TRY(pd_memory_create(context, (void **)&method->paths.path_start, (entries + 1) * sizeof(long long)));
        PD_TRY(pd_memory_upload(context, method->paths.path_start, from->path_start, (entries + 1) * sizeof(long long)));
        PD_TRY(pd_upload_ints(context, &method->paths.via, from->via, paths));
        PD_TRY(pd_upload_reals(context, &method->paths.products, from->products, paths));
        PD_TRY(pd_upload_reals(context, &method->paths.hops, from->hops, entries));
        PD_TRY(pd_memory_create(context, (void **)&method->paths.own, entries));
        PD_TRY(pd_memory_upload(context, method->paths.own, from->own, entries));
        method->cost.bytes += (long long)(paths * (sizeof(real) + sizeof(int)) + entries * (sizeof(long long) + sizeof(real) + 1));
        // the host's copies are no longer needed
        free(from->products), free(from->via), free(from->hops), free(from->own), free(from->path_start);
        from->products = from->hops = NULL, from->via = NULL, from->own = NULL, from->path_start = NULL;
    }
done:
    return status;
}

/* The off-diagonal parts and the operator's structure; its values are zero. */
static pd_status create(pd_linear *self) {
    pd_error *error = pd_context_error(self->context);
    const pd_linear_settings *settings = &self->settings;
    int suppress = settings->suppression;
    pd_csr B = {0}, bending = {0};
    double a[PD_LARGEST_DEGREE + 1];
    pd_status status = PD_OK;
    pd_a_jacobi *method = self->memory = calloc(1, sizeof *method);
    if (!method) {
        status = pd_fail(error, PD_ERROR_MEMORY, "out of memory");
        goto done;
    }
    method->order = settings->order;
    method->suppressed = suppress != PD_SUPPRESS_NOTHING && !settings->biased;
    int biased = suppress != PD_SUPPRESS_NOTHING && settings->biased, has_bending = suppress == PD_SUPPRESS_BENDING && self->bending.n > 0;
    PD_TRY(pd_off_diagonal(&B, &self->A, NULL, method->suppressed && has_bending ? &self->bending : NULL,
                           method->suppressed && suppress == PD_SUPPRESS_THRESHOLD ? settings->threshold : 0.0, error));
    if (biased && has_bending) PD_TRY(pd_off_diagonal(&bending, &self->bending, NULL, NULL, 0.0, error));
    int degree = polynomial(settings, method->suppressed, a);
    PD_TRY(pd_aggregation_create(&method->aggregation, &B, degree, settings->weight, a, bending.n ? &bending : NULL,
                                 biased && suppress == PD_SUPPRESS_THRESHOLD ? settings->threshold : 0.0, PD_BLOCK_ROWS, PD_SEGMENT,
                                 pd_context_threads(self->context), error));
    method->made = 1;
    status = upload_operator(self);

done:
    pd_csr_destroy(&B);
    pd_csr_destroy(&bending);
    return status;
}

static pd_status prepare(pd_linear *self) {
    pd_status status = PD_OK;
    if (!self->memory) PD_TRY(create(self));
    PD_TRY(pd_linear_need_iterates(self, &self->matrix, 2));
    pd_a_jacobi *method = self->memory;
    pd_chebyshev sweeps = {self->settings.composed, self->settings.rho, 1, 1.0};
    for (int k = 0; k < method->order; k++) method->omegas[k] = pd_chebyshev_omega(&sweeps, k, k ? method->omegas[k - 1] : 1.0);
    double start = pd_seconds();
    PD_TRY(refresh(self)); // all rows of a new operator: no diagonal is zero
    PD_TRY(pd_context_synchronise(self->context));
    method->cost.refresh_seconds = pd_seconds() - start;
done:
    return status;
}

/* out = the result of `order` Jacobi sweeps from zero. An odd number of exchanges ends in the second buffer. */
static pd_status constant_term(pd_linear *self, const pd_move *move, real *out) {
    const pd_a_jacobi *method = self->memory;
    int odd = method->order % 2;
    real *buffers[2] = {odd ? self->spare : out, odd ? out : self->spare};
    pd_context_tally(self->context)->sweeps += method->order;
    return pd_jacobi_sweeps(self->context, &self->matrix, self->width, self->residual, self->settings.weight, method->omegas, method->order,
                            PD_SWEEPS_FROM_ZERO | PD_SWEEPS_TO_THE_END, (pd_sweep_ends){self->ends.gather, move}, buffers);
}

/* The first iterate in `previous` and the zero before it in `current`, for an extrapolation or an observer. */
static pd_status begin(pd_linear *self, int plain, double omega, double gamma) {
    const real *constant = ((pd_a_jacobi *)self->memory)->constant;
    pd_context *context = self->context;
    pd_status status = PD_OK;
    if (!plain) PD_TRY(pd_memory_clear(context, self->previous, pd_linear_bytes(self)));
    if (self->start) goto done;
    if (!plain || self->settings.chebyshev.enabled) PD_TRY(pd_memory_clear(context, self->current, pd_linear_bytes(self)));
    if (!plain)
        status = pd_extrapolate(context, &self->matrix, self->width, omega, gamma, constant, self->current, self->previous);
    else
        status = pd_memory_copy(context, self->previous, constant, pd_linear_bytes(self));
done:
    return status;
}

static pd_status iterate(pd_linear *self, int k, int n, const double *omegas, double gamma) {
    pd_a_jacobi *method = self->memory;
    pd_context *context = self->context;
    pd_status status = PD_OK;
    int j = k, from = 0, ends = k + n == self->settings.iterations;
    const pd_move *move = ends ? self->ends.move : NULL;
    if (method->suppressed) {
        if (k == 0) {
            PD_TRY(pd_memory_clear(context, self->current, pd_linear_bytes(self)));
            PD_TRY(pd_memory_clear(context, self->previous, pd_linear_bytes(self)));
        }
        pd_context_tally(context)->products += 2 * n; // with A, and with the operator
        for (; j < k + n; j++) {
            PD_TRY(pd_matrix_correction(context, &self->matrix, self->width, self->settings.weight, self->residual, self->current,
                                        method->defect));
            PD_TRY(pd_block_sweep(context, &method->P, self->width, method->defect, self->current, omegas[j - k], gamma, self->current,
                                  self->previous));
            pd_linear_exchange(self);
        }
        return PD_OK;
    }
    if (k == 0) {
        // the constant term is also the result of the first iteration from zero
        int plain = omegas[0] == 1.0 && gamma == 1.0, alone = plain && !self->start && self->settings.iterations == 1;
        PD_TRY(constant_term(self, alone ? move : NULL, alone ? self->previous : method->constant));
        if (alone) {
            pd_linear_exchange(self);
            return PD_OK;
        }
        if (plain && !self->start && n > 2 - ends)
            from = PD_SWEEPS_FROM_CONSTANT;
        else if (!plain || !self->start)
            PD_TRY(begin(self, plain, omegas[0], gamma));
        if (!self->start) {
            pd_linear_exchange(self);
            j++;
        }
    }
    real *buffers[2] = {self->current, self->previous};
    pd_context_tally(context)->products += k + n - j;
    status = pd_block_sweeps(context, &method->P, self->width, method->constant, omegas + (j - k), gamma, k + n - j,
                             from | (ends ? PD_SWEEPS_TO_THE_END : 0), move, buffers);
    self->current = buffers[0];
    self->previous = buffers[1];
done:
    return status;
}

static int folds(const pd_linear *self) { return !((pd_a_jacobi *)self->memory)->suppressed; }

const pd_linear_method pd_a_jacobi_method = {.name = "AJacobi",
                                             .destroy = destroy,
                                             .prepare = prepare,
                                             .refresh = refresh,
                                             .iterate = iterate,
                                             .folds = folds,
                                             .step_rho = step_rho,
                                             .cost = cost,
                                             .exchanges = 1,
                                             .weighted = 1,
                                             .polynomial = 1};
