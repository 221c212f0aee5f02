/* Domains of a sparse matrix and their coarser matrices; see domains.h. */
#include "sparse/domains.h"

#include <stdlib.h>
#include <string.h>

void pd_domains_destroy(pd_domains *self) {
    for (int l = 0; l < self->n_levels; l++) {
        pd_domain_level *level = &self->levels[l];
        void *memory[] = {level->domain_start, level->nodes, level->domain,       level->row_start,
                          level->columns,      level->rows,  level->source_start, level->sources};
        for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) free(memory[i]);
    }
    memset(self, 0, sizeof *self);
}

static pd_status no_memory(int n, pd_error *error) {
    return pd_fail(error, PD_ERROR_MEMORY, "out of memory for the domains of %d rows", n);
}

/* The first node without a domain: of the neighbours of earlier domains, then by number. -1: none is left. */
static int find_seed(const pd_domain_level *level, const unsigned char *held, int *reached, int *lowest) {
    for (; *reached < level->domain_start[level->n_domains]; ++*reached) {
        int i = level->nodes[*reached];
        for (int s = level->row_start[i]; s < level->row_start[i + 1]; s++) {
            int j = level->columns[s];
            if (level->domain[j] < 0 && !(held && held[j])) return j;
        }
    }
    while (*lowest < level->n && (level->domain[*lowest] >= 0 || (held && held[*lowest]))) ++*lowest;
    return *lowest < level->n ? *lowest : -1;
}

/* Groups the nodes of a level into domains. */
static pd_status grow(pd_domain_level *level, const unsigned char *held, int size, pd_error *error) {
    size_t n = (size_t)level->n;
    int placed = 0, reached = 0, lowest = 0, seed;
    level->domain_start = calloc(n + 1, sizeof(int));
    level->nodes = malloc((n + 1) * sizeof(int));
    level->domain = malloc((n + 1) * sizeof(int));
    if (!level->domain_start || !level->nodes || !level->domain) return no_memory(level->n, error);
    memset(level->domain, 0xff, (n + 1) * sizeof(int));
    while ((seed = find_seed(level, held, &reached, &lowest)) >= 0) {
        int k = level->n_domains, begin = placed;
        level->nodes[placed++] = seed;
        level->domain[seed] = k;
        for (int head = begin; head < placed && placed < begin + size; head++) {
            int i = level->nodes[head];
            for (int s = level->row_start[i]; s < level->row_start[i + 1] && placed < begin + size; s++) {
                int j = level->columns[s];
                if (level->domain[j] >= 0 || (held && held[j])) continue;
                level->domain[j] = k;
                level->nodes[placed++] = j;
            }
        }
        level->domain_start[++level->n_domains] = placed;
        if (placed - begin > level->largest) level->largest = placed - begin;
    }
    return PD_OK;
}

/* rows [entries] from row_start. */
static pd_status list_rows(pd_domain_level *level, pd_error *error) {
    level->rows = malloc(((size_t)level->row_start[level->n] + 1) * sizeof(int));
    if (!level->rows) return no_memory(level->n, error);
    for (int i = 0; i < level->n; i++)
        for (int s = level->row_start[i]; s < level->row_start[i + 1]; s++) level->rows[s] = i;
    return PD_OK;
}

/* The entries of row k of the coarser matrix: the domains next to domain k, in the order of discovery. slot [n_domains], scratch: the
 * place of each, valid if it is at least `begin`. counts: the sources of each entry. */
static int coarse_row(const pd_domain_level *fine, int k, int begin, int *slot, int *columns, int *counts) {
    int end = begin;
    for (int t = fine->domain_start[k]; t < fine->domain_start[k + 1]; t++)
        for (int s = fine->row_start[fine->nodes[t]]; s < fine->row_start[fine->nodes[t] + 1]; s++) {
            int j = fine->domain[fine->columns[s]];
            if (j < 0) continue;
            if (slot[j] < begin) {
                slot[j] = end;
                columns[end] = j;
                counts[end++] = 0;
            }
            counts[slot[j]]++;
        }
    return end;
}

/* The matrix over the domains of `fine`, and the sources of its entries. */
static pd_status coarsen(const pd_domain_level *fine, pd_domain_level *out, pd_error *error) {
    size_t entries = (size_t)fine->row_start[fine->n];
    out->n = fine->n_domains;
    int *slot = malloc(((size_t)out->n + 1) * sizeof(int)), *next = NULL;
    pd_status status = PD_OK;
    out->row_start = calloc((size_t)out->n + 1, sizeof(int));
    out->columns = malloc((entries + 1) * sizeof(int));
    out->source_start = malloc((entries + 2) * sizeof(int));
    out->sources = malloc((entries + 1) * sizeof(int));
    if (!slot || !out->row_start || !out->columns || !out->source_start || !out->sources) {
        status = no_memory(fine->n, error);
        goto done;
    }
    memset(slot, 0xff, ((size_t)out->n + 1) * sizeof(int));
    for (int k = 0; k < out->n; k++)
        out->row_start[k + 1] = coarse_row(fine, k, out->row_start[k], slot, out->columns, out->source_start + 1);
    int n_entries = out->row_start[out->n];
    out->source_start[0] = 0;
    for (int e = 0; e < n_entries; e++) out->source_start[e + 1] += out->source_start[e];
    next = malloc(((size_t)n_entries + 1) * sizeof(int));
    if (!next) {
        status = no_memory(fine->n, error);
        goto done;
    }
    memcpy(next, out->source_start, (size_t)n_entries * sizeof(int));
    for (int k = 0; k < out->n; k++) {
        for (int e = out->row_start[k]; e < out->row_start[k + 1]; e++) slot[out->columns[e]] = e;
        for (int t = fine->domain_start[k]; t < fine->domain_start[k + 1]; t++)
            for (int s = fine->row_start[fine->nodes[t]]; s < fine->row_start[fine->nodes[t] + 1]; s++) {
                int j = fine->domain[fine->columns[s]];
                if (j >= 0) out->sources[next[slot[j]]++] = s;
            }
    }
    status = list_rows(out, error);
done:
    free(slot);
    free(next);
    return status;
}

pd_status pd_domains_create(pd_domains *out, int n, const int *row_start, const int *columns, const unsigned char *held, int size,
                            pd_error *error) {
    size_t entries = (size_t)row_start[n];
    pd_domain_level *first = &out->levels[0];
    pd_status status = PD_OK;
    *out = (pd_domains){.n_levels = 1};
    first->n = n;
    first->row_start = malloc(((size_t)n + 1) * sizeof(int));
    first->columns = malloc((entries + 1) * sizeof(int));
    if (!first->row_start || !first->columns) return no_memory(n, error);
    memcpy(first->row_start, row_start, ((size_t)n + 1) * sizeof(int));
    memcpy(first->columns, columns, entries * sizeof(int));
    PD_TRY(list_rows(first, error));
    PD_TRY(grow(first, held, size, error));
    while (out->n_levels < PD_MOST_LEVELS) {
        const pd_domain_level *last = &out->levels[out->n_levels - 1];
        if (last->n_domains < 2 || 4LL * last->n_domains > 3LL * last->domain_start[last->n_domains]) break;
        pd_domain_level *next = &out->levels[out->n_levels++];
        PD_TRY(coarsen(last, next, error));
        PD_TRY(grow(next, NULL, size, error));
    }
done:
    return status;
}
