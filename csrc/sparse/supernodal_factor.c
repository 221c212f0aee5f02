/* The numeric supernodal Cholesky factorisation; see supernodal_factor.h.
 *
 * Supernode s subtracts the product C of every supernode d with rows among its columns: C = L_d[from its first such row on] L_d[its such
 * rows]^T. Then its own factorisation follows, in strips of columns. A supernode waits in the list of the next one that it changes. */
#include "sparse/supernodal_factor.h"

#ifdef PD_HAVE_CHOLMOD

#include "sparse/processor_clones.h"
#include "sparse/serial_blas.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

typedef double lane4 __attribute__((vector_size(32)));
typedef double loose4 __attribute__((vector_size(32), aligned(8)));

enum {
    ROWS = 8,     /* of the kernel; columns of products are padded to a multiple */
    COLUMNS = 6,  /* of the kernel, and of a panel */
    STRIP = 48,   /* columns of a product by the kernel, so that its factors stay in the cache */
    WIDE = 192,   /* of a product by BLAS */
    LEAST = 32,   /* columns, and depth, of a product by BLAS */
    PADDING = 16, /* numbers after the factor: the kernel reads up to ROWS beyond the last row */
};

/* Multiplications above which BLAS is faster than the kernel, and LAPACK at a supernode, although they copy their factors. */
static const int64_t LARGE = 3000000;

/* BLAS and LAPACK by their Fortran interface; the lengths of the strings come last. */
extern void dpotrf_(const char *triangle, const int *n, double *a, const int *lda, int *info, size_t length);
extern void dtrsm_(const char *side, const char *triangle, const char *transpose, const char *unit, const int *m, const int *n,
                   const double *alpha, const double *a, const int *lda, double *b, const int *ldb, size_t length_1, size_t length_2,
                   size_t length_3, size_t length_4);
extern void dgemm_(const char *transpose_a, const char *transpose_b, const int *m, const int *n, const int *k, const double *alpha,
                   const double *a, const int *lda, const double *b, const int *ldb, const double *beta, double *c, const int *ldc,
                   size_t length_1, size_t length_2);

struct pd_supernodal_factor {
    int64_t n_entries;
    int64_t *slots;    /* [n_entries] of A in the values */
    double *values;    /* the factor, and PADDING */
    double *product;   /* [STRIP or WIDE + COLUMNS, max_rows + ROWS] */
    int *owner;        /* [n] the supernode of a column */
    int *map;          /* [n] place of a row in the present supernode */
    int *relative;     /* [max_rows] the same for the rows of a product */
    int *first, *next; /* [n_supernodes] the lists: the first of each, the next after each; -1: none */
    int *begin;        /* [n_supernodes] rows that have been used */
    int large;         /* BLAS computes some product */
};

static int64_t rows_of(const pd_supernodes *f, int64_t s) { return f->row_start[s + 1] - f->row_start[s]; }
static int64_t columns_of(const pd_supernodes *f, int64_t s) { return f->super[s + 1] - f->super[s]; }

/* Tells whether BLAS computes a product of m rows, n columns and depth k; at a supernode n is k. */
static int is_large(int64_t m, int64_t n, int64_t k) { return n >= LEAST && k >= LEAST && m * n * k >= LARGE; }

void pd_supernodal_factor_destroy(pd_supernodal_factor *self) {
    if (!self) return;
    void *memory[] = {self->slots,    self->values, self->product, self->owner, self->map,
                      self->relative, self->first,  self->next,    self->begin};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) free(memory[i]);
    free(self);
}

