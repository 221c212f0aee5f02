/* The search of a tree of boxes on the CPU; see collision_loops.h. */
#include "cpu/append.h"
#include "cpu/box_tree.h"

enum { GROUP = LANES * LANES };

/* The leaves that look for partners together: those of a node of level 1. */
typedef struct group {
    const box_lanes *node;
    const pd_leaf *leaves;
    int index; /* of the node, where it belongs to the tree that is searched; else -1 */
    int k;     /* corners of each primitive */
} group;

static int next_bit(unsigned *bits) {
    int bit = __builtin_ctz(*bits);
    *bits &= *bits - 1;
    return bit;
}

/* Lanes of b that have a corner in common with the i-th primitive of a. */
PD_INLINE unsigned neighbours(const pd_leaf *a, int i, int k_a, const pd_leaf *b, int k_b) {
    int_vector common = {0};
    for (int cb = 0; cb < k_b; cb++)
        for (int ca = 0; ca < k_a; ca++) common |= *(const int_vector *)b->corners[cb] == a->corners[ca][i];
    return bits_of_lanes(common);
}

/* Pairs of two leaves, box_b being the box around b. same: a is b. own: both are of the same tree. */
PD_INLINE void pairs_of_leaves(pd_appender *appender, const pd_leaf *a, int k_a, const pd_leaf *b, int k_b, const pd_box *box_b, int own) {
    uint64_t found = 0; /* bit 8 i + j: the i-th of a and the j-th of b */
    for (unsigned waiting = lanes_overlap(&a->boxes, box_b); waiting;) {
        int i = next_bit(&waiting);
        pd_box box = lane_box(&a->boxes, i);
        unsigned hits = lanes_overlap(&b->boxes, &box) & ~neighbours(a, i, k_a, b, k_b);
        if (own && a == b) hits &= ~1u << i;
        found |= (uint64_t)hits << LANES * i;
    }
    for (; found; found &= found - 1) {
        int bit = __builtin_ctzll(found), i = bit / LANES, j = bit % LANES;
        if (!pd_tags_may_collide(a->tags[i], b->tags[j])) continue;
        if (own)
            pd_append_ordered(appender, a->items[i], b->items[j]);
        else
            pd_append(appender, a->items[i], b->items[j]);
    }
}

/* Pairs of a group and the leaves below a node of level 1. */
PD_INLINE void pairs_of_group(pd_appender *appender, const group *g, const pd_tree *tree, int node, int k_a, int k_b, int own) {
    const box_lanes *lanes = &tree->nodes[1][node];
    for (int i = 0; i < LANES; i++) {
        pd_box box = lane_box(g->node, i);
        unsigned hits = lanes_overlap(lanes, &box);
        if (own && g->index == node) hits &= ~0u << i;
        while (hits) {
            int j = next_bit(&hits);
            pd_box box_b = lane_box(lanes, j);
            pairs_of_leaves(appender, &g->leaves[i], k_a, &tree->leaves[node * LANES + j], k_b, &box_b, own);
        }
    }
}

/* own: the group is a part of the tree, and looks only at what comes after it. */
PD_INLINE void search(pd_appender *appender, const group *g, const pd_tree *tree, int k_a, int k_b, int own) {
    struct place {
        int level, node;
    } stack[LANES * MOST_TREE_LEVELS];
    int depth = 0;
    pd_box whole = lanes_union(g->node);
    stack[depth++] = (struct place){tree->top, 0};
    while (depth > 0) {
        struct place at = stack[--depth];
        if (at.level == 1) {
            pairs_of_group(appender, g, tree, at.node, k_a, k_b, own);
            continue;
        }
        unsigned hits = lanes_overlap(&tree->nodes[at.level][at.node], &whole);
        if (own) { /* nothing that ends before the group */
            int first = (g->index >> 3 * (at.level - 2)) - at.node * LANES;
            if (first > 0) hits &= ~0u << first;
        }
        while (hits) stack[depth++] = (struct place){at.level - 1, at.node * LANES + next_bit(&hits)};
    }
}

pd_status pd_tree_pairs(pd_context *context, const pd_primitives *first, const int *order, const pd_tree *tree, const pd_primitives *second,
                        pd_pair_buffer *out) {
    int n_groups = tree->n > 0 ? (first->n + GROUP - 1) / GROUP : 0;
#pragma omp parallel num_threads(pd_threads(context, n_groups, 5000))
    {
        pd_appender appender = {.out = out};
        box_lanes node;
        pd_leaf leaves[LANES];
#pragma omp for schedule(dynamic, 4)
        for (int index = 0; index < n_groups; index++) {
            lanes_clear(&node);
            for (int leaf = 0; leaf < LANES; leaf++) {
                pd_box all = pd_box_empty();
                int start = index * GROUP + leaf * LANES;
                lanes_clear(&leaves[leaf].boxes);
                for (int i = 0; i < LANES && start + i < first->n; i++) {
                    const pd_box *box = &first->boxes[order[start + i]];
                    leaf_put(&leaves[leaf], i, first, order[start + i]);
                    lane_put(&leaves[leaf].boxes, i, box);
                    pd_box_add(&all, box);
                }
                lane_put(&node, leaf, &all);
            }
            group g = {&node, leaves, -1, first->k};
            search(&appender, &g, tree, 1, 3, 0);
        }
        pd_append_flush(&appender);
    }
    (void)second;
    return PD_OK;
}

pd_status pd_tree_own_pairs(pd_context *context, const pd_tree *tree, const pd_primitives *primitives, pd_pair_buffer *out) {
    int n_groups = tree->n > 0 ? tree->count[1] : 0, k = primitives->k;
#pragma omp parallel num_threads(pd_threads(context, n_groups, 5000))
    {
        pd_appender appender = {.out = out};
#pragma omp for schedule(dynamic, 4)
        for (int index = 0; index < n_groups; index++) {
            group g = {&tree->nodes[1][index], &tree->leaves[index * LANES], index, k};
            if (k == 2)
                search(&appender, &g, tree, 2, 2, 1);
            else
                search(&appender, &g, tree, k, k, 1);
        }
        pd_append_flush(&appender);
    }
    return PD_OK;
}
