/* A tree of boxes for the judge: median splits, nothing clever, and no code shared with the collision detection it judges.
 *
 * Comparisons of doubles are exact, so a query misses no box that touches: boxes are closed. */
#ifndef PD_JUDGE_BOX_TREE_H
#define PD_JUDGE_BOX_TREE_H

#include "base/status.h"

#include <stddef.h>

typedef struct pd_host_box {
    double low[3], high[3];
} pd_host_box;

typedef struct pd_box_tree {
    pd_host_box *nodes; /* [2^levels] the children of node i are 2 i and 2 i + 1; the root is 1 */
    int *start;         /* [2^levels] first place in `order` of each node */
    int *order;         /* [n] boxes in the order of the leaves */
    int n, levels;
} pd_box_tree;

/* Pairs (i, j) of ints in growing memory. */
typedef struct pd_pair_list {
    int (*pairs)[2];
    size_t n, capacity;
} pd_pair_list;

/* The smallest box of nothing, of a box and a point. */
pd_host_box pd_box_of_nothing(void);
void pd_box_add(pd_host_box *box, const double point[3]);
int pd_boxes_touch(const pd_host_box *a, const pd_host_box *b);

/* Errors: PD_ERROR_MEMORY. _destroy is allowed on a zeroed tree. */
pd_status pd_box_tree_create(pd_box_tree *tree, const pd_host_box *boxes, int n, pd_error *error);
void pd_box_tree_destroy(pd_box_tree *tree);

/* Appends (query, j) for every box j of the tree that touches box; j in no particular order, but always in the same.
 *   boxes  in  those the tree was made of        Returns 0 where memory ran out. */
int pd_box_tree_query(const pd_box_tree *tree, const pd_host_box *boxes, const pd_host_box *box, int query, pd_pair_list *out);

/* Returns 0 where memory ran out; the list is then as before. */
int pd_pair_list_add(pd_pair_list *list, int i, int j);

#endif
