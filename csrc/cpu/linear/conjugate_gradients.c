/* The passes of preconditioned conjugate gradients. */
#include "updates/linear/conjugate_end.h"

#include "cpu/linear/rows.h"

#include <string.h>

/* Per column: the sum of the partial sums [blocks,stride] of one quantity, in order. */
static void add_columns(const double *partial, int blocks, int stride, int width, double *out) {
    for (int c = 0; c < width; c++) {
        double sum = 0.0;
        for (int b = 0; b < blocks; b++) sum += partial[(size_t)b * (size_t)stride + (size_t)c];
        out[c] = sum;
    }
}

PD_INLINE void product(const pd_matrix *A, int width, int begin, int end, const real *p, real *q, double *partial) {
    // few columns: in registers
    double few[PD_AT_ONCE], *out = partial + (size_t)width * (size_t)(begin / PD_SUM_BLOCK), *pq = width <= PD_AT_ONCE ? few : out;
    for (int c = 0; c < width; c++) pq[c] = 0.0;
    for (int i = begin; i < end; i++) {
        size_t row = (size_t)width * (size_t)i;
        real inside[3] = {0, 0, 0};
        int coupled = width == 3 && A->coupling;
        if (coupled) {
            for (size_t c = 0; c < 3; c++) inside[c] = p[row + c];
            pd_vertex_project(A->coupling + 3 * row, inside);
        }
        PD_FOR_COLUMNS(A, i, p, width, size_t j = row + (size_t)(first + c); q[j] = sum[c] + A->diagonal[i] * p[j];
                       if (coupled) q[j] += inside[c]; pq[first + c] += (double)p[j] * (double)q[j];)
    }
    if (pq != out) memcpy(out, pq, (size_t)width * sizeof(double));
}

size_t pd_pcg_direction_bytes(int n, int width) { return (size_t)n * (size_t)width * sizeof(real); }

pd_status pd_pcg_product(pd_context *context, const pd_matrix *matrix, int width, const real *p, real *q, double *sums) {
    PD_FOR_BLOCKS(context, matrix->n, PD_SUM_BLOCK, width, product(matrix, columns, begin, end, p, q, matrix->partial_sums))
    add_columns(matrix->partial_sums, pd_row_sum_blocks(matrix), width, width, sums);
    return PD_OK;
}

pd_status pd_join_columns(pd_context *context, int width, double *sums) {
    double total = 0.0;
    (void)context;
    for (int c = 0; c < width; c++) total += sums[c];
    for (int c = 0; c < width; c++) sums[c] = total;
    return PD_OK;
}

/* (M^-1 r)_j: with blocks of three rows, width is 1 and j the row. */
PD_INLINE real preconditioned(const pd_block_inverses *M, int block, int width, const real *r, size_t j) {
    if (block == 0) return M->inverse[j];
    if (block == 1) return M->inverse[j / (size_t)width] * r[j];
    const real *row = M->inverse + 3 * j, *v = r + j / 3 * 3;
    return row[0] * v[0] + row[1] * v[1] + row[2] * v[2];
}

/* Rows of a partial sum: a multiple of three, so that no 3x3 block of the preconditioner is cut. Sums run in LANES, added in order at
 * the end, since a single chain of additions would be slower than the memory. */
enum { ROWS = PD_SUM_BLOCK / 3 * 3, LANES = 4 };

/* numerator / denominator per column; 0 unless the denominator is positive. */
PD_INLINE real quotient(const double *numerator, const double *denominator, int c) {
    return denominator[c] > 0.0 ? (real)(numerator[c] / denominator[c]) : (real)0;
}

/* r.M^-1 r and r.r of one column over the rows of a block. */
PD_INLINE void add_products(const pd_block_inverses *M, int block, int width, int c, int begin, int end, const real *r, double *rz,
                            double *rr) {
    double z_lanes[LANES] = {0}, r_lanes[LANES] = {0};
    int i = begin;
    for (; i + LANES <= end; i += LANES)
        for (int lane = 0; lane < LANES; lane++) {
            size_t j = (size_t)width * (size_t)(i + lane) + (size_t)c;
            z_lanes[lane] += (double)r[j] * (double)preconditioned(M, block, width, r, j);
            r_lanes[lane] += (double)r[j] * (double)r[j];
        }
    for (; i < end; i++) {
        size_t j = (size_t)width * (size_t)i + (size_t)c;
        z_lanes[0] += (double)r[j] * (double)preconditioned(M, block, width, r, j);
        r_lanes[0] += (double)r[j] * (double)r[j];
    }
    *rz = (z_lanes[0] + z_lanes[1]) + (z_lanes[2] + z_lanes[3]);
    *rr = (r_lanes[0] + r_lanes[1]) + (r_lanes[2] + r_lanes[3]);
}

PD_INLINE void advance(const pd_matrix *A, int width, int begin, int end, const pd_block_inverses *M, int start, const double *sums,
                       int ended, const real *p, const real *q, real *d, real *r) {
    double *rz = A->partial_sums + 2 * (size_t)width * (size_t)(begin / ROWS);
    if (start) memset(d + (size_t)width * (size_t)begin, 0, (size_t)width * (size_t)(end - begin) * sizeof(real));
    for (int c = 0; c < width; c++) {
        real alpha = ended ? 0 : quotient(sums + width, sums, c);
        for (int i = begin; i < end && !start; i++) {
            size_t j = (size_t)width * (size_t)i + (size_t)c;
            d[j] += alpha * p[j];
            r[j] -= alpha * q[j];
        }
    }
    for (int c = 0; c < width; c++) { // blocks read all columns
        if (M->block == 1)
            add_products(M, 1, width, c, begin, end, r, rz + c, rz + width + c);
        else
            add_products(M, 3, width, c, begin, end, r, rz + c, rz + width + c);
    }
}

