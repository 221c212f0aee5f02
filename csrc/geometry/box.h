/* Bounding boxes of primitives, for the broad phase of collision detection.
 *
 * A box contains its primitive at all times of a step with straight motion, widened and rounded outwards. Two primitives that come
 * within the sum of their margins at any time have overlapping boxes, for any rounding. Bounds hold with and without fused
 * multiply-adds. */
#ifndef PD_GEOMETRY_BOX_H
#define PD_GEOMETRY_BOX_H

#include "base/real.h"

#include <stddef.h>
#include <stdint.h>

typedef struct pd_box {
    real low[3], high[3];
} pd_box;

/* The empty box. */
PD_FUNCTION pd_box pd_box_empty(void) {
    pd_box box;
    for (int k = 0; k < 3; k++) box.low[k] = (real)INFINITY, box.high[k] = -(real)INFINITY;
    return box;
}

PD_FUNCTION void pd_box_add_point(pd_box *box, const real x[3]) {
    for (int k = 0; k < 3; k++) {
        box->low[k] = pd_min(box->low[k], x[k]);
        box->high[k] = pd_max(box->high[k], x[k]);
    }
}

PD_FUNCTION void pd_box_add(pd_box *box, const pd_box *other) {
    for (int k = 0; k < 3; k++) {
        box->low[k] = pd_min(box->low[k], other->low[k]);
        box->high[k] = pd_max(box->high[k], other->high[k]);
    }
}

/* Boxes are closed: touching boxes overlap. */
PD_FUNCTION int pd_boxes_overlap(const pd_box *a, const pd_box *b) {
    return a->low[0] <= b->high[0] && b->low[0] <= a->high[0] && a->low[1] <= b->high[1] && b->low[1] <= a->high[1] &&
           a->low[2] <= b->high[2] && b->low[2] <= a->high[2];
}

/* The box of a primitive with k corners that moves from x_t0 to x_t1 (NULL: no motion), widened by margin on every side and rounded
 * outwards. The error of the sum is at most u times itself, and 4 u of it are added. Zeros get one sign, so that the bits of a union do
 * not depend on its order.
 *   x_t0, x_t1 [n,3]  m      corners [k]      margin  m, >= 0 */
PD_FUNCTION pd_box pd_box_of_primitive(const real *x_t0, const real *x_t1, const int *corners, int k, real margin) {
    pd_box box = pd_box_empty();
    for (int i = 0; i < k; i++) {
        pd_box_add_point(&box, x_t0 + 3 * (size_t)corners[i]);
        if (x_t1) pd_box_add_point(&box, x_t1 + 3 * (size_t)corners[i]);
    }
    for (int axis = 0; axis < 3; axis++) {
        if (margin > 0) {
            real low = box.low[axis] - margin, high = box.high[axis] + margin;
            box.low[axis] = low - (real)4 * PD_EPSILON * pd_fabs(low);
            box.high[axis] = high + (real)4 * PD_EPSILON * pd_fabs(high);
        }
        box.low[axis] = box.low[axis] + (real)0;
        box.high[axis] = box.high[axis] + (real)0;
    }
    return box;
}

/* Half of the surface area of a box, m^2, for the cost of a tree. */
PD_FUNCTION double pd_box_area(const pd_box *box) {
    double x = (double)box->high[0] - (double)box->low[0], y = (double)box->high[1] - (double)box->low[1],
           z = (double)box->high[2] - (double)box->low[2];
    return x * y + y * z + z * x;
}

/* Spreads `bits` <= 21 bits of a number, with two zeros after each. */
PD_FUNCTION uint64_t pd_spread_bits(uint64_t x) {
    x &= 0x1fffff;
    x = (x | x << 32) & 0x1f00000000ffffull;
    x = (x | x << 16) & 0x1f0000ff0000ffull;
    x = (x | x << 8) & 0x100f00f00f00f00full;
    x = (x | x << 4) & 0x10c30c30c30c30c3ull;
    x = (x | x << 2) & 0x1249249249249249ull;
    return x;
}

/* The place of a box's centre on the Morton curve through `scene`, with `bits` <= 21 bits per axis. Cells are cubes: cells as flat as a
 * flat scene would order distant places next to each other. */
PD_FUNCTION uint64_t pd_morton_code(const pd_box *box, const pd_box *scene, int bits) {
    uint64_t code = 0;
    double size = 0, cells = (double)((uint64_t)1 << bits);
    for (int axis = 0; axis < 3; axis++) {
        double side = (double)scene->high[axis] - (double)scene->low[axis];
        if (side > size) size = side;
    }
    double per_metre = cells / size;
    for (int axis = 0; axis < 3; axis++) {
        double place = (0.5 * (double)box->low[axis] + 0.5 * (double)box->high[axis] - (double)scene->low[axis]) * per_metre;
        /* a scene of one point gives 0 times infinity, which fails both comparisons */
        uint64_t cell = place >= cells - 1 ? (uint64_t)(cells - 1) : place > 0 ? (uint64_t)place : 0;
        code |= pd_spread_bits(cell) << axis;
    }
    return code;
}

/* Properties of a primitive in its tag. */
enum { PD_TAG_FIXED = 1, PD_TAG_SELF = 2, PD_TAG_BODY_SHIFT = 2, PD_TAG_SIDE = 1 << 30 };

/* Tells whether primitives of two tags may collide: not both fixed, and of different bodies or of one with self-contact. tag =
 * PD_TAG_FIXED if no corner ever moves | PD_TAG_SELF if the body has self-contact | body << PD_TAG_BODY_SHIFT (below 2^28) | PD_TAG_SIDE
 * for an edge of a triangle. */
