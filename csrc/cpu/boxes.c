/* Boxes, Morton keys and the sorting of keys on the CPU; see collision_loops.h. */
#include "cpu/context.h"

#include "collision_loops.h"

#include <string.h>

/* Blocks of a reduction: as many whatever the number of threads, so that the bits do not depend on it. */
enum { BLOCKS = 64, BUCKETS = 256, DIGIT = 8, MOST_PARTS = 64 };

pd_status pd_work_bytes(pd_context *context, size_t n, size_t *bytes) {
    (void)context, (void)n;
    *bytes = MOST_PARTS * BUCKETS * sizeof(uint32_t); /* counts of pd_sort_keys */
    return PD_OK;
}

static int block_start(int n, int block) { return (int)((long long)n * block / BLOCKS); }

pd_status pd_primitive_boxes(pd_context *context, pd_primitives *primitives, const real *x_t0, const real *x_t1, real margin) {
    int n = primitives->n, k = primitives->k;
#pragma omp parallel for schedule(static) num_threads(pd_threads(context, n, 10))
    for (int i = 0; i < n; i++)
        primitives->boxes[i] = pd_box_of_primitive(x_t0, x_t1, primitives->corners + (size_t)i * (size_t)k, k, margin);
    return PD_OK;
}

pd_status pd_boxes_bound(pd_context *context, int n, const pd_box *boxes, const pd_work *work, pd_bound *bound) {
    (void)work;
    pd_box partial[BLOCKS];
    double sizes[BLOCKS];
#pragma omp parallel for schedule(static) num_threads(pd_threads(context, n, 3))
    for (int block = 0; block < BLOCKS; block++) {
        pd_box all = pd_box_empty();
        double sum = 0.0;
        for (int i = block_start(n, block); i < block_start(n, block + 1); i++) {
            pd_box_add(&all, &boxes[i]);
            double x = (double)boxes[i].high[0] - (double)boxes[i].low[0], y = (double)boxes[i].high[1] - (double)boxes[i].low[1],
                   z = (double)boxes[i].high[2] - (double)boxes[i].low[2];
            sum += x > y ? (x > z ? x : z) : (y > z ? y : z);
        }
        partial[block] = all;
        sizes[block] = sum;
    }
    bound->box = pd_box_empty();
    for (int block = 0; block < BLOCKS; block++) pd_box_add(&bound->box, &partial[block]);
    bound->mean_size = n > 0 ? pd_add_partial_sums(sizes, BLOCKS) / n : 0.0;
    return PD_OK;
}

pd_status pd_morton_keys(pd_context *context, int n, int index_bits, const pd_box *boxes, const pd_bound *scene, uint64_t *keys) {
    int bits = (64 - index_bits) / 3 < 21 ? (64 - index_bits) / 3 : 21;
#pragma omp parallel for schedule(static) num_threads(pd_threads(context, n, 10))
    for (int i = 0; i < n; i++) keys[i] = pd_morton_code(&boxes[i], &scene->box, bits) << index_bits | (uint64_t)i;
    return PD_OK;
}

/* Least significant digit first. Each part of the keys has its own counts, and every part's share of a digit goes behind those of the
 * parts before it: stable, so the parts may be as many as there are threads. */
pd_status pd_sort_keys(pd_context *context, size_t n, int first_bit, int last_bit, uint64_t *keys, uint64_t *scratch, const pd_work *work) {
    uint32_t *counts = work->memory;
    int parts = pd_threads(context, (long long)n, 5);
    if (parts > MOST_PARTS) parts = MOST_PARTS;
    uint64_t *from = keys, *to = scratch;
    for (int bit = first_bit; bit < last_bit; bit += DIGIT) {
        uint64_t mask = last_bit - bit < DIGIT ? ((uint64_t)1 << (last_bit - bit)) - 1 : BUCKETS - 1;
#pragma omp parallel for schedule(static) num_threads(parts)
        for (int part = 0; part < parts; part++) {
            uint32_t *count = counts + (size_t)part * BUCKETS;
            memset(count, 0, BUCKETS * sizeof *count);
            size_t start = n * (size_t)part / (size_t)parts, end = n * (size_t)(part + 1) / (size_t)parts;
            for (size_t i = start; i < end; i++) count[from[i] >> bit & mask]++;
        }
        uint32_t sum = 0;
        int used = 0;
        for (int digit = 0; digit < BUCKETS; digit++) {
            uint32_t before = sum;
            for (int part = 0; part < parts; part++) {
                uint32_t count = counts[(size_t)part * BUCKETS + (size_t)digit];
                counts[(size_t)part * BUCKETS + (size_t)digit] = sum;
                sum += count;
            }
            used += sum > before;
        }
        if (used < 2) continue; /* all keys have the same digit */
#pragma omp parallel for schedule(static) num_threads(parts)
        for (int part = 0; part < parts; part++) {
            uint32_t *count = counts + (size_t)part * BUCKETS;
            size_t start = n * (size_t)part / (size_t)parts, end = n * (size_t)(part + 1) / (size_t)parts;
            for (size_t i = start; i < end; i++) to[count[from[i] >> bit & mask]++] = from[i];
        }
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != keys && n > 0) memcpy(keys, from, n * sizeof *keys);
    return PD_OK;
}

pd_status pd_key_items(pd_context *context, int n, int index_bits, const uint64_t *keys, int *items) {
#pragma omp parallel for schedule(static) num_threads(pd_threads(context, n, 1))
    for (int i = 0; i < n; i++) items[i] = (int)(keys[i] & (((uint64_t)1 << index_bits) - 1));
    return PD_OK;
}

pd_status pd_sort_pairs(pd_context *context, size_t n, pd_pair_buffer *buffer, uint64_t *scratch, const pd_work *work, int *pairs) {
    uint64_t *keys = buffer->keys, mask = ((uint64_t)1 << buffer->second_bits) - 1;
    pd_status status = pd_sort_keys(context, n, 0, buffer->first_bits + buffer->second_bits, keys, scratch, work);
    if (status) return status;
#pragma omp parallel for schedule(static) num_threads(pd_threads(context, (long long)n, 2))
    for (size_t i = 0; i < n; i++) {
        pairs[2 * i] = (int)(keys[i] >> buffer->second_bits);
        pairs[2 * i + 1] = (int)(keys[i] & mask);
    }
    return PD_OK;
}
