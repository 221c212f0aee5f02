/* The numeric supernodal Cholesky factorisation; see supernodal_factor.h.
 *
 * Supernode s subtracts the product C of every supernode d with rows among its columns: C = L_d[from its first such row on] L_d[its such
 * rows]^T. Then its own factorisation follows, in strips of columns. A supernode waits in the list of the next one that it changes. */
#include "sparse/supernodal_factor.h"

#ifdef PD_HAVE_CHOLMOD

#include "sparse/serial_blas.h"
#include "sparse/supernodal_kernels.h"

#include <float.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
    STRIP = 48,   /* columns of a product by the kernel, so that its factors stay in the cache */
    WIDE = 192,   /* of a product by BLAS */
    LEAST = 32,   /* columns, and depth, of a product by BLAS */
    PADDING = 16, /* numbers after the factor: the kernel reads up to PD_KERNEL_ROWS beyond the last row */
};

/* Multiplications above which BLAS is not slower than the kernel, and LAPACK at a supernode, although they copy their factors. */
static const int64_t LARGE = 40000000;

/* BLAS and LAPACK by their Fortran interface; the lengths of the strings come last. */
extern void dpotrf_(const char *triangle, const int *n, double *a, const int *lda, int *info, size_t length);
extern void dtrsm_(const char *side, const char *triangle, const char *transpose, const char *unit, const int *m, const int *n,
                   const double *alpha, const double *a, const int *lda, double *b, const int *ldb, size_t length_1, size_t length_2,
                   size_t length_3, size_t length_4);
extern void dgemm_(const char *transpose_a, const char *transpose_b, const int *m, const int *n, const int *k, const double *alpha,
                   const double *a, const int *lda, const double *b, const int *ldb, const double *beta, double *c, const int *ldc,
                   size_t length_1, size_t length_2);

struct pd_supernodal_factor {
    int *entry_start;                  /* [n_supernodes+1] of the entries of A by supernodes */
    int *entries;                      /* [n_entries] their numbers in A */
    int64_t *slots;                    /* [n_entries] their places in the values */
    double *values;                    /* the factor, and PADDING */
    double *product;                   /* [STRIP or WIDE + PD_KERNEL_COLUMNS, max_rows + PD_KERNEL_ROWS] */
    int *owner;                        /* [n] the supernode of a column */
    int *map;                          /* [n] place of a row in the present supernode */
    pd_piece *pieces[PD_PIECE_WIDTHS]; /* [max_rows + 1] of the rows of a product, by width */
    int *first, *next;                 /* [n_supernodes] the lists: the first of each, the next after each; -1: none */
    int *begin;                        /* [n_supernodes] rows that have been used */
    int large;                         /* BLAS computes some product */
};

static int64_t rows_of(const pd_supernodes *f, int64_t s) { return f->row_start[s + 1] - f->row_start[s]; }
static int64_t columns_of(const pd_supernodes *f, int64_t s) { return f->super[s + 1] - f->super[s]; }

/* Tells whether BLAS computes a product of m rows, n columns and depth k; at a supernode n is k. */
static int is_large(int64_t m, int64_t n, int64_t k) { return n >= LEAST && k >= LEAST && m * n * k >= LARGE; }

void pd_supernodal_factor_destroy(pd_supernodal_factor *self) {
    if (!self) return;
    void *memory[] = {self->entry_start, self->entries, self->slots, self->values,    self->product,   self->owner,    self->map,
                      self->first,       self->next,    self->begin, self->pieces[0], self->pieces[1], self->pieces[2]};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) free(memory[i]);
    free(self);
}

/* The supernode of the entry in row i and column j of A, in the order of the factor. */
static int supernode_of(const pd_supernodal_factor *self, int i, int j) { return self->owner[i < j ? i : j]; }

