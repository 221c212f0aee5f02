/* Direct solver: a sparse Cholesky factor, computed once and used for every global step [Bouaziz et al. 2014, Sec. 4].
 *
 * Pinned vertices are eliminated, not penalised: only the free block is factorised. The factor is double for any `real`; vectors are
 * converted here.
 *
 * Lines and planes of vertices are eliminated too. Let b_a be the orthonormal free directions of a vertex i: three, two or one. The
 * unknowns are the coordinates u_a of d_i = sum u_a b_a, of all vertices together, and the entries of their matrix are a_ij b_a . b_b.
 * Between free vertices, and for lines and planes along the axes, two of three entries are zero and left out. So the matrix has three
 * times the entries of A, not nine. With 3x3 blocks on the diagonal (pd_linear_couple) every vertex also has three unknowns, along the
 * axes. */
#include "linear/factor.h"
#include "linear/linear_method.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct pd_direct {
    pd_context *context;
    int n;
    pd_factor factor; /* its unknowns: the free rows, or with lines and planes the coordinates */

    int *unknown_start; /* [n_free+1] the unknowns of each free row; NULL: no lines, planes or blocks */
    double *directions; /* [unknowns,3] */
    real *coupling;     /* [n,3,3] the blocks; NULL: none */
    double *plain;      /* [nnz] A without entries (pd_linear_set_entries); NULL: no entries so far */
    pd_csr base;        /* A with the entries of revision 0 at most; n = 0: no others so far */
} pd_direct;

static void destroy(void *memory, pd_context *context) {
    pd_direct *self = memory;
    (void)context;
    pd_factor_destroy(&self->factor);
    free(self->unknown_start);
    free(self->directions);
    free(self->coupling);
    free(self->plain);
    pd_csr_destroy(&self->base);
    free(self);
}

/* directions [3,3] out, an orthonormal basis of the range of a projector P [3,3], along the axes if possible. Returns their number. */
static int directions_of(const double *P, double *directions) {
    double trace = P[0] + P[4] + P[8], column[3], size = 0.0;
    int rank = trace > 2.5 ? 3 : trace > 1.5 ? 2 : trace > 0.5 ? 1 : 0, most = 0, least = 0;
    for (int c = 0; c < 9; c++) directions[c] = c % 4 == 0;
    if (rank == 0 || rank == 3) return rank;
    // the line, or the normal of the plane: a column of P, or of I - P
    for (int c = 1; c < 3; c++)
        if (rank == 1 ? P[4 * c] > P[4 * most] : P[4 * c] < P[4 * most]) most = c;
    for (int r = 0; r < 3; r++)
        column[r] = rank == 1 ? P[3 * r + most] : (double)(r == most) - P[3 * r + most], size += column[r] * column[r];
    size = sqrt(size);
    if (!(size > 0.0)) return 0;
    for (int r = 0; r < 3; r++) column[r] /= size;
    if (rank == 1) {
        for (int r = 0; r < 3; r++) directions[r] = column[r];
        return rank;
    }
    // two directions across it: the axis farthest from it, made orthogonal, and their cross product
    for (int c = 1; c < 3; c++)
        if (fabs(column[c]) < fabs(column[least])) least = c;
    double *u = directions, *v = directions + 3, across = sqrt(1.0 - column[least] * column[least]);
    for (int r = 0; r < 3; r++) u[r] = ((double)(r == least) - column[least] * column[r]) / across;
    v[0] = column[1] * u[2] - column[2] * u[1];
    v[1] = column[2] * u[0] - column[0] * u[2];
    v[2] = column[0] * u[1] - column[1] * u[0];
    return rank;
}

