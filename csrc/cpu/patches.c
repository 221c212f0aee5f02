/* Pairs through patches on the CPU; see collision_loops.h. */
#include "cpu/leaf_pairs.h"

pd_status pd_patch_boxes(pd_context *context, int n_patches, int n_kinds, const pd_primitives *kinds, const pd_patch_items *items,
                         pd_box *boxes) {
#pragma omp parallel for schedule(static) num_threads(pd_threads(context, n_patches, 300))
    for (int patch = 0; patch < n_patches; patch++) {
        pd_box box = pd_box_empty();
        for (int kind = 0; kind < n_kinds; kind++)
            for (int i = items[kind].start[patch]; i < items[kind].start[patch + 1]; i++)
                pd_box_add(&box, &kinds[kind].boxes[items[kind].items[i]]);
        boxes[patch] = box;
    }
    return PD_OK;
}

pd_status pd_listed_pairs(pd_context *context, size_t n, const uint64_t *keys, const pd_primitives *first, const pd_primitives *second,
                          pd_pair_buffer *out) {
    uint64_t mask = ((uint64_t)1 << out->second_bits) - 1;
#pragma omp parallel num_threads(pd_threads(context, (long long)n, 10))
    {
        pd_appender appender = {.out = out};
#pragma omp for schedule(static)
        for (size_t k = 0; k < n; k++) {
            int i = (int)(keys[k] >> out->second_bits), j = (int)(keys[k] & mask);
            if (pd_boxes_overlap(&first->boxes[i], &second->boxes[j]) && pd_may_collide(first, i, second, j)) pd_append(&appender, i, j);
        }
        pd_append_flush(&appender);
    }
    return PD_OK;
}

/* Primitives of a patch, or some of them where they are many, as leaves. */
enum { CHUNK = 4 };

typedef struct chunk {
    pd_leaf leaves[CHUNK];
    pd_box boxes[CHUNK];
    int n;
} chunk;

/* Those from items[start] on; returns where the next chunk starts. */
static int load_chunk(chunk *chunk, const pd_primitives *primitives, const int *items, int start, int end) {
    for (chunk->n = 0; chunk->n < CHUNK && start < end; start += LANES, chunk->n++)
        chunk->boxes[chunk->n] = leaf_fill(&chunk->leaves[chunk->n], primitives, items + start, end - start < LANES ? end - start : LANES);
    return start;
}

/* of_p and of_q: room. */
static void pairs_of_patches(pd_appender *appender, chunk *of_p, chunk *of_q, int p, int q, const pd_primitives *first,
                             const pd_patch_items *first_items, const pd_primitives *second, const pd_patch_items *second_items) {
    for (int a = first_items->start[p]; a < first_items->start[p + 1];) {
        a = load_chunk(of_p, first, first_items->items, a, first_items->start[p + 1]);
        for (int b = second_items->start[q]; b < second_items->start[q + 1];) {
            b = load_chunk(of_q, second, second_items->items, b, second_items->start[q + 1]);
            for (int i = 0; i < of_p->n; i++)
                for (int j = 0; j < of_q->n; j++) {
                    if (!pd_boxes_overlap(&of_p->boxes[i], &of_q->boxes[j])) continue;
                    pairs_of_leaves(appender, &of_p->leaves[i], first->k, &of_q->leaves[j], second->k, &of_q->boxes[j], first == second);
                }
        }
    }
}

pd_status pd_patch_pairs(pd_context *context, size_t n_patch_pairs, const uint64_t *patch_pairs, int patch_bits, const pd_primitives *first,
                         const pd_patch_items *first_items, const pd_primitives *second, const pd_patch_items *second_items,
                         pd_pair_buffer *out) {
    uint64_t mask = ((uint64_t)1 << patch_bits) - 1;
#pragma omp parallel num_threads(pd_threads(context, (long long)n_patch_pairs, 1000))
    {
        pd_appender appender = {.out = out};
        chunk of_p = {0}, of_q = {0};
#pragma omp for schedule(dynamic, 16)
        for (size_t k = 0; k < n_patch_pairs; k++) {
            int p = (int)(patch_pairs[k] >> patch_bits), q = (int)(patch_pairs[k] & mask);
            pairs_of_patches(&appender, &of_p, &of_q, p, q, first, first_items, second, second_items);
            if (first != second) pairs_of_patches(&appender, &of_p, &of_q, q, p, first, first_items, second, second_items);
        }
        pd_append_flush(&appender);
    }
    return PD_OK;
}
