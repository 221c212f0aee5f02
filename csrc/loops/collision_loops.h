/* The loops of the broad phase: a part of backend.h, under the same rules, that only collision detection includes.
 *
 * Keys are 64-bit numbers whose upper part orders and whose lower `index_bits` bits are the number of a primitive. Every order of
 * equal keys is settled by that number, so nothing depends on the number of threads; what is appended to a pd_pair_buffer comes in no
 * order, and is sorted before anybody reads it. */
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
    int *names;           /* B [n,k] the same name, the same vertex where a mesh hangs together, as of copies along a cut; NULL: corners */
    int *tags;            /* B [n] geometry/box.h */
    pd_box *boxes;        /* B [n] m */
    real *radii;          /* B [n] m, which a box is wider by on every side; NULL: zero */
} pd_primitives;

/* What primitive i is told apart by, [k]. */
PD_FUNCTION const int *pd_names_of(const pd_primitives *primitives, int i) {
    const int *names = primitives->names ? primitives->names : primitives->corners;
    return names + (size_t)i * (size_t)primitives->k;
}

/* Whether two primitives are a pair, their boxes known to overlap. */
PD_FUNCTION int pd_may_collide(const pd_primitives *first, int i, const pd_primitives *second, int j) {
    return pd_primitives_may_collide(first->tags[i], pd_names_of(first, i), first->k, second->tags[j], pd_names_of(second, j), second->k);
}

/* Where pairs are appended: first << second_bits | second, first < 2^first_bits. found counts all of them, also those beyond the
 * capacity, which are not stored; the caller then makes room and runs the loop again. */
typedef struct pd_pair_buffer {
    uint64_t *keys;  /* B [capacity] */
    uint64_t *found; /* B [1] */
    size_t capacity;
    int first_bits, second_bits;
} pd_pair_buffer;

/* Memory for sums, scans and sorts while they run; all loops of a broad phase share it. */
typedef struct pd_work {
    void *memory; /* B [bytes] */
    size_t bytes; /* pd_work_bytes of at least as many primitives or keys as a loop is given */
} pd_work;
pd_status pd_work_bytes(pd_context *context, size_t n, size_t *bytes);

/* boxes of all primitives, widened by margin and their radii; x_t1 may be NULL, geometry/box.h. */
pd_status pd_primitive_boxes(pd_context *context, pd_primitives *primitives, const real *x_t0, const real *x_t1, real margin);

/* The box around all of n boxes, the box of nothing where n is 0, and the mean of their longest sides, m. */
typedef struct pd_bound {
    pd_box box;
    double mean_size;
} pd_bound;

/* bound [1]  B  out */
pd_status pd_boxes_bound(pd_context *context, int n, const pd_box *boxes, const pd_work *work, pd_bound *bound);

/* keys [n]  B  out: Morton code in the scene, then the number of the box.    scene [1]  B */
pd_status pd_morton_keys(pd_context *context, int n, int index_bits, const pd_box *boxes, const pd_bound *scene, uint64_t *keys);

/* Sorts keys [n] by the bits from first_bit to last_bit - 1, keeping the order of equals; the result lies in keys.
 *   scratch [n]  B */
pd_status pd_sort_keys(pd_context *context, size_t n, int first_bit, int last_bit, uint64_t *keys, uint64_t *scratch, const pd_work *work);

/* items [n]  B  out: the lower index_bits of each key. */
pd_status pd_key_items(pd_context *context, int n, int index_bits, const uint64_t *keys, int *items);

/* keys from *buffer->found on, up to n, become such as come last in any order. */
pd_status pd_pad_pairs(pd_context *context, size_t n, pd_pair_buffer *buffer);

/* pairs [n,2]  B  out: the n pairs that were appended, sorted; n <= capacity. The keys may be in any order afterwards.
 *   scratch [n]  B */
pd_status pd_sort_pairs(pd_context *context, size_t n, pd_pair_buffer *buffer, uint64_t *scratch, const pd_work *work, int *pairs);

/* Ways of points, and how near primitives on them are looked for. */
typedef struct pd_ways {
    const real *x_t0, *x_t1; /* B [n_points,3] m */
    real limit;              /* m, and the radii of both */
} pd_ways;

/* Appends to out those of the n pairs `keys` B (packed as out has them) of primitives with corners that are not plainly farther apart than
 * the limit all the way (geometry/apart.h).
 *   count  B [1]  how many of the n there are; NULL: all */
