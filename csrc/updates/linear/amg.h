/* The formulas of smoothed aggregation [Vanek, Mandel, Brezina 1996, Algebraic multigrid by smoothed aggregation for second and fourth
 * order elliptic problems]. With D the blocks on the diagonal of A over nodes,
 *
 *     s_ij = |D_i^-1/2 A_ij D_j^-1/2|_4,    g_i = sum_j s_ij,    S = (g D)^-1,    P = (I - omega_P S A) T
 *
 * |.|_4 is Schatten's norm, the fourth root of the sum of the fourth powers of the singular values. It is at least the largest of these.
 * So A <= g D (Gershgorin's circles of the scaled matrix), and x += omega S (r - A x) reduces every error for omega < 2. The paper has
 * S = D^-1 and omega_P = 4/3 / lambda, lambda the largest eigenvalue of D^-1 A. That needs an estimate, which misses the few large
 * eigenvalues at contact pairs. T is that of updates/linear/schwarz.h.
 *
 * Functions with `lanes` divide the numbers of a block among threads, with the same bits for any number of them. */
#ifndef PD_UPDATES_LINEAR_AMG_H
#define PD_UPDATES_LINEAR_AMG_H

#include "loops/amg_loops.h"
#include "updates/linear/schwarz.h"

/* The sizes of blocks are constants in every call, so that the loops over them are unrolled. */
#ifdef __CUDACC__
#define PD_AMG_FUNCTION static __device__ __forceinline__
#else
#define PD_AMG_FUNCTION static inline __attribute__((always_inline))
#endif

/* Runs a statement with the constants `numbers` and `coarser` of a level. */
#define PD_AMG_CASE(b, c, ...)             \
    {                                      \
        enum { numbers = b, coarser = c }; \
        __VA_ARGS__;                       \
    }
#define PD_AMG_SIZES(level, ...)           \
    do {                                   \
        if ((level)->numbers == 1)         \
            PD_AMG_CASE(1, 1, __VA_ARGS__) \
        else if ((level)->numbers == 6)    \
            PD_AMG_CASE(6, 6, __VA_ARGS__) \
        else if ((level)->coarser == 6)    \
            PD_AMG_CASE(3, 6, __VA_ARGS__) \
        else                               \
            PD_AMG_CASE(3, 3, __VA_ARGS__) \
    } while (0)

/* The steps of a strength between 0 and 1. They are coarse, so that rounding decides neither between the equal strengths of a regular mesh
 * nor near the threshold. */
enum { PD_AMG_STRENGTHS = 4096 };

/* omega_P and omega. For blocks of elastic bodies the largest eigenvalue of S A is about 0.6, and for single rows about 1. */
PD_FUNCTION double pd_amg_smoothing(int numbers) { return numbers == 1 ? 1.4 : 2.2; }
PD_FUNCTION double pd_amg_relaxation(int numbers) { return numbers == 1 ? 1.6 : 1.9; }

/* Entry s = (i,j) of the matrix of a level. */
PD_AMG_FUNCTION void pd_amg_entry(const pd_node_matrix *matrix, const pd_amg_level *level, int s, int i, int j, int numbers, double *out) {
    int count = numbers * numbers;
    if (numbers < 6 && !level->values) {
        pd_node_matrix A = *matrix;
        A.numbers = numbers; // a constant
        pd_node_entry(&A, s, i, j, out);
    } else
        for (int c = 0; c < count; c++) out[c] = level->values[(size_t)count * (size_t)s + (size_t)c];
}

/* The place of a column in the ascending columns begin .. end-1, which contain it. */
PD_FUNCTION int pd_amg_slot(const int *columns, int begin, int end, int column) {
    while (end - begin > 1) {
        int middle = begin + (end - begin) / 2;
        if (columns[middle] <= column)
            begin = middle;
        else
            end = middle;
    }
    return begin;
}

/* inverse [numbers,numbers] of a block a, whose lower triangle is overwritten. A null pivot, such as that of the rotation of two nodes about
 * their line, is left out: the inverse is then half that of the rest, plus a part on the diagonal that is below the inverse, too.
 * Returns the number of negative pivots. */
