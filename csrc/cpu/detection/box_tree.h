/* The tree of boxes of the CPU. */
#ifndef PD_CPU_DETECTION_BOX_TREE_H
#define PD_CPU_DETECTION_BOX_TREE_H

#include "cpu/detection/leaf_pairs.h"

enum { MOST_TREE_LEVELS = 10 }; /* 8^9 = 2^27 primitives */

/* Eight neighbours along the Morton curve make a leaf, eight leaves a node of level 1, eight of those one of level 2, and so on to a level
 * of one node, from level 1 on. A node holds the boxes of its children, the k-th of a level those of 8 k ... 8 k + 7 one level below. What
 * never moves is no pair with what never moves: an obstacle is not compared with itself. */
struct pd_tree {
    int n, top;                              /* primitives; the last level */
    int closed;                              /* too costly to be searched */
    int count[MOST_TREE_LEVELS];             /* nodes of each level; of level 0: leaves */
    pd_leaf *leaves;                         /* [count[0]] */
    box_lanes *nodes[MOST_TREE_LEVELS];      /* [count[level]], from level 1 on */
    unsigned char *moving[MOST_TREE_LEVELS]; /* [count[level]] bit i: something below child i may move */
};

#endif
