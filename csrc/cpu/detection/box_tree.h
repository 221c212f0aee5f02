/* The tree of boxes on the CPU. */
#ifndef PD_CPU_DETECTION_BOX_TREE_H
#define PD_CPU_DETECTION_BOX_TREE_H

#include "cpu/detection/leaf_pairs.h"

enum { MOST_TREE_LEVELS = 10 }; /* 8^9 = 2^27 primitives */

/* Eight neighbours along the Morton curve make a leaf. Eight leaves make a node of level 1, eight of those a node of level 2, and so on.
 * The last level, 1 or higher, has one node. A node holds the boxes of its children: node k of a level has the nodes 8 k ... 8 k + 7 one
 * level below. Two fixed primitives make no pair: an obstacle is not compared with itself. */
struct pd_tree {
    int n, top;                              /* primitives; the last level */
    int closed;                              /* too costly to search */
    int count[MOST_TREE_LEVELS];             /* nodes of each level; of level 0: leaves */
    pd_leaf *leaves;                         /* [count[0]] */
    box_lanes *nodes[MOST_TREE_LEVELS];      /* [count[level]], from level 1 on */
    unsigned char *moving[MOST_TREE_LEVELS]; /* [count[level]] bit i: a primitive below child i may move */
};

#endif