PD_AMG_FUNCTION double pd_amg_block_inverse(double *a, int numbers, double least, double *inverse) {
    double scratch[18];
    double negative = pd_sweep(a, numbers, least, scratch, 0, 1), whole = 1.0;
    const double *diagonal = scratch + numbers, *swept = diagonal + numbers;
    for (int i = 0; i < numbers; i++)
        if (!(swept[i] > 0.0) && diagonal[i] > 0.0) whole = 0.5;
    for (int i = 0; i < numbers; i++)
        for (int j = 0; j <= i; j++) {
            double own = i == j && diagonal[i] > 0.0 ? 0.5 / (numbers * diagonal[i]) : 0.0;
            inverse[numbers * i + j] = inverse[numbers * j + i] = swept[i] > 0.0 && swept[j] > 0.0 ? -whole * a[numbers * i + j]
                                                                  : swept[i] > 0.0                 ? 0.0
                                                                                                   : own;
        }
    return negative;
}

/* The inverse of the block of node i. Pivots of the first level count as zero below the rounding of its values. Those of the others have
 * the rounding of T, too. */
PD_AMG_FUNCTION void pd_amg_invert_node(const pd_node_matrix *matrix, const pd_amg_level *level, int i, int numbers) {
    double B[36], negative = 0.0, *inverse = level->inverses + (size_t)(numbers * numbers) * (size_t)i;
    int s = pd_amg_slot(level->columns, level->row_start[i], level->row_start[i + 1], i);
    if (level->held && level->held[i]) {
        for (int c = 0; c < numbers * numbers; c++) inverse[c] = 0.0;
    } else {
        pd_amg_entry(matrix, level, s, i, i, numbers, B);
        negative = pd_amg_block_inverse(B, numbers, level->values ? pd_least_pivot() : 4.0 * (double)PD_EPSILON, inverse);
    }
    if (level->indefinite) level->indefinite[i] = negative;
}

/* s_ij of an entry B from the inverses of D_i and D_j: the fourth root of the trace of (D_i^-1 B D_j^-1 B^T)^2. */
PD_AMG_FUNCTION double pd_amg_strength(const double *B, const double *D_i, const double *D_j, int numbers) {
    double left[36], right[36], X[36], trace = 0.0; // D_i^-1 B, D_j^-1 B^T
    for (int r = 0; r < numbers; r++)
        for (int c = 0; c < numbers; c++) {
            double l = 0.0, m = 0.0;
            for (int k = 0; k < numbers; k++) {
                l += D_i[numbers * r + k] * B[numbers * k + c];
                m += D_j[numbers * r + k] * B[numbers * c + k];
            }
            left[numbers * r + c] = l, right[numbers * r + c] = m;
        }
    for (int r = 0; r < numbers; r++)
        for (int c = 0; c < numbers; c++) {
            double sum = 0.0;
            for (int k = 0; k < numbers; k++) sum += left[numbers * r + k] * right[numbers * k + c];
            X[numbers * r + c] = sum;
        }
    for (int r = 0; r < numbers; r++)
        for (int c = 0; c < numbers; c++) trace += X[numbers * r + c] * X[numbers * c + r];
    return trace > 0.0 ? sqrt(sqrt(trace)) : 0.0;
}

/* The strengths of row i, and S_i. */
PD_AMG_FUNCTION void pd_amg_weigh_node(const pd_node_matrix *matrix, const pd_amg_level *level, int i, int numbers) {
    size_t count = (size_t)(numbers * numbers);
    const double *own = level->inverses + count * (size_t)i;
    double B[36], g = 1.0;
    for (int s = level->row_start[i]; s < level->row_start[i + 1]; s++) {
        int j = level->columns[s];
        double strength = 1.0;
        if (j != i) {
            pd_amg_entry(matrix, level, s, i, j, numbers, B);
            strength = pd_amg_strength(B, own, level->inverses + count * (size_t)j, numbers);
            g += strength;
        }
        level->strengths[s] = (float)(floor(strength * PD_AMG_STRENGTHS + 0.5) / PD_AMG_STRENGTHS);
    }
    for (size_t c = 0; c < count; c++) level->smoother[count * (size_t)i + c] = own[c] / g;
}

