/* Boxes and Morton keys on the CPU; see collision_loops.h. */
#include "cpu/context.h"

#include "loops/collision_loops.h"

/* Blocks of a reduction: a constant number, so that the bits do not depend on the threads. */
enum { BLOCKS = 64 };

static int block_start(int n, int block) { return (int)((long long)n * block / BLOCKS); }

pd_status pd_primitive_boxes(pd_context *context, pd_primitives *primitives, const real *x_t0, const real *x_t1, real margin) {
    int n = primitives->n, k = primitives->k;
#pragma omp parallel for schedule(static) num_threads(pd_threads(context, n, 10))
    for (int i = 0; i < n; i++)
        primitives->boxes[i] = pd_box_of_primitive(x_t0, x_t1, primitives->corners + (size_t)i * (size_t)k, k,
                                                   primitives->radii ? margin + primitives->radii[i] : margin);
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

pd_status pd_key_items(pd_context *context, int n, int index_bits, const uint64_t *keys, int *items) {
#pragma omp parallel for schedule(static) num_threads(pd_threads(context, n, 1))
    for (int i = 0; i < n; i++) items[i] = (int)(keys[i] & (((uint64_t)1 << index_bits) - 1));
    return PD_OK;
}
