/* The loops over the domains of an additive Schwarz preconditioner; see loops/schwarz_loops.h. */
#include "updates/linear/schwarz.h"

#include "cpu/context.h"

#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_thread_num(void) { return 0; }
#endif

size_t pd_schwarz_scratch(const pd_context *context, int n_domains, int largest, int *workers) {
    (void)n_domains;
    *workers = pd_context_threads(context);
    return (size_t)*workers * pd_domain_scratch(largest) * sizeof(double);
}

pd_status pd_schwarz_place(pd_context *context, const pd_schwarz_level *level, const real *points) {
#pragma omp parallel for num_threads(pd_threads(context, level->n, 10)) schedule(static)
    for (int k = 0; k < level->n_domains; k++) pd_domain_place(level, points, k);
    return PD_OK;
}

pd_status pd_schwarz_gather(pd_context *context, const pd_node_matrix *matrix, const pd_schwarz_level *fine,
                            const pd_schwarz_level *coarse) {
    size_t count = (size_t)coarse->numbers * (size_t)coarse->numbers;
#pragma omp parallel for num_threads(pd_threads(context, fine->n_entries, 30)) schedule(static)
    for (int e = 0; e < coarse->n_entries; e++) pd_coarser_entry(matrix, fine, coarse, e, coarse->values + count * (size_t)e);
    return PD_OK;
}

pd_status pd_schwarz_invert(pd_context *context, const pd_node_matrix *matrix, const pd_schwarz_level *level, void *scratch, int workers) {
    int threads = pd_threads(context, level->n, 2000);
    size_t each = pd_domain_scratch(level->largest * level->numbers);
    if (threads > workers) threads = workers;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int k = 0; k < level->n_domains; k++)
        pd_domain_invert(matrix, level, k, (double *)scratch + (size_t)omp_get_thread_num() * each, 0, 1);
    return PD_OK;
}

pd_status pd_schwarz_count(pd_context *context, const double *flags, int n, double *out) {
    (void)context;
    *out = pd_add_partial_sums(flags, n);
    return PD_OK;
}

/* y [m] = inverse x: the inverse is symmetric, and its rows are added up, so that every addition is one of vectors. */
static void multiply(const real *inverse, int m, const real *x, real *y) {
    for (int i = 0; i < m; i++) y[i] = 0;
    for (int j = 0; j < m; j++) {
        const real *row = inverse + (size_t)j * (size_t)m;
        for (int i = 0; i < m; i++) y[i] += x[j] * row[i];
    }
}

/* One column of domain k. */
static void restrict_domain(const pd_schwarz_level *level, int k, int columns, int column, const real *r, real *z, real *coarse) {
    int begin = level->domain_start[k], nodes = level->domain_start[k + 1] - begin, w = level->numbers;
    real x[PD_MOST_DOMAIN_UNKNOWNS], y[PD_MOST_DOMAIN_UNKNOWNS];
    for (int t = 0; t < nodes; t++)
        for (int a = 0; a < w; a++)
            x[t * w + a] = r[((size_t)level->nodes[begin + t] * (size_t)w + (size_t)a) * (size_t)columns + (size_t)column];
    multiply(level->inverses + level->inverse_start[k], nodes * w, x, y);
    for (int t = 0; t < nodes; t++)
        for (int a = 0; a < w; a++)
            z[((size_t)level->nodes[begin + t] * (size_t)w + (size_t)a) * (size_t)columns + (size_t)column] = y[t * w + a];
    for (int a = 0; a < level->coarser && coarse; a++) {
        real sum = 0;
        for (int t = 0; t < nodes; t++)
            sum += pd_node_force(w, a, level->arms ? level->arms + 3 * (size_t)level->nodes[begin + t] : NULL, x + t * w, 1);
        coarse[((size_t)k * (size_t)level->coarser + (size_t)a) * (size_t)columns + (size_t)column] = sum;
    }
}

pd_status pd_schwarz_restrict(pd_context *context, const pd_schwarz_level *level, int columns, const real *r, real *z, real *coarse) {
#pragma omp parallel for num_threads(pd_threads(context, level->n, 100 * columns)) schedule(static)
    for (int k = 0; k < level->n_domains; k++)
        for (int column = 0; column < columns; column++) restrict_domain(level, k, columns, column, r, z, coarse);
    return PD_OK;
}

pd_status pd_schwarz_extend(pd_context *context, const pd_schwarz_level *level, int columns, const real *coarse, real *z) {
    size_t here = (size_t)level->numbers * (size_t)columns, there = (size_t)level->coarser * (size_t)columns;
#pragma omp parallel for num_threads(pd_threads(context, level->n, 5 * columns)) schedule(static)
    for (int i = 0; i < level->n; i++) {
        if (level->domain[i] < 0) continue;
        for (int c = 0; c < columns; c++)
            pd_node_extend(level->numbers, level->coarser, level->arms ? level->arms + 3 * (size_t)i : NULL,
                           coarse + there * (size_t)level->domain[i] + c, columns, z + here * (size_t)i + c);
    }
    return PD_OK;
}
