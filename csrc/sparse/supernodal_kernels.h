/* Kernels of the numeric supernodal factorisation (supernodal_factor.c): products of a supernode, their subtraction from another one, and
 * panels of its own columns. Matrices are by columns, with the distance ld of columns. */
#ifndef PD_SPARSE_SUPERNODAL_KERNELS_H
#define PD_SPARSE_SUPERNODAL_KERNELS_H

#include "sparse/processor_clones.h"

#include <float.h>
#include <limits.h>
#include <stdint.h>

typedef double lane4 __attribute__((vector_size(32)));
typedef double loose4 __attribute__((vector_size(32), aligned(8)));
typedef double lane2 __attribute__((vector_size(16)));
typedef double loose2 __attribute__((vector_size(16), aligned(8)));

enum {
    PD_KERNEL_ROWS = 8,    /* columns of products are padded to a multiple */
    PD_KERNEL_COLUMNS = 6, /* of a panel */
    PD_PIECE_WIDTHS = 3,   /* of pieces: 4, 2 and 1 rows */
};

/* Successive rows of a product that are successive rows of a supernode. */
typedef struct pd_piece {
    int row, to;
} pd_piece;

/* Where a product is subtracted: its rows by pieces, in ascending order, the last one beyond all rows; its column j from column places[j]
 * - first. */
typedef struct pd_product_target {
    const pd_piece *pieces[PD_PIECE_WIDTHS];
    const int64_t *places;
    int64_t first, ld;
    double *values;
} pd_product_target;

/* A part of the functions that are compiled for several processors. */
#define INSIDE static inline __attribute__((always_inline))

/* C [m,n] = A B^T, A [m,k], B its rows from `first` on, n <= PD_KERNEL_COLUMNS, without the blocks above the diagonal. Reads and writes up to
 * PD_KERNEL_ROWS - 1 rows and PD_KERNEL_COLUMNS - 1 columns more, whose values are not used. */
