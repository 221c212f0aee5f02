/* Loops over the changing diagonal of a matrix, and over the affected rows of an aggregated operator; see matrix_loops.h.
 *
 * This file is compiled without contraction of a*b + c, here and for CUDA: both give the same bits in double, on any processor. */
#include "cpu/context.h"
#include "updates/linear/aggregated_row.h"
#include "updates/linear/preconditioner.h"

#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_thread_num(void) { return 0; }
#endif

/* Rows per piece of a dynamic schedule: the marked ones may all be close together. */
enum { ROWS_AT_ONCE = 64 };

pd_status pd_diagonal_sum(pd_context *context, int n, const double *base, const double *added, double *total) {
#pragma omp parallel for num_threads(pd_threads(context, n, 1)) schedule(static)
    for (int i = 0; i < n; i++) total[i] = base[i] + (added ? added[i] : 0.0);
    return PD_OK;
}

pd_status pd_diagonal_round(pd_context *context, int n, const double *total, const int *rows, real *rounded) {
#pragma omp parallel for num_threads(pd_threads(context, n, 1)) schedule(static)
    for (int t = 0; t < n; t++) rounded[t] = (real)total[rows ? rows[t] : t];
    return PD_OK;
}

pd_status pd_diagonal_inverses(pd_context *context, int n, const double *blocks, const double *total, const pd_block_inverses *M) {
    if (M->block == 1) {
#pragma omp parallel for num_threads(pd_threads(context, n, 2)) schedule(static)
        for (int i = 0; i < n; i++) M->inverse[i] = (real)(1.0 / total[i]);
        return PD_OK;
    }
#pragma omp parallel for num_threads(pd_threads(context, n / 3, 20)) schedule(static)
    for (int b = 0; b < n / 3; b++) {
        double inverse[9];
        pd_inverse_on_diagonal(blocks + 9 * (size_t)b, total + 3 * (size_t)b, inverse);
        for (int i = 0; i < 9; i++) M->inverse[9 * (size_t)b + (size_t)i] = (real)inverse[i];
    }
    return PD_OK;
}

pd_status pd_coupled_inverses(pd_context *context, int n, const double *total, const real *coupling, real *inverses) {
#pragma omp parallel for num_threads(pd_threads(context, n, 20)) schedule(static)
    for (int i = 0; i < n; i++) pd_coupled_inverse(total[i], coupling + 9 * (size_t)i, inverses + 9 * (size_t)i);
    return PD_OK;
}

pd_status pd_diagonal_compare(pd_context *context, int n, const double *total, double *last, unsigned char *marks) {
#pragma omp parallel for num_threads(pd_threads(context, n, 1)) schedule(static)
    for (int i = 0; i < n; i++) {
        marks[i] = total[i] != last[i];
        last[i] = total[i];
    }
    return PD_OK;
}

pd_status pd_marks_spread(pd_context *context, int n, const int *row_start, const int *columns, const unsigned char *marks,
                          unsigned char *wider) {
#pragma omp parallel for num_threads(pd_threads(context, n, 10)) schedule(static)
    for (int i = 0; i < n; i++) {
        unsigned char mark = marks[i];
        for (int s = row_start[i]; s < row_start[i + 1] && !mark; s++) mark = marks[columns[s]];
        wider[i] = mark;
    }
    return PD_OK;
}

/* ---- rows of an aggregated operator ------------------------------------------------------------------------------------------------- */

size_t pd_row_scratch(const pd_context *context, int n, int largest_support, int *workers) {
    *workers = context->threads;
    return (size_t)*workers * pd_row_memory_bytes(n, largest_support, 1);
}

pd_status pd_refresh_rows(pd_context *context, const pd_row_polynomial *polynomial, const pd_block_matrix *P, const double *diagonal,
                          const unsigned char *marks) {
    size_t bytes = pd_row_memory_bytes(P->n, polynomial->largest_support, 1);
    int threads = pd_threads(context, P->n, 1000);
    if (threads > polynomial->workers) threads = polynomial->workers;
#pragma omp parallel num_threads(threads)
    {
        pd_row_memory memory =
            pd_row_memory_at((char *)polynomial->scratch + (size_t)omp_get_thread_num() * bytes, P->n, polynomial->largest_support, 1);
        int mapped = -1; // the block of the support in `position`
#pragma omp for schedule(dynamic, ROWS_AT_ONCE)
        for (int t = 0; t < P->n; t++) {
            if (!marks[P->rows[t]]) continue;
            int block = t / PD_BLOCK_ROWS, begin = polynomial->support_start[block];
            for (int s = begin; block != mapped && s < polynomial->support_start[block + 1]; s++)
                memory.position[polynomial->support[s]] = s - begin;
            mapped = block;
            pd_aggregated_row(polynomial, P, diagonal, t, &memory, 0, 1);
        }
    }
    return PD_OK;
}
