/* A symmetric matrix in two parts; see partition.h. */
#include "sparse/partition.h"

#include "base/union_find.h"

#include <stdlib.h>

void pd_partition_destroy(pd_partition *self) {
    free(self->column_start);
    free(self->rows);
    *self = (pd_partition){0};
}

/* joined[i] = 1: row i of the first part is the last of its component. */
static void mark_last_of_components(int n_first, const int *column_start, const int *row_index, const int64_t *order, int *parent,
                                    unsigned char *joined) {
    pd_sets_begin(parent, n_first);
    for (int c = 0; c < n_first; c++)
        for (int s = column_start[c]; s < column_start[c + 1]; s++) pd_sets_join(parent, row_index[s], c);
    // reverse order: the first visited row of a component is its last; a visited root points below zero
    for (int k = n_first - 1; k >= 0; k--) {
        int root = (int)order[k];
        while (parent[root] >= 0 && parent[root] != root) root = parent[root];
        if (parent[root] < 0) continue;
        joined[order[k]] = 1;
        parent[root] = -1;
    }
}

pd_status pd_partition_create(pd_partition *out, int n, int n_last, const int *column_start, const int *row_index, const int64_t *order,
                              pd_error *error) {
    int n_first = n - n_last;
    int64_t entries = column_start[n], joins = 0, next = 0;
    pd_status status = PD_OK;
    int *parent = malloc(((size_t)n_first + 1) * sizeof *parent);
    unsigned char *joined = calloc((size_t)n + 1, 1);
    *out = (pd_partition){0};
    if (!parent || !joined) goto memory;
    mark_last_of_components(n_first, column_start, row_index, order, parent, joined);
    for (int i = 0; i < n_first; i++) joins += joined[i];
    int64_t capacity = entries + joins + (int64_t)n_last * (n_last + 1) / 2;
    out->column_start = malloc(((size_t)n + 1) * sizeof(int64_t));
    out->rows = malloc(((size_t)capacity + 1) * sizeof(int64_t));
    if (!out->column_start || !out->rows) goto memory;
    for (int c = 0; c < n; c++) {
        int s = column_start[c], end = column_start[c + 1], row = 0;
        out->column_start[c] = next;
        for (; s < end && (c < n_first || row_index[s] < n_first); s++) {
            if (c == n_first)
                for (; row < row_index[s]; row++)
                    if (joined[row]) out->rows[next++] = row;
            row = row_index[s] + 1;
            out->rows[next++] = row_index[s];
        }
        if (c < n_first) continue;
        if (c == n_first)
            for (; row < n_first; row++)
                if (joined[row]) out->rows[next++] = row;
        for (row = n_first; row <= c; row++) out->rows[next++] = row;
    }
    out->column_start[n] = next;
    goto done;

memory:
    status = pd_fail(error, PD_ERROR_MEMORY, "out of memory for a matrix of %d rows, %d of them dense", n, n_last);
done:
    free(parent);
    free(joined);
    if (status) pd_partition_destroy(out);
    return status;
}
