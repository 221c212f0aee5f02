/* The tree of boxes on the CPU; see collision_loops.h. */
#include "cpu/append.h"
#include "cpu/context.h"

#include "collision_loops.h"

#include <stdlib.h>

/* A node and, right after it, all that is below it: whoever does not want to look inside goes on at `escape`. */
typedef struct pd_tree_node {
    pd_box box;
    int escape; /* the first node that is not below this one */
    int item;   /* the primitive of a leaf; -1 inside */
} pd_tree_node;

struct pd_tree {
    int n;               /* leaves; 2 n - 1 nodes, none where n is 0 */
    pd_tree_node *nodes; /* [2n-1] in preorder */
    int *place;          /* [n] node of the leaf with the i-th key */
};

/* Subtrees that are made or fitted at the same time: some more than threads, so that unequal ones even out. */
enum { TASKS = 256, DEEPEST = 128, BLOCKS = 64 };

pd_status pd_tree_create(pd_context *context, pd_tree **tree, int n) {
    pd_status status = PD_OK;
    *tree = calloc(1, sizeof **tree);
    if (!*tree) return pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for a tree");
    (*tree)->n = n;
    PD_TRY(pd_memory_create(context, (void **)&(*tree)->nodes, (2 * (size_t)n + 1) * sizeof *(*tree)->nodes));
    PD_TRY(pd_memory_create(context, (void **)&(*tree)->place, ((size_t)n + 1) * sizeof *(*tree)->place));
done:
    return status;
}

void pd_tree_destroy(pd_context *context, pd_tree *tree) {
    if (!tree) return;
    pd_memory_destroy(context, tree->nodes);
    pd_memory_destroy(context, tree->place);
    free(tree);
}

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