/* Updates rz_before, rz and rr from the partial sums, and the test for the end. */
static void renew(const pd_matrix *matrix, int width, int start, double *sums, pd_pcg_end by_itself) {
    int blocks = (matrix->n + ROWS - 1) / ROWS;
    for (int c = 0; c < width; c++) sums[2 * width + c] = sums[width + c];
    add_columns(matrix->partial_sums, blocks, 2 * width, width, sums + width);
    add_columns(matrix->partial_sums + width, blocks, 2 * width, width, sums + 3 * width);
    if (by_itself.why) pd_conjugate_renew(by_itself.why, start, sums[0], sums[3 * width], by_itself.norm);
}

pd_status pd_pcg_advance(pd_context *context, const pd_matrix *matrix, int width, const pd_block_inverses *M, int start, const real *p,
                         const real *q, real *d, real *r, double *sums, pd_pcg_end by_itself) {
    int ended = by_itself.why && *by_itself.why != PD_PCG_GOES_ON;
    PD_FOR_BLOCKS(context, matrix->n, ROWS, width, advance(matrix, columns, begin, end, M, start, sums, ended, p, q, d, r))
    renew(matrix, width, start, sums, by_itself);
    return PD_OK;
}

PD_INLINE void turn(int width, int begin, int end, const pd_block_inverses *M, int block, int start, const double *sums, const real *r,
                    real *p) {
    for (int c = 0; c < width; c++) {
        real beta = start ? 0 : quotient(sums + width, sums + 2 * width, c);
        for (int i = begin; i < end; i++) {
            size_t j = (size_t)width * (size_t)i + (size_t)c;
            p[j] = preconditioned(M, block, width, r, j) + beta * p[j];
        }
    }
}

/* Runs body with a constant `block`, that of M. */
#define PD_WITH_BLOCK(M, body)    \
    if ((M)->block == 1) {        \
        enum { block_of_M = 1 };  \
        body                      \
    } else if ((M)->block == 3) { \
        enum { block_of_M = 3 };  \
        body                      \
    } else {                      \
        enum { block_of_M = 0 };  \
        body                      \
    }

pd_status pd_pcg_redirect(pd_context *context, const pd_matrix *matrix, int width, const pd_block_inverses *M, int start, const real *r,
                          real *p, const double *sums) {
    if (start) memset(p, 0, (size_t)matrix->n * (size_t)width * sizeof(real)); // 0 times its old contents may be NaN
    PD_WITH_BLOCK(M, PD_FOR_BLOCKS(context, matrix->n, ROWS, width, turn(columns, begin, end, M, block_of_M, start, sums, r, p)))
    return PD_OK;
}

/* ---- the same passes for a separately applied preconditioner ------------------------------------------------------------------------- */

PD_INLINE void move(int width, int begin, int end, const real *p, const real *q, real *d, real *r, const double *sums) {
    for (int c = 0; c < width; c++) {
        real alpha = sums ? quotient(sums + width, sums, c) : (real)1;
        for (int i = begin; i < end; i++) {
            size_t j = (size_t)width * (size_t)i + (size_t)c;
            d[j] += alpha * p[j];
            if (q) r[j] -= alpha * q[j];
        }
    }
}

pd_status pd_pcg_move(pd_context *context, const pd_matrix *matrix, int width, const real *p, const real *q, real *d, real *r,
                      const double *sums, pd_pcg_end by_itself) {
    if (by_itself.why && *by_itself.why != PD_PCG_GOES_ON) return PD_OK;
    PD_FOR_BLOCKS(context, matrix->n, ROWS, width, move(columns, begin, end, p, q, d, r, sums))
    return PD_OK;
}

PD_INLINE void measure(const pd_matrix *A, int width, int begin, int end, const real *r, const pd_block_inverses *z) {
    double *rz = A->partial_sums + 2 * (size_t)width * (size_t)(begin / ROWS);
    for (int c = 0; c < width; c++) add_products(z, 0, width, c, begin, end, r, rz + c, rz + width + c);
}

pd_status pd_pcg_measure(pd_context *context, const pd_matrix *matrix, int width, int start, const real *r, const real *z, double *sums,
                         pd_pcg_end by_itself) {
    const pd_block_inverses applied = {0, (real *)z};
    PD_FOR_BLOCKS(context, matrix->n, ROWS, width, measure(matrix, columns, begin, end, r, &applied))
    renew(matrix, width, start, sums, by_itself);
    if (by_itself.why) *by_itself.why = pd_preconditioned_end(*by_itself.why, sums[width], sums[3 * width]);
    return PD_OK;
}

PD_INLINE void combine(int width, int begin, int end, const pd_block_inverses *M, int block, real scale, real keep, const real *r,
                       real *p) {
    for (size_t j = (size_t)width * (size_t)begin; j < (size_t)width * (size_t)end; j++) {
        real z = scale * preconditioned(M, block, width, r, j);
        p[j] = keep == 0 ? z : z + keep * p[j];
    }
}

pd_status pd_pcg_combine(pd_context *context, const pd_matrix *matrix, int width, const pd_block_inverses *M, double scale, double keep,
                         const real *r, real *p) {
    PD_WITH_BLOCK(
        M, PD_FOR_BLOCKS(context, matrix->n, ROWS, width, combine(columns, begin, end, M, block_of_M, (real)scale, (real)keep, r, p)))
    return PD_OK;
}
