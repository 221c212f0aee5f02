/* The search of a tree of boxes on the CPU; see collision_loops.h.
 *
 * 64 neighbours along the Morton curve, eight leaves, go through the tree together. Where they come to a node of level 1, each of their
 * leaves is tested against the eight there, and where two leaves touch, each primitive that touches the other leaf against the eight in
 * it: all with one vector test of eight boxes. On a cloth of 80000 triangles with 59463 and 209985 pairs these are 7.1 vector tests for
 * each pair of vertex and triangle, and 4.2 for each pair of edges.
 *
 * What all of it took, on one thread in float64 with trees built again, and what was tried before:
 *     24 ms   as it is
 *     26 ms   each primitive's pairs written before the next is tested: more branches that are hard to foresee
 *     30 ms   and common corners looked for only where eight boxes were found to overlap: one more such branch
 *     44 ms   along a Hilbert curve: 2 ms less for searching, but its keys are computed bit by bit
 *     72 ms   a binary tree in preorder [Karras 2012], 16 neighbours together
 *     81 ms   a binary tree, each primitive alone */
#include "cpu/detection/box_tree.h"

enum { GROUP = LANES * LANES };

/* The leaves that look for partners together: those of a node of level 1. */
typedef struct group {
    const box_lanes *node;
    const pd_leaf *leaves;
    int index;       /* of the node, where it belongs to the tree that is searched; else -1 */
    unsigned moving; /* of pd_tree, of the leaves */
} group;

/* Pairs of a group and the leaves below a node of level 1. */
PD_INLINE void pairs_of_group(pd_appender *appender, const group *g, const pd_tree *tree, int node, int k_a, int k_b, int within) {
    const box_lanes *lanes = &tree->nodes[1][node];
    for (int i = 0; i < LANES; i++) {
        pd_box box = lane_box(g->node, i);
        unsigned hits = lanes_overlap(lanes, &box);
        if (within && g->index == node) hits &= ~0u << i;
        if (!(g->moving >> i & 1)) hits &= tree->moving[1][node];
        while (hits) {
            int j = next_bit(&hits);
            pd_box box_b = lane_box(lanes, j);
            pairs_of_leaves(appender, &g->leaves[i], k_a, &tree->leaves[node * LANES + j], k_b, &box_b, within);
        }
    }
}

/* within: the group is a part of the tree, and looks only at what comes after it. */
PD_INLINE void search(pd_appender *appender, const group *g, const pd_tree *tree, int k_a, int k_b, int within) {
    struct slot {
        int level, node;
    } stack[LANES * MOST_TREE_LEVELS];
    int depth = 0;
    pd_box whole = lanes_union(g->node);
    stack[depth++] = (struct slot){tree->top, 0};
    while (depth > 0) {
        struct slot at = stack[--depth];
        if (at.level == 1) {
            pairs_of_group(appender, g, tree, at.node, k_a, k_b, within);
            continue;
        }
        unsigned hits = lanes_overlap(&tree->nodes[at.level][at.node], &whole);
        if (!g->moving) hits &= tree->moving[at.level][at.node];
        if (within) { /* nothing that ends before the group */
            int first = (g->index >> 3 * (at.level - 2)) - at.node * LANES;
            if (first > 0) hits &= ~0u << first;
        }
        while (hits) stack[depth++] = (struct slot){at.level - 1, at.node * LANES + next_bit(&hits)};
    }
}

pd_status pd_tree_pairs(pd_context *context, const pd_primitives *first, const int *order, const pd_tree *tree, const pd_primitives *second,
                        pd_pair_buffer *out) {
    int n_groups = tree->n > 0 && !tree->closed ? (first->n + GROUP - 1) / GROUP : 0;
#pragma omp parallel num_threads(pd_threads(context, n_groups, 5000))
    {
        pd_appender appender = {.out = out};
        box_lanes node;
        pd_leaf leaves[LANES] = {0};
#pragma omp for schedule(dynamic, 4)
        for (int index = 0; index < n_groups; index++) {
            unsigned moving = 0;
            for (int leaf = 0, start = index * GROUP; leaf < LANES; leaf++, start += LANES) {
                int count = start >= first->n ? 0 : first->n - start < LANES ? first->n - start : LANES;
                pd_box all = leaf_fill(&leaves[leaf], first, count > 0 ? order + start : order, count);
                lane_put(&node, leaf, &all);
                moving |= leaf_moves(&leaves[leaf], count) << leaf;
            }
            group g = {&node, leaves, -1, moving};
            if (first->k == 1 && second->k == 3) /* constants make the loops over corners vanish */
                search(&appender, &g, tree, 1, 3, 0);
            else
                search(&appender, &g, tree, first->k, second->k, 0);
        }
        pd_append_flush(&appender);
    }
    return PD_OK;
}

pd_status pd_tree_own_pairs(pd_context *context, const pd_tree *tree, const pd_primitives *primitives, pd_pair_buffer *out) {
    int n_groups = tree->n > 0 && !tree->closed ? tree->count[1] : 0, k = primitives->k;
#pragma omp parallel num_threads(pd_threads(context, n_groups, 5000))
    {
        pd_appender appender = {.out = out};
#pragma omp for schedule(dynamic, 4)
        for (int index = 0; index < n_groups; index++) {
            group g = {&tree->nodes[1][index], &tree->leaves[index * LANES], index, tree->moving[1][index]};
            if (k == 2)
                search(&appender, &g, tree, 2, 2, 1);
            else
                search(&appender, &g, tree, k, k, 1);
        }
        pd_append_flush(&appender);
    }
    return PD_OK;
}
