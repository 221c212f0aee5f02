/* The tree of boxes on CUDA; see collision_loops.h. A binary tree, split at the highest differing bit of the keys [Karras 2012,
 * Maximizing Parallelism]. Nodes are in preorder, each with the index of the next node after its subtree. */
#include "cuda/append.cuh"
#include "cuda/block_sum.cuh"
#include "cuda/detection/work.cuh"

#include <stdlib.h>

typedef struct tree_node {
    pd_box box;
    int escape; // the first node after this subtree
    int item;   // the primitive of a leaf; -1: an inner node
} tree_node;

struct pd_tree {
    int n;            // leaves; 2 n - 1 nodes, none for n = 0
    tree_node *nodes; // [2n-1] in preorder
    int *slot;        // [n] node of the leaf with the i-th key
    int *parent;      // [2n-1] of each node; -1 of the root
    int *arrivals;    // [2n-1] fitted children of each inner node
    double *partial;  // [PD_MOST_PARTS]
    double *cost;     // [1] of the last fit, and its limit; NULL: no limit
    double limit;
    // during the construction: for inner node i, which begins or ends at leaf i
    int *other_end, *split;  // [n] leaf at the other end of its range; last leaf of its left half
    int *above, *above_leaf; // [n] 2 * the parent of inner node i, or of leaf i, + 1 for a left child; -1: none
};

void pd_tree_destroy(pd_context *context, pd_tree *tree) {
    if (!tree) return;
    pd_memory_destroy(context, tree->nodes);
    pd_memory_destroy(context, tree->slot);
    pd_memory_destroy(context, tree->partial);
    free(tree);
}

pd_status pd_tree_create(pd_context *context, pd_tree **out, int n) {
    pd_tree *tree = *out = (pd_tree *)calloc(1, sizeof **out);
    if (!tree) return pd_fail(&context->error, PD_ERROR_MEMORY, "out of memory for a tree");
    size_t leaves = (size_t)n + 1;
    tree->n = n;
    pd_status status = pd_memory_create(context, (void **)&tree->nodes, 2 * leaves * sizeof *tree->nodes);
    if (!status) status = pd_memory_create(context, (void **)&tree->slot, 7 * leaves * sizeof *tree->slot);
    if (!status) status = pd_memory_create(context, (void **)&tree->partial, PD_MOST_PARTS * sizeof *tree->partial);
    if (status) return status;
    tree->parent = tree->slot + leaves;
    tree->other_end = tree->parent + 2 * leaves;
    tree->split = tree->other_end + leaves;
    tree->above = tree->split + leaves;
    tree->above_leaf = tree->above + leaves;
    tree->arrivals = tree->other_end; // not used at the same time
    return PD_OK;
}

/* ---- topology ---------------------------------------------------------------------------------------------------------------- */

/* The number of common leading bits of two keys; -1 beyond the ends. Keys differ, since they end with the number of the primitive. */
static __device__ __forceinline__ int common_bits(const uint64_t *keys, int n, int i, int j) {
    return j < 0 || j >= n ? -1 : __clzll((long long)(keys[i] ^ keys[j]));
}

/* Range and split of every inner node [Karras 2012, Fig. 4]. */
static __global__ void ranges_kernel(pd_tree tree, const uint64_t *keys) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x), n = tree.n;
    if (i >= n - 1) return;
    int towards = common_bits(keys, n, i, i + 1) > common_bits(keys, n, i, i - 1) ? 1 : -1;
    int outside = common_bits(keys, n, i, i - towards), most = 2, length = 0;
    while (common_bits(keys, n, i, i + most * towards) > outside) most *= 2;
    for (int step = most / 2; step > 0; step /= 2)
        if (common_bits(keys, n, i, i + (length + step) * towards) > outside) length += step;
    int end = i + length * towards, whole = common_bits(keys, n, i, end), before = 0;
    for (int step = length; step > 1;) {
        step = (step + 1) / 2;
        if (common_bits(keys, n, i, i + (before + step) * towards) > whole) before += step;
    }
    int split = towards > 0 ? i + before : i - before - 1;
    int first = min(i, end), last = max(i, end);
    tree.other_end[i] = end;
    tree.split[i] = split;
    (first == split ? tree.above_leaf : tree.above)[split] = 2 * i + 1;
    (last == split + 1 ? tree.above_leaf : tree.above)[split + 1] = 2 * i;
    if (i == 0) tree.above[0] = -1; // the root has no parent
}

