/* Aggregates of a sparse matrix and the patterns of its coarser matrix; see aggregates.h. */
#include "sparse/aggregates.h"

#include <stdlib.h>
#include <string.h>

/* The strong neighbours of a node. */
typedef struct graph {
    int n;
    const int *row_start, *columns;
    const float *strengths;
    const unsigned char *held;
    double threshold;
} graph;

void pd_aggregates_destroy(pd_aggregates *self) {
    void *memory[] = {self->aggregate, self->start, self->nodes, self->source_start, self->sources, self->source_rows};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) free(memory[i]);
    pd_csr_destroy(&self->extension);
    pd_csr_destroy(&self->product);
    pd_csr_destroy(&self->coarser);
    memset(self, 0, sizeof *self);
}

static pd_status no_memory(int n, pd_error *error) {
    return pd_fail(error, PD_ERROR_MEMORY, "out of memory for the aggregates of %d rows", n);
}

static int is_strong(const graph *of, int i, int s) {
    int j = of->columns[s];
    return j != i && (double)of->strengths[s] > of->threshold && !(of->held && of->held[j]);
}

/* Step 1: whether node i and its neighbours are all free. */
static int is_centre(const graph *of, const int *aggregate, int i) {
    int neighbours = 0;
    for (int s = of->row_start[i]; s < of->row_start[i + 1]; s++) {
        if (!is_strong(of, i, s)) continue;
        if (aggregate[of->columns[s]] >= 0) return 0;
        neighbours++;
    }
    return neighbours > 0;
}

/* Makes aggregate k of node i and its free neighbours. */
static void gather(const graph *of, int *aggregate, int i, int k) {
    aggregate[i] = k;
    for (int s = of->row_start[i]; s < of->row_start[i + 1]; s++)
        if (is_strong(of, i, s) && aggregate[of->columns[s]] < 0) aggregate[of->columns[s]] = k;
}

/* Step 2: the aggregate of the strongest neighbour among the first ones, the earlier of equals; -1: none. */
static int strongest(const graph *of, const int *first, int i) {
    int found = -1;
    for (int s = of->row_start[i]; s < of->row_start[i + 1]; s++)
        if (is_strong(of, i, s) && first[of->columns[s]] >= 0 && (found < 0 || of->strengths[s] > of->strengths[found])) found = s;
    return found < 0 ? -1 : first[of->columns[found]];
}

/* aggregate [n] and the number of aggregates; first [n] scratch. */
static int aggregate_nodes(const graph *of, int *aggregate, int *first) {
    int k = 0;
    for (int i = 0; i < of->n; i++) aggregate[i] = -1;
    for (int i = 0; i < of->n; i++)
        if (aggregate[i] < 0 && !(of->held && of->held[i]) && is_centre(of, aggregate, i)) gather(of, aggregate, i, k++);
    memcpy(first, aggregate, (size_t)of->n * sizeof(int));
    for (int i = 0; i < of->n; i++)
        if (aggregate[i] < 0 && !(of->held && of->held[i])) aggregate[i] = strongest(of, first, i);
    for (int i = 0; i < of->n; i++)
        if (aggregate[i] < 0 && !(of->held && of->held[i])) gather(of, aggregate, i, k++);
    return k;
}

/* start [count+1] and items: the numbers 0 .. n-1 sorted by their keys, -1 left out. */
static void sort_by_key(const int *keys, int n, int count, int *start, int *items) {
    memset(start, 0, ((size_t)count + 1) * sizeof(int));
    for (int i = 0; i < n; i++)
        if (keys[i] >= 0) start[keys[i]]++;
    for (int k = 0, sum = 0; k <= count; k++) {
        int here = k < count ? start[k] : 0;
        start[k] = sum;
        sum += here;
    }
    for (int i = 0; i < n; i++)
        if (keys[i] >= 0) items[start[keys[i]]++] = i;
    for (int k = count; k > 0; k--) start[k] = start[k - 1];
    start[0] = 0;
}

pd_status pd_aggregates_create(pd_aggregates *out, int n, const int *row_start, const int *columns, const float *strengths,
                               double threshold, const unsigned char *held, pd_error *error) {
    const graph of = {n, row_start, columns, strengths, held, threshold};
    size_t most = (size_t)n + 2;
    *out = (pd_aggregates){.n = n};
    out->aggregate = malloc(most * sizeof(int));
    out->nodes = malloc(most * sizeof(int));
    out->start = malloc(most * sizeof(int));
    if (!out->aggregate || !out->nodes || !out->start) return no_memory(n, error);
    out->n_aggregates = aggregate_nodes(&of, out->aggregate, out->nodes);
    sort_by_key(out->aggregate, n, out->n_aggregates, out->start, out->nodes);
    return PD_OK;
}

