/* Breadth-first order of a graph; see ordering.h. */
#include "host/ordering.h"

#include <stdlib.h>

/* Appends the component of `root` to order[begin..), marking it with `stamp`; returns where it ends. */
static int append_component(int *order, int begin, int *seen, int stamp, const pd_csr *pattern, int root) {
    int end = begin;
    seen[root] = stamp;
    order[end++] = root;
    for (int next = begin; next < end; next++)
        for (int s = pattern->row_start[order[next]]; s < pattern->row_start[order[next] + 1]; s++) {
            int j = pattern->columns[s];
            if (seen[j] == stamp) continue;
            seen[j] = stamp;
            order[end++] = j;
        }
    return end;
}

pd_status pd_breadth_first_order(int *order, const pd_csr *pattern, pd_error *error) {
    int n = pattern->n, end = 0;
    int *seen = calloc((size_t)n + 1, sizeof *seen);
    if (!seen) return pd_fail(error, PD_ERROR_MEMORY, "out of memory for an order of %d vertices", n);
    for (int i = 0; i < n; i++) {
        if (seen[i]) continue;
        int begin = end;
        end = append_component(order, begin, seen, 1, pattern, i);
        // the vertex reached last is far from everything: from there the levels are many and small
        append_component(order, begin, seen, 2, pattern, order[end - 1]);
    }
    free(seen);
    return PD_OK;
}