/* D [numbers,coarser] = B T_j. */
PD_AMG_FUNCTION void pd_amg_motion(const double *B, const pd_amg_level *level, int j, int numbers, int coarser, double *D) {
    if (coarser == 6)
        pd_entry_of_motion(B, numbers, level->arms + 3 * (size_t)j, D);
    else
        for (int c = 0; c < numbers * coarser; c++) D[c] = B[c];
}

/* Row i of P. */
PD_AMG_FUNCTION void pd_amg_extension_row(const pd_node_matrix *matrix, const pd_amg_level *level, int i, int numbers, int coarser) {
    const double *S = level->smoother + (size_t)(numbers * numbers) * (size_t)i;
    double B[36], D[36], sum[36];
    for (int t = level->extension_start[i]; t < level->extension_start[i + 1]; t++) {
        int k = level->extension_columns[t];
        real *out = level->extension + (size_t)(numbers * coarser) * (size_t)t;
        for (int c = 0; c < numbers * coarser; c++) sum[c] = 0.0;
        for (int s = level->row_start[i]; s < level->row_start[i + 1]; s++) {
            int j = level->columns[s];
            if (level->aggregate[j] != k) continue;
            pd_amg_entry(matrix, level, s, i, j, numbers, B);
            pd_amg_motion(B, level, j, numbers, coarser, D);
            for (int c = 0; c < numbers * coarser; c++) sum[c] += D[c];
        }
        for (int c = 0; c < numbers * numbers; c++) B[c] = c % (numbers + 1) == 0 ? 1.0 : 0.0;
        pd_amg_motion(B, level, i, numbers, coarser, D);
        for (int r = 0; r < numbers; r++)
            for (int c = 0; c < coarser; c++) {
                double value = level->aggregate[i] == k ? D[coarser * r + c] : 0.0, moved = 0.0;
                for (int m = 0; m < numbers; m++) moved += S[numbers * r + m] * sum[coarser * m + c];
                out[coarser * r + c] = (real)(value - pd_amg_smoothing(numbers) * moved);
            }
    }
}

/* Row i of A P. */
PD_AMG_FUNCTION void pd_amg_product_row(const pd_node_matrix *matrix, const pd_amg_level *level, int i, int numbers, int coarser, int lane,
                                        int lanes) {
    int begin = level->product_start[i], end = level->product_start[i + 1], count = numbers * coarser;
    double *out = level->product, B[36];
    if (begin == end) return; // a held node
    for (int p = begin; p < end; p++)
        for (int c = lane; c < count; c += lanes) out[(size_t)count * (size_t)p + (size_t)c] = 0.0;
    for (int s = level->row_start[i]; s < level->row_start[i + 1]; s++) {
        int j = level->columns[s];
        if (level->aggregate[j] < 0) continue;
        pd_amg_entry(matrix, level, s, i, j, numbers, B);
        for (int t = level->extension_start[j]; t < level->extension_start[j + 1]; t++) {
            int p = pd_amg_slot(level->product_columns, begin, end, level->extension_columns[t]);
            const real *E = level->extension + (size_t)count * (size_t)t;
            for (int c = lane; c < count; c += lanes) {
                double sum = 0.0;
                for (int m = 0; m < numbers; m++) sum += B[numbers * (c / coarser) + m] * (double)E[coarser * m + c % coarser];
                out[(size_t)count * (size_t)p + (size_t)c] += sum;
            }
        }
    }
}

/* Row k of P^T (A P). */
PD_AMG_FUNCTION void pd_amg_coarser_row(const pd_amg_level *level, int k, int numbers, int coarser, int lane, int lanes) {
    int begin = level->coarser_start[k], end = level->coarser_start[k + 1], count = coarser * coarser, wide = numbers * coarser;
    double *out = level->coarser_values;
    for (int e = begin; e < end; e++)
        for (int c = lane; c < count; c += lanes) out[(size_t)count * (size_t)e + (size_t)c] = 0.0;
    for (int u = level->source_start[k]; u < level->source_start[k + 1]; u++) {
        const real *E = level->extension + (size_t)wide * (size_t)level->sources[u];
        int i = level->source_rows[u];
        for (int p = level->product_start[i]; p < level->product_start[i + 1]; p++) {
            int e = pd_amg_slot(level->coarser_columns, begin, end, level->product_columns[p]);
            const double *Q = level->product + (size_t)wide * (size_t)p;
            for (int c = lane; c < count; c += lanes) {
                double sum = 0.0;
                for (int m = 0; m < numbers; m++) sum += (double)E[coarser * m + c / coarser] * Q[coarser * m + c % coarser];
                out[(size_t)count * (size_t)e + (size_t)c] += sum;
            }
        }
    }
}