INSIDE void multiply_panel(int64_t m, int64_t first, int64_t n, int64_t k, const double *A, int64_t ld, double *C, int64_t ldc) {
    int half = n <= PD_KERNEL_COLUMNS / 2;
    for (int64_t i = first / PD_KERNEL_ROWS * PD_KERNEL_ROWS; i < m; i += PD_KERNEL_ROWS) {
        const double *a = A + i, *b = A + first;
        double *c = C + i;
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

/* The same of any number of columns. */
PD_CLONES static void multiply(int64_t m, int64_t n, int64_t k, const double *A, int64_t ld, double *C, int64_t ldc) {
    for (int64_t j = 0; j < n; j += PD_KERNEL_COLUMNS)
        multiply_panel(m, j, n - j < PD_KERNEL_COLUMNS ? n - j : PD_KERNEL_COLUMNS, k, A, ld, C + j * ldc, ldc);
}

/* Subtracts the pieces from row `end` on of n columns of a product from those of the target. C begins with row `origin`. */
INSIDE void subtract_pieces(int64_t origin, int64_t end, int64_t n, const double *C, int64_t ldc, double *const *columns,
                            pd_product_target *of) {
    const pd_piece *quad = of->pieces[0], *pair = of->pieces[1], *single = of->pieces[2];
    while (quad->row < end) quad++;
    while (pair->row < end) pair++;
    while (single->row < end) single++;
    of->pieces[0] = quad, of->pieces[1] = pair, of->pieces[2] = single;
    for (; quad->row < INT_MAX; quad++)
        for (int64_t j = 0; j < n; j++)
            *(loose4 *)(columns[j] + quad->to) =
                *(const loose4 *)(columns[j] + quad->to) - *(const loose4 *)(C + j * ldc + quad->row - origin);
    for (; pair->row < INT_MAX; pair++)
        for (int64_t j = 0; j < n; j++)
            *(loose2 *)(columns[j] + pair->to) =
                *(const loose2 *)(columns[j] + pair->to) - *(const loose2 *)(C + j * ldc + pair->row - origin);
    for (; single->row < INT_MAX; single++)
        for (int64_t j = 0; j < n; j++) columns[j][single->to] -= C[j * ldc + single->row - origin];
}

/* Subtracts the columns first .. first + n - 1 of a product, n <= PD_KERNEL_COLUMNS, without its entries above the diagonal. C [n,ldc] begins
 * with row `origin`. */
INSIDE void subtract_product_panel(int64_t origin, int64_t first, int64_t n, const double *C, int64_t ldc, pd_product_target *of) {
    double *columns[PD_KERNEL_COLUMNS];
    for (int64_t j = 0; j < n; j++) columns[j] = of->values + (of->places[first + j] - of->first) * of->ld;
    // the places of the first rows, which are columns too
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n; i++) columns[j][of->places[first + i] - of->first] -= C[j * ldc + first + i - origin];
    if (n == PD_KERNEL_COLUMNS)
        subtract_pieces(origin, first + n, PD_KERNEL_COLUMNS, C, ldc, columns, of);
    else if (n == PD_KERNEL_COLUMNS / 2)
        subtract_pieces(origin, first + n, PD_KERNEL_COLUMNS / 2, C, ldc, columns, of);
    else
        subtract_pieces(origin, first + n, n, C, ldc, columns, of);
}

/* Subtracts the columns first .. first + n - 1 of a product; C [n,ldc] begins with row `first`. */
PD_CLONES static void subtract_scattered(int64_t first, int64_t n, const double *C, int64_t ldc, pd_product_target *of) {
    for (int64_t j = 0; j < n; j += PD_KERNEL_COLUMNS)
        subtract_product_panel(first, first + j, n - j < PD_KERNEL_COLUMNS ? n - j : PD_KERNEL_COLUMNS, C + j * ldc, ldc, of);
}

/* Subtracts the product A B^T of multiply by panels, so that it stays in the cache: C [PD_KERNEL_COLUMNS,ldc] is a work array. */
PD_CLONES static void multiply_and_subtract(int64_t m, int64_t n, int64_t k, const double *A, int64_t ld, double *C, int64_t ldc,
                                            pd_product_target *of) {
    for (int64_t j = 0; j < n; j += PD_KERNEL_COLUMNS) {
        int64_t width = n - j < PD_KERNEL_COLUMNS ? n - j : PD_KERNEL_COLUMNS;
        multiply_panel(m, j, width, k, A, ld, C, ldc);
        subtract_product_panel(0, j, width, C, ldc, of);
    }
}

/* L[rows of column j from j on] -= those of C. */
PD_CLONES static void subtract_panel(int64_t rows, int64_t columns, const double *C, int64_t ldc, double *L, int64_t ld) {
    for (int64_t j = 0; j < columns; j++)
        for (int64_t i = j; i < rows; i++) L[i + j * ld] -= C[i + j * ldc];
}

/* The rows i .. i + count - 1 of a panel below its triangle. */
INSIDE void finish_rows(int64_t count, int64_t columns, const double *inverse, double *L, int64_t ld, int64_t i) {
    for (int64_t j = 0; j < columns; j++) {
        double *to = L + i + j * ld;
        for (int64_t p = 0; p < j; p++) {
            const double *from = L + i + p * ld;
            double by = L[j + p * ld];
            for (int64_t r = 0; r < count; r++) to[r] -= from[r] * by;
        }
        for (int64_t r = 0; r < count; r++) to[r] *= inverse[j];
    }
}

/* Factorises the first rows of a panel. */
INSIDE int64_t factorise_triangle(int64_t columns, double *L, int64_t ld, double *inverse) {
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
    return columns;
}

/* Factorises a panel of up to PD_KERNEL_COLUMNS columns whose earlier columns have been subtracted. Returns the column without a positive
 * pivot, or `columns`. */
PD_CLONES static int64_t factorise_panel(int64_t rows, int64_t columns, double *L, int64_t ld) {
    double inverse[PD_KERNEL_COLUMNS];
    int64_t found =
        columns == PD_KERNEL_COLUMNS ? factorise_triangle(PD_KERNEL_COLUMNS, L, ld, inverse) : factorise_triangle(columns, L, ld, inverse);
    if (found < columns) return found;
    for (int64_t i = columns; i < rows; i += PD_KERNEL_ROWS) {
        if (rows - i < PD_KERNEL_ROWS || columns < PD_KERNEL_COLUMNS) {
            finish_rows(rows - i < PD_KERNEL_ROWS ? rows - i : PD_KERNEL_ROWS, columns, inverse, L, ld, i);
            continue;
        }
        lane4 done[2][PD_KERNEL_COLUMNS];
        for (int64_t j = 0; j < PD_KERNEL_COLUMNS; j++) {
            const double *to = L + i + j * ld;
            lane4 low = *(const loose4 *)to, high = *(const loose4 *)(to + 4);
            for (int64_t p = 0; p < j; p++) low -= done[0][p] * L[j + p * ld], high -= done[1][p] * L[j + p * ld];
            done[0][j] = low * inverse[j], done[1][j] = high * inverse[j];
        }
        for (int64_t j = 0; j < PD_KERNEL_COLUMNS; j++) {
            *(loose4 *)(L + i + j * ld) = done[0][j];
            *(loose4 *)(L + i + j * ld + 4) = done[1][j];
        }
    }
    return columns;
}

#endif
