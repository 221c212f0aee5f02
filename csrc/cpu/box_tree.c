/* The tree of boxes on the CPU; see collision_loops.h. */
#include "cpu/append.h"
#include "cpu/context.h"

#include "collision_loops.h"

/* Subtrees that are made or fitted at the same time: some more than threads, so that unequal ones even out. */
enum { TASKS = 256, DEEPEST = 128, BLOCKS = 64 };

/* ---- topology ----------------------------------------------------------------------------------------------------------------- */

/* Leaves first .. last under the node at place `node`; what is below it fills the places up to node + 2 (last - first). */
typedef struct range {
    int first, last, node;
} range;

/* The last leaf of the left half: the highest bit in which the first and the last key differ is still 0 there. Keys differ, because they
 * end with the number of the primitive. */
static int split_of(const uint64_t *keys, int first, int last) {
    uint64_t differing = keys[first] ^ keys[last], bit = (uint64_t)1 << 63;
    while (!(differing & bit)) bit >>= 1;
    int low = first, high = last; /* bit is 0 at low, 1 at high */
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (keys[middle] & bit)
            high = middle;
        else
            low = middle;
    }
    return low;
}

/* Writes the node of a range and, where it is no leaf, returns 1 and its halves. */
static int make_node(pd_tree *tree, int index_bits, const uint64_t *keys, const range *r, range halves[2]) {
    pd_tree_node *node = &tree->nodes[r->node];
    node->escape = r->node + 2 * (r->last - r->first) + 1;
    if (r->first == r->last) {
        node->item = (int)(keys[r->first] & (((uint64_t)1 << index_bits) - 1));
        tree->place[r->first] = r->node;
        return 0;
    }
    node->item = -1;
    int split = split_of(keys, r->first, r->last);
    halves[0] = (range){r->first, split, r->node + 1};
    halves[1] = (range){split + 1, r->last, r->node + 2 * (split - r->first) + 2};
    return 1;
}

static void make_subtree(pd_tree *tree, int index_bits, const uint64_t *keys, range whole) {
    range stack[DEEPEST], halves[2]; /* 64 bits, so at most 64 levels and one waiting on each */
    int depth = 0;
    stack[depth++] = whole;
    while (depth > 0) {
        range r = stack[--depth];
        if (!make_node(tree, index_bits, keys, &r, halves)) continue;
        stack[depth++] = halves[1];
        stack[depth++] = halves[0];
    }
}

pd_status pd_tree_build(pd_context *context, pd_tree *tree, int index_bits, const uint64_t *keys) {
    if (tree->n == 0) return PD_OK;
    range tasks[TASKS + 2], halves[2];
    int n_tasks = 0, first = 0, threads = pd_threads(context, tree->n, 100);
    tasks[n_tasks++] = (range){0, tree->n - 1, 0};
    /* split the oldest task, in place, until there are enough; leaves are done at once */
    while (threads > 1 && n_tasks - first < TASKS / 4 && n_tasks < TASKS && first < n_tasks) {
        range r = tasks[first++];
        if (!make_node(tree, index_bits, keys, &r, halves)) continue;
        tasks[n_tasks++] = halves[0];
        tasks[n_tasks++] = halves[1];
    }
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int i = first; i < n_tasks; i++) make_subtree(tree, index_bits, keys, tasks[i]);
    return PD_OK;
}

/* ---- boxes --------------------------------------------------------------------------------------------------------------------- */

static void fit_node(pd_tree_node *nodes, int node) {
    pd_tree_node *left = &nodes[node + 1], *right = &nodes[left->escape];
    nodes[node].box = left->box;
    pd_box_add(&nodes[node].box, &right->box);
}

/* In preorder, children come after their parent: from the end backwards, both are there when it is their parent's turn. */
static void fit_range(pd_tree_node *nodes, const pd_box *boxes, int first, int end) {
    for (int node = end - 1; node >= first; node--) {
        if (nodes[node].item >= 0)
            nodes[node].box = boxes[nodes[node].item];
        else
            fit_node(nodes, node);
    }
}

