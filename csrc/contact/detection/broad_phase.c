/* The broad phase; see broad_phase.h. */
#include "contact/detection/broad_phase_parts.h"

#include "contact/growable_list.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PRIMITIVES = 1 << 27, FEWEST_PAIRS = 1024, MOST_HASH_BITS = 26 };

/* ---- creation and destruction ---------------------------------------------------------------------------------------------- */

static int bits_of(long long n) {
    int bits = 1;
    while (((long long)1 << bits) < n) bits++;
    return bits;
}

static pd_status make_work(pd_broad_phase *phase, size_t n) {
    pd_work *work = &phase->work;
    size_t bytes;
    pd_status status = pd_work_bytes(phase->context, n, &bytes);
    if (status || bytes <= work->bytes) return status;
    pd_memory_destroy(phase->context, work->memory);
    work->memory = NULL;
    work->bytes = 0;
    status = pd_memory_create(phase->context, &work->memory, bytes);
    if (!status) work->bytes = bytes;
    return status;
}

static pd_status resize(pd_broad_phase *phase, pair_list *list, size_t capacity) {
    PD_MEMORIES_DESTROY(phase->context, list->buffer.keys, list->scratch, list->pairs);
    list->buffer.keys = list->scratch = NULL;
    list->pairs = NULL;
    list->buffer.capacity = 0;
    pd_status status = pd_memory_create(phase->context, (void **)&list->buffer.keys, capacity * sizeof *list->buffer.keys);
    if (!status) status = pd_memory_create(phase->context, (void **)&list->scratch, capacity * sizeof *list->scratch);
    if (!status) status = pd_memory_create(phase->context, (void **)&list->pairs, 2 * capacity * sizeof *list->pairs);
    if (!status) status = make_work(phase, capacity);
    if (!status) list->buffer.capacity = capacity;
    return status;
}

static pd_status create_list(pd_broad_phase *phase, int which, int first_bits, int second_bits, int n) {
    pair_list *list = &phase->lists[which];
    list->buffer.found = &phase->findings->found[which];
    list->buffer.first_bits = first_bits;
    list->buffer.second_bits = second_bits;
    list->near = FEWEST_PAIRS;
    return resize(phase, list, n > FEWEST_PAIRS ? (size_t)n : FEWEST_PAIRS);
}

pd_status pd_broad_phase_read_findings(pd_broad_phase *phase) {
    phase->unread = 0;
    return pd_memory_download(phase->context, &phase->seen, phase->findings, sizeof phase->seen);
}

static pd_status create_primitives(pd_broad_phase *phase, const pd_broad_phase_description *d, int kind) {
    pd_context *context = phase->context;
    pd_primitives *p = &phase->primitives[kind];
    pd_status status;
    size_t n = (size_t)d->n[kind];
    p->n = d->n[kind];
    p->k = kind + 1;
    p->index_bits = bits_of(p->n);
    PD_TRY(pd_memory_create(context, (void **)&p->corners, (n + 1) * (size_t)p->k * sizeof *p->corners));
    PD_TRY(pd_memory_upload(context, p->corners, d->corners[kind], n * (size_t)p->k * sizeof *p->corners));
    if (d->names[kind]) {
        PD_TRY(pd_memory_create(context, (void **)&p->names, (n + 1) * (size_t)p->k * sizeof *p->names));
        PD_TRY(pd_memory_upload(context, p->names, d->names[kind], n * (size_t)p->k * sizeof *p->names));
    }
    PD_TRY(pd_memory_create(context, (void **)&p->tags, (n + 1) * sizeof *p->tags));
    PD_TRY(pd_memory_upload(context, p->tags, d->tags[kind], n * sizeof *p->tags));
    PD_TRY(pd_memory_create(context, (void **)&p->boxes, (n + 1) * sizeof *p->boxes));
    if (d->radii[kind]) {
        PD_TRY(pd_memory_create(context, (void **)&p->radii, (n + 1) * sizeof *p->radii));
        PD_TRY(pd_memory_upload(context, p->radii, d->radii[kind], n * sizeof *p->radii));
    }
    if (d->method == PD_BROAD_PHASE_TREE && kind == PD_VERTICES)
        PD_TRY(pd_memory_create(context, (void **)&phase->vertex_order, (n + 1) * sizeof *phase->vertex_order));
    if (d->method == PD_BROAD_PHASE_TREE && kind != PD_VERTICES) PD_TRY(pd_tree_create(context, &phase->trees[kind].tree, p->n));
    if (d->method == PD_BROAD_PHASE_HASH) {
        pd_grid *grid = &phase->grids[kind];
        int largest = 0; /* one number of bits for all grids, so that a cell has the same bucket in each */
        for (int other = 0; other < PD_PRIMITIVE_KINDS; other++)
            if (d->n[other] > largest) largest = d->n[other];
        grid->hash_bits = bits_of(largest) + 1 < MOST_HASH_BITS ? bits_of(largest) + 1 : MOST_HASH_BITS;
        PD_TRY(pd_memory_create(context, (void **)&grid->level, n + 1));
        PD_TRY(pd_memory_create(context, (void **)&grid->first_entry, (n + 1) * sizeof *grid->first_entry));
        PD_TRY(pd_memory_create(context, (void **)&grid->entries, (8 * n + 1) * sizeof *grid->entries));
        PD_TRY(pd_memory_create(context, (void **)&grid->bucket_start, (((size_t)1 << grid->hash_bits) + 1) * sizeof *grid->bucket_start));
    }
done:
    return status;
}