/* In preorder a leaf comes after two nodes per leaf to its left, and one per ancestor that has it in the left half. The sum is 2 first +
 * the number of left turns on the path from the root. */
static __global__ void leaves_kernel(pd_tree tree, uint64_t mask, const uint64_t *keys) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= tree.n) return;
    int turns = 0;
    for (int above = tree.n > 1 ? tree.above_leaf[i] : -1; above >= 0; above = tree.above[above / 2]) turns += above % 2;
    int slot = 2 * i + turns;
    tree.slot[i] = slot;
    tree.nodes[slot].escape = slot + 1;
    tree.nodes[slot].item = (int)(keys[i] & mask);
    if (i == 0) tree.parent[0] = -1;
}

/* From an inner node to its last leaf all turns are to the right: both have the same number of left turns. */
static __global__ void inner_nodes_kernel(pd_tree tree) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= tree.n - 1) return;
    int first = min(i, tree.other_end[i]), last = max(i, tree.other_end[i]);
    int slot = 2 * first + tree.slot[last] - 2 * last;
    tree.nodes[slot].escape = slot + 2 * (last - first) + 1;
    tree.nodes[slot].item = -1;
    tree.parent[slot + 1] = slot;
    tree.parent[slot + 2 * (tree.split[i] - first) + 2] = slot;
}

pd_status pd_tree_build(pd_context *context, pd_tree *tree, const pd_primitives *primitives, const uint64_t *keys) {
    PD_LAUNCH(context, ranges_kernel, tree->n - 1, *tree, keys);
    PD_LAUNCH(context, leaves_kernel, tree->n, *tree, ((uint64_t)1 << primitives->index_bits) - 1, keys);
    PD_LAUNCH(context, inner_nodes_kernel, tree->n - 1, *tree);
    return PD_OK;
}

/* ---- boxes ------------------------------------------------------------------------------------------------------------------- */

/* From each leaf upwards. The first thread at a node stops; the second one then sees both children. */
static __global__ void fit_kernel(pd_tree tree, const pd_box *boxes) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= tree.n) return;
    tree_node *nodes = tree.nodes;
    int child = tree.slot[i];
    pd_box box = boxes[nodes[child].item];
    nodes[child].box = box;
    for (int node = tree.parent[child]; node >= 0; node = tree.parent[node]) {
        __threadfence(); // write the box before the arrival
        if (atomicAdd(&tree.arrivals[node], 1) == 0) return;
        __threadfence(); // read it after the arrival
        int left = node + 1, right = nodes[left].escape;
        pd_box_add(&box, &nodes[child == left ? right : left].box);
        nodes[node].box = box;
        child = node;
    }
}

