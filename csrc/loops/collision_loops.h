/* The loops of the broad phase: a part of backend.h with the same rules, which only collision detection includes.
 *
 * Keys are 64-bit numbers. The upper part determines the order, the lower `index_bits` bits are the number of a primitive. This number
 * orders equal keys, so that nothing depends on the number of threads. Pairs are appended to a pd_pair_buffer in any order, and sorted
 * before they are read. */
#ifndef PD_LOOPS_COLLISION_LOOPS_H
#define PD_LOOPS_COLLISION_LOOPS_H

#include "geometry/box.h"
#include "loops/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Primitives of one kind: n of k corners each. Patches are primitives without corners. */
typedef struct pd_primitives {
    int n, k, index_bits; /* n <= 2^index_bits */
    int *corners;         /* B [n,k] */
    int *names;           /* B [n,k] names of the corners: copies of a vertex along a cut share a name; NULL: corners */
    int *tags;            /* B [n] geometry/box.h */
    pd_box *boxes;        /* B [n] m */
    real *radii;          /* B [n] m, by which a box is wider on every side; NULL: zero */
} pd_primitives;

/* The names of the corners of primitive i, [k]. */
PD_FUNCTION const int *pd_names_of(const pd_primitives *primitives, int i) {
    const int *names = primitives->names ? primitives->names : primitives->corners;
    return names + (size_t)i * (size_t)primitives->k;
}

/* Tells whether two primitives with overlapping boxes are a pair. */
PD_FUNCTION int pd_may_collide(const pd_primitives *first, int i, const pd_primitives *second, int j) {
    return pd_primitives_may_collide(first->tags[i], pd_names_of(first, i), first->k, second->tags[j], pd_names_of(second, j), second->k);
}

/* The target of appended pairs: first << second_bits | second, first < 2^first_bits. found counts all of them. Pairs beyond the capacity
 * are not stored: the caller then increases the capacity and runs the loop again. */
typedef struct pd_pair_buffer {
    uint64_t *keys;  /* B [capacity] */
    uint64_t *found; /* B [1] */
    size_t capacity;
    int first_bits, second_bits;
} pd_pair_buffer;

/* Scratch memory of sums, scans and sorts, shared by all loops of a broad phase. */
typedef struct pd_work {
    void *memory; /* B [bytes] */
    size_t bytes; /* at least pd_work_bytes of the number of primitives or keys of a loop */
} pd_work;
pd_status pd_work_bytes(pd_context *context, size_t n, size_t *bytes);

/* boxes of all primitives, widened by margin and their radii; x_t1 may be NULL, geometry/box.h. */
pd_status pd_primitive_boxes(pd_context *context, pd_primitives *primitives, const real *x_t0, const real *x_t1, real margin);

/* The bounding box of n boxes, empty for n = 0, and the mean of their longest sides, m. */
typedef struct pd_bound {
    pd_box box;
    double mean_size;
} pd_bound;

/* bound [1]  B  out */
pd_status pd_boxes_bound(pd_context *context, int n, const pd_box *boxes, const pd_work *work, pd_bound *bound);

/* keys [n]  B  out: Morton code in the scene, then the number of the box.    scene [1]  B */
pd_status pd_morton_keys(pd_context *context, int n, int index_bits, const pd_box *boxes, const pd_bound *scene, uint64_t *keys);

/* Sorts keys [n] by the bits from first_bit to last_bit - 1 (stable); the result is in keys.
 *   scratch [n]  B */
pd_status pd_sort_keys(pd_context *context, size_t n, int first_bit, int last_bit, uint64_t *keys, uint64_t *scratch, const pd_work *work);

/* items [n]  B  out: the lower index_bits of each key. */
pd_status pd_key_items(pd_context *context, int n, int index_bits, const uint64_t *keys, int *items);

/* Sets the keys from *buffer->found on, up to n, to values that are last in any order. */
pd_status pd_pad_pairs(pd_context *context, size_t n, pd_pair_buffer *buffer);

/* pairs [n,2]  B  out: the n appended pairs, sorted; n <= capacity. The keys are in any order afterwards.
 *   scratch [n]  B */
pd_status pd_sort_pairs(pd_context *context, size_t n, pd_pair_buffer *buffer, uint64_t *scratch, const pd_work *work, int *pairs);

/* Paths of points, and the search distance of primitives on them. */
typedef struct pd_ways {
    const real *x_t0, *x_t1; /* B [n_points,3] m */
    real limit;              /* m, in addition to the radii of both */
} pd_ways;

/* Appends to out some of the n pairs `keys` B (packed as in out) of primitives with corners: those that a conservative test does not
 * find farther apart than the limit along the whole path (geometry/apart.h).
 *   count  B [1]  number of valid keys among the n; NULL: all */
pd_status pd_pairs_within(pd_context *context, size_t n, const uint64_t *count, const uint64_t *keys, const pd_primitives *first,
                          const pd_primitives *second, const pd_ways *ways, pd_pair_buffer *out);

/* Counts B [1] of loops, and the capacities to compare them with. */
enum { PD_MOST_WATCHED_CAPACITIES = 8 };
typedef struct pd_watched_capacities {
    int n;
    const uint64_t *found[PD_MOST_WATCHED_CAPACITIES];
    uint64_t capacity[PD_MOST_WATCHED_CAPACITIES];
} pd_watched_capacities;