/* Sorts the entries of A by supernodes, and finds the place of each. inverse [n]: the rows of A in the factor. */
static void place_entries(pd_supernodal_factor *self, const pd_supernodes *f, const int *column_start, const int *rows,
                          const int *inverse) {
    int *next = self->first; // no lists yet
    memset(next, 0, (size_t)f->n_supernodes * sizeof *next);
    for (int j = 0; j < f->n; j++)
        for (int e = column_start[j]; e < column_start[j + 1]; e++) next[supernode_of(self, inverse[rows[e]], inverse[j])]++;
    self->entry_start[0] = 0;
    for (int64_t s = 0; s < f->n_supernodes; s++) {
        self->entry_start[s + 1] = self->entry_start[s] + next[s];
        next[s] = self->entry_start[s];
    }
    for (int j = 0; j < f->n; j++)
        for (int e = column_start[j]; e < column_start[j + 1]; e++) {
            int i = inverse[rows[e]], c = inverse[j], to = next[supernode_of(self, i, c)]++;
            self->entries[to] = e;
            self->slots[to] = (int64_t)(i > c ? i : c) << 32 | (i > c ? c : i);
        }
    for (int64_t s = 0; s < f->n_supernodes; s++) {
        const int64_t *of = f->rows + f->row_start[s];
        for (int64_t i = 0; i < rows_of(f, s); i++) self->map[of[i]] = (int)i;
        for (int k = self->entry_start[s]; k < self->entry_start[s + 1]; k++) {
            int64_t row = self->slots[k] >> 32, column = self->slots[k] & 0xffffffff;
            self->slots[k] = f->value_start[s] + (column - f->super[s]) * rows_of(f, s) + self->map[row];
        }
    }
}

pd_status pd_supernodal_factor_create(pd_supernodal_factor **out, const pd_supernodes *f, const int *column_start, const int *rows,
                                      pd_error *error) {
    size_t n = (size_t)f->n, n_supernodes = (size_t)f->n_supernodes, n_values = (size_t)f->value_start[f->n_supernodes];
    const size_t n_entries = (size_t)column_start[n];
    int64_t max_rows = 0;
    pd_supernodal_factor *self = *out = calloc(1, sizeof *self);
    int *inverse = malloc((n + 1) * sizeof *inverse);
    if (!self || !inverse) goto memory;
    self->entry_start = malloc((n_supernodes + 1) * sizeof *self->entry_start);
    self->entries = malloc((n_entries + 1) * sizeof *self->entries);
    self->slots = malloc((n_entries + 1) * sizeof *self->slots);
    self->values = malloc((n_values + PADDING) * sizeof *self->values);
    self->owner = malloc((n + 1) * sizeof *self->owner);
    self->map = malloc((n + 1) * sizeof *self->map);
    self->first = malloc((n_supernodes + 1) * sizeof *self->first);
    self->next = malloc((n_supernodes + 1) * sizeof *self->next);
    self->begin = malloc((n_supernodes + 1) * sizeof *self->begin);
    if (!self->entry_start || !self->entries || !self->slots || !self->values || !self->owner || !self->map) goto memory;
    if (!self->first || !self->next || !self->begin) goto memory;
    for (int64_t s = 0; s < f->n_supernodes; s++) {
        for (int64_t c = f->super[s]; c < f->super[s + 1]; c++) self->owner[c] = (int)s;
        if (rows_of(f, s) > max_rows) max_rows = rows_of(f, s);
        if (is_large(rows_of(f, s), columns_of(f, s), columns_of(f, s))) self->large = 1;
    }
    for (int w = 0; w < PD_PIECE_WIDTHS; w++) self->pieces[w] = malloc(((size_t)max_rows + 1) * sizeof *self->pieces[w]);
    self->product =
        malloc((size_t)((self->large ? WIDE : STRIP) + PD_KERNEL_COLUMNS) * (size_t)(max_rows + PD_KERNEL_ROWS) * sizeof *self->product);
    if (!self->pieces[0] || !self->pieces[1] || !self->pieces[2] || !self->product) goto memory;
    for (size_t i = 0; i < n; i++) inverse[f->permutation[i]] = (int)i;
    place_entries(self, f, column_start, rows, inverse);
    memset(self->values + n_values, 0, PADDING * sizeof *self->values);
    free(inverse);
    return PD_OK;

memory:
    free(inverse);
    pd_supernodal_factor_destroy(self);
    *out = NULL;
    return pd_fail(error, PD_ERROR_MEMORY, "out of memory for the Cholesky factor of %lld rows", (long long)f->n);
}