/* The place of the entry in row i and column j of A among the values of the factor. */
static int64_t slot_of(const pd_supernodal_factor *self, const pd_supernodes *f, int64_t i, int64_t j) {
    int64_t row = i > j ? i : j, column = i > j ? j : i, s = self->owner[column];
    const int64_t *rows = f->rows + f->row_start[s];
    int64_t low = 0, high = rows_of(f, s) - 1;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (rows[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return f->value_start[s] + (column - f->super[s]) * rows_of(f, s) + low;
}

pd_status pd_supernodal_factor_create(pd_supernodal_factor **out, const pd_supernodes *f, const int *column_start, const int *rows,
                                      pd_error *error) {
    size_t n = (size_t)f->n, n_supernodes = (size_t)f->n_supernodes, n_values = (size_t)f->value_start[f->n_supernodes];
    int64_t max_rows = 0;
    pd_supernodal_factor *self = *out = calloc(1, sizeof *self);
    int *inverse = malloc((n + 1) * sizeof *inverse);
    if (!self || !inverse) goto memory;
    self->n_entries = column_start[n];
    self->slots = malloc(((size_t)self->n_entries + 1) * sizeof *self->slots);
    self->values = malloc((n_values + PADDING) * sizeof *self->values);
    self->owner = malloc((n + 1) * sizeof *self->owner);
    self->map = malloc((n + 1) * sizeof *self->map);
    self->first = malloc((n_supernodes + 1) * sizeof *self->first);
    self->next = malloc((n_supernodes + 1) * sizeof *self->next);
    self->begin = malloc((n_supernodes + 1) * sizeof *self->begin);
    if (!self->slots || !self->values || !self->owner || !self->map || !self->first || !self->next || !self->begin) goto memory;
    for (int64_t s = 0; s < f->n_supernodes; s++) {
        for (int64_t c = f->super[s]; c < f->super[s + 1]; c++) self->owner[c] = (int)s;
        if (rows_of(f, s) > max_rows) max_rows = rows_of(f, s);
        if (is_large(rows_of(f, s), columns_of(f, s), columns_of(f, s))) self->large = 1;
    }
    self->relative = malloc(((size_t)max_rows + 1) * sizeof *self->relative);
    self->product = malloc((size_t)((self->large ? WIDE : STRIP) + COLUMNS) * (size_t)(max_rows + ROWS) * sizeof *self->product);
    if (!self->relative || !self->product) goto memory;
    for (size_t i = 0; i < n; i++) inverse[f->permutation[i]] = (int)i;
    for (size_t j = 0; j < n; j++)
        for (int e = column_start[j]; e < column_start[j + 1]; e++) self->slots[e] = slot_of(self, f, inverse[rows[e]], inverse[j]);
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

/* C [m,n] = A B^T by columns, A [m,k] by columns, B its first n rows, without the blocks above the diagonal. Reads and writes up to ROWS
 * - 1 rows and COLUMNS - 1 columns more, whose values are not used. */
PD_CLONES static void multiply(int64_t m, int64_t n, int64_t k, const double *A, int64_t ld, double *C, int64_t ldc) {
    for (int64_t j = 0; j < n; j += COLUMNS) {
        int half = n - j <= COLUMNS / 2;
        for (int64_t i = j / ROWS * ROWS; i < m; i += ROWS) {
            const double *a = A + i, *b = A + j;
            double *c = C + i + j * ldc;
            lane4 c00 = {0}, c01 = {0}, c02 = {0}, c10 = {0}, c11 = {0}, c12 = {0};
            if (half) {
                for (int64_t p = 0; p < k; p++, a += ld, b += ld) {
                    lane4 a0 = *(const loose4 *)a, a1 = *(const loose4 *)(a + 4);
                    c00 += a0 * b[0], c10 += a1 * b[0];
                    c01 += a0 * b[1], c11 += a1 * b[1];
                    c02 += a0 * b[2], c12 += a1 * b[2];
                }
            } else {
                lane4 c03 = {0}, c04 = {0}, c05 = {0}, c13 = {0}, c14 = {0}, c15 = {0};
                for (int64_t p = 0; p < k; p++, a += ld, b += ld) {
                    lane4 a0 = *(const loose4 *)a, a1 = *(const loose4 *)(a + 4);
                    c00 += a0 * b[0], c10 += a1 * b[0];
                    c01 += a0 * b[1], c11 += a1 * b[1];
                    c02 += a0 * b[2], c12 += a1 * b[2];
                    c03 += a0 * b[3], c13 += a1 * b[3];
                    c04 += a0 * b[4], c14 += a1 * b[4];
                    c05 += a0 * b[5], c15 += a1 * b[5];
                }
                double *d = c + 3 * ldc;
                *(loose4 *)d = c03, *(loose4 *)(d + 4) = c13;
                *(loose4 *)(d + ldc) = c04, *(loose4 *)(d + ldc + 4) = c14;
                *(loose4 *)(d + 2 * ldc) = c05, *(loose4 *)(d + 2 * ldc + 4) = c15;
            }
            *(loose4 *)c = c00, *(loose4 *)(c + 4) = c10;
            *(loose4 *)(c + ldc) = c01, *(loose4 *)(c + ldc + 4) = c11;
            *(loose4 *)(c + 2 * ldc) = c02, *(loose4 *)(c + 2 * ldc + 4) = c12;
        }
    }
}

static inline int64_t padded(int64_t rows) { return (rows + ROWS - 1) / ROWS * ROWS; }

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

/* L[rows of column j from j on] -= those of C. */
PD_CLONES static void subtract_panel(int64_t rows, int64_t columns, const double *C, int64_t ldc, double *L, int64_t ld) {
    for (int64_t j = 0; j < columns; j++)
        for (int64_t i = j; i < rows; i++) L[i + j * ld] -= C[i + j * ldc];
}

/* Factorises a panel of up to COLUMNS columns whose earlier columns have been subtracted. Returns the column without a positive pivot, or
 * `columns`. */
PD_CLONES static int64_t factorise_panel(int64_t rows, int64_t columns, double *L, int64_t ld) {
    double inverse[COLUMNS];
    for (int64_t j = 0; j < columns; j++) {
        double pivot = L[j + j * ld];
        for (int64_t p = 0; p < j; p++) pivot -= L[j + p * ld] * L[j + p * ld];
        if (!(pivot > 0.0 && pivot <= DBL_MAX)) return j;
        double root = __builtin_sqrt(pivot);
        inverse[j] = 1.0 / root;
        L[j + j * ld] = root;
        for (int64_t i = j + 1; i < columns; i++) {
            double sum = L[i + j * ld];
            for (int64_t p = 0; p < j; p++) sum -= L[i + p * ld] * L[j + p * ld];
            L[i + j * ld] = sum * inverse[j];
        }
    }
    for (int64_t j = 0; j < columns; j++) {
        double *to = L + j * ld;
        for (int64_t p = 0; p < j; p++) {
            const double *from = L + p * ld;
            double by = L[j + p * ld];
            for (int64_t i = columns; i < rows; i++) to[i] -= from[i] * by;
        }
        for (int64_t i = columns; i < rows; i++) to[i] *= inverse[j];
    }
    return columns;
}

/* The same of a large supernode. */
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
        for (int64_t j = strip; j < end; j += COLUMNS) {
            int64_t width = end - j < COLUMNS ? end - j : COLUMNS, found;
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

/* Subtracts the columns [columns, m] of a product, without its entries above the diagonal, from those of a supernode: row i from its row
 * relative[i], column j from its column places[j] - first. */
PD_CLONES static void subtract_scattered(int64_t m, int64_t columns, const double *C, const int *relative, const int64_t *places,
                                         int64_t first, double *values, int64_t ld) {
    int together = relative[m - 1] - relative[0] == (int)m - 1;
    for (int64_t j = 0; j < columns; j++, C += padded(m)) {
        double *to = values + (places[j] - first) * ld;
        if (together) {
            to += relative[0];
            for (int64_t i = j; i < m; i++) to[i] -= C[i];
        } else
            for (int64_t i = j; i < m; i++) to[relative[i]] -= C[i];
    }
}

/* Subtracts the product of the rows of d from `begin` on, n of them columns of s, from the values of s. */
static void subtract_product(pd_supernodal_factor *self, const pd_supernodes *f, int64_t s, int64_t d, int64_t begin, int64_t n) {
    int64_t k = columns_of(f, d), ld = rows_of(f, d);
    const int64_t *rows = f->rows + f->row_start[d] + begin;
    const double *A = self->values + f->value_start[d] + begin;
    for (int64_t start = 0, width; start < n; start += width) {
        int64_t m = ld - begin - start;
        width = strip_of(m, n - start, k);
        multiply_strip(self, m, width, k, A + start, ld);
        for (int64_t i = 0; i < m; i++) self->relative[i] = self->map[rows[start + i]];
        subtract_scattered(m, width, self->product, self->relative, rows + start, f->super[s], self->values + f->value_start[s],
                           rows_of(f, s));
    }
}

static int64_t factorise(pd_supernodal_factor *self, const pd_supernodes *f) {
    for (int64_t s = 0; s < f->n_supernodes; s++) self->first[s] = -1;
    for (int64_t s = 0; s < f->n_supernodes; s++) {
        const int64_t *rows = f->rows + f->row_start[s];
        for (int64_t i = 0; i < rows_of(f, s); i++) self->map[rows[i]] = (int)i;
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
    memset(self->values, 0, (size_t)f->value_start[f->n_supernodes] * sizeof *self->values);
    for (int64_t e = 0; e < self->n_entries; e++) self->values[self->slots[e]] += values[e];
    if (!self->large) return factorise(self, f);
    pd_blas_call call = pd_blas_begin();
    int64_t found = factorise(self, f);
    pd_blas_end(&call);
    return found;
}

#else

typedef int pd_no_supernodal_factor;

#endif
