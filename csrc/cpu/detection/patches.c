/* Pairs through patches on the CPU; see collision_loops.h. */
#include "cpu/detection/leaf_pairs.h"

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

/* of_p and of_q: scratch. */
static void pairs_of_patches(pd_appender *appender, pd_chunk *of_p, pd_chunk *of_q, int p, int q, const pd_primitives *first,
                             const pd_patch_items *first_items, const pd_primitives *second, const pd_patch_items *second_items) {
    int end_p = first_items->start[p + 1], end_q = second_items->start[q + 1];
    for (int a = first_items->start[p]; a < end_p; a += CHUNK) {
        chunk_fill(of_p, first, first_items->items + a, end_p - a < CHUNK ? end_p - a : CHUNK);
        for (int b = second_items->start[q]; b < end_q; b += CHUNK) {
            chunk_fill(of_q, second, second_items->items + b, end_q - b < CHUNK ? end_q - b : CHUNK);
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
        pd_chunk of_p = {0}, of_q = {0};
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
