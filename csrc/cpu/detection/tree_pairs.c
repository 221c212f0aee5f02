/* The search of a tree of boxes on the CPU; see collision_loops.h.
 *
 * 64 neighbours along the Morton curve, eight leaves, traverse the tree together. At a node of level 1, each of their leaves is tested
 * against the eight there. If two leaves touch, each primitive that touches the other leaf is tested against the eight in it. Each test
 * is one vector test of eight boxes.
 *
 * Slower variants that were tried, the slowest last: writing each primitive's pairs before the next test, and testing common corners
 * only after an overlap (more branches that are hard to predict); a Hilbert curve (fewer tests, but its keys are computed bit by bit); a
 * binary tree in preorder [Karras 2012] with 16 neighbours together, and with each primitive alone. */
#include "cpu/detection/box_tree.h"

enum { GROUP = LANES * LANES };

/* Leaves that search together: those of a node of level 1. */
typedef struct group {
    const box_lanes *node;
    const pd_leaf *leaves;
    int index;       /* of the node, if it belongs to the searched tree; else -1 */
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

/* within: the group is a part of the tree, and searches only the nodes after it. */
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
        if (within) { /* skip nodes that end before the group */
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
            if (first->k == 1 && second->k == 3) /* constants unroll the loops over corners */
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
