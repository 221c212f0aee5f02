/* Names of sides; see side_names.h. */
#include "contact/detection/side_names.h"

#include "contact/detection/incidence.h"
#include "linear/upload.h"

#include <stdlib.h>

/* The name of a side, from an open-addressing table of 2^bits slots. A side without a name gets a new one. */
static int name_of_side(uint64_t *table, int *names, int bits, int *n, int i, int j) {
    uint64_t side = (uint64_t)((i < j ? i : j) + 1) << 32 | (uint64_t)(i < j ? j : i), mask = ((uint64_t)1 << bits) - 1;
    uint64_t slot = side * 0x9e3779b97f4a7c15ull >> (64 - bits);
    while (table[slot] && table[slot] != side) slot = (slot + 1) & mask;
    if (!table[slot]) table[slot] = side, names[slot] = (*n)++;
    return names[slot];
}

pd_status pd_side_names_create(pd_side_names *out, pd_context *context, int n_points, const pd_primitives *edges,
                               const pd_primitives *triangles) {
    size_t n_edges = (size_t)edges->n, n_sides = 3 * (size_t)triangles->n;
    int bits = pd_key_bits(2 * (n_edges + n_sides) + 1);
    uint64_t *table = calloc((size_t)1 << bits, sizeof *table);
    int *names = malloc(((size_t)1 << bits) * sizeof *names), *corners = malloc((2 * n_edges + n_sides + 1) * sizeof *corners);
    int *of_edges = malloc((n_edges + 1) * sizeof *of_edges), *of_sides = malloc((n_sides + 1) * sizeof *of_sides);
    pd_status status = PD_OK;
    if (!table || !names || !corners || !of_edges || !of_sides)
        PD_TRY(pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for the sides of %d triangles", triangles->n));
    PD_TRY(pd_memory_download(context, corners, edges->corners, 2 * n_edges * sizeof *corners));
    for (size_t i = 0; i < n_edges; i++) of_edges[i] = name_of_side(table, names, bits, &out->n, corners[2 * i], corners[2 * i + 1]);
    PD_TRY(pd_memory_download(context, corners, triangles->corners, n_sides * sizeof *corners));
    for (size_t i = 0; i < n_sides; i++)
        of_sides[i] = name_of_side(table, names, bits, &out->n, corners[i], corners[i % 3 == 2 ? i - 2 : i + 1]);
    out->n_points = n_points;
    PD_TRY(pd_upload_ints(context, &out->of_edges, of_edges, n_edges));
    PD_TRY(pd_upload_ints(context, &out->of_sides, of_sides, n_sides));
done:
    free(table);
    free(names);
    free(corners);
    free(of_edges);
    free(of_sides);
    return status;
}
