/* The tree of boxes of the CPU. */
#ifndef PD_CPU_BOX_TREE_H
#define PD_CPU_BOX_TREE_H

#include "cpu/box_lanes.h"

#include "collision_loops.h"

enum { MOST_CORNERS = 3, MOST_TREE_LEVELS = 10 }; /* 8^9 = 2^27 primitives */

/* Primitives side by side. */
typedef struct pd_leaf {
    box_lanes boxes;
    int items[LANES], tags[LANES];
    int corners[MOST_CORNERS][LANES];
} pd_leaf;

/* Eight neighbours along the Morton curve make a leaf, eight leaves a node of level 1, eight of those one of level 2, and so on to a level
 * of one node, from level 1 on. A node holds the boxes of its children, the k-th of a level those of 8 k ... 8 k + 7 one level below. */
struct pd_tree {
    int n, top;                         /* primitives; the last level */
    int count[MOST_TREE_LEVELS];        /* nodes of each level; of level 0: leaves */
    pd_leaf *leaves;                    /* [count[0]] */
    box_lanes *nodes[MOST_TREE_LEVELS]; /* [count[level]], from level 1 on */
};

/* All of a primitive but its box goes to a place in a leaf. */
static inline void leaf_put(pd_leaf *leaf, int i, const pd_primitives *primitives, int item) {
    leaf->items[i] = item;
    leaf->tags[i] = primitives->tags[item];
    for (int c = 0; c < primitives->k; c++) leaf->corners[c][i] = primitives->corners[(size_t)item * (size_t)primitives->k + (size_t)c];
}

#endif