/* Forms the patches at rest. */
static pd_status create_patches(pd_broad_phase *phase, const pd_broad_phase_description *d) {
    void *rest = NULL;
    size_t bytes = 3 * (size_t)d->n_points * sizeof *d->rest;
    pd_status status;
    PD_TRY(pd_memory_create(phase->context, &rest, bytes + 1));
    PD_TRY(pd_memory_upload(phase->context, rest, d->rest, bytes));
    for (int kind = 0; kind < PD_PRIMITIVE_KINDS; kind++)
        PD_TRY(pd_primitive_boxes(phase->context, &phase->primitives[kind], rest, NULL, 0));
    PD_TRY(pd_patches_create(&phase->patches, phase->context, phase->primitives, phase->keys, phase->scratch, &phase->work,
                             phase->findings->bounds));
    const pd_primitives *patches = &phase->patches.patches;
    PD_TRY(create_list(phase, PATCH_PAIRS, patches->index_bits, patches->index_bits, patches->n));
    phase->counts.builds++;
done:
    pd_memory_destroy(phase->context, rest);
    return status;
}

pd_status pd_broad_phase_create(pd_broad_phase **out, pd_context *context, const pd_broad_phase_description *d) {
    pd_status status = PD_OK;
    size_t n_keys = 0, n_all = 0;
    *out = NULL;
    for (int kind = 0; kind < PD_PRIMITIVE_KINDS; kind++) {
        if (d->n[kind] > MOST_PRIMITIVES)
            return pd_fail(pd_context_error(context), PD_ERROR_VALUE, "broad phase: %d primitives of a kind, at most %d can be treated",
                           d->n[kind], MOST_PRIMITIVES);
        n_all += (size_t)d->n[kind];
        if ((size_t)d->n[kind] > n_keys) n_keys = (size_t)d->n[kind];
    }
    if (d->method == PD_BROAD_PHASE_HASH) n_keys *= 8;
    if (d->method == PD_BROAD_PHASE_PATCHES) n_keys = n_all; /* an upper bound of the number of patches */
    pd_broad_phase *phase = calloc(1, sizeof *phase);
    if (!phase) return pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for a broad phase");
    phase->context = context;
    phase->method = d->method;
    PD_TRY(pd_memory_create(context, (void **)&phase->keys, (n_keys + 1) * sizeof *phase->keys));
    PD_TRY(pd_memory_create(context, (void **)&phase->scratch, (n_keys + 1) * sizeof *phase->scratch));
    PD_TRY(make_work(phase, n_keys));
    PD_TRY(pd_memory_create(context, (void **)&phase->findings, sizeof *phase->findings));
    for (int kind = 0; kind < PD_PRIMITIVE_KINDS; kind++) PD_TRY(create_primitives(phase, d, kind));
    const pd_primitives *p = phase->primitives;
    PD_TRY(create_list(phase, VERTEX_TRIANGLE, p[PD_VERTICES].index_bits, p[PD_TRIANGLES].index_bits, d->n[PD_VERTICES]));
    PD_TRY(create_list(phase, EDGE_EDGE, p[PD_EDGES].index_bits, p[PD_EDGES].index_bits, d->n[PD_EDGES]));
    if (d->method == PD_BROAD_PHASE_PATCHES) PD_TRY(create_patches(phase, d));
done:
    if (status) {
        pd_broad_phase_destroy(phase);
        return status;
    }
    *out = phase;
    return PD_OK;
}

