/* A tree of boxes with median splits, for the verification. It shares no code with the collision detection, which it verifies.
 *
 * Boxes are closed and comparisons of doubles are exact, so a query finds every touching box. */
#ifndef PD_VERIFY_BOX_TREE_H
#define PD_VERIFY_BOX_TREE_H

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

/* Growable list of pairs (i, j). */
typedef struct pd_pair_list {
    int (*pairs)[2];
    size_t n, capacity;
} pd_pair_list;

/* The empty box, and the smallest box of a box and a point. */
pd_host_box pd_box_of_nothing(void);
void pd_box_add(pd_host_box *box, const double point[3]);
int pd_boxes_touch(const pd_host_box *a, const pd_host_box *b);

/* Errors: PD_ERROR_MEMORY. _destroy is allowed on a zeroed tree. */
pd_status pd_box_tree_create(pd_box_tree *tree, const pd_host_box *boxes, int n, pd_error *error);
void pd_box_tree_destroy(pd_box_tree *tree);

/* Appends (query, j) for every box j of the tree that touches `box`. The order of j is unspecified but reproducible.
 *   boxes  in  those of pd_box_tree_create        Returns 0 if out of memory. */
int pd_box_tree_query(const pd_box_tree *tree, const pd_host_box *boxes, const pd_host_box *box, int query, pd_pair_list *out);

/* Returns 0 if out of memory; the list is then unchanged. */
int pd_pair_list_add(pd_pair_list *list, int i, int j);

#endif
