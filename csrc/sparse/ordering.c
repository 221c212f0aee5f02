/* Breadth-first order of a graph; see ordering.h. */
#include "sparse/ordering.h"

#include <stdlib.h>

/* The graph: vertices that share an element. */
typedef struct graph {
    const pd_element_set *sets;
    const pd_corners *corners;
} graph;

static int ascending(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* Insertion sort: lists are short, with few exceptions. */
static void sort_ids(int *ids, int n) {
    if (n > 64) {
        qsort(ids, (size_t)n, sizeof *ids, ascending);
        return;
    }
    for (int i = 1; i < n; i++) {
        int id = ids[i], j = i;
        for (; j > 0 && ids[j - 1] > id; j--) ids[j] = ids[j - 1];
        ids[j] = id;
    }
}

/* Appends the component of `root` to order[begin..), marking it with `stamp`; returns its end. */
static int append_component(int *order, int begin, int *seen, int stamp, const graph *g, int root) {
    int end = begin;
    seen[root] = stamp;
    order[end++] = root;
    for (int next = begin; next < end; next++) {
        int first = end;
        for (int c = g->corners->start[order[next]]; c < g->corners->start[order[next] + 1]; c++) {
            int element, position;
            const pd_element_set *set = pd_corner_set(g->sets, g->corners->corners[c], &element, &position);
            size_t k = (size_t)pd_kind_shape_of(set->kind).vertices;
            for (size_t b = 0; b < k; b++) {
                int j = set->vertices[(size_t)element * k + b];
                if (seen[j] == stamp) continue;
                seen[j] = stamp;
                order[end++] = j;
            }
        }
        sort_ids(order + first, end - first);
    }
    return end;
}

pd_status pd_breadth_first_order(int *order, int n, const pd_element_set *sets, const pd_corners *corners, pd_error *error) {
    const graph g = {sets, corners};
    int end = 0, *seen = calloc((size_t)n + 1, sizeof *seen);
    if (!seen) return pd_fail(error, PD_ERROR_MEMORY, "out of memory for an order of %d vertices", n);
    for (int i = 0; i < n; i++) {
        if (seen[i]) continue;
        int begin = end;
        end = append_component(order, begin, seen, 1, &g, i);
        // the last vertex is far from the others: from there the levels are many and small
        append_component(order, begin, seen, 2, &g, order[end - 1]);
    }
    free(seen);
    return PD_OK;
}
