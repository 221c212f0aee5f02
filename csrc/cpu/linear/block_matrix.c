/* Loops over a sparse operator in blocks of neighbouring rows; see pd_block_matrix in matrix_loops.h. */
#include "loops/matrix_loops.h"

#include "cpu/context.h"

#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_thread_num(void) { return 0; }
#endif

/* One row: sums per segment, added in order, as the threads of a GPU do it. x: the block's columns, [list,width]. */
PD_INLINE void row_product(const pd_block_matrix *P, int slot, int width, int column, int count, const real *x, real *total) {
    for (int c = 0; c < count; c++) total[c] = 0;
    for (int s = P->segment_start[slot]; s < P->segment_start[slot + 1]; s++) {
        real sum[3] = {0, 0, 0};
        for (int e = P->entry_start[s]; e < P->entry_start[s + 1]; e++) {
            const real *v = x + (size_t)P->local[e] * (size_t)width + column;
            real a = P->values[e];
            for (int c = 0; c < count; c++) sum[c] += a * v[c];
        }
        for (int c = 0; c < count; c++) total[c] += sum[c];
    }
}

PD_INLINE void block(const pd_block_matrix *P, int b, int width, const real *in, const real *add, real omega, real gamma, int plain,
                     const real *d, real *previous, real *x) {
    int begin = P->list_start[b], length = P->list_start[b + 1] - begin;
    int last = (b + 1) * PD_BLOCK_ROWS < P->n ? (b + 1) * PD_BLOCK_ROWS : P->n;
    for (int k = 0; k < length; k++)
        for (int c = 0; c < width; c++) x[width * k + c] = in[(size_t)width * (size_t)P->list[begin + k] + (size_t)c];
    for (int t = b * PD_BLOCK_ROWS; t < last; t++)
        for (int first = 0; first < width; first += 3) {
            int count = width - first < 3 ? width - first : 3;
            real total[3];
            if (width <= 3)
                row_product(P, t, width, 0, width < 3 ? width : 3, x, total);
            else
                row_product(P, t, width, first, count, x, total);
            for (int c = 0; c < count; c++) {
                size_t j = (size_t)width * (size_t)P->rows[t] + (size_t)(first + c);
                real hat = total[c] + add[j];
                previous[j] = plain ? hat : omega * (gamma * (hat - d[j]) + d[j] - previous[j]) + previous[j];
            }
        }
}

size_t pd_block_scratch(const pd_context *context, const pd_block_matrix *P, int width) {
    return (size_t)pd_context_threads(context) * (size_t)P->largest_list * (size_t)width * sizeof(real);
}

pd_status pd_block_sweep(pd_context *context, const pd_block_matrix *P, int width, const real *in, const real *add, double omega,
                         double gamma, const real *d, real *previous) {
    int plain = omega == 1.0 && gamma == 1.0;
    real o = (real)omega, g = (real)gamma;
#pragma omp parallel for num_threads(pd_threads(context, P->n, 50 * width)) schedule(static)
    for (int b = 0; b < P->n_blocks; b++) {
        real *x = P->scratch + (size_t)omp_get_thread_num() * (size_t)P->largest_list * (size_t)width;
        if (width == 1)
            block(P, b, 1, in, add, o, g, plain, d, previous, x);
        else if (width == 3)
            block(P, b, 3, in, add, o, g, plain, d, previous, x);
        else
            block(P, b, width, in, add, o, g, plain, d, previous, x);
    }
    return PD_OK;
}

pd_status pd_block_sweeps(pd_context *context, const pd_block_matrix *P, int width, const real *add, const double *omegas, double gamma,
                          int n_sweeps, int from_to, const pd_move *move, real *buffers[2]) {
    if (from_to & PD_SWEEPS_FROM_CONSTANT) {
        size_t bytes = (size_t)P->n * (size_t)width * sizeof(real);
        memcpy(buffers[0], add, bytes);
        if (omegas[0] != 1.0 || gamma != 1.0) memset(buffers[1], 0, bytes);
    }
    for (int k = 0; k < n_sweeps; k++) {
        real *d = buffers[0], *previous = buffers[1];
        pd_block_sweep(context, P, width, d, add, omegas[k], gamma, d, previous);
        buffers[0] = previous;
        buffers[1] = d;
    }
    return pd_move_now(context, move, buffers[0]);
}

/* Rows per piece of a dynamic schedule: the marked ones may all be close together. */
enum { ROWS_AT_ONCE = 64 };

pd_status pd_refresh_products(pd_context *context, const pd_path_products *paths, const pd_block_matrix *P, const real *diagonal, double a,
                              double b, double c, const unsigned char *marks) {
#pragma omp parallel for num_threads(pd_threads(context, P->n, 500)) schedule(dynamic, ROWS_AT_ONCE)
    for (int t = 0; t < P->n; t++) {
        if (!marks[P->rows[t]]) continue;
        int end = P->entry_start[P->segment_start[t + 1]];
        real inverse = 1 / diagonal[P->rows[t]];
        for (int e = P->entry_start[P->segment_start[t]]; e < end; e++) {
            real sum = 0;
            for (long long p = paths->path_start[e]; p < paths->path_start[e + 1]; p++) sum += paths->products[p] / diagonal[paths->via[p]];
            P->values[e] = (real)a * (real)paths->own[e] + inverse * ((real)b * paths->hops[e] + (real)c * sum);
        }
    }
    return PD_OK;
}