/* z_i = omega S_i r_i, or z_i += omega S_i (r_i - q_i). */
PD_AMG_FUNCTION void pd_amg_relax_node(const pd_amg_level *level, int columns, int i, const real *r, const real *q, real *z, int numbers) {
    const double *S = level->smoother + (size_t)(numbers * numbers) * (size_t)i;
    const double omega = pd_amg_relaxation(numbers);
    size_t begin = (size_t)i * (size_t)(numbers * columns);
    for (int column = 0; column < columns; column++) {
        double rest[6];
        for (int a = 0; a < numbers; a++) {
            size_t at = begin + (size_t)(a * columns + column);
            rest[a] = q ? (double)(r[at] - q[at]) : (double)r[at];
        }
        for (int a = 0; a < numbers; a++) {
            size_t at = begin + (size_t)(a * columns + column);
            double sum = 0.0;
            for (int m = 0; m < numbers; m++) sum += S[numbers * a + m] * rest[m];
            z[at] = (real)((q ? (double)z[at] : 0.0) + omega * sum);
        }
    }
}

/* q_i = sum A_ij z_j. */
PD_AMG_FUNCTION void pd_amg_multiply_node(const pd_amg_level *level, int columns, int i, const real *z, real *q, int numbers) {
    size_t count = (size_t)(numbers * numbers), wide = (size_t)(numbers * columns);
    for (int column = 0; column < columns; column++) {
        double sum[6] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
        for (int s = level->row_start[i]; s < level->row_start[i + 1]; s++) {
            const double *B = level->values + count * (size_t)s;
            const real *from = z + wide * (size_t)level->columns[s] + column;
            for (int m = 0; m < numbers; m++)
                for (int a = 0; a < numbers; a++) sum[a] += B[numbers * a + m] * (double)from[m * columns];
        }
        for (int a = 0; a < numbers; a++) q[wide * (size_t)i + (size_t)(a * columns + column)] = (real)sum[a];
    }
}

/* Row k of P^T (r - q), one column. */
PD_AMG_FUNCTION void pd_amg_restrict_row(const pd_amg_level *level, int columns, int k, int column, const real *r, const real *q,
                                         real *coarse, int numbers, int coarser, int lane, int lanes) {
    double sum[6] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
    for (int u = level->source_start[k]; u < level->source_start[k + 1]; u++) {
        const real *E = level->extension + (size_t)(numbers * coarser) * (size_t)level->sources[u];
        size_t begin = (size_t)level->source_rows[u] * (size_t)(numbers * columns) + (size_t)column;
        for (int m = 0; m < numbers; m++) {
            size_t at = begin + (size_t)(m * columns);
            double rest = (double)(r[at] - q[at]);
            for (int c = lane; c < coarser; c += lanes) sum[c] += (double)E[coarser * m + c] * rest;
        }
    }
    for (int c = lane; c < coarser; c += lanes)
        coarse[((size_t)k * (size_t)coarser + (size_t)c) * (size_t)columns + (size_t)column] = (real)sum[c];
}

/* z_i += sum P_ik coarse_k. */
PD_AMG_FUNCTION void pd_amg_extend_node(const pd_amg_level *level, int columns, int i, const real *coarse, real *z, int numbers,
                                        int coarser) {
    for (int column = 0; column < columns; column++) {
        double sum[6] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
        for (int t = level->extension_start[i]; t < level->extension_start[i + 1]; t++) {
            const real *E = level->extension + (size_t)(numbers * coarser) * (size_t)t;
            const real *from = coarse + (size_t)level->extension_columns[t] * (size_t)(coarser * columns) + column;
            for (int c = 0; c < coarser; c++)
                for (int a = 0; a < numbers; a++) sum[a] += (double)E[coarser * a + c] * (double)from[c * columns];
        }
        for (int a = 0; a < numbers; a++) z[((size_t)i * (size_t)numbers + (size_t)a) * (size_t)columns + (size_t)column] += (real)sum[a];
    }
}

#endif
