/* Construction of the tree of boxes on the CPU; see collision_loops.h, and tree_pairs.c for the search. */
#include "cpu/detection/box_tree.h"

#include <stdlib.h>

/* Parts of a refit: a constant number, so that the bits of the cost do not depend on the threads. */
enum { BLOCKS = 64 };

static int least(int a, int b) { return a < b ? a : b; }

pd_status pd_tree_create(pd_context *context, pd_tree **out, int n) {
    pd_status status = PD_OK;
    pd_tree *tree = *out = calloc(1, sizeof *tree);
    if (!tree) return pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for a tree");
    tree->n = n;
    tree->count[0] = (n + LANES - 1) / LANES;
    PD_TRY(pd_memory_create(context, (void **)&tree->leaves, (size_t)tree->count[0] * sizeof *tree->leaves));
    for (int i = 0; i < tree->count[0]; i++) lanes_clear(&tree->leaves[i].boxes);
    do {
        int level = ++tree->top, count = tree->count[level] = (tree->count[level - 1] + LANES - 1) / LANES;
        PD_TRY(pd_memory_create(context, (void **)&tree->nodes[level], (size_t)count * sizeof(box_lanes)));
        PD_TRY(pd_memory_create(context, (void **)&tree->moving[level], (size_t)count));
        for (int i = 0; i < count; i++) lanes_clear(&tree->nodes[level][i]);
    } while (tree->count[tree->top] > 1);
done:
    return status;
}

void pd_tree_destroy(pd_context *context, pd_tree *tree) {
    if (!tree) return;
    pd_memory_destroy(context, tree->leaves);
    for (int level = 1; level < MOST_TREE_LEVELS; level++) {
        pd_memory_destroy(context, tree->nodes[level]);
        pd_memory_destroy(context, tree->moving[level]);
    }
    free(tree);
}

pd_status pd_tree_build(pd_context *context, pd_tree *tree, const pd_primitives *primitives, const uint64_t *keys) {
    uint64_t mask = ((uint64_t)1 << primitives->index_bits) - 1;
    int n = tree->n;
#pragma omp parallel for schedule(static) num_threads(pd_threads(context, n, 5))
    for (int i = 0; i < n; i++) leaf_put(&tree->leaves[i / LANES], i % LANES, primitives, (int)(keys[i] & mask));
#pragma omp parallel for schedule(static) num_threads(pd_threads(context, n, 2))
    for (int node = 0; node < tree->count[1]; node++) {
        unsigned moving = 0;
        for (int leaf = node * LANES; leaf < least((node + 1) * LANES, tree->count[0]); leaf++)
            moving |= leaf_moves(&tree->leaves[leaf], least(LANES, n - leaf * LANES)) << leaf % LANES;
        tree->moving[1][node] = (unsigned char)moving;
    }
    for (int level = 2; level <= tree->top; level++) {
        for (int i = 0; i < tree->count[level]; i++) tree->moving[level][i] = 0;
        for (int i = 0; i < tree->count[level - 1]; i++)
            if (tree->moving[level - 1][i]) tree->moving[level][i / LANES] |= (unsigned char)(1u << i % LANES);
    }
    return PD_OK;
}

/* Refits the leaves of a node of level 1 and their boxes; returns the sum of their areas. */
static double fit_leaves(pd_tree *tree, int node, const pd_box *boxes) {
    double area = 0.0;
    for (int leaf = node * LANES; leaf < least((node + 1) * LANES, tree->count[0]); leaf++) {
        pd_leaf *to = &tree->leaves[leaf];
        pd_box all = pd_box_empty();
        for (int i = 0; i < least(LANES, tree->n - leaf * LANES); i++) {
            const pd_box *box = &boxes[to->items[i]];
            lane_put(&to->boxes, i, box);
            pd_box_add(&all, box);
        }
        lane_put(&tree->nodes[1][node], leaf % LANES, &all);
        area += pd_box_area(&all);
    }
    return area;
}

pd_status pd_tree_fit(pd_context *context, pd_tree *tree, const pd_primitives *primitives, double *cost, double limit) {
    if (cost) *cost = 0.0;
    tree->closed = 0;
    if (tree->n == 0) return PD_OK;
    double partial[BLOCKS], area;
#pragma omp parallel for schedule(static) num_threads(pd_threads(context, tree->n, 5))
    for (int block = 0; block < BLOCKS; block++) {
        double sum = 0.0;
        int end = (int)((long long)tree->count[1] * (block + 1) / BLOCKS);
        for (int node = (int)((long long)tree->count[1] * block / BLOCKS); node < end; node++)
            sum += fit_leaves(tree, node, primitives->boxes);
        partial[block] = sum;
    }
    area = pd_add_partial_sums(partial, BLOCKS);
    for (int level = 2; level <= tree->top; level++)
        for (int i = 0; i < tree->count[level - 1]; i++) {
            pd_box box = lanes_union(&tree->nodes[level - 1][i]);
            lane_put(&tree->nodes[level][i / LANES], i % LANES, &box);
            area += pd_box_area(&box);
        }
    pd_box root = lanes_union(&tree->nodes[tree->top][0]);
    if (!cost || !(pd_box_area(&root) > 0.0)) return PD_OK;
    *cost = area / pd_box_area(&root);
    tree->closed = *cost > limit;
    return PD_OK;
}
