/* Eight primitives in vector lanes, and their pairs with eight others. */
#ifndef PD_CPU_DETECTION_LEAF_PAIRS_H
#define PD_CPU_DETECTION_LEAF_PAIRS_H

#include "cpu/detection/append.h"
#include "cpu/detection/box_lanes.h"

enum { MOST_CORNERS = 3 };

typedef struct pd_leaf {
    box_lanes boxes;
    int items[LANES], tags[LANES];
    int names[MOST_CORNERS][LANES]; /* of corners */
} pd_leaf;

/* Writes all of a primitive except its box to a place in a leaf. */
static inline void leaf_put(pd_leaf *leaf, int i, const pd_primitives *primitives, int item) {
    leaf->items[i] = item;
    leaf->tags[i] = primitives->tags[item];
    for (int c = 0; c < primitives->k; c++) leaf->names[c][i] = pd_names_of(primitives, item)[c];
}

/* Tells whether one of the n primitives of a leaf may move. */
static inline unsigned leaf_moves(const pd_leaf *leaf, int n) {
    unsigned moves = 0;
    for (int i = 0; i < n; i++) moves |= !(leaf->tags[i] & PD_TAG_FIXED);
    return moves;
}

/* Fills a leaf with n <= LANES primitives; returns their bounding box. */
static inline pd_box leaf_fill(pd_leaf *leaf, const pd_primitives *primitives, const int *items, int n) {
    pd_box all = pd_box_empty();
    lanes_clear(&leaf->boxes);
    for (int i = 0; i < n; i++) {
        const pd_box *box = &primitives->boxes[items[i]];
        leaf_put(leaf, i, primitives, items[i]);
        lane_put(&leaf->boxes, i, box);
        pd_box_add(&all, box);
    }
    return all;
}

/* Some leaves, for comparing the primitives of two groups. */
enum { CHUNK = 32 };

typedef struct pd_chunk {
    pd_leaf leaves[CHUNK / LANES];
    pd_box boxes[CHUNK / LANES];
    int n; /* leaves */
} pd_chunk;

/* Fills a chunk with n <= CHUNK primitives. */
static inline void chunk_fill(pd_chunk *chunk, const pd_primitives *primitives, const int *items, int n) {
    for (chunk->n = 0; n > 0; n -= LANES, items += LANES, chunk->n++)
        chunk->boxes[chunk->n] = leaf_fill(&chunk->leaves[chunk->n], primitives, items, n < LANES ? n : LANES);
}

static inline int next_bit(unsigned *bits) {
    int bit = __builtin_ctz(*bits);
    *bits &= *bits - 1;
    return bit;
}

/* Lanes of b that share a corner with the i-th primitive of a. */
PD_INLINE unsigned neighbours(const pd_leaf *a, int i, int k_a, const pd_leaf *b, int k_b) {
    int_vector common = {0};
    for (int cb = 0; cb < k_b; cb++)
        for (int ca = 0; ca < k_a; ca++) common |= *(const int_vector *)b->names[cb] == a->names[ca][i];
    return bits_of_lanes(&common);
}

/* Bit 8 i + j: the boxes of the i-th of a and the j-th of b overlap, and they share no corner; if a is b, only i < j. box_b is the
 * bounding box of b. Few branches, since they would be hard to predict. */
PD_INLINE uint64_t leaves_overlap(const pd_leaf *a, int k_a, const pd_leaf *b, int k_b, const pd_box *box_b) {
    uint64_t found = 0;
    for (unsigned waiting = lanes_overlap(&a->boxes, box_b); waiting;) {
        int i = next_bit(&waiting);
        pd_box box = lane_box(&a->boxes, i);
        unsigned hits = lanes_overlap(&b->boxes, &box) & ~neighbours(a, i, k_a, b, k_b);
        if (a == b) hits &= ~1u << i;
        found |= (uint64_t)hits << LANES * i;
    }
    return found;
}

/* Appends the pairs of two leaves. within: both hold primitives of the same kind. */
PD_INLINE void pairs_of_leaves(pd_appender *appender, const pd_leaf *a, int k_a, const pd_leaf *b, int k_b, const pd_box *box_b,
                               int within) {
    for (uint64_t found = leaves_overlap(a, k_a, b, k_b, box_b); found; found &= found - 1) {
        int bit = __builtin_ctzll(found), i = bit / LANES, j = bit % LANES;
        if (!pd_tags_may_collide(a->tags[i], b->tags[j])) continue;
        if ((a->tags[i] | b->tags[j]) & PD_TAG_SIDE) { // of an edge
            const int names_a[2] = {a->names[0][i], a->names[1][i]}, names_b[2] = {b->names[0][j], b->names[1][j]};
            if (pd_edges_are_redundant(a->tags[i], names_a, b->tags[j], names_b)) continue;
        }
        if (within)
            pd_append_ordered(appender, a->items[i], b->items[j]);
        else
            pd_append(appender, a->items[i], b->items[j]);
    }
}

#endif
