/* The corners of each vertex by counting; see corners.h. */
#include "mesh/corners.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void pd_corners_destroy(pd_corners *corners) {
    free(corners->start);
    free(corners->corners);
    memset(corners, 0, sizeof *corners);
}

pd_status pd_corners_create(pd_corners *out, int n_vertices, const pd_element_set *sets, int n_sets, pd_error *error) {
    memset(out, 0, sizeof *out);
    int64_t total = 0;
    for (int s = 0; s < n_sets; s++) total += (int64_t)sets[s].n * pd_kind_shape_of(sets[s].kind).vertices;
    if (total > INT_MAX) return pd_fail(error, PD_ERROR_VALUE, "elements: %lld corners are more than 2^31-1", (long long)total);
    out->n_corners = (int)total;
    out->start = calloc((size_t)n_vertices + 1, sizeof(int));
    out->corners = malloc(((size_t)total + 1) * sizeof(int));
    if (!out->start || !out->corners) {
        pd_corners_destroy(out);
        return pd_fail(error, PD_ERROR_MEMORY, "out of memory for %lld element corners", (long long)total);
    }

    // count, prefix sum, fill: ascending corners for each vertex, since sets and elements are visited in order
    for (int s = 0; s < n_sets; s++) {
        int64_t m = (int64_t)sets[s].n * pd_kind_shape_of(sets[s].kind).vertices;
        for (int64_t c = 0; c < m; c++) out->start[sets[s].vertices[c] + 1]++;
    }
    for (int i = 0; i < n_vertices; i++) out->start[i + 1] += out->start[i];
    int corner = 0;
    for (int s = 0; s < n_sets; s++) {
        int64_t m = (int64_t)sets[s].n * pd_kind_shape_of(sets[s].kind).vertices;
        for (int64_t c = 0; c < m; c++) out->corners[out->start[sets[s].vertices[c]]++] = corner++;
    }
    for (int i = n_vertices; i > 0; i--) out->start[i] = out->start[i - 1];
    out->start[0] = 0;
    return PD_OK;
}

const pd_element_set *pd_corner_set(const pd_element_set *sets, int corner, int *element, int *position) {
    int first = 0;
    for (const pd_element_set *set = sets;; set++) {
        int k = pd_kind_shape_of(set->kind).vertices;
        if (corner - first < set->n * k) {
            *element = (corner - first) / k;
            *position = (corner - first) % k;
            return set;
        }
        first += set->n * k;
    }
}
