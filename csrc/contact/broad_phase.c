/* The broad phase; see broad_phase.h. */
#include "contact/broad_phase.h"

#include "contact/patches.h"

#include <stdlib.h>
#include <string.h>

/* A refitted tree is built again when its cost has grown by this factor (contact.md of the design, section E). */
static const double COST_LIMIT = 1.5;

enum { MOST_PRIMITIVES = 1 << 27, FEWEST_PAIRS = 1024, MOST_LEVELS = 20, MOST_HASH_BITS = 26 };

/* A list of pairs in the making: keys appended, sorted, unpacked. */
typedef struct pair_list {
    pd_pair_buffer buffer;
    uint64_t *scratch; /* B [capacity] */
    int *pairs;        /* B [capacity,2] */
} pair_list;

typedef struct primitive_tree {
    pd_tree *tree;
    double cost; /* when it was built; 0 before */
} primitive_tree;

struct pd_broad_phase {
    pd_context *context;
    int method;
    pd_primitives primitives[PD_PRIMITIVE_KINDS];
    primitive_tree trees[PD_PRIMITIVE_KINDS]; /* of edges and triangles */
    int *vertex_order;                        /* B [n] vertices along the curve of the last build */
    pd_grid grids[PD_PRIMITIVE_KINDS];
    pd_patches patches;
    uint64_t *keys, *scratch; /* B: of primitives, or of the entries of a grid */
    uint32_t *sort_counts;    /* B [PD_SORT_COUNTS] */
    pair_list vertex_triangle, edge_edge, patch_pairs;
    pd_broad_phase_counts counts;
};

/* ---- making and unmaking --------------------------------------------------------------------------------------------------- */

static int bits_of(long long n) {
    int bits = 1;
    while (((long long)1 << bits) < n) bits++;
    return bits;
}

static pd_status resize(pd_broad_phase *phase, pair_list *list, size_t capacity) {
    pd_memory_destroy(phase->context, list->buffer.keys);
    pd_memory_destroy(phase->context, list->scratch);
    pd_memory_destroy(phase->context, list->pairs);
    list->buffer.keys = list->scratch = NULL;
    list->pairs = NULL;
    list->buffer.capacity = 0;
    pd_status status = pd_memory_create(phase->context, (void **)&list->buffer.keys, capacity * sizeof *list->buffer.keys);
    if (!status) status = pd_memory_create(phase->context, (void **)&list->scratch, capacity * sizeof *list->scratch);
    if (!status) status = pd_memory_create(phase->context, (void **)&list->pairs, 2 * capacity * sizeof *list->pairs);
    if (!status) list->buffer.capacity = capacity;
    return status;
}

static pd_status create_list(pd_broad_phase *phase, pair_list *list, int first_bits, int second_bits, int n) {
    list->buffer.first_bits = first_bits;
    list->buffer.second_bits = second_bits;
    return resize(phase, list, n > FEWEST_PAIRS ? (size_t)n : FEWEST_PAIRS);
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
    PD_TRY(pd_memory_create(context, (void **)&p->tags, (n + 1) * sizeof *p->tags));
    PD_TRY(pd_memory_upload(context, p->tags, d->tags[kind], n * sizeof *p->tags));
    PD_TRY(pd_memory_create(context, (void **)&p->boxes, (n + 1) * sizeof *p->boxes));
    if (d->method == PD_BROAD_PHASE_TREE && kind == PD_VERTICES)
        PD_TRY(pd_memory_create(context, (void **)&phase->vertex_order, (n + 1) * sizeof *phase->vertex_order));
    if (d->method == PD_BROAD_PHASE_TREE && kind != PD_VERTICES) PD_TRY(pd_tree_create(context, &phase->trees[kind].tree, p->n));
    if (d->method == PD_BROAD_PHASE_HASH) {
        pd_grid *grid = &phase->grids[kind];
        grid->hash_bits = p->index_bits + 1 < MOST_HASH_BITS ? p->index_bits + 1 : MOST_HASH_BITS;
        PD_TRY(pd_memory_create(context, (void **)&grid->level, n + 1));
        PD_TRY(pd_memory_create(context, (void **)&grid->first_entry, (n + 1) * sizeof *grid->first_entry));
        PD_TRY(pd_memory_create(context, (void **)&grid->entries, (8 * n + 1) * sizeof *grid->entries));
        PD_TRY(pd_memory_create(context, (void **)&grid->bucket_start, (((size_t)1 << grid->hash_bits) + 1) * sizeof *grid->bucket_start));
    }
done:
    return status;
}