void pd_broad_phase_destroy(pd_broad_phase *phase) {
    if (!phase) return;
    pd_context *context = phase->context;
    for (int kind = 0; kind < PD_PRIMITIVE_KINDS; kind++) {
        PD_MEMORIES_DESTROY(context, phase->primitives[kind].corners, phase->primitives[kind].tags, phase->primitives[kind].boxes,
                            phase->primitives[kind].radii, phase->primitives[kind].names);
        pd_tree_destroy(context, phase->trees[kind].tree);
        PD_MEMORIES_DESTROY(context, phase->grids[kind].level, phase->grids[kind].first_entry, phase->grids[kind].entries,
                            phase->grids[kind].bucket_start);
    }
    pd_patches_destroy(&phase->patches, context);
    for (int which = 0; which < LISTS; which++) {
        PD_MEMORIES_DESTROY(context, phase->lists[which].buffer.keys, phase->lists[which].scratch, phase->lists[which].pairs);
    }
    PD_MEMORIES_DESTROY(context, phase->vertex_order, phase->keys, phase->scratch, phase->work.memory, phase->findings);
    free(phase);
}

/* ---- pairs ------------------------------------------------------------------------------------------------------------------ */

static pd_status append_patch_pairs(pd_broad_phase *phase, pd_pair_buffer *out) {
    return pd_tree_own_pairs(phase->context, phase->patches.tree, &phase->patches.patches, out);
}

static pd_status append_vertex_triangle(pd_broad_phase *phase, pd_pair_buffer *out) {
    pd_context *context = phase->context;
    const pd_primitives *vertices = &phase->primitives[PD_VERTICES], *triangles = &phase->primitives[PD_TRIANGLES];
    const pd_grid *grids = phase->grids;
    const pd_patches *patches = &phase->patches;
    pd_status status = PD_OK;
    switch (phase->method) {
    case PD_BROAD_PHASE_TREE: return pd_tree_pairs(context, vertices, phase->vertex_order, phase->trees[PD_TRIANGLES].tree, triangles, out);
    case PD_BROAD_PHASE_PATCHES:
        PD_TRY(pd_listed_pairs(context, patches->n_vertex_triangle, patches->vertex_triangle, vertices, triangles, out));
        return pd_patch_pairs(context, phase->lists[PATCH_PAIRS].n, phase->lists[PATCH_PAIRS].buffer.keys, patches->patches.index_bits,
                              vertices, &patches->items[PD_VERTICES], triangles, &patches->items[PD_TRIANGLES], out);
    default: /* the box on the finer level searches for the other */
        PD_TRY(pd_grid_pairs(context, &grids[PD_VERTICES], vertices, &grids[PD_TRIANGLES], triangles, 0, 0, out));
        return pd_grid_pairs(context, &grids[PD_TRIANGLES], triangles, &grids[PD_VERTICES], vertices, 0, 1, out);
    }
done:
    return status;
}

static pd_status append_edge_edge(pd_broad_phase *phase, pd_pair_buffer *out) {
    pd_context *context = phase->context;
    const pd_primitives *edges = &phase->primitives[PD_EDGES];
    const pd_patches *patches = &phase->patches;
    const pd_patch_items *items = &patches->items[PD_EDGES];
    pd_status status = PD_OK;
    switch (phase->method) {
    case PD_BROAD_PHASE_TREE: return pd_tree_own_pairs(context, phase->trees[PD_EDGES].tree, edges, out);
    case PD_BROAD_PHASE_PATCHES:
        PD_TRY(pd_listed_pairs(context, patches->n_edge_edge, patches->edge_edge, edges, edges, out));
        return pd_patch_pairs(context, phase->lists[PATCH_PAIRS].n, phase->lists[PATCH_PAIRS].buffer.keys, patches->patches.index_bits,
                              edges, items, edges, items, out);
    default: return pd_grid_pairs(context, &phase->grids[PD_EDGES], edges, &phase->grids[PD_EDGES], edges, 1, 0, out);
    }
done:
    return status;
}

static pd_status append_pairs(pd_broad_phase *phase, int which) {
    pd_pair_buffer *out = &phase->lists[which].buffer;
    switch (which) {
    case VERTEX_TRIANGLE: return append_vertex_triangle(phase, out);
    case EDGE_EDGE: return append_edge_edge(phase, out);
    default: return append_patch_pairs(phase, out);
    }
}

