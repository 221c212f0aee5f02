/* Loops over the rows of a sparse matrix that acts on every column of a vector alike.
 *
 * One and three columns are what almost every call has: the loops are compiled for these two and, for any other number, run over the
 * columns four at a time. A row's sum has the same order whatever the threads. */
#include "updates/linear/conjugate_end.h"

#include "cpu/context.h"

#include <string.h>

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

enum { AT_ONCE = 4 };

/* The matrix streams through once per sweep beside half a dozen other streams, which is more than the hardware prefetcher follows: asked
 * for AHEAD entries early, a sweep over a million rows takes half the time. A prefetch past the end of an array is harmless. */
enum { AHEAD = 512 };
#ifdef __GNUC__
#define PD_PREFETCH(address) __builtin_prefetch(address)
#else
#define PD_PREFETCH(address) ((void)0)
#endif

PD_INLINE void prefetch_row(const pd_matrix *A, int begin, int end) {
    enum { REALS = 64 / sizeof(real), INTS = 64 / sizeof(int) };
    PD_PREFETCH(A->values + begin + AHEAD);
    PD_PREFETCH(A->columns + begin + AHEAD);
    for (int s = begin + REALS; s < end; s += REALS) PD_PREFETCH(A->values + s + AHEAD);
    for (int s = begin + INTS; s < end; s += INTS) PD_PREFETCH(A->columns + s + AHEAD);
}

/* sum_c = sum over the row's entries of a x[column, first + c], without the diagonal, for `count` <= AT_ONCE columns. */
PD_INLINE void off_diagonal(const pd_matrix *A, int row, const real *x, int width, int first, int count, real *sum) {
    int begin = A->row_start[row], end = A->row_start[row + 1];
    if (first == 0) prefetch_row(A, begin, end);
    for (int c = 0; c < count; c++) sum[c] = 0;
    for (int s = begin; s < end; s++) {
        const real *v = x + (size_t)width * (size_t)A->columns[s] + first;
        real a = A->values[s];
        for (int c = 0; c < count; c++) sum[c] += a * v[c];
    }
}

/* Runs body with `first`, `count` and `sum` (the row times x) over the columns, AT_ONCE at a time. */
#define PD_FOR_COLUMNS(A, row, x, width, body)                                             \
    for (int first = 0; first < (width); first += AT_ONCE) {                               \
        int count = (width) - first < AT_ONCE ? (width) - first : AT_ONCE;                 \
        real sum[AT_ONCE];                                                                 \
        if ((width) <= AT_ONCE)                                                            \
            off_diagonal(A, row, x, width, 0, (width) < AT_ONCE ? (width) : AT_ONCE, sum); \
        else                                                                               \
            off_diagonal(A, row, x, width, first, count, sum);                             \
        for (int c = 0; c < count; c++) { body }                                           \
    }

static int sum_blocks(const pd_matrix *A) { return (A->n + PD_SUM_BLOCK - 1) / PD_SUM_BLOCK; }

PD_INLINE void multiply(const pd_matrix *A, int width, int begin, int end, const real *x, real *y) {
    for (int i = begin; i < end; i++) {
        size_t row = (size_t)width * (size_t)i;
        PD_FOR_COLUMNS(A, i, x, width, y[row + (size_t)(first + c)] = sum[c] + A->diagonal[i] * x[row + (size_t)(first + c)];)
    }
}

pd_status pd_matrix_multiply(pd_context *context, const pd_matrix *matrix, int width, const real *x, real *y) {
    PD_FOR_BLOCKS(context, matrix->n, PD_SUM_BLOCK, width, multiply(matrix, columns, begin, end, x, y))
    return PD_OK;
}

PD_INLINE void correct(const pd_matrix *A, int width, int begin, int end, real scale, const real *r, const real *d, real *q) {
    for (int i = begin; i < end; i++) {
        size_t row = (size_t)width * (size_t)i;
        real weight = scale / A->diagonal[i];
        PD_FOR_COLUMNS(A, i, d, width, size_t j = row + (size_t)(first + c); q[j] = weight * (r[j] - sum[c] - A->diagonal[i] * d[j]);)
    }
}

pd_status pd_matrix_correction(pd_context *context, const pd_matrix *matrix, int width, double scale, const real *r, const real *d,
                               real *q) {
    PD_FOR_BLOCKS(context, matrix->n, PD_SUM_BLOCK, width, correct(matrix, columns, begin, end, (real)scale, r, d, q))
    return PD_OK;
}

/* pd_vertex_project in double. */
PD_INLINE void project_defect(const real *P, double *v) {
    double whole[3] = {v[0], v[1], v[2]};
    for (int c = 0; c < 3; c++) v[c] = (double)P[3 * c] * whole[0] + (double)P[3 * c + 1] * whole[1] + (double)P[3 * c + 2] * whole[2];
}