/* The patches are formed at rest. */
static pd_status create_patches(pd_broad_phase *phase, const pd_broad_phase_description *d) {
    void *rest = NULL;
    size_t bytes = 3 * (size_t)d->n_points * sizeof *d->rest;
    pd_status status;
    PD_TRY(pd_memory_create(phase->context, &rest, bytes + 1));
    PD_TRY(pd_memory_upload(phase->context, rest, d->rest, bytes));
    for (int kind = 0; kind < PD_PRIMITIVE_KINDS; kind++)
        PD_TRY(pd_primitive_boxes(phase->context, &phase->primitives[kind], rest, NULL, 0));
    PD_TRY(pd_patches_create(&phase->patches, phase->context, phase->primitives, phase->keys, phase->scratch, phase->sort_counts));
    const pd_primitives *patches = &phase->patches.patches;
    PD_TRY(create_list(phase, &phase->patch_pairs, patches->index_bits, patches->index_bits, patches->n));
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
    if (d->method == PD_BROAD_PHASE_PATCHES) n_keys = n_all; /* there are at most as many patches */
    pd_broad_phase *phase = calloc(1, sizeof *phase);
    if (!phase) return pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for a broad phase");
    phase->context = context;
    phase->method = d->method;
    PD_TRY(pd_memory_create(context, (void **)&phase->keys, (n_keys + 1) * sizeof *phase->keys));
    PD_TRY(pd_memory_create(context, (void **)&phase->scratch, (n_keys + 1) * sizeof *phase->scratch));
    PD_TRY(pd_memory_create(context, (void **)&phase->sort_counts, PD_SORT_COUNTS * sizeof *phase->sort_counts));
    for (int kind = 0; kind < PD_PRIMITIVE_KINDS; kind++) PD_TRY(create_primitives(phase, d, kind));
    const pd_primitives *p = phase->primitives;
    PD_TRY(create_list(phase, &phase->vertex_triangle, p[PD_VERTICES].index_bits, p[PD_TRIANGLES].index_bits, d->n[PD_VERTICES]));
    PD_TRY(create_list(phase, &phase->edge_edge, p[PD_EDGES].index_bits, p[PD_EDGES].index_bits, d->n[PD_EDGES]));
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
        pd_memory_destroy(context, phase->primitives[kind].corners);
        pd_memory_destroy(context, phase->primitives[kind].tags);
        pd_memory_destroy(context, phase->primitives[kind].boxes);
        pd_tree_destroy(context, phase->trees[kind].tree);
        pd_memory_destroy(context, phase->grids[kind].level);
        pd_memory_destroy(context, phase->grids[kind].first_entry);
        pd_memory_destroy(context, phase->grids[kind].entries);
        pd_memory_destroy(context, phase->grids[kind].bucket_start);
    }
    pd_patches_destroy(&phase->patches, context);
    pair_list *lists[3] = {&phase->vertex_triangle, &phase->edge_edge, &phase->patch_pairs};
    for (int i = 0; i < 3; i++) {
        pd_memory_destroy(context, lists[i]->buffer.keys);
        pd_memory_destroy(context, lists[i]->scratch);
        pd_memory_destroy(context, lists[i]->pairs);
    }
    pd_memory_destroy(context, phase->vertex_order);
    pd_memory_destroy(context, phase->keys);
    pd_memory_destroy(context, phase->scratch);
    pd_memory_destroy(context, phase->sort_counts);
    free(phase);
}

