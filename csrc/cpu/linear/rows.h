/* What the loops over the rows of a sparse matrix share: blocks of rows in parallel, and the product of one row.
 *
 * One and three columns are what almost every call has: the loops are compiled for these two and, for any other number, run over the
 * columns four at a time. A row's sum has the same order whatever the threads. */
#ifndef PD_CPU_LINEAR_ROWS_H
#define PD_CPU_LINEAR_ROWS_H

#include "cpu/context.h"
#include "loops/matrix_loops.h"

/* Runs `body` over blocks of rows [begin,end) in parallel, with `columns` = 1, 3 or the number itself. The constants stand inside the
 * parallel region: what OpenMP outlines is compiled apart from its caller, and would take the width for a variable. */
// clang-format off
#define PD_FOR_BLOCKS(context, n, block_rows, width, body)                                      \
    {                                                                                           \
        const int n_blocks = ((n) + (block_rows) - 1) / (block_rows);                           \
        const int n_threads = pd_threads(context, n, 10 * (width));                             \
        _Pragma("omp parallel for num_threads(n_threads) schedule(static)")                     \
        for (int block = 0; block < n_blocks; block++) {                                        \
            int begin = block * (block_rows), end = begin + (block_rows) < (n) ? begin + (block_rows) : (n); \
            if ((width) == 1) {                                                                 \
                enum { columns = 1 };                                                           \
                body;                                                                           \
            } else if ((width) == 3) {                                                          \
                enum { columns = 3 };                                                           \
                body;                                                                           \
            } else {                                                                            \
                const int columns = (width);                                                    \
                body;                                                                           \
            }                                                                                   \
        }                                                                                       \
    }
// clang-format on

enum { PD_AT_ONCE = 4 };

/* The matrix streams through once per sweep beside half a dozen other streams, which is more than the hardware prefetcher follows: asked
 * for PD_AHEAD entries early, a sweep over a million rows takes half the time. A prefetch past the end of an array is harmless. */
enum { PD_AHEAD = 512 };
#ifdef __GNUC__
#define PD_PREFETCH(address) __builtin_prefetch(address)
#else
#define PD_PREFETCH(address) ((void)0)
#endif

PD_INLINE void pd_prefetch_row(const pd_matrix *A, int begin, int end) {
    enum { REALS = 64 / sizeof(real), INTS = 64 / sizeof(int) };
    PD_PREFETCH(A->values + begin + PD_AHEAD);
    PD_PREFETCH(A->columns + begin + PD_AHEAD);
    for (int s = begin + REALS; s < end; s += REALS) PD_PREFETCH(A->values + s + PD_AHEAD);
    for (int s = begin + INTS; s < end; s += INTS) PD_PREFETCH(A->columns + s + PD_AHEAD);
}

/* sum_c = sum over the row's entries of a x[column, first + c], without the diagonal, for `count` <= PD_AT_ONCE columns. */
PD_INLINE void pd_row_product(const pd_matrix *A, int row, const real *x, int width, int first, int count, real *sum) {
    int begin = A->row_start[row], end = A->row_start[row + 1];
    if (first == 0) pd_prefetch_row(A, begin, end);
    for (int c = 0; c < count; c++) sum[c] = 0;
    for (int s = begin; s < end; s++) {
        const real *v = x + (size_t)width * (size_t)A->columns[s] + first;
        real a = A->values[s];
        for (int c = 0; c < count; c++) sum[c] += a * v[c];
    }
}

/* Runs body with `first`, `count` and `sum` (the row times x) over the columns, PD_AT_ONCE at a time. */
#define PD_FOR_COLUMNS(A, row, x, width, body)                                                     \
    for (int first = 0; first < (width); first += PD_AT_ONCE) {                                    \
        int count = (width) - first < PD_AT_ONCE ? (width) - first : PD_AT_ONCE;                   \
        real sum[PD_AT_ONCE];                                                                      \
        if ((width) <= PD_AT_ONCE)                                                                 \
            pd_row_product(A, row, x, width, 0, (width) < PD_AT_ONCE ? (width) : PD_AT_ONCE, sum); \
        else                                                                                       \
            pd_row_product(A, row, x, width, first, count, sum);                                   \
        for (int c = 0; c < count; c++) { body }                                                   \
    }

static inline int pd_row_sum_blocks(const pd_matrix *A) { return (A->n + PD_SUM_BLOCK - 1) / PD_SUM_BLOCK; }

#endif