pd_status pd_broad_phase_lengthen(pd_broad_phase *phase, pair_list *list, size_t found) {
    pd_status status = PD_OK;
    if (found > UINT32_MAX)
        return pd_fail(pd_context_error(phase->context), PD_ERROR_MEMORY, "broad phase: %zu pairs are more than a list can store", found);
    status = resize(phase, list, pd_grown_capacity(list->buffer.capacity, found));
    if (status) {
        pd_error cause = *pd_context_error(phase->context);
        return pd_fail(pd_context_error(phase->context), status, "no memory for %zu candidate pairs: %.300s", found, cause.text);
    }
    phase->counts.retries++;
    return PD_OK;
}

pd_status pd_broad_phase_append(pd_broad_phase *phase, int which) {
    uint64_t *found = phase->lists[which].buffer.found;
    pd_status status = pd_memory_clear(phase->context, found, sizeof *found);
    return status ? status : append_pairs(phase, which);
}

/* Appends to the lists first .. last until their capacities suffice, with one readback for all of them. */
static pd_status fill_lists(pd_broad_phase *phase, int first, int last) {
    int missing[LISTS] = {1, 1, 1}, reopened[LISTS] = {0}, again = 1;
    pd_status status = PD_OK;
    while (again) {
        again = 0;
        for (int which = first; which <= last; which++)
            if (missing[which]) PD_TRY(pd_broad_phase_append(phase, which));
        PD_TRY(pd_broad_phase_read_findings(phase));
        PD_TRY(pd_broad_phase_reopen(phase, reopened));
        for (int which = first; which <= last; which++) {
            pair_list *list = &phase->lists[which];
            list->n = (size_t)phase->seen.found[which];
            int full = list->n > list->buffer.capacity;
            if (full) PD_TRY(pd_broad_phase_lengthen(phase, list, list->n));
            missing[which] = full || reopened[which];
            again |= missing[which];
        }
    }
done:
    return status;
}

static pd_status sort_list(pd_broad_phase *phase, int which, pd_pairs *pairs) {
    pair_list *list = &phase->lists[which];
    *pairs = (pd_pairs){list->n, list->pairs, NULL};
    return pd_sort_pairs(phase->context, list->n, &list->buffer, list->scratch, &phase->work, list->pairs);
}

real pd_broad_phase_not_below(double length) {
    real wide = (real)length;
    return (double)wide < length ? wide + (real)4 * PD_EPSILON * wide : wide;
}

pd_status pd_broad_phase_boxes(pd_broad_phase *phase, const real *x_t0, const real *x_t1, double margin, double margin_of_edges) {
    pd_status status = PD_OK;
    for (int kind = 0; kind < PD_PRIMITIVE_KINDS; kind++)
        PD_TRY(pd_primitive_boxes(phase->context, &phase->primitives[kind], x_t0, x_t1,
                                  pd_broad_phase_not_below(kind == PD_EDGES ? margin_of_edges : margin)));
done:
    return status;
}

pd_status pd_broad_phase_sort_some(pd_broad_phase *phase, int which, size_t n, pd_pairs *pairs) {
    pair_list *list = &phase->lists[which];
    pd_status status;
    if (pd_fetches_at_once(phase->context) && phase->seen.found[which] < n) n = (size_t)phase->seen.found[which];
    *pairs = (pd_pairs){n, list->pairs, list->buffer.found};
    status = pd_pad_pairs(phase->context, n, &list->buffer);
    return status ? status : pd_sort_pairs(phase->context, n, &list->buffer, list->scratch, &phase->work, list->pairs);
}

pd_status pd_broad_phase_find_async(pd_broad_phase *phase, const real *x_t0, const real *x_t1, double margin, pd_pairs *vertex_triangle,
                                    pd_pairs *edge_edge) {
    pd_status status;
    if (phase->method != PD_BROAD_PHASE_TREE) return pd_broad_phase_find(phase, x_t0, x_t1, margin, 0, vertex_triangle, edge_edge);
    phase->counts.searches++;
    PD_TRY(pd_broad_phase_boxes(phase, x_t0, x_t1, margin, margin));
    PD_TRY(pd_broad_phase_follow(phase));
    PD_TRY(pd_broad_phase_append(phase, VERTEX_TRIANGLE));
    PD_TRY(pd_broad_phase_append(phase, EDGE_EDGE));
    PD_TRY(pd_memory_fetch(phase->context, &phase->seen, phase->findings, sizeof phase->seen));
    PD_TRY(pd_broad_phase_sort_some(phase, VERTEX_TRIANGLE, phase->lists[VERTEX_TRIANGLE].buffer.capacity, vertex_triangle));
    PD_TRY(pd_broad_phase_sort_some(phase, EDGE_EDGE, phase->lists[EDGE_EDGE].buffer.capacity, edge_edge));
done:
    return status;
}