pd_status pd_tree_build(pd_context *context, pd_tree *tree, const pd_primitives *primitives, const uint64_t *keys) {
    if (tree->n == 0) return PD_OK;
    int index_bits = primitives->index_bits;
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

static void measure(const pd_context *context, const pd_tree *tree, double *cost);

pd_status pd_tree_fit(pd_context *context, pd_tree *tree, const pd_primitives *primitives, double *cost) {
    if (cost) *cost = 0.0;
    if (tree->n == 0) return PD_OK;
    const pd_box *boxes = primitives->boxes;
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
    if (cost) measure(context, tree, cost);
    return PD_OK;
}

static void measure(const pd_context *context, const pd_tree *tree, double *cost) {
    double partial[BLOCKS], root = pd_box_area(&tree->nodes[0].box);
    int n_nodes = 2 * tree->n - 1;
    if (!(root > 0.0)) return;
#pragma omp parallel for schedule(static) num_threads(pd_threads(context, n_nodes, 3))
    for (int block = 0; block < BLOCKS; block++) {
        double sum = 0.0;
        int end = (int)((long long)n_nodes * (block + 1) / BLOCKS);
        for (int node = (int)((long long)n_nodes * block / BLOCKS); node < end; node++) sum += pd_box_area(&tree->nodes[node].box);
        partial[block] = sum;
    }
    *cost = pd_add_partial_sums(partial, BLOCKS) / root;
}

/* ---- pairs ---------------------------------------------------------------------------------------------------------------------- */

/* Neighbouring primitives go through the tree together, as far as the box around all of them has to: one test of a leaf is then a few
 * vector instructions for LANES boxes. */
enum { LANES = 16 };

typedef struct lanes {
    real low[3][LANES], high[3][LANES]; /* unused lanes hold the box of nothing */
    pd_box whole;
    int item[LANES], n;
} lanes;

static void lanes_clear(lanes *l) {
    l->n = 0;
    l->whole = pd_box_empty();
    for (int axis = 0; axis < 3; axis++)
        for (int i = 0; i < LANES; i++) l->low[axis][i] = l->whole.low[axis], l->high[axis][i] = l->whole.high[axis];
}

static void lanes_add(lanes *l, int item, const pd_box *box) {
    for (int axis = 0; axis < 3; axis++) l->low[axis][l->n] = box->low[axis], l->high[axis][l->n] = box->high[axis];
    pd_box_add(&l->whole, box);
    l->item[l->n++] = item;
}

/* Which lanes overlap a box; whether any does. */
static int lanes_overlap(const lanes *l, const pd_box *box, unsigned char hit[LANES]) {
    int any = 0;
    for (int i = 0; i < LANES; i++) {
        int overlaps = (l->low[0][i] <= box->high[0]) & (box->low[0] <= l->high[0][i]) & (l->low[1][i] <= box->high[1]) &
                       (box->low[1] <= l->high[1][i]) & (l->low[2][i] <= box->high[2]) & (box->low[2] <= l->high[2][i]);
        hit[i] = (unsigned char)overlaps;
        any |= overlaps;
    }
    return any;
}

pd_status pd_tree_pairs(pd_context *context, const pd_primitives *first, const int *order, const pd_tree *tree, const pd_primitives *second,
                        pd_pair_buffer *out) {
    const pd_tree_node *nodes = tree->nodes;
    int end = 2 * tree->n - 1, n = tree->n > 0 ? first->n : 0;
#pragma omp parallel num_threads(pd_threads(context, n, 200))
    {
        pd_appender appender = {.out = out};
        unsigned char hit[LANES];
        lanes group;
#pragma omp for schedule(dynamic, 16)
        for (int start = 0; start < n; start += LANES) {
            lanes_clear(&group);
            for (int i = start; i < n && i < start + LANES; i++) lanes_add(&group, order[i], &first->boxes[order[i]]);
            for (int node = 0; node < end;) {
                const pd_tree_node *at = &nodes[node];
                if (!pd_boxes_overlap(&group.whole, &at->box)) {
                    node = at->escape;
                    continue;
                }
                node++;
                if (at->item < 0 || !lanes_overlap(&group, &at->box, hit)) continue;
                for (int i = 0; i < group.n; i++)
                    if (hit[i] && pd_may_collide(first, group.item[i], second, at->item)) pd_append(&appender, group.item[i], at->item);
            }
        }
        pd_append_flush(&appender);
    }
    return PD_OK;
}

/* A leaf looks only at what comes after it in preorder: every pair is met once, and no ancestor of a group's first leaf is tested. */
pd_status pd_tree_own_pairs(pd_context *context, const pd_tree *tree, const pd_primitives *primitives, pd_pair_buffer *out) {
    const pd_tree_node *nodes = tree->nodes;
    int end = 2 * tree->n - 1;
#pragma omp parallel num_threads(pd_threads(context, tree->n, 200))
    {
        pd_appender appender = {.out = out};
        unsigned char hit[LANES];
        lanes group;
#pragma omp for schedule(dynamic, 16)
        for (int start = 0; start < tree->n; start += LANES) {
            lanes_clear(&group);
            for (int leaf = start; leaf < tree->n && leaf < start + LANES; leaf++)
                lanes_add(&group, nodes[tree->place[leaf]].item, &nodes[tree->place[leaf]].box);
            int before = 1; /* leaves of the group that come before the node */
            for (int node = tree->place[start] + 1; node < end;) {
                const pd_tree_node *at = &nodes[node];
                if (!pd_boxes_overlap(&group.whole, &at->box)) {
                    node = at->escape;
                    continue;
                }
                node++;
                if (at->item < 0) continue;
                while (before < group.n && tree->place[start + before] < node - 1) before++;
                if (!lanes_overlap(&group, &at->box, hit)) continue;
                for (int i = 0; i < before; i++)
                    if (hit[i] && pd_may_collide(primitives, group.item[i], primitives, at->item))
                        pd_append_ordered(&appender, group.item[i], at->item);
            }
        }
        pd_append_flush(&appender);
    }
    return PD_OK;
}
