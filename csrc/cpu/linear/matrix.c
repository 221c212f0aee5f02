/* Loops over the rows of a sparse matrix that acts on every column of a vector separately. */
#include "cpu/linear/rows.h"

#include <string.h>

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
    pd_row_product(A, row, d, 3, 0, 3, sum);
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
        pd_prefetch_row(A, start, stop);
        for (int first = 0; first < width; first += PD_AT_ONCE) {
            int count = width - first < PD_AT_ONCE ? width - first : PD_AT_ONCE;
            double sum[PD_AT_ONCE];
            for (int c = 0; c < count; c++) sum[c] = (double)A->diagonal[i] * (double)x[first + c];
            for (int s = start; s < stop; s++) {
                const real *v = d + (size_t)width * (size_t)A->columns[s] + first;
                for (int c = 0; c < count; c++) sum[c] += (double)A->values[s] * (double)v[c];
            }
            double defect[PD_AT_ONCE];
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
    int blocks = pd_row_sum_blocks(matrix);
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
        pd_row_product(A, slot, d, 3, 0, 3, sum);
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
