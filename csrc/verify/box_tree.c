/* A balanced tree of boxes; see box_tree.h. */
#include "verify/box_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAF = 8, DEEPEST = 32 };

pd_host_box pd_box_of_nothing(void) { return (pd_host_box){{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}}; }

void pd_box_add(pd_host_box *box, const double point[3]) {
    for (int k = 0; k < 3; k++) {
        if (point[k] < box->low[k]) box->low[k] = point[k];
        if (point[k] > box->high[k]) box->high[k] = point[k];
    }
}

int pd_boxes_touch(const pd_host_box *a, const pd_host_box *b) {
    for (int k = 0; k < 3; k++)
        if (a->low[k] > b->high[k] || b->low[k] > a->high[k]) return 0;
    return 1;
}

int pd_pair_list_add(pd_pair_list *list, int i, int j) {
    if (list->n == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 64;
        int(*pairs)[2] = realloc(list->pairs, capacity * sizeof *pairs);
        if (!pairs) return 0;
        list->pairs = pairs;
        list->capacity = capacity;
    }
    list->pairs[list->n][0] = i;
    list->pairs[list->n][1] = j;
    list->n++;
    return 1;
}

static double middle(const pd_host_box *box, int axis) { return 0.5 * box->low[axis] + 0.5 * box->high[axis]; }

/* Puts the k boxes with the smallest centres first (Hoare's selection). Boxes with equal centres are ordered by index. */
static void select_smallest(int *order, int n, int k, const pd_host_box *boxes, int axis) {
    int first = 0, last = n - 1;
    while (first < last) {
        int pivot = order[first + (last - first) / 2], i = first, j = last;
        double at = middle(&boxes[pivot], axis);
        while (i <= j) {
            for (;; i++) {
                double m = middle(&boxes[order[i]], axis);
                if (!(m < at || (m == at && order[i] < pivot))) break;
            }
            for (;; j--) {
                double m = middle(&boxes[order[j]], axis);
                if (!(m > at || (m == at && order[j] > pivot))) break;
            }
            if (i > j) break;
            int swap = order[i];
            order[i++] = order[j];
            order[j--] = swap;
        }
        if (k <= j)
            last = j;
        else if (k >= i)
            first = i;
        else
            return;
    }
}

static int end_of(const pd_box_tree *tree, int node) {
    /* the next node of the same level starts there; the last node of a level (node + 1 is a power of two) ends with all */
    int next = node + 1;
    return (next & node) == 0 ? tree->n : tree->start[next];
}

pd_status pd_box_tree_create(pd_box_tree *tree, const pd_host_box *boxes, int n, pd_error *error) {
    memset(tree, 0, sizeof *tree);
    tree->n = n;
    tree->levels = 1;
    while (tree->levels < DEEPEST - 2 && (n >> (tree->levels - 1)) > LEAF) tree->levels++;
    size_t n_nodes = (size_t)1 << tree->levels;
    tree->nodes = malloc(n_nodes * sizeof *tree->nodes);
    tree->start = malloc(n_nodes * sizeof *tree->start);
    tree->order = malloc(((size_t)n + 1) * sizeof *tree->order);
    if (!tree->nodes || !tree->start || !tree->order) {
        pd_box_tree_destroy(tree);
        return pd_fail(error, PD_ERROR_MEMORY, "out of memory for a tree of %d boxes", n);
    }
    for (int i = 0; i < n; i++) tree->order[i] = i;
    tree->start[1] = 0;
    int first_leaf = (int)(n_nodes / 2);

    /* from the root down: split the boxes of each node in halves, along the axis of the largest spread of their centres */
    for (int node = 1; node < first_leaf; node++) {
        /* a level is complete when its last node has a start; the next node's start is the end of a node */
        int start = tree->start[node], end = end_of(tree, node), count = end - start;
        pd_host_box spread = pd_box_of_nothing();
        for (int i = start; i < end; i++) {
            const pd_host_box *box = &boxes[tree->order[i]];
            double centre[3] = {middle(box, 0), middle(box, 1), middle(box, 2)};
            pd_box_add(&spread, centre);
        }
        int axis = 0;
        for (int k = 1; k < 3; k++)
            if (0.5 * spread.high[k] - 0.5 * spread.low[k] > 0.5 * spread.high[axis] - 0.5 * spread.low[axis]) axis = k;
        select_smallest(tree->order + start, count, count / 2, boxes, axis);
        tree->start[2 * node] = start;
        tree->start[2 * node + 1] = start + count / 2;
    }
    for (int node = (int)n_nodes - 1; node >= 1; node--) {
        pd_host_box box = pd_box_of_nothing();
        if (node >= first_leaf) {
            for (int i = tree->start[node]; i < end_of(tree, node); i++) {
                pd_box_add(&box, boxes[tree->order[i]].low);
                pd_box_add(&box, boxes[tree->order[i]].high);
            }
        } else
            for (int child = 2 * node; child < 2 * node + 2; child++) {
                if (end_of(tree, child) == tree->start[child]) continue; /* an empty node */
                pd_box_add(&box, tree->nodes[child].low);
                pd_box_add(&box, tree->nodes[child].high);
            }
        tree->nodes[node] = box;
    }
    return PD_OK;
}

void pd_box_tree_destroy(pd_box_tree *tree) {
    free(tree->nodes);
    free(tree->start);
    free(tree->order);
    memset(tree, 0, sizeof *tree);
}

int pd_box_tree_query(const pd_box_tree *tree, const pd_host_box *boxes, const pd_host_box *box, int query, pd_pair_list *out) {
    int stack[2 * DEEPEST], depth = 0, first_leaf = 1 << (tree->levels - 1);
    stack[depth++] = 1;
    while (depth > 0) {
        int node = stack[--depth];
        if (!pd_boxes_touch(&tree->nodes[node], box)) continue;
        if (node < first_leaf) {
            stack[depth++] = 2 * node + 1;
            stack[depth++] = 2 * node;
            continue;
        }
        for (int i = tree->start[node]; i < end_of(tree, node); i++)
            if (pd_boxes_touch(&boxes[tree->order[i]], box) && !pd_pair_list_add(out, query, tree->order[i])) return 0;
    }
    return 1;
}
