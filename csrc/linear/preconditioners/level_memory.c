/* Arenas and domains in backend memory; see level_memory.h. */
#include "linear/preconditioners/level_memory.h"

#include <stdlib.h>

/* Arrays begin at multiples of these bytes. */
enum { ALIGNMENT = 256 };

void *pd_level_memory_take(char *memory, size_t *used, size_t bytes) {
    void *out = memory ? memory + *used : NULL;
    *used += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return out;
}

pd_status pd_level_memory_reserve(pd_level_memory *self, pd_context *context, size_t used, size_t spare) {
    if (used <= self->capacity) return PD_OK;
    size_t bytes = self->memory ? 2 * used : used + spare; // it has grown once, and may do so again
    pd_memory_destroy(context, self->memory);
    self->memory = NULL, self->capacity = 0;
    pd_status status = pd_memory_create(context, (void **)&self->memory, bytes);
    if (!status) self->capacity = bytes;
    return status;
}

/* Unknowns of all inverses of a level, squared. */
static size_t inverse_numbers(const pd_domain_level *of, int numbers) {
    size_t sum = 0;
    for (int k = 0; k < of->n_domains; k++) {
        size_t m = (size_t)(of->domain_start[k + 1] - of->domain_start[k]) * (size_t)numbers;
        sum += m * m;
    }
    return sum;
}

void pd_schwarz_lay_out(pd_schwarz_level *level, const pd_domain_level *of, int columns, int inner, int turns, char *memory, size_t *used) {
    size_t n = (size_t)of->n, domains = (size_t)of->n_domains, entries = (size_t)of->row_start[of->n];
    size_t numbers = (size_t)level->numbers, vector = n * numbers * (size_t)columns * sizeof(real);
    level->n = of->n, level->n_domains = of->n_domains, level->largest = of->largest, level->n_entries = of->row_start[of->n];
    level->domain_start = pd_level_memory_take(memory, used, (domains + 1) * sizeof(int));
    level->nodes = pd_level_memory_take(memory, used, n * sizeof(int));
    level->domain = pd_level_memory_take(memory, used, n * sizeof(int));
    level->places = pd_level_memory_take(memory, used, n * sizeof(int));
    level->row_start = pd_level_memory_take(memory, used, (n + 1) * sizeof(int));
    level->columns = pd_level_memory_take(memory, used, entries * sizeof(int));
    level->rows = pd_level_memory_take(memory, used, entries * sizeof(int));
    level->inverse_start = pd_level_memory_take(memory, used, (domains + 1) * sizeof(long long));
    level->inverses = pd_level_memory_take(memory, used, inverse_numbers(of, level->numbers) * sizeof(real));
    level->source_start = NULL, level->sources = NULL, level->values = NULL, level->r = level->z = NULL,
    level->arms = level->centres = NULL;
    if (inner) {
        level->source_start = pd_level_memory_take(memory, used, (entries + 1) * sizeof(int));
        level->sources = pd_level_memory_take(memory, used, (size_t)of->source_start[entries] * sizeof(int));
        level->values = pd_level_memory_take(memory, used, entries * numbers * numbers * sizeof(double));
        level->r = pd_level_memory_take(memory, used, vector);
        level->z = pd_level_memory_take(memory, used, vector);
    }
    if (turns) {
        level->arms = pd_level_memory_take(memory, used, 3 * n * sizeof(real));
        level->centres = pd_level_memory_take(memory, used, 3 * domains * sizeof(real));
    }
}

pd_status pd_schwarz_upload(pd_context *context, const pd_domain_level *of, const pd_schwarz_level *level) {
    size_t n = (size_t)of->n, domains = (size_t)of->n_domains, entries = (size_t)of->row_start[of->n];
    int *places = calloc(n + 1, sizeof(int));
    long long *starts = calloc(domains + 1, sizeof(long long));
    pd_status status = PD_OK;
    if (!places || !starts) {
        status = pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for the domains of %d rows", of->n);
        goto done;
    }
    for (size_t k = 0; k < domains; k++) {
        long long m = (long long)(of->domain_start[k + 1] - of->domain_start[k]) * level->numbers;
        starts[k + 1] = starts[k] + m * m;
        for (int t = of->domain_start[k]; t < of->domain_start[k + 1]; t++) places[of->nodes[t]] = t - of->domain_start[k];
    }
    PD_TRY(pd_memory_upload(context, level->domain_start, of->domain_start, (domains + 1) * sizeof(int)));
    PD_TRY(pd_memory_upload(context, level->nodes, of->nodes, (size_t)of->domain_start[domains] * sizeof(int)));
    PD_TRY(pd_memory_upload(context, level->domain, of->domain, n * sizeof(int)));
    PD_TRY(pd_memory_upload(context, level->places, places, n * sizeof(int)));
    PD_TRY(pd_memory_upload(context, level->row_start, of->row_start, (n + 1) * sizeof(int)));
    PD_TRY(pd_memory_upload(context, level->columns, of->columns, entries * sizeof(int)));
    PD_TRY(pd_memory_upload(context, level->rows, of->rows, entries * sizeof(int)));
    PD_TRY(pd_memory_upload(context, level->inverse_start, starts, (domains + 1) * sizeof(long long)));
    if (!of->sources) goto done;
    PD_TRY(pd_memory_upload(context, level->source_start, of->source_start, (entries + 1) * sizeof(int)));
    PD_TRY(pd_memory_upload(context, level->sources, of->sources, (size_t)of->source_start[entries] * sizeof(int)));
done:
    free(places);
    free(starts);
    return status;
}