/* ---- the structures -------------------------------------------------------------------------------------------------------- */

/* phase->keys: the primitives of a kind along the Morton curve. */
static pd_status sort_along_curve(pd_broad_phase *phase, int kind) {
    const pd_primitives *p = &phase->primitives[kind];
    pd_box scene;
    double mean;
    pd_status status;
    PD_TRY(pd_boxes_bound(phase->context, p->n, p->boxes, &scene, &mean));
    PD_TRY(pd_morton_keys(phase->context, p->n, p->index_bits, p->boxes, &scene, phase->keys));
    PD_TRY(pd_sort_keys(phase->context, (size_t)p->n, p->index_bits, 64, phase->keys, phase->scratch, phase->sort_counts));
done:
    return status;
}

static pd_status build_tree(pd_broad_phase *phase, int kind) {
    pd_context *context = phase->context;
    const pd_primitives *p = &phase->primitives[kind];
    primitive_tree *t = &phase->trees[kind];
    pd_status status;
    if (kind == PD_TRIANGLES) { /* the vertices that will look for them */
        const pd_primitives *vertices = &phase->primitives[PD_VERTICES];
        PD_TRY(sort_along_curve(phase, PD_VERTICES));
        PD_TRY(pd_key_items(context, vertices->n, vertices->index_bits, phase->keys, phase->vertex_order));
    }
    PD_TRY(sort_along_curve(phase, kind));
    PD_TRY(pd_tree_build(context, t->tree, p, phase->keys));
    PD_TRY(pd_tree_fit(context, t->tree, p, &t->cost));
    phase->counts.builds++;
done:
    return status;
}

static pd_status update_tree(pd_broad_phase *phase, int kind, int rebuild) {
    primitive_tree *t = &phase->trees[kind];
    double cost;
    if (rebuild || !(t->cost > 0.0)) return build_tree(phase, kind);
    pd_status status;
    PD_TRY(pd_tree_fit(phase->context, t->tree, &phase->primitives[kind], &cost));
    phase->counts.refits++;
    if (!(cost <= COST_LIMIT * t->cost)) return build_tree(phase, kind);
done:
    return status;
}

/* Cells about as large as the boxes are on average, and not so many that their numbers overflow. */
static pd_status build_grids(pd_broad_phase *phase) {
    pd_context *context = phase->context;
    pd_box scene = pd_box_empty(), bound;
    double size = 0.0, mean, width = 0.0;
    pd_status status;
    for (int kind = 0; kind < PD_PRIMITIVE_KINDS; kind++) {
        PD_TRY(pd_boxes_bound(context, phase->primitives[kind].n, phase->primitives[kind].boxes, &bound, &mean));
        pd_box_add(&scene, &bound);
        if (mean > size) size = mean;
    }
    for (int axis = 0; axis < 3; axis++)
        if ((double)scene.high[axis] - (double)scene.low[axis] > width) width = (double)scene.high[axis] - (double)scene.low[axis];
    int coarsest, finest;
    (void)frexp(width, &coarsest);
    (void)frexp(size, &finest);
    if (!(size > 0.0) || finest < coarsest - MOST_LEVELS) finest = coarsest - MOST_LEVELS;
    for (int kind = 0; kind < PD_PRIMITIVE_KINDS; kind++) {
        const pd_primitives *p = &phase->primitives[kind];
        pd_grid *grid = &phase->grids[kind];
        size_t n;
        grid->finest = finest;
        grid->scene = scene;
        PD_TRY(pd_grid_count(context, grid, p, &n));
        PD_TRY(pd_grid_fill(context, grid, p));
        PD_TRY(pd_sort_keys(context, n, p->index_bits, p->index_bits + grid->hash_bits, grid->entries, phase->scratch, phase->sort_counts));
        PD_TRY(pd_grid_index(context, grid, n, p->index_bits));
        phase->counts.builds++;
    }
done:
    return status;
}