pd_status pd_near_pairs(pd_context *context, size_t n, const uint64_t *count, const uint64_t *keys, const pd_primitives *first,
                        const pd_primitives *second, const pd_ways *ways, pd_pair_buffer *out);

/* Counts B [1] that loops leave, and how many of each there is room for. */
enum { PD_MOST_ROOMS_WATCHED = 8 };
typedef struct pd_rooms_watched {
    int n;
    const uint64_t *found[PD_MOST_ROOMS_WATCHED];
    uint64_t room[PD_MOST_ROOMS_WATCHED];
} pd_rooms_watched;

static inline void pd_watch_room(pd_rooms_watched *rooms, const uint64_t *found, size_t room) {
    rooms->found[rooms->n] = found, rooms->room[rooms->n++] = (uint64_t)room;
}

/* most [n]  B  in/out: of each count the most so far, until one had no room: what is counted after that follows from lists that are too
 * short. */
pd_status pd_keep_most(pd_context *context, const pd_rooms_watched *rooms, uint64_t *most);

/* ---- a tree of boxes --------------------------------------------------------------------------------------------------------- */

/* A tree over the primitives of one kind. What it is made of is each backend's own affair. */
typedef struct pd_tree pd_tree;

/* Room for a tree over n primitives, of which there are no more later. */
pd_status pd_tree_create(pd_context *context, pd_tree **tree, int n);
void pd_tree_destroy(pd_context *context, pd_tree *tree); /* NULL is allowed */

/* The tree over the sorted keys [n] of primitives. No boxes yet. */
pd_status pd_tree_build(pd_context *context, pd_tree *tree, const pd_primitives *primitives, const uint64_t *keys);

/* All boxes, from those of the primitives: a refit.
 *   cost [1]  B  out: what searching it costs: the sum of its boxes' areas over that of the root's, 0 where the root has none;
 *             NULL: not wanted
 *   limit     a tree that costs more is not searched until it is fitted again: pairs append nothing. Decided where the cost is, so that
 *             the search needs no synchronisation */
pd_status pd_tree_fit(pd_context *context, pd_tree *tree, const pd_primitives *primitives, double *cost, double limit);

/* Appends every pair of a primitive of `first` and one of the tree's (`second`) that may collide and whose boxes overlap.
 *   order [n]  B  in  first's primitives, neighbours in space close together: for speed only */
pd_status pd_tree_pairs(pd_context *context, const pd_primitives *first, const int *order, const pd_tree *tree, const pd_primitives *second,
                        pd_pair_buffer *out);

/* The same for two of the tree's own, i < j. */
pd_status pd_tree_own_pairs(pd_context *context, const pd_tree *tree, const pd_primitives *primitives, pd_pair_buffer *out);

/* ---- patches ------------------------------------------------------------------------------------------------------------------ */

/* Primitives of one kind grouped into patches. */
typedef struct pd_patch_items {
    int *start; /* B [n_patches+1] */
    int *items; /* B [n] */
} pd_patch_items;

/* boxes [n_patches] of the patches, of all the primitives in them: kinds of them, each with its grouping. */
pd_status pd_patch_boxes(pd_context *context, int n_patches, int n_kinds, const pd_primitives *kinds, const pd_patch_items *items,
                         pd_box *boxes);

/* Appends what may collide and overlaps among the pairs of a list, keys [n]  B, packed with out->second_bits. */
pd_status pd_listed_pairs(pd_context *context, size_t n, const uint64_t *keys, const pd_primitives *first, const pd_primitives *second,
                          pd_pair_buffer *out);

/* Appends the pairs between the patches of each pair of patches [n_patch_pairs] (keys with patch_bits), both ways round where `first` and
 * `second` are different kinds, i < j where they are the same. */
pd_status pd_patch_pairs(pd_context *context, size_t n_patch_pairs, const uint64_t *patch_pairs, int patch_bits, const pd_primitives *first,
                         const pd_patch_items *first_items, const pd_primitives *second, const pd_patch_items *second_items,
                         pd_pair_buffer *out);

/* ---- a hashed grid ------------------------------------------------------------------------------------------------------------ */

/* Every primitive in all the cells it covers on its level: at most eight. */
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
 * the pair the other way round. within: query and target are the same, i < j. Both grids have the same hash_bits. Each pair is found in one
 * cell only, the one that holds the lower corner of what the two boxes share. */
pd_status pd_grid_pairs(pd_context *context, const pd_grid *query_grid, const pd_primitives *query, const pd_grid *target_grid,
                        const pd_primitives *target, int within, int swapped, pd_pair_buffer *out);

#ifdef __cplusplus
}
#endif

#endif
