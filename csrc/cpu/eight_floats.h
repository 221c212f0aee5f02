/* Transpositions of eight floats or four doubles in registers. Without them gcc 12 loads and stores single numbers where lanes become
 * rows, or needs three times as many permutations. No arithmetic, so the bits are those of the loops that these replace. */
#ifndef PD_CPU_EIGHT_FLOATS_H
#define PD_CPU_EIGHT_FLOATS_H

#include "base/real.h"

#ifdef __has_builtin
#if __has_builtin(__builtin_shufflevector) && (defined(__AVX__) || defined(__clang__))
#define PD_EIGHT_FLOATS 1
#endif
#endif

#ifdef PD_EIGHT_FLOATS
#define PD_EIGHT_INLINE static inline __attribute__((always_inline))

/* may_alias: a part of an array of reals is read as a vector; only where a real is a float. */
typedef float pd_four __attribute__((vector_size(16), may_alias, aligned(4)));
typedef float pd_eight __attribute__((vector_size(32), may_alias, aligned(4)));
typedef int pd_eight_int __attribute__((vector_size(32)));

PD_EIGHT_INLINE pd_eight pd_eight_of(const real *low, const real *high) {
    return __builtin_shufflevector(*(const pd_four *)low, *(const pd_four *)high, 0, 1, 2, 3, 4, 5, 6, 7);
}

/* Transposes both halves of four rows: number i of half h of out[j] is number j of half h of row i. */
PD_EIGHT_INLINE void pd_eight_transpose(pd_eight a, pd_eight b, pd_eight c, pd_eight d, pd_eight out[4]) {
    const pd_eight ab = __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13),
                   cd = __builtin_shufflevector(c, d, 0, 8, 1, 9, 4, 12, 5, 13);
    const pd_eight ab_2 = __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15),
                   cd_2 = __builtin_shufflevector(c, d, 2, 10, 3, 11, 6, 14, 7, 15);
    out[0] = __builtin_shufflevector(ab, cd, 0, 1, 8, 9, 4, 5, 12, 13);
    out[1] = __builtin_shufflevector(ab, cd, 2, 3, 10, 11, 6, 7, 14, 15);
    out[2] = __builtin_shufflevector(ab_2, cd_2, 0, 1, 8, 9, 4, 5, 12, 13);
    out[3] = __builtin_shufflevector(ab_2, cd_2, 2, 3, 10, 11, 6, 7, 14, 15);
}

/* out[j] = number j of each of eight rows, j = 0 .. 3; row i begins at [stride i]. */
PD_EIGHT_INLINE void pd_eight_transpose_rows(const real *rows, int stride, pd_eight out[4]) {
    pd_eight_transpose(pd_eight_of(rows, rows + 4 * stride), pd_eight_of(rows + stride, rows + 5 * stride),
                       pd_eight_of(rows + 2 * stride, rows + 6 * stride), pd_eight_of(rows + 3 * stride, rows + 7 * stride), out);
}

typedef double pd_four_doubles __attribute__((vector_size(32), may_alias, aligned(8)));

/* out[j] = number j of each of four rows of doubles; row i begins at [stride i]. */
PD_EIGHT_INLINE void pd_four_transpose_rows(const double *rows, int stride, pd_four_doubles out[4]) {
    const pd_four_doubles a = *(const pd_four_doubles *)rows, b = *(const pd_four_doubles *)(rows + stride),
                          c = *(const pd_four_doubles *)(rows + 2 * stride), d = *(const pd_four_doubles *)(rows + 3 * stride);
    const pd_four_doubles ab = __builtin_shufflevector(a, b, 0, 4, 2, 6), ab_1 = __builtin_shufflevector(a, b, 1, 5, 3, 7);
    const pd_four_doubles cd = __builtin_shufflevector(c, d, 0, 4, 2, 6), cd_1 = __builtin_shufflevector(c, d, 1, 5, 3, 7);
    out[0] = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
    out[1] = __builtin_shufflevector(ab_1, cd_1, 0, 1, 4, 5);
    out[2] = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    out[3] = __builtin_shufflevector(ab_1, cd_1, 2, 3, 6, 7);
}

/* Transposes eight rows. */
PD_EIGHT_INLINE void pd_eight_transpose_square(pd_eight rows[8]) {
    pd_eight low[4], high[4];
    pd_eight_transpose(rows[0], rows[1], rows[2], rows[3], low);
    pd_eight_transpose(rows[4], rows[5], rows[6], rows[7], high);
    for (int i = 0; i < 4; i++) {
        rows[i] = __builtin_shufflevector(low[i], high[i], 0, 1, 2, 3, 8, 9, 10, 11);
        rows[4 + i] = __builtin_shufflevector(low[i], high[i], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

/* a where `first`, else b, without a branch. */
PD_EIGHT_INLINE pd_eight pd_eight_choose(int first, pd_eight a, pd_eight b) {
    const int mask = -(first != 0);
    const pd_eight_int masks = {mask, mask, mask, mask, mask, mask, mask, mask};
    return (pd_eight)(((pd_eight_int)a & masks) | ((pd_eight_int)b & ~masks));
}
#endif

#endif
