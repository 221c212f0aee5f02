/* Shared by the loops over the rows of a sparse matrix: blocks of rows in parallel, and the product of one row.
 *
 * Almost all calls have one or three columns. The loops are compiled for these two numbers; any other number runs four columns at a
 * time. A row's sum has the same order for any number of threads. */
#ifndef PD_CPU_LINEAR_ROWS_H
#define PD_CPU_LINEAR_ROWS_H

#include "cpu/context.h"
#include "loops/matrix_loops.h"

/* Runs `body` over blocks of rows [begin,end) in parallel, with `columns` = 1, 3 or the number itself. The constants are inside the
 * parallel region: OpenMP compiles it apart from its caller, where the width would be a variable. */
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

/* Prefetches the matrix PD_AHEAD entries early. A sweep reads half a dozen other streams, more than the hardware prefetcher follows. A
 * prefetch past the end of an array is harmless. */
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