/* ---- pairs ------------------------------------------------------------------------------------------------------------------ */

typedef pd_status append_pairs(pd_broad_phase *phase, pd_pair_buffer *out);

/* Runs `append` until its pairs have room. */
static pd_status fill_list(pd_broad_phase *phase, pair_list *list, append_pairs *append) {
    pd_status status;
    for (;;) {
        list->buffer.found = 0;
        PD_TRY(append(phase, &list->buffer));
        if (list->buffer.found <= list->buffer.capacity) break;
        if (list->buffer.found > UINT32_MAX)
            return pd_fail(pd_context_error(phase->context), PD_ERROR_MEMORY, "broad phase: %zu pairs are more than a list can hold",
                           list->buffer.found);
        size_t capacity = 2 * list->buffer.capacity;
        while (capacity < list->buffer.found) capacity *= 2;
        PD_TRY(resize(phase, list, capacity));
        phase->counts.retries++;
    }
done:
    return status;
}

static pd_status sort_list(pd_broad_phase *phase, pair_list *list, pd_pairs *out) {
    pd_status status = pd_sort_pairs(phase->context, &list->buffer, list->scratch, phase->sort_counts, list->pairs);
    *out = (pd_pairs){list->buffer.found, list->pairs};
    return status;
}

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
        return pd_patch_pairs(context, phase->patch_pairs.buffer.found, phase->patch_pairs.buffer.keys, patches->patches.index_bits,
                              vertices, &patches->items[PD_VERTICES], triangles, &patches->items[PD_TRIANGLES], out);
    default: /* whichever is on the finer level looks for the other */
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
        return pd_patch_pairs(context, phase->patch_pairs.buffer.found, phase->patch_pairs.buffer.keys, patches->patches.index_bits, edges,
                              items, edges, items, out);
    default: return pd_grid_pairs(context, &phase->grids[PD_EDGES], edges, &phase->grids[PD_EDGES], edges, 1, 0, out);
    }
done:
    return status;
}

pd_status pd_broad_phase_find(pd_broad_phase *phase, const real *x_t0, const real *x_t1, real margin, int rebuild,
                              pd_pairs *vertex_triangle, pd_pairs *edge_edge) {
    pd_context *context = phase->context;
    pd_patches *patches = &phase->patches;
    pd_status status;
    for (int kind = 0; kind < PD_PRIMITIVE_KINDS; kind++) PD_TRY(pd_primitive_boxes(context, &phase->primitives[kind], x_t0, x_t1, margin));
    if (phase->method == PD_BROAD_PHASE_TREE) {
        PD_TRY(update_tree(phase, PD_TRIANGLES, rebuild));
        PD_TRY(update_tree(phase, PD_EDGES, rebuild));
    } else if (phase->method == PD_BROAD_PHASE_PATCHES) {
        PD_TRY(pd_patch_boxes(context, patches->patches.n, PD_PRIMITIVE_KINDS, phase->primitives, patches->items, patches->patches.boxes));
        PD_TRY(pd_tree_fit(context, patches->tree, &patches->patches, NULL));
        phase->counts.refits++;
        PD_TRY(fill_list(phase, &phase->patch_pairs, append_patch_pairs));
    } else
        PD_TRY(build_grids(phase));
    PD_TRY(fill_list(phase, &phase->vertex_triangle, append_vertex_triangle));
    PD_TRY(sort_list(phase, &phase->vertex_triangle, vertex_triangle));
    PD_TRY(fill_list(phase, &phase->edge_edge, append_edge_edge));
    PD_TRY(sort_list(phase, &phase->edge_edge, edge_edge));
done:
    return status;
}

pd_broad_phase_counts pd_broad_phase_counted(const pd_broad_phase *phase) {
    pd_broad_phase_counts counts = phase->counts;
    counts.pair_capacity = phase->vertex_triangle.buffer.capacity + phase->edge_edge.buffer.capacity;
    return counts;
}