pd_status pd_tree_fit(pd_context *context, pd_tree *tree, const pd_box *boxes) {
    if (tree->n == 0) return PD_OK;
    int queue[2 * TASKS + 2], top[TASKS], n_queue = 0, n_top = 0, n_nodes = 2 * tree->n - 1, n_tasks = 0;
    int threads = pd_threads(context, n_nodes, 5), enough = threads > 1 ? n_nodes / 64 : n_nodes;
    pd_tree_node *nodes = tree->nodes;
    queue[n_queue++] = 0;
    for (int i = 0; i < n_queue; i++) { /* large subtrees are opened, the others stay in the queue as tasks */
        int node = queue[i];
        if (nodes[node].escape - node <= enough || nodes[node].item >= 0 || n_top == TASKS) {
            queue[n_tasks++] = node;
            continue;
        }
        top[n_top++] = node;
        queue[n_queue++] = node + 1;
        queue[n_queue++] = nodes[node + 1].escape;
    }
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int i = 0; i < n_tasks; i++) fit_range(nodes, boxes, queue[i], nodes[queue[i]].escape);
    for (int i = n_top - 1; i >= 0; i--) fit_node(nodes, top[i]);
    return PD_OK;
}

pd_status pd_tree_cost(pd_context *context, const pd_tree *tree, double *cost) {
    double partial[BLOCKS], root = tree->n > 0 ? pd_box_area(&tree->nodes[0].box) : 0.0;
    int n_nodes = 2 * tree->n - 1;
    *cost = 0.0;
    if (!(root > 0.0)) return PD_OK;
#pragma omp parallel for schedule(static) num_threads(pd_threads(context, n_nodes, 3))
    for (int block = 0; block < BLOCKS; block++) {
        double sum = 0.0;
        int end = (int)((long long)n_nodes * (block + 1) / BLOCKS);
        for (int node = (int)((long long)n_nodes * block / BLOCKS); node < end; node++) sum += pd_box_area(&tree->nodes[node].box);
        partial[block] = sum;
    }
    *cost = pd_add_partial_sums(partial, BLOCKS) / root;
    return PD_OK;
}

/* ---- pairs ---------------------------------------------------------------------------------------------------------------------- */

pd_status pd_tree_pairs(pd_context *context, const pd_primitives *first, const pd_tree *tree, const pd_primitives *second,
                        pd_pair_buffer *out) {
    const pd_tree_node *nodes = tree->nodes;
    int end = 2 * tree->n - 1, n = tree->n > 0 ? first->n : 0;
#pragma omp parallel num_threads(pd_threads(context, n, 200))
    {
        pd_appender appender = {.out = out};
#pragma omp for schedule(dynamic, 256)
        for (int i = 0; i < n; i++) {
            pd_box box = first->boxes[i];
            for (int node = 0; node < end;) {
                if (!pd_boxes_overlap(&box, &nodes[node].box)) {
                    node = nodes[node].escape;
                    continue;
                }
                int j = nodes[node++].item;
                if (j >= 0 && pd_may_collide(first, i, second, j)) pd_append(&appender, i, j);
            }
        }
        pd_append_flush(&appender);
    }
    return PD_OK;
}

/* A leaf looks only at what comes after it in preorder: every pair is met once, and none of the common ancestors is tested. */
pd_status pd_tree_own_pairs(pd_context *context, const pd_tree *tree, const pd_primitives *primitives, pd_pair_buffer *out) {
    const pd_tree_node *nodes = tree->nodes;
    int end = 2 * tree->n - 1;
#pragma omp parallel num_threads(pd_threads(context, tree->n, 200))
    {
        pd_appender appender = {.out = out};
#pragma omp for schedule(dynamic, 256)
        for (int leaf = 0; leaf < tree->n; leaf++) {
            int node = tree->place[leaf], i = nodes[node].item;
            pd_box box = nodes[node].box;
            for (node++; node < end;) {
                if (!pd_boxes_overlap(&box, &nodes[node].box)) {
                    node = nodes[node].escape;
                    continue;
                }
                int j = nodes[node++].item;
                if (j >= 0 && (!primitives || pd_may_collide(primitives, i, primitives, j))) pd_append_ordered(&appender, i, j);
            }
        }
        pd_append_flush(&appender);
    }
    return PD_OK;
}