PD_FUNCTION int pd_tags_may_collide(int tag_a, int tag_b) {
    if (tag_a & tag_b & PD_TAG_FIXED) return 0;
    return (tag_a & ~PD_TAG_SIDE) >> PD_TAG_BODY_SHIFT != (tag_b & ~PD_TAG_SIDE) >> PD_TAG_BODY_SHIFT || tag_a & PD_TAG_SELF;
}

/* Tells whether an edge is a particle, with both ends at its point. */
PD_FUNCTION int pd_edge_is_point(const int corners[2]) { return corners[0] == corners[1]; }

/* A particle meets the sides of a triangle whenever it meets the triangle as a vertex. */
PD_FUNCTION int pd_edges_are_redundant(int tag_a, const int *corners_a, int tag_b, const int *corners_b) {
    return (tag_a & PD_TAG_SIDE && pd_edge_is_point(corners_b)) || (tag_b & PD_TAG_SIDE && pd_edge_is_point(corners_a));
}

/* Tells whether two primitives may collide: their tags allow it, they have no common corner, and no other pair is equivalent. */
PD_FUNCTION int pd_primitives_may_collide(int tag_a, const int *corners_a, int k_a, int tag_b, const int *corners_b, int k_b) {
    if (!pd_tags_may_collide(tag_a, tag_b)) return 0;
    if (k_a == 2 && k_b == 2 && pd_edges_are_redundant(tag_a, corners_a, tag_b, corners_b)) return 0;
    for (int i = 0; i < k_a; i++)
        for (int j = 0; j < k_b; j++)
            if (corners_a[i] == corners_b[j]) return 0;
    return 1;
}

/* ---- cells of a grid, for hashing ---------------------------------------------------------------------------------------------- */

/* Cells of level l are cubes of side 2^l m, from the lower corner of the scene. A box of a level covers at most two along each axis. */
PD_FUNCTION double pd_cells_per_metre(int level) { return ldexp(1.0, -level); }

/* NaN coordinates, which overlap nothing, are in cell 0. */
PD_FUNCTION int pd_cell_of(real x, real scene_low, double cells_per_metre) {
    double cell = floor(((double)x - (double)scene_low) * cells_per_metre);
    return fabs(cell) < 1073741824.0 ? (int)cell : 0;
}

/* The finest level, from `finest` on, on which a box covers at most two cells along each axis. */
PD_FUNCTION int pd_level_of_box(const pd_box *box, const pd_box *scene, int finest) {
    double size = 0;
    int level;
    for (int axis = 0; axis < 3; axis++) {
        double side = (double)box->high[axis] - (double)box->low[axis];
        if (side > size) size = side;
    }
    (void)frexp(size, &level); /* size < 2^level */
    if (!(size > 0) || level < finest) level = finest;
    double per_metre = pd_cells_per_metre(level);
    for (int axis = 0; axis < 3; axis++) /* rounding may make it three */
        while (pd_cell_of(box->high[axis], scene->low[axis], per_metre) - pd_cell_of(box->low[axis], scene->low[axis], per_metre) > 1) {
            level++;
            per_metre *= 0.5;
        }
    return level;
}

/* The cells of a box on a level: at most two along each axis on its own level or a coarser one. */
typedef struct pd_cells {
    int low[3], high[3];
} pd_cells;

PD_FUNCTION pd_cells pd_cells_of_box(const pd_box *box, const pd_box *scene, int level) {
    pd_cells cells;
    double per_metre = pd_cells_per_metre(level);
    for (int axis = 0; axis < 3; axis++) {
        cells.low[axis] = pd_cell_of(box->low[axis], scene->low[axis], per_metre);
        cells.high[axis] = pd_cell_of(box->high[axis], scene->low[axis], per_metre);
    }
    return cells;
}

PD_FUNCTION int pd_cell_count(const pd_cells *cells) {
    return (cells->high[0] - cells->low[0] + 1) * (cells->high[1] - cells->low[1] + 1) * (cells->high[2] - cells->low[2] + 1);
}

/* Tells whether the lower corner of the intersection of two boxes is in a cell. Exactly one cell has it, and both boxes cover this cell. */
PD_FUNCTION int pd_boxes_share_in_cell(const pd_box *a, const pd_box *b, const pd_box *scene, double cells_per_metre, const int cell[3]) {
    for (int axis = 0; axis < 3; axis++)
        if (pd_cell_of(pd_max(a->low[axis], b->low[axis]), scene->low[axis], cells_per_metre) != cell[axis]) return 0;
    return 1;
}

/* A hash in [0, 2^bits) of a cell. The caller must distinguish cells with the same hash. */
PD_FUNCTION uint32_t pd_cell_hash(int x, int y, int z, int level, int bits) {
    uint64_t h = (uint64_t)(uint32_t)x * 0x9e3779b97f4a7c15ull;
    h = (h ^ (h >> 29) ^ (uint64_t)(uint32_t)y) * 0xbf58476d1ce4e5b9ull;
    h = (h ^ (h >> 32) ^ (uint64_t)(uint32_t)z) * 0x94d049bb133111ebull;
    h = (h ^ (h >> 31) ^ (uint64_t)(uint32_t)level) * 0xd6e8feb86659fd93ull;
    return bits ? (uint32_t)(h >> (64 - bits)) : 0;
}

#endif