/* Finds the unknowns of the vertices in their lines and planes (NULL: in space), and their number. */
static pd_status hold(pd_direct *self, const double *subspace, int *n_unknowns) {
    static const double whole[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    size_t n = (size_t)self->factor.n_free;
    self->unknown_start = malloc((n + 1) * sizeof(int));
    self->directions = malloc((9 * n + 9) * sizeof(double));
    if (!self->unknown_start || !self->directions)
        return pd_fail(pd_context_error(self->context), PD_ERROR_MEMORY, "out of memory for the directions of %d vertices",
                       self->factor.n_free);
    int next = 0;
    for (int f = 0; f < (int)n; f++) {
        self->unknown_start[f] = next;
        next += directions_of(subspace ? subspace + 9 * (size_t)self->factor.free_rows[f] : whole, self->directions + 3 * (size_t)next);
    }
    self->unknown_start[n] = *n_unknowns = next;
    return PD_OK;
}

/* The source of an upper triangle. */
typedef struct triangle {
    const pd_direct *self;
    const pd_csr *A;
    const double *diagonal; /* replaces A's, or NULL */
} triangle;

static double entry(const triangle *of, int i, int s, int on_diagonal) {
    return of->diagonal && on_diagonal ? of->diagonal[i] : of->A->values[s];
}

/* The upper triangle of the free block. A is symmetric, so column i is the part j <= i of row i. */
static void free_upper_triangle(const void *owner, int *column_start, int *rows, double *values) {
    const triangle *of = owner;
    const pd_factor *factor = &of->self->factor;
    int next = 0;
    column_start[0] = 0;
    for (int f = 0; f < factor->n_free; f++) {
        int i = factor->free_rows[f];
        for (int s = of->A->row_start[i]; s < of->A->row_start[i + 1]; s++) {
            int j = factor->compressed[of->A->columns[s]];
            if (j < 0 || j > f) continue;
            if (rows) rows[next] = j;
            if (values) values[next] = entry(of, i, s, j == f);
            next++;
        }
        column_start[f + 1] = next;
    }
}

/* The same over the coordinates in lines and planes. */
static void held_upper_triangle(const void *owner, int *column_start, int *rows, double *values) {
    const triangle *of = owner;
    const pd_factor *factor = &of->self->factor;
    const int *start = of->self->unknown_start;
    const real *coupling = of->self->coupling;
    int next = 0;
    column_start[0] = 0;
    for (int f = 0; f < factor->n_free; f++) {
        int i = factor->free_rows[f];
        for (int b = start[f]; b < start[f + 1]; b++) {
            const double *v = of->self->directions + 3 * (size_t)b;
            for (int s = of->A->row_start[i]; s < of->A->row_start[i + 1]; s++) {
                int j = factor->compressed[of->A->columns[s]];
                if (j < 0 || j > f) continue;
                for (int a = j == f && !coupling ? b : start[j]; a < (j == f ? b + 1 : start[j + 1]); a++) {
                    const double *u = of->self->directions + 3 * (size_t)a;
                    double along = j == f ? (double)(a == b) : u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
                    if (along == 0.0 && !(j == f && coupling)) continue;
                    if (rows) rows[next] = a;
                    if (values) values[next] = along * entry(of, i, s, j == f);
                    if (values && j == f && coupling)
                        values[next] += (double)coupling[9 * (size_t)i + (size_t)(3 * (a - start[f]) + b - start[f])];
                    next++;
                }
            }
            column_start[b + 1] = next;
        }
    }
}

static pd_upper_triangle triangle_of(const pd_direct *self) { return self->unknown_start ? held_upper_triangle : free_upper_triangle; }

/* Factorises the values of A. `diagonal` H [n] replaces its own; may be NULL. Errors: PD_ERROR_SINGULAR, error->vertex the row. */
static pd_status factorise(pd_direct *self, const pd_csr *A, const double *diagonal) {
    const triangle of = {self, A, diagonal};
    pd_error *error = pd_context_error(self->context);
    pd_status status = pd_factor_refresh(&self->factor, 1, triangle_of(self), &of);
    pd_factor_forget_values(&self->factor); // usually the values never change
    if (status != PD_ERROR_SINGULAR) return status;
    int f = error->vertex;
    for (int g = 0; g < self->factor.n_free && self->unknown_start; g++)
        if (self->unknown_start[g] <= error->vertex) f = g;
    error->vertex = self->factor.free_rows[f];
    return pd_fail(error, PD_ERROR_SINGULAR, "the matrix is not positive definite at row %d (in a simulation: is the body held?)",
                   error->vertex);
}

/* Downloads the present blocks on the diagonal. */
static pd_status download_coupling(pd_direct *self, const real *coupling) {
    size_t bytes = 9 * (size_t)self->n * sizeof(real);
    if (!self->coupling) self->coupling = malloc(bytes + 1);
    if (!self->coupling)
        return pd_fail(pd_context_error(self->context), PD_ERROR_MEMORY, "out of memory for the blocks of %d vertices", self->n);
    return pd_memory_download(self->context, self->coupling, coupling, bytes);
}

static pd_status create(pd_direct **out, const pd_linear *linear, const double *diagonal) {
    pd_context *context = linear->context;
    const pd_csr *A = &linear->A;
    pd_error *error = pd_context_error(context);
    pd_status status = PD_OK;
    pd_direct *self = calloc(1, sizeof *self);
    int n_unknowns;
    *out = NULL;
    if (!self) return pd_fail(error, PD_ERROR_MEMORY, "out of memory");
    self->context = context;
    self->n = A->n;
    PD_TRY(pd_factor_create(&self->factor, context, linear->cholesky, A->n, linear->width, linear->fixed, error));
    n_unknowns = self->factor.n_free;
    if (linear->subspace || linear->coupling) PD_TRY(hold(self, linear->subspace, &n_unknowns)); // x, y and z are coupled
    if (linear->coupling) PD_TRY(download_coupling(self, linear->coupling));
    const pd_unknowns unknowns = {.n = n_unknowns, .block = 1, .start = self->unknown_start, .directions = self->directions};
    const triangle of = {self, A, NULL};
    PD_TRY(pd_factor_analyse(&self->factor, &unknowns, triangle_of(self), &of));
    PD_TRY(factorise(self, A, diagonal));
done:
    if (status)
        destroy(self, context);
    else
        *out = self;
    return status;
}

static pd_status prepare(pd_linear *self) {
    size_t bytes = (size_t)self->A.n * sizeof(double);
    double *diagonal = NULL;
    pd_direct *direct = self->memory;
    pd_status status = PD_OK;
    if (self->shifted) {
        diagonal = malloc(bytes + 1);
        status = diagonal ? pd_memory_download(self->context, diagonal, self->total, bytes)
                          : pd_fail(pd_context_error(self->context), PD_ERROR_MEMORY, "out of memory for a diagonal");
    }
    if (!status && direct && self->coupling) status = download_coupling(direct, self->coupling);
    if (!status && direct) status = factorise(direct, &self->A, diagonal);
    if (!status && !direct) {
        status = create(&direct, self, diagonal);
        self->memory = direct;
    }
    free(diagonal);
    return status;
}

/* Writes the entries to A, both halves. */
static void put(pd_csr *A, const pd_entries *entries) {
    for (int e = 0; e < entries->n; e++) {
        int i = entries->rows[e], j = entries->columns[e];
        A->values[pd_csr_slot(A, i, j)] += entries->values[e];
        if (i != j) A->values[pd_csr_slot(A, j, i)] += entries->values[e];
    }
}

static pd_status keep_plain(double **plain, const pd_csr *A, pd_error *error) {
    size_t bytes = (size_t)A->row_start[A->n] * sizeof(double);
    if (!*plain && !(*plain = malloc(bytes + 1))) return pd_fail(error, PD_ERROR_MEMORY, "out of memory for a matrix of %d rows", A->n);
    memcpy(*plain, A->values, bytes);
    return PD_OK;
}

/* Takes entries that are missing in the pattern of A: changes the pattern, and rebuilds the data that depend on it. After a failure A is
 * without entries. */
static pd_status replace(pd_linear *self) {
    pd_direct *direct = self->memory;
    pd_error *error = pd_context_error(self->context);
    const pd_entries none = {0};
    double *plain = NULL;
    pd_csr roomy = {0}, base = {0};
    pd_status status = PD_OK;
    if (direct->base.n) {
        base = direct->base;
        direct->base = (pd_csr){0};
    } else {
        if (direct->plain) memcpy(self->A.values, direct->plain, (size_t)self->A.row_start[self->A.n] * sizeof(double));
        PD_TRY(pd_csr_with_capacity(&base, &self->A, &none, error));
    }
    destroy(direct, self->context);
    self->memory = NULL;
    pd_csr_destroy(&self->A);
    self->A = base;
    base = (pd_csr){0};
    PD_TRY(pd_csr_with_capacity(&roomy, &self->A, self->entries, error));
    base = self->A;
    self->A = roomy;
    PD_TRY(keep_plain(&plain, &self->A, error));
    put(&self->A, self->entries);
    PD_TRY(prepare(self));
    direct = self->memory;
    direct->base = base, direct->plain = plain;
    return PD_OK;

done:
    if (base.n) {
        pd_csr_destroy(&self->A);
        self->A = base;
    }
    free(plain);
    return status;
}

static pd_status add_entries(pd_linear *self) {
    pd_direct *direct = self->memory;
    pd_csr *A = &self->A;
    pd_status status = PD_OK;
    if (self->entered != self->entries->revision) return replace(self);
    if (!direct->plain) PD_TRY(keep_plain(&direct->plain, A, pd_context_error(self->context)));
    memcpy(A->values, direct->plain, (size_t)A->row_start[A->n] * sizeof(double));
    put(A, self->entries);
    status = prepare(self);
done:
    return status;
}

static pd_status iterate(pd_linear *self, int k, int n, const double *omegas, double gamma) {
    pd_direct *direct = self->memory;
    (void)k, (void)n, (void)omegas, (void)gamma;
    return pd_factor_solve(&direct->factor, self->residual, self->current);
}

const pd_linear_method pd_direct_method = {.name = "Direct",
                                           .destroy = destroy,
                                           .prepare = prepare,
                                           .refresh = prepare,
                                           .add_entries = add_entries,
                                           .iterate = iterate,
                                           .exact = 1,
                                           .coupled = 1};