void pd_broad_phase_capacity(const pd_broad_phase *phase, const uint64_t *found[2], size_t capacity[2]) {
    for (int which = VERTEX_TRIANGLE; which <= EDGE_EDGE; which++)
        found[which] = phase->lists[which].buffer.found, capacity[which] = phase->lists[which].buffer.capacity;
}

pd_status pd_broad_phase_find_result(pd_broad_phase *phase, size_t n[2], int *enough) {
    pd_status status = PD_OK;
    *enough = 1;
    phase->unread = 0;
    for (int which = VERTEX_TRIANGLE; which <= EDGE_EDGE; which++) {
        pair_list *list = &phase->lists[which];
        n[which] = list->n = (size_t)phase->seen.found[which];
        if (list->n <= list->buffer.capacity) continue;
        PD_TRY(pd_broad_phase_lengthen(phase, list, list->n));
        *enough = 0;
    }
done:
    return status;
}

pd_status pd_broad_phase_keys(pd_broad_phase *phase, const real *x_t0, const real *x_t1, double margin, double margin_of_edges,
                              int rebuild) {
    pd_status status;
    phase->counts.searches++;
    PD_TRY(pd_mark(phase->context, PD_MARK_BEGIN));
    PD_TRY(pd_broad_phase_boxes(phase, x_t0, x_t1, margin, margin_of_edges));
    PD_TRY(pd_broad_phase_structure(phase, rebuild));
    PD_TRY(pd_mark(phase->context, PD_MARK_MIDDLE));
    if (phase->method == PD_BROAD_PHASE_PATCHES) PD_TRY(fill_lists(phase, PATCH_PAIRS, PATCH_PAIRS));
    PD_TRY(fill_lists(phase, VERTEX_TRIANGLE, EDGE_EDGE));
done:
    return status;
}

pd_status pd_broad_phase_sort(pd_broad_phase *phase, pd_pairs *vertex_triangle, pd_pairs *edge_edge) {
    pd_status status;
    PD_TRY(sort_list(phase, VERTEX_TRIANGLE, vertex_triangle));
    PD_TRY(sort_list(phase, EDGE_EDGE, edge_edge));
    PD_TRY(pd_mark(phase->context, PD_MARK_END));
    phase->searched = 1;
done:
    return status;
}

pd_status pd_broad_phase_find(pd_broad_phase *phase, const real *x_t0, const real *x_t1, double margin, int rebuild,
                              pd_pairs *vertex_triangle, pd_pairs *edge_edge) {
    pd_status status = pd_broad_phase_keys(phase, x_t0, x_t1, margin, margin, rebuild);
    return status ? status : pd_broad_phase_sort(phase, vertex_triangle, edge_edge);
}

const pd_primitives *pd_broad_phase_primitives(const pd_broad_phase *phase, int kind) { return &phase->primitives[kind]; }

long long pd_broad_phase_searches(const pd_broad_phase *phase) { return phase->counts.searches; }

pd_broad_phase_counts pd_broad_phase_counted(const pd_broad_phase *phase) {
    pd_broad_phase_counts counts = phase->counts;
    counts.pair_capacity = phase->lists[VERTEX_TRIANGLE].buffer.capacity + phase->lists[EDGE_EDGE].buffer.capacity;
    return counts;
}

pd_status pd_broad_phase_seconds(pd_broad_phase *phase, double *structure, double *pairs) {
    pd_status status = PD_OK;
    *structure = *pairs = 0.0;
    if (!phase->searched) return PD_OK;
    PD_TRY(pd_context_synchronise(phase->context));
    PD_TRY(pd_marked_seconds(phase->context, PD_MARK_BEGIN, PD_MARK_MIDDLE, structure));
    PD_TRY(pd_marked_seconds(phase->context, PD_MARK_MIDDLE, PD_MARK_END, pairs));
done:
    return status;
}