const double *pd_supernodal_factor_values(const pd_supernodal_factor *self) { return self->values; }

/* ---- products ------------------------------------------------------------------------------------------------------------------------ */

static inline int64_t padded(int64_t rows) { return (rows + PD_KERNEL_ROWS - 1) / PD_KERNEL_ROWS * PD_KERNEL_ROWS; }

/* The number of n columns in one product. */
static int64_t strip_of(int64_t m, int64_t n, int64_t k) {
    int64_t most = is_large(m, n, k) ? WIDE : STRIP;
    return n < most ? n : most;
}

/* self->product [n, padded(m)] = A B^T with the first n of the m rows of A for B, n from strip_of; not all entries above the diagonal. */
static void multiply_strip(pd_supernodal_factor *self, int64_t m, int64_t n, int64_t k, const double *A, int64_t ld) {
    const double one = 1.0, zero = 0.0;
    int rows = (int)m, columns = (int)n, depth = (int)k, lda = (int)ld, ldc = (int)padded(m);
    if (is_large(m, n, k))
        dgemm_("N", "T", &rows, &columns, &depth, &one, A, &lda, A, &lda, &zero, self->product, &ldc, 1, 1);
    else
        multiply(m, n, k, A, ld, self->product, padded(m));
}

/* ---- the dense part ------------------------------------------------------------------------------------------------------------------ */

/* factorise_panel of a large supernode. */
static int64_t factorise_by_library(int rows, int columns, double *L) {
    const double one = 1.0;
    int info = 0, below = rows - columns;
    dpotrf_("L", &columns, L, &rows, &info, 1);
    if (info != 0) return info > 0 ? info - 1 : 0;
    for (int64_t j = 0; j < columns; j++)
        if (!(L[j + j * rows] <= DBL_MAX)) return j;
    if (below > 0) dtrsm_("R", "L", "T", "N", &below, &columns, &one, L, &rows, L + columns, &rows, 1, 1, 1, 1);
    return columns;
}

/* Factorises supernode s after the subtraction of all earlier ones, as factorise_panel. */
static int64_t factorise_supernode(pd_supernodal_factor *self, const pd_supernodes *f, int64_t s) {
    int64_t rows = rows_of(f, s), columns = columns_of(f, s);
    double *L = self->values + f->value_start[s];
    if (is_large(rows, columns, columns)) return factorise_by_library((int)rows, (int)columns, L);
    for (int64_t strip = 0; strip < columns; strip += STRIP) {
        int64_t end = strip + STRIP < columns ? strip + STRIP : columns;
        if (strip > 0) {
            multiply_strip(self, rows - strip, end - strip, strip, L + strip, rows);
            subtract_panel(rows - strip, end - strip, self->product, padded(rows - strip), L + strip + strip * rows, rows);
        }
        for (int64_t j = strip; j < end; j += PD_KERNEL_COLUMNS) {
            int64_t width = end - j < PD_KERNEL_COLUMNS ? end - j : PD_KERNEL_COLUMNS, found;
            double *panel = L + j + j * rows;
            if (j > strip) {
                multiply(rows - j, width, j - strip, L + j + strip * rows, rows, self->product, padded(rows - j));
                subtract_panel(rows - j, width, self->product, padded(rows - j), panel, rows);
            }
            found = factorise_panel(rows - j, width, panel, rows);
            if (found < width) return j + found;
        }
    }
    return columns;
}

/* ---- the sparse part ----------------------------------------------------------------------------------------------------------------- */

static void enlist(pd_supernodal_factor *self, const pd_supernodes *f, int64_t d, int64_t begin) {
    if (begin >= rows_of(f, d)) return;
    int in = self->owner[f->rows[f->row_start[d] + begin]];
    self->begin[d] = (int)begin;
    self->next[d] = self->first[in];
    self->first[in] = (int)d;
}

