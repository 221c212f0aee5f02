/* Pairs through patches on the CPU; see collision_loops.h. */
#include "cpu/append.h"
#include "cpu/context.h"

#include "collision_loops.h"

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

static void pairs_of_patches(pd_appender *appender, int p, int q, const pd_primitives *first, const pd_patch_items *first_items,
                             const pd_primitives *second, const pd_patch_items *second_items) {
    for (int a = first_items->start[p]; a < first_items->start[p + 1]; a++) {
        int i = first_items->items[a];
        pd_box box = first->boxes[i];
        for (int b = second_items->start[q]; b < second_items->start[q + 1]; b++) {
            int j = second_items->items[b];
            if (!pd_boxes_overlap(&box, &second->boxes[j]) || !pd_may_collide(first, i, second, j)) continue;
            if (first == second)
                pd_append_ordered(appender, i, j);
            else
                pd_append(appender, i, j);
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
#pragma omp for schedule(dynamic, 16)
        for (size_t k = 0; k < n_patch_pairs; k++) {
            int p = (int)(patch_pairs[k] >> patch_bits), q = (int)(patch_pairs[k] & mask);
            pairs_of_patches(&appender, p, q, first, first_items, second, second_items);
            if (first != second) pairs_of_patches(&appender, q, p, first, first_items, second, second_items);
        }
        pd_append_flush(&appender);
    }
    return PD_OK;
}
