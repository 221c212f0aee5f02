/* The loops of Anderson acceleration. */
#include "cpu/context.h"
#include "updates/linear/anderson_entry.h"

static double dot(const pd_anderson_part *part, int first, int last, const real *a, const real *b) {
    size_t width = (size_t)part->width;
    double sum = 0.0;
    if (!part->row_weights && !part->fixed) {
        for (size_t e = width * (size_t)first; e < width * (size_t)last; e++) sum += (double)a[e] * (double)b[e];
        return part->scale * sum;
    }
    for (int i = first; i < last; i++) {
        double row = 0.0;
        if (part->fixed && part->fixed[i]) continue;
        for (size_t e = width * (size_t)i; e < width * (size_t)(i + 1); e++) row += (double)a[e] * (double)b[e];
        sum += part->row_weights ? (double)part->row_weights[i] * row : row;
    }
    return part->scale * sum;
}

pd_status pd_anderson_record(pd_context *context, const pd_anderson_part *part, int window, const pd_anderson_state *state, double *sums) {
    const int blocks = (part->n + PD_SUM_BLOCK - 1) / PD_SUM_BLOCK, count = pd_anderson_sums(window);
    const size_t width = (size_t)part->width, size = (size_t)part->n * width;
    const int begun = state->begun, stored = pd_anderson_stored(state, window);
    real *df = part->df + (size_t)state->next * size, *dg = part->dg + (size_t)state->next * size;
#pragma omp parallel for num_threads(pd_threads(context, part->n, (2 * stored + 4) * part->width)) schedule(static)
    for (int b = 0; b < blocks; b++) {
        int first = b * PD_SUM_BLOCK, last = first + PD_SUM_BLOCK < part->n ? first + PD_SUM_BLOCK : part->n;
        double *partial = part->partial_sums + (size_t)b * (size_t)count;
        for (size_t e = width * (size_t)first; e < width * (size_t)last; e++) pd_anderson_record_entry(part, e, begun, df, dg);
        for (int j = 0; j < stored; j++) {
            const real *other = part->df + (size_t)j * size;
            partial[j] = dot(part, first, last, df, other);
            partial[window + j] = dot(part, first, last, part->last_f, other);
        }
        partial[2 * window] = dot(part, first, last, part->last_f, part->last_f);
        partial[2 * window + 1] = part->positions ? dot(part, first, last, part->positions, part->positions) : 0.0;
    }
    for (int k = 0; k < count; k++) {
        sums[k] = 0.0;
        if (k < 2 * window && k % window >= stored) continue;
        for (int b = 0; b < blocks; b++) sums[k] += part->partial_sums[(size_t)b * (size_t)count + (size_t)k];
    }
    return PD_OK;
}

pd_status pd_anderson_find(pd_context *context, pd_anderson_state *state, const double *sums, int n_parts, int window,
                           double regularization, double growth) {
    (void)context;
    pd_anderson_advance(state, sums, n_parts, window, regularization, growth);
    return PD_OK;
}

pd_status pd_anderson_decide(pd_context *context, pd_anderson_state *state, const double *energies, int n, int n_vertices,
                             const double stiffness[2]) {
    (void)context;
    pd_anderson_accept(state, energies, n, n_vertices, stiffness[0], stiffness[1]);
    return PD_OK;
}

pd_status pd_anderson_combine(pd_context *context, const pd_anderson_part *part, int window, const pd_anderson_state *state, real *out) {
    const size_t size = (size_t)part->n * (size_t)part->width, width = (size_t)part->width;
    int used[PD_ANDERSON_LARGEST_WINDOW], n_used = 0;
    for (int j = 0; j < window; j++)
        if (state->weights[j] != 0.0) used[n_used++] = j;
#pragma omp parallel for num_threads(pd_threads(context, part->n, (n_used + 2) * part->width)) schedule(static)
    for (int i = 0; i < part->n; i++)
        for (size_t e = width * (size_t)i; e < width * (size_t)(i + 1); e++) {
            real sum = 0;
            for (int u = 0; u < n_used; u++) sum += (real)state->weights[used[u]] * part->dg[(size_t)used[u] * size + e];
            pd_anderson_combine_entry(part, e, sum, out);
        }
    return PD_OK;
}

pd_status pd_anderson_take(pd_context *context, const pd_anderson_state *state, long long count, const real *combined, real *correction) {
    if (!state->accepted) return PD_OK;
#pragma omp parallel for num_threads(pd_threads(context, count, 1)) schedule(static)
    for (long long e = 0; e < count; e++) correction[e] = combined[e];
    return PD_OK;
}