static inline void pd_watch_capacity(pd_watched_capacities *capacities, const uint64_t *found, size_t capacity) {
    capacities->found[capacities->n] = found, capacities->capacity[capacities->n++] = (uint64_t)capacity;
}

/* most [n]  B  in/out: the largest value of each count so far, until one exceeds its capacity: later counts follow from incomplete
 * lists. */
pd_status pd_keep_most(pd_context *context, const pd_watched_capacities *capacities, uint64_t *most);

/* ---- a tree of boxes --------------------------------------------------------------------------------------------------------- */

/* A tree over the primitives of one kind. Each backend defines its own. */
typedef struct pd_tree pd_tree;

/* Creates a tree for up to n primitives. */
pd_status pd_tree_create(pd_context *context, pd_tree **tree, int n);
void pd_tree_destroy(pd_context *context, pd_tree *tree); /* NULL is allowed */

/* The tree over the sorted keys [n] of primitives. No boxes yet. */
pd_status pd_tree_build(pd_context *context, pd_tree *tree, const pd_primitives *primitives, const uint64_t *keys);

/* Refits all boxes to those of the primitives.
 *   cost [1]  B  out: the cost of a search: the sum of the areas of its boxes over that of the root's, 0 for a root without area;
 *             NULL: not computed
 *   limit     a tree with a larger cost is not searched until its next fit: pairs append nothing. The comparison is on the device, so
 *             that the search needs no synchronisation */
pd_status pd_tree_fit(pd_context *context, pd_tree *tree, const pd_primitives *primitives, double *cost, double limit);

/* Appends every pair of a primitive of `first` and one of the tree's (`second`) that may collide and whose boxes overlap.
 *   order [n]  B  in  first's primitives, spatial neighbours close together: for speed only */
pd_status pd_tree_pairs(pd_context *context, const pd_primitives *first, const int *order, const pd_tree *tree, const pd_primitives *second,
                        pd_pair_buffer *out);

/* The same for two primitives of the tree, i < j. */
pd_status pd_tree_own_pairs(pd_context *context, const pd_tree *tree, const pd_primitives *primitives, pd_pair_buffer *out);

/* ---- patches ------------------------------------------------------------------------------------------------------------------ */

/* Primitives of one kind grouped into patches. */
typedef struct pd_patch_items {
    int *start; /* B [n_patches+1] */
    int *items; /* B [n] */
} pd_patch_items;

/* boxes [n_patches]: the bounding boxes of the patches over n_kinds kinds of primitives, each with its grouping. */
pd_status pd_patch_boxes(pd_context *context, int n_patches, int n_kinds, const pd_primitives *kinds, const pd_patch_items *items,
                         pd_box *boxes);

/* Appends the pairs of a list that may collide and overlap, keys [n]  B, packed with out->second_bits. */
pd_status pd_listed_pairs(pd_context *context, size_t n, const uint64_t *keys, const pd_primitives *first, const pd_primitives *second,
                          pd_pair_buffer *out);

/* Appends the pairs between the patches of each pair of patches [n_patch_pairs] (keys with patch_bits): in both orders for different
 * kinds `first` and `second`, i < j for the same kind. */
pd_status pd_patch_pairs(pd_context *context, size_t n_patch_pairs, const uint64_t *patch_pairs, int patch_bits, const pd_primitives *first,
                         const pd_patch_items *first_items, const pd_primitives *second, const pd_patch_items *second_items,
                         pd_pair_buffer *out);

/* ---- a hashed grid ------------------------------------------------------------------------------------------------------------ */

/* Every primitive in all its cells on its level: at most eight. */
typedef struct pd_grid {
    int finest, hash_bits;
    pd_box scene;       /* lower corner of all cells */
    uint64_t levels;    /* bit l: some primitive is on level finest + l; from pd_grid_size */
    signed char *level; /* B [n] above the finest */
    int *first_entry;   /* B [n+1] */
    uint64_t *entries;  /* B [8 n] hash of the cell << index_bits | primitive */
    int *bucket_start;  /* B [2^hash_bits+1] */
} pd_grid;

typedef struct pd_grid_size {
    uint64_t levels, n_entries;
} pd_grid_size;

/* level and first_entry.    size [1]  B  out */
pd_status pd_grid_count(pd_context *context, pd_grid *grid, const pd_primitives *primitives, const pd_work *work, pd_grid_size *size);
/* entries, unsorted. */
pd_status pd_grid_fill(pd_context *context, pd_grid *grid, const pd_primitives *primitives);
/* bucket_start of sorted entries. */
pd_status pd_grid_index(pd_context *context, pd_grid *grid, size_t n_entries, int index_bits);

/* Appends the pairs of a primitive of `query` with one of `target` on the same or a coarser level; `swapped`: only on a coarser one, and
 * with the pair swapped. within: query and target are the same, i < j. Both grids have the same hash_bits. Each pair is found in one
 * cell only, the one with the lower corner of the intersection of the two boxes. */
pd_status pd_grid_pairs(pd_context *context, const pd_grid *query_grid, const pd_primitives *query, const pd_grid *target_grid,
                        const pd_primitives *target, int within, int swapped, pd_pair_buffer *out);

#ifdef __cplusplus
}
#endif

#endif