static __global__ void areas_kernel(int n_nodes, const tree_node *nodes, double *partial) {
    pd_part part = pd_part_of_block(n_nodes);
    double sum = 0.0;
    for (int i = part.begin + (int)threadIdx.x; i < part.end; i += PD_THREADS) sum += pd_box_area(&nodes[i].box);
    sum = pd_block_sum(sum);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

static __global__ void cost_kernel(unsigned blocks, const tree_node *nodes, const double *partial, double *cost) {
    double sum = 0.0;
    for (unsigned b = threadIdx.x; b < blocks; b += PD_THREADS) sum += partial[b];
    sum = pd_block_sum(sum);
    if (threadIdx.x > 0) return;
    double root = blocks > 0 ? pd_box_area(&nodes[0].box) : 0.0;
    *cost = root > 0.0 ? sum / root : 0.0;
}

pd_status pd_tree_fit(pd_context *context, pd_tree *tree, const pd_primitives *primitives, double *cost, double limit) {
    int n_nodes = tree->n > 0 ? 2 * tree->n - 1 : 0;
    unsigned blocks = pd_parts(n_nodes);
    pd_status status = pd_memory_clear(context, tree->arrivals, (size_t)n_nodes * sizeof *tree->arrivals);
    if (status) return status;
    tree->cost = cost;
    tree->limit = limit;
    PD_LAUNCH(context, fit_kernel, tree->n, *tree, primitives->boxes);
    if (!cost) return PD_OK;
    PD_LAUNCH_BLOCKS(context, areas_kernel, blocks, n_nodes, tree->nodes, tree->partial);
    PD_LAUNCH_BLOCKS(context, cost_kernel, 1u, blocks, tree->nodes, tree->partial, cost);
    return PD_OK;
}

/* ---- pairs ------------------------------------------------------------------------------------------------------------------- */

/* A node of float boxes is two loads of 16 bytes. */
static __device__ __forceinline__ tree_node node_at(const tree_node *nodes, int i) {
    if (sizeof(tree_node) != 2 * sizeof(float4)) return nodes[i];
    union {
        tree_node node;
        float4 parts[2];
    } loaded;
    const float4 *parts = (const float4 *)(nodes + i);
    loaded.parts[0] = parts[0];
    loaded.parts[1] = parts[1];
    return loaded.node;
}

static __device__ __forceinline__ bool is_closed(const pd_tree &tree) { return tree.cost && *tree.cost > tree.limit; }

/* One step of a traversal. Returns the primitive of a leaf with an overlapping box, otherwise -1. */
static __device__ __forceinline__ int next_leaf(const tree_node *nodes, const pd_box &box, int *at) {
    tree_node node = node_at(nodes, *at);
    int overlap = pd_boxes_overlap(&box, &node.box);
    *at = overlap ? *at + 1 : node.escape;
    return overlap ? node.item : -1;
}

static __global__ void tree_pairs_kernel(pd_primitives first, const int *order, pd_tree tree, pd_primitives second, pd_pair_buffer out) {
    if (is_closed(tree)) return;
    int q = (int)(blockIdx.x * PD_THREADS + threadIdx.x), end = 2 * tree.n - 1, at = q < first.n ? 0 : end;
    int i = q < first.n ? order[q] : 0;
    pd_box box = first.boxes[i];
    pd_appender appender = pd_append_begin();
    while (__any_sync(PD_ALL_LANES, at < end)) {
        int j = at < end ? next_leaf(tree.nodes, box, &at) : -1;
        pd_append(appender, j >= 0 && pd_may_collide(&first, i, &second, j), pd_pair_key(out, i, j), out);
    }
    pd_append_end(appender, out);
}

pd_status pd_tree_pairs(pd_context *context, const pd_primitives *first, const int *order, const pd_tree *tree, const pd_primitives *second,
                        pd_pair_buffer *out) {
    PD_LAUNCH(context, tree_pairs_kernel, tree->n > 0 ? first->n : 0, *first, order, *tree, *second, *out);
    return PD_OK;
}

/* A leaf searches only the nodes after it in preorder: every pair is found once, and no ancestor is tested. */
static __global__ void tree_own_pairs_kernel(pd_tree tree, pd_primitives primitives, pd_pair_buffer out) {
    if (is_closed(tree)) return;
    int leaf = (int)(blockIdx.x * PD_THREADS + threadIdx.x), end = 2 * tree.n - 1;
    int slot = tree.slot[leaf < tree.n ? leaf : 0], i = tree.nodes[slot].item, at = leaf < tree.n ? slot + 1 : end;
    pd_box box = tree.nodes[slot].box;
    pd_appender appender = pd_append_begin();
    while (__any_sync(PD_ALL_LANES, at < end)) {
        int j = at < end ? next_leaf(tree.nodes, box, &at) : -1;
        pd_append(appender, j >= 0 && pd_may_collide(&primitives, i, &primitives, j), pd_ordered_key(out, i, j), out);
    }
    pd_append_end(appender, out);
}

pd_status pd_tree_own_pairs(pd_context *context, const pd_tree *tree, const pd_primitives *primitives, pd_pair_buffer *out) {
    PD_LAUNCH(context, tree_own_pairs_kernel, tree->n, *tree, *primitives, *out);
    return PD_OK;
}