/* move [3] = (a_ii I + B_i)^-1 (r - A d)_i of a matrix with blocks on its diagonal; row of A, i the vertex. */
PD_INLINE void coupled_move(const pd_matrix *A, int row, int i, const real *r, const real *d, real *move) {
    const real *own = d + 3 * (size_t)i;
    real inside[3] = {own[0], own[1], own[2]}, sum[3];
    off_diagonal(A, row, d, 3, 0, 3, sum);
    pd_vertex_project(A->coupling + 9 * (size_t)i, inside);
    for (size_t c = 0; c < 3; c++) move[c] = r[3 * (size_t)i + c] - sum[c] - A->diagonal[row] * own[c] - inside[c];
    pd_vertex_project(A->inverses + 9 * (size_t)i, move);
}

/* Partial sums of a block of rows: |P (r - A d)|^2 and |d - target|^2. */
PD_INLINE void measure_rows(const pd_matrix *A, int width, int begin, int end, const real *r, const real *d, const real *target,
                            double *residual, double *distance) {
    double squares = 0.0, differences = 0.0;
    for (int i = begin; i < end; i++) {
        const real *x = d + (size_t)width * (size_t)i;
        int start = A->row_start[i], stop = A->row_start[i + 1];
        prefetch_row(A, start, stop);
        for (int first = 0; first < width; first += AT_ONCE) {
            int count = width - first < AT_ONCE ? width - first : AT_ONCE;
            double sum[AT_ONCE];
            for (int c = 0; c < count; c++) sum[c] = (double)A->diagonal[i] * (double)x[first + c];
            for (int s = start; s < stop; s++) {
                const real *v = d + (size_t)width * (size_t)A->columns[s] + first;
                for (int c = 0; c < count; c++) sum[c] += (double)A->values[s] * (double)v[c];
            }
            double defect[AT_ONCE];
            for (int c = 0; c < count; c++) defect[c] = (double)r[(size_t)width * (size_t)i + (size_t)(first + c)] - sum[c];
            if (width == 3 && A->subspace) project_defect(A->subspace + 9 * (size_t)i, defect);
            for (size_t c = 0; width == 3 && A->coupling && c < 9; c++)
                defect[c / 3] -= (double)A->coupling[9 * (size_t)i + c] * (double)x[c % 3];
            for (int c = 0; c < count; c++) {
                size_t j = (size_t)width * (size_t)i + (size_t)(first + c);
                double difference = target ? (double)d[j] - (double)target[j] : 0.0;
                squares += defect[c] * defect[c];
                differences += difference * difference;
            }
        }
    }
    *residual = squares;
    *distance = differences;
}

pd_status pd_matrix_residual(pd_context *context, const pd_matrix *matrix, int width, const real *r, const real *d, const real *target,
                             double *out) {
    double *sums = matrix->partial_sums;
    int blocks = sum_blocks(matrix);
    PD_FOR_BLOCKS(context, matrix->n, PD_SUM_BLOCK, width,
                  measure_rows(matrix, columns, begin, end, r, d, target, sums + block, sums + blocks + block))
    out[0] = pd_add_partial_sums(sums, blocks);
    out[1] = pd_add_partial_sums(sums + blocks, blocks);
    return PD_OK;
}

pd_status pd_matrix_dot(pd_context *context, const pd_matrix *matrix, int width, const real *x, const real *y, double *out) {
    *out = pd_dot_of_rows(context, matrix->n, width, x, y, matrix->partial_sums);
    return PD_OK;
}

/* ---- Jacobi and extrapolation -------------------------------------------------------------------------------------------------- */

/* One sweep into `previous`; see pd_jacobi_sweeps. Without extrapolation `previous` is only written. */
PD_INLINE void sweep(const pd_matrix *A, int width, int begin, int end, const real *r, real weight, real omega, int extrapolate,
                     const real *d, real *previous) {
    for (int i = begin; i < end; i++) {
        size_t row = (size_t)width * (size_t)i;
        if (width == 3 && A->coupling) {
            real move[3];
            coupled_move(A, i, i, r, d, move);
            for (size_t j = row; j < row + 3; j++) {
                real relaxed = weight * move[j - row] + d[j];
                previous[j] = extrapolate ? omega * (relaxed - previous[j]) + previous[j] : relaxed;
            }
            continue;
        }
        real scale = weight / A->diagonal[i];
        PD_FOR_COLUMNS(A, i, d, width, size_t j = row + (size_t)(first + c);
                       real relaxed = scale * (r[j] - sum[c] - A->diagonal[i] * d[j]) + d[j];
                       previous[j] = extrapolate ? omega * (relaxed - previous[j]) + previous[j] : relaxed;)
    }
}