/* Divides the rows [m] of a product into pieces. Those of its n columns lie within one panel. */
static void find_pieces(pd_supernodal_factor *self, int64_t m, int64_t n, const int64_t *rows) {
    int counts[PD_PIECE_WIDTHS] = {0};
    for (int64_t i = 0; i < m;) {
        int64_t most =
                    i < n ? (PD_KERNEL_COLUMNS - i % PD_KERNEL_COLUMNS < n - i ? PD_KERNEL_COLUMNS - i % PD_KERNEL_COLUMNS : n - i) : m - i,
                run = 1;
        while (run < most && run < 4 && self->map[rows[i + run]] == self->map[rows[i]] + (int)run) run++;
        int w = run == 4 ? 0 : run >= 2 ? 1 : 2;
        self->pieces[w][counts[w]++] = (pd_piece){(int)i, self->map[rows[i]]};
        i += 4 >> w;
    }
    for (int w = 0; w < PD_PIECE_WIDTHS; w++) self->pieces[w][counts[w]] = (pd_piece){INT_MAX, 0};
}

/* Subtracts the product of the rows of d from `begin` on, n of them columns of s, from the values of s. */
static void subtract_product(pd_supernodal_factor *self, const pd_supernodes *f, int64_t s, int64_t d, int64_t begin, int64_t n) {
    int64_t k = columns_of(f, d), ld = rows_of(f, d), m = ld - begin;
    const int64_t *rows = f->rows + f->row_start[d] + begin;
    const double *A = self->values + f->value_start[d] + begin;
    pd_product_target of = {
        {self->pieces[0], self->pieces[1], self->pieces[2]}, rows, f->super[s], rows_of(f, s), self->values + f->value_start[s]};
    find_pieces(self, m, n, rows);
    if (!is_large(m, n < WIDE ? n : WIDE, k)) {
        multiply_and_subtract(m, n, k, A, ld, self->product, padded(m), &of);
        return;
    }
    for (int64_t start = 0, width; start < n; start += width) {
        width = strip_of(m - start, n - start, k);
        multiply_strip(self, m - start, width, k, A + start, ld);
        subtract_scattered(start, width, self->product, padded(m - start), &of);
    }
}

/* Sets the values of supernode s to those of A [entries]. */
static void load(pd_supernodal_factor *self, const pd_supernodes *f, int64_t s, const double *values) {
    memset(self->values + f->value_start[s], 0, (size_t)(f->value_start[s + 1] - f->value_start[s]) * sizeof *self->values);
    for (int k = self->entry_start[s]; k < self->entry_start[s + 1]; k++) self->values[self->slots[k]] += values[self->entries[k]];
}

static int64_t factorise(pd_supernodal_factor *self, const pd_supernodes *f, const double *values) {
    for (int64_t s = 0; s < f->n_supernodes; s++) self->first[s] = -1;
    for (int64_t s = 0; s < f->n_supernodes; s++) {
        const int64_t *rows = f->rows + f->row_start[s];
        for (int64_t i = 0; i < rows_of(f, s); i++) self->map[rows[i]] = (int)i;
        load(self, f, s, values);
        for (int d = self->first[s], after; d >= 0; d = after) {
            const int64_t *of = f->rows + f->row_start[d];
            int64_t begin = self->begin[d], end = begin;
            while (end < rows_of(f, d) && of[end] < f->super[s + 1]) end++;
            subtract_product(self, f, s, d, begin, end - begin);
            after = self->next[d];
            enlist(self, f, d, end);
        }
        int64_t found = factorise_supernode(self, f, s);
        if (found < columns_of(f, s)) return f->super[s] + found;
        enlist(self, f, s, columns_of(f, s));
    }
    return f->n;
}

int64_t pd_supernodal_factorise(pd_supernodal_factor *self, const pd_supernodes *f, const double *values) {
    if (!self->large) return factorise(self, f, values);
    pd_blas_call call = pd_blas_begin();
    int64_t found = factorise(self, f, values);
    pd_blas_end(&call);
    return found;
}

#else

typedef int pd_no_supernodal_factor;

#endif
