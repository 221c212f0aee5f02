/* Walks of two hops in the graph of a matrix; see aggregation_products.h. */
#include "sparse/aggregation_products.h"

#include <math.h>
#include <stdlib.h>

pd_status pd_count_walks(pd_aggregation *self, pd_error *error) {
    double *walks = malloc(((size_t)self->n + 1) * sizeof(double)), *next = malloc(((size_t)self->n + 1) * sizeof(double));
    pd_status status = PD_OK;
    double total = 0.0;
    if (!walks || !next) {
        status = pd_fail(error, PD_ERROR_MEMORY, "out of memory");
        goto done;
    }
    for (int i = 0; i < self->n; i++) walks[i] = 1.0;
    for (int hop = 0; hop < self->degree; hop++) {
        for (int i = 0; i < self->n; i++) {
            next[i] = 0.0;
            for (int s = self->B.row_start[i]; s < self->B.row_start[i + 1]; s++) next[i] += walks[self->B.columns[s]];
        }
        double *swap = walks;
        walks = next, next = swap;
    }
    for (int i = 0; i < self->n; i++) total += walks[i];
    self->n_paths = (long long)total;
done:
    free(walks);
    free(next);
    return status;
}

/* The contribution of path i-s-j: B_is B_sj, without the product of two bending parts, or zero below the threshold. */
static double path_product(const pd_csr *B, const pd_csr *bending, int i, int first, int second, double smallest) {
    int s = B->columns[first], j = B->columns[second];
    double product = B->values[first] * B->values[second];
    if (bending) {
        double left_out = pd_csr_entry(bending, i, s) * pd_csr_entry(bending, s, j);
        product = fabs(product - left_out) <= 1e-12 * fabs(left_out) ? 0.0 : product - left_out;
    }
    return fabs(product) < smallest ? 0.0 : product;
}

/* Visits the paths of the place's row in the order (s, j): counts them per entry, or stores them at next[entry]. position [n] maps a
 * column to the entry of this row. */
static void visit_paths(pd_aggregation *self, const pd_csr *bending, double threshold, int place, int *position, long long *next,
                        int store) {
    const pd_csr *B = &self->B;
    int i = self->rows[place];
    double largest = 0.0;
    for (int a = B->row_start[i]; a < B->row_start[i + 1] && threshold > 0; a++)
        for (int b = B->row_start[B->columns[a]]; b < B->row_start[B->columns[a] + 1]; b++)
            largest = fmax(largest, fabs(B->values[a] * B->values[b]));
    for (int a = B->row_start[i]; a < B->row_start[i + 1]; a++)
        for (int b = B->row_start[B->columns[a]]; b < B->row_start[B->columns[a] + 1]; b++) {
            double product = path_product(B, bending, i, a, b, threshold * largest);
            if (product == 0.0) continue;
            long long *slot = &next[position[B->columns[b]]];
            if (store) {
                self->via[*slot] = B->columns[a];
                self->products[*slot] = product;
            }
            ++*slot;
        }
}

pd_status pd_store_products(pd_aggregation *self, const pd_csr *bending, double threshold, pd_error *error) {
    int n_entries = self->entry_start[self->segment_start[self->n]];
    size_t entries = (size_t)n_entries + 1;
    int *position = malloc(((size_t)self->n + 1) * sizeof(int));
    long long *next = calloc(entries, sizeof(long long));
    pd_status status = PD_OK;
    self->path_start = malloc(entries * sizeof(long long));
    self->hops = calloc(entries, sizeof(double));
    self->own = calloc(entries, 1);
    if (!position || !next || !self->path_start || !self->hops || !self->own) goto memory;
    for (int store = 0; store < 2; store++) {
        for (int t = 0; t < self->n; t++) {
            int i = self->rows[t], end = self->entry_start[self->segment_start[t + 1]];
            const int *list = self->list + self->list_start[t / self->block_rows];
            for (int e = self->entry_start[self->segment_start[t]]; e < end; e++) {
                position[list[self->local[e]]] = e;
                self->own[e] = list[self->local[e]] == i;
            }
            for (int s = self->B.row_start[i]; s < self->B.row_start[i + 1] && !self->exact; s++)
                self->hops[position[self->B.columns[s]]] = self->B.values[s];
            visit_paths(self, bending, threshold, t, position, next, store);
        }
        if (store) break;
        long long total = 0;
        for (int e = 0; e < n_entries; e++) {
            self->path_start[e] = total;
            total += next[e];
            next[e] = self->path_start[e];
        }
        self->path_start[n_entries] = total;
        self->n_paths = total;
        self->via = malloc(((size_t)total + 1) * sizeof(int));
        self->products = malloc(((size_t)total + 1) * sizeof(double));
        if (!self->via || !self->products) goto memory;
    }
    goto done;

memory:
    status = pd_fail(error, PD_ERROR_MEMORY, "out of memory for the A-products of %d rows", self->n);
done:
    free(position);
    free(next);
    return status;
}

void pd_drop_empty_entries(pd_aggregation *self, int segment) {
    int kept = 0, piece = 0, begin = 0;
    for (int t = 0; t < self->n; t++) {
        int end = self->entry_start[self->segment_start[t + 1]], first = kept;
        self->segment_start[t] = piece;
        for (int e = begin; e < end; e++) {
            if (!self->own[e] && self->hops[e] == 0.0 && self->path_start[e] == self->path_start[e + 1]) continue;
            if ((kept - first) % segment == 0) self->entry_start[piece++] = kept;
            self->local[kept] = self->local[e];
            self->own[kept] = self->own[e];
            self->hops[kept] = self->hops[e];
            self->path_start[kept] = self->path_start[e];
            kept++;
        }
        begin = end;
    }
    self->path_start[kept] = self->n_paths;
    self->segment_start[self->n] = piece;
    self->entry_start[piece] = kept;
}