size_t pd_iterates_scratch(int n, int width, int iterates) {
    (void)n, (void)width, (void)iterates;
    return 0;
}

pd_status pd_jacobi_sweeps(pd_context *context, const pd_matrix *matrix, int width, const real *residual, double weight,
                           const double *omegas, int n_sweeps, int from_to, pd_sweep_ends ends, real *buffers[2]) {
    int n = matrix->n, from_zero = from_to & PD_SWEEPS_FROM_ZERO;
    real w = (real)weight;
    pd_status status = pd_gather_now(context, ends.gather);
    if (status) return status;
    for (int k = 0; k < n_sweeps; k++) {
        real *d = buffers[0], *next = buffers[1], omega = (real)omegas[k];
        if (k == 0 && from_zero) {
#pragma omp parallel for num_threads(pd_threads(context, n, 2 * width)) schedule(static)
            for (int i = 0; i < n; i++) {
                real scale = omega * (w / matrix->diagonal[i]);
                size_t row = (size_t)width * (size_t)i;
                for (size_t j = row; j < row + (size_t)width; j++) next[j] = scale * residual[j];
                if (width != 3 || !matrix->coupling) continue;
                for (size_t c = 0; c < 3; c++) next[row + c] = omega * w * residual[row + c];
                pd_vertex_project(matrix->inverses + 3 * row, next + row);
            }
            // the next sweep reads this iterate, which was zero
            if (n_sweeps > 1 && omegas[1] != 1.0) memset(d, 0, (size_t)n * (size_t)width * sizeof(real));
        } else if (omegas[k] != 1.0) {
            PD_FOR_BLOCKS(context, n, PD_SUM_BLOCK, width, sweep(matrix, columns, begin, end, residual, w, omega, 1, d, next))
        } else {
            PD_FOR_BLOCKS(context, n, PD_SUM_BLOCK, width, sweep(matrix, columns, begin, end, residual, w, omega, 0, d, next))
        }
        buffers[0] = next;
        buffers[1] = d;
    }
    return pd_move_now(context, ends.move, buffers[0]);
}

pd_status pd_extrapolate(pd_context *context, const pd_matrix *matrix, int width, double omega, double gamma, const real *hat,
                         const real *d, real *previous) {
    size_t count = (size_t)matrix->n * (size_t)width;
    int plain = omega == 1.0 && gamma == 1.0;
    real o = (real)omega, g = (real)gamma;
#pragma omp parallel for num_threads(pd_threads(context, (long long)count, 1)) schedule(static)
    for (size_t j = 0; j < count; j++) previous[j] = plain ? hat[j] : o * (g * (hat[j] - d[j]) + d[j] - previous[j]) + previous[j];
    return PD_OK;
}

/* ---- Gauss-Seidel ----------------------------------------------------------------------------------------------------------------- */

PD_INLINE void relax_row(const pd_coloured_matrix *C, int slot, int width, const real *r, real omega, real *d) {
    const pd_matrix *A = &C->matrix;
    size_t begin = (size_t)width * (size_t)C->rows[slot];
    real scale = omega / A->diagonal[slot];
    if (width == 3 && A->subspace) {
        real sum[3], move[3];
        off_diagonal(A, slot, d, 3, 0, 3, sum);
        for (size_t c = 0; c < 3; c++) move[c] = scale * (r[begin + c] - sum[c] - A->diagonal[slot] * d[begin + c]);
        pd_vertex_project(A->subspace + 3 * begin, move);
        for (size_t c = 0; c < 3; c++) d[begin + c] += move[c];
        return;
    }
    if (width == 3 && A->coupling) {
        real move[3];
        coupled_move(A, slot, C->rows[slot], r, d, move);
        for (size_t c = 0; c < 3; c++) d[begin + c] += omega * move[c];
        return;
    }
    PD_FOR_COLUMNS(A, slot, d, width, size_t j = begin + (size_t)(first + c); d[j] += scale * (r[j] - sum[c] - A->diagonal[slot] * d[j]);)
}

PD_INLINE void relax_rows(const pd_coloured_matrix *C, int width, int begin, int end, const real *r, real omega, int backward, real *d) {
    if (backward)
        for (int t = end - 1; t >= begin; t--) relax_row(C, t, width, r, omega, d);
    else
        for (int t = begin; t < end; t++) relax_row(C, t, width, r, omega, d);
}

static void relax_colours(pd_context *context, const pd_coloured_matrix *coloured, int width, const real *residual, real omega,
                          int backward, real *d) {
    for (int k = 0; k < coloured->n_colours; k++) {
        int colour = backward ? coloured->n_colours - 1 - k : k, start = coloured->colour_start[colour];
        int rows = coloured->colour_start[colour + 1] - start;
        if (coloured->sequential) {
            relax_rows(coloured, width, start, start + rows, residual, omega, backward, d);
            continue;
        }
        PD_FOR_BLOCKS(context, rows, PD_SUM_BLOCK, width, relax_rows(coloured, columns, start + begin, start + end, residual, omega, 0, d))
    }
}