static int ascending(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static void sort(int *items, int n) {
    if (n > 48) {
        qsort(items, (size_t)n, sizeof(int), ascending);
        return;
    }
    for (int i = 1; i < n; i++) {
        int item = items[i], at = i;
        for (; at > 0 && items[at - 1] > item; at--) items[at] = items[at - 1];
        items[at] = item;
    }
}

/* A pattern that is read. */
typedef struct rows {
    int n;
    const int *start, *columns;
    const int *left_out; /* [n] or NULL: rows with a negative number are empty */
} rows;

/* out = the pattern of A B, of n_columns columns, ascending. */
static pd_status multiply(pd_csr *out, const rows *A, const rows *B, int n_columns, pd_error *error) {
    size_t capacity = 4 * (size_t)A->start[A->n] + 16, used = 0;
    int *marks = malloc(((size_t)n_columns + 1) * sizeof(int));
    pd_status status = PD_OK;
    out->n = A->n;
    out->row_start = calloc((size_t)A->n + 1, sizeof(int));
    out->columns = malloc(capacity * sizeof(int));
    if (!marks || !out->row_start || !out->columns) {
        status = no_memory(A->n, error);
        goto done;
    }
    memset(marks, 0xff, ((size_t)n_columns + 1) * sizeof(int));
    for (int i = 0; i < A->n; i++) {
        size_t begin = used;
        int end = A->left_out && A->left_out[i] < 0 ? A->start[i] : A->start[i + 1];
        for (int s = A->start[i]; s < end; s++)
            for (int t = B->start[A->columns[s]]; t < B->start[A->columns[s] + 1]; t++) {
                int k = B->columns[t];
                if (marks[k] == i) continue;
                if (used == capacity) {
                    int *larger = realloc(out->columns, 2 * capacity * sizeof(int));
                    if (!larger) {
                        status = no_memory(A->n, error);
                        goto done;
                    }
                    out->columns = larger, capacity *= 2;
                }
                marks[k] = i;
                out->columns[used++] = k;
            }
        sort(out->columns + begin, (int)(used - begin));
        if (used > 0x7fffffff) {
            status = pd_fail(error, PD_ERROR_VALUE, "a coarser matrix of %d rows has more than 2147483647 entries", A->n);
            goto done;
        }
        out->row_start[i + 1] = (int)used;
    }
done:
    free(marks);
    return status;
}

/* source_start, sources and source_rows of the columns of P. */
static pd_status transpose(pd_aggregates *self, pd_error *error) {
    const pd_csr *P = &self->extension;
    int entries = P->row_start[self->n];
    int *row_of = malloc(((size_t)entries + 1) * sizeof(int));
    self->source_start = malloc(((size_t)self->n_aggregates + 2) * sizeof(int));
    self->sources = malloc(((size_t)entries + 1) * sizeof(int));
    self->source_rows = malloc(((size_t)entries + 1) * sizeof(int));
    pd_status status = PD_OK;
    if (!row_of || !self->source_start || !self->sources || !self->source_rows) {
        status = no_memory(self->n, error);
        goto done;
    }
    for (int i = 0; i < self->n; i++)
        for (int t = P->row_start[i]; t < P->row_start[i + 1]; t++) row_of[t] = i;
    sort_by_key(P->columns, entries, self->n_aggregates, self->source_start, self->sources);
    for (int t = 0; t < entries; t++) self->source_rows[t] = row_of[self->sources[t]];
done:
    free(row_of);
    return status;
}

pd_status pd_aggregates_multiply(pd_aggregates *self, const int *row_start, const int *columns, pd_error *error) {
    const rows A = {self->n, row_start, columns, self->aggregate};
    int *start = malloc(((size_t)self->n + 1) * sizeof(int)), *own = malloc(((size_t)self->n + 1) * sizeof(int));
    pd_status status = PD_OK;
    if (!start || !own) {
        status = no_memory(self->n, error);
        goto done;
    }
    start[0] = 0;
    for (int i = 0; i < self->n; i++) {
        own[start[i]] = self->aggregate[i];
        start[i + 1] = start[i] + (self->aggregate[i] >= 0);
    }
    const rows T = {self->n, start, own, NULL};
    PD_TRY(multiply(&self->extension, &A, &T, self->n_aggregates, error));
    const rows P = {self->n, self->extension.row_start, self->extension.columns, NULL};
    PD_TRY(multiply(&self->product, &A, &P, self->n_aggregates, error));
    PD_TRY(transpose(self, error));
    const rows adjoint = {self->n_aggregates, self->source_start, self->source_rows, NULL};
    const rows AP = {self->n, self->product.row_start, self->product.columns, NULL};
    status = multiply(&self->coarser, &adjoint, &AP, self->n_aggregates, error);
done:
    free(start);
    free(own);
    return status;
}