pd_status pd_gauss_seidel_sweeps(pd_context *context, const pd_coloured_matrix *coloured, int width, const real *residual, double omega,
                                 int n_sweeps, int symmetric, const real *from, real *d) {
    size_t bytes = (size_t)coloured->matrix.n * (size_t)width * sizeof(real);
    pd_status status = PD_OK;
    if (!from)
        status = pd_memory_clear(context, d, bytes);
    else if (from != d)
        status = pd_memory_copy(context, d, from, bytes);
    for (int k = 0; k < n_sweeps && !status; k++) {
        relax_colours(context, coloured, width, residual, (real)omega, 0, d);
        if (symmetric) relax_colours(context, coloured, width, residual, (real)omega, 1, d);
    }
    return status;
}

/* ---- conjugate gradients ------------------------------------------------------------------------------------------------------------ */

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
    double few[AT_ONCE], *out = partial + (size_t)width * (size_t)(begin / PD_SUM_BLOCK), *pq = width <= AT_ONCE ? few : out;
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
    add_columns(matrix->partial_sums, sum_blocks(matrix), width, width, sums);
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
PD_INLINE real preconditioned(const pd_preconditioner *M, int block, int width, const real *r, size_t j) {
    if (block == 1) return M->inverse[j / (size_t)width] * r[j];
    const real *row = M->inverse + 3 * j, *v = r + j / 3 * 3;
    return row[0] * v[0] + row[1] * v[1] + row[2] * v[2];
}

/* Rows of a partial sum: a multiple of three, so that no 3x3 block of the preconditioner is cut. Sums run in LANES, added in order at
 * the end: one chain of additions would be slower than the memory. */
enum { ROWS = PD_SUM_BLOCK / 3 * 3, LANES = 4 };

/* numerator / denominator per column, 0 where the denominator is not positive. */
PD_INLINE real quotient(const double *numerator, const double *denominator, int c) {
    return denominator[c] > 0.0 ? (real)(numerator[c] / denominator[c]) : (real)0;
}

/* r.M^-1 r and r.r of one column over the rows of a block. */
PD_INLINE void add_products(const pd_preconditioner *M, int block, int width, int c, int begin, int end, const real *r, double *rz,
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

PD_INLINE void advance(const pd_matrix *A, int width, int begin, int end, const pd_preconditioner *M, int start, const double *sums,
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

pd_status pd_pcg_advance(pd_context *context, const pd_matrix *matrix, int width, const pd_preconditioner *M, int start, const real *p,
                         const real *q, real *d, real *r, double *sums, pd_pcg_end by_itself) {
    int blocks = (matrix->n + ROWS - 1) / ROWS, ended = by_itself.why && *by_itself.why != PD_PCG_GOES_ON;
    PD_FOR_BLOCKS(context, matrix->n, ROWS, width, advance(matrix, columns, begin, end, M, start, sums, ended, p, q, d, r))
    for (int c = 0; c < width; c++) sums[2 * width + c] = sums[width + c];
    add_columns(matrix->partial_sums, blocks, 2 * width, width, sums + width);
    add_columns(matrix->partial_sums + width, blocks, 2 * width, width, sums + 3 * width);
    if (by_itself.why) *by_itself.why = start ? PD_PCG_GOES_ON : pd_conjugate_end(*by_itself.why, sums[0], sums[3 * width], by_itself.norm);
    return PD_OK;
}

PD_INLINE void turn(int width, int begin, int end, const pd_preconditioner *M, int block, int start, const double *sums, const real *r,
                    real *p) {
    for (int c = 0; c < width; c++) {
        real beta = start ? 0 : quotient(sums + width, sums + 2 * width, c);
        for (int i = begin; i < end; i++) {
            size_t j = (size_t)width * (size_t)i + (size_t)c;
            p[j] = preconditioned(M, block, width, r, j) + beta * p[j];
        }
    }
}

pd_status pd_pcg_redirect(pd_context *context, const pd_matrix *matrix, int width, const pd_preconditioner *M, int start, const real *r,
                          real *p, const double *sums) {
    if (start) memset(p, 0, (size_t)matrix->n * (size_t)width * sizeof(real)); // it may hold anything, and 0 times that
    if (M->block == 1) {
        PD_FOR_BLOCKS(context, matrix->n, ROWS, width, turn(columns, begin, end, M, 1, start, sums, r, p))
    } else {
        PD_FOR_BLOCKS(context, matrix->n, ROWS, width, turn(columns, begin, end, M, 3, start, sums, r, p))
    }
    return PD_OK;
}
