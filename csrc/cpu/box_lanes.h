/* Eight boxes side by side, all tested against one with a few vector instructions. */
#ifndef PD_CPU_BOX_LANES_H
#define PD_CPU_BOX_LANES_H

#include "cpu/context.h"

#include "geometry/box.h"

#include <string.h>

enum { LANES = 8, VECTOR_BYTES = 32, PER_VECTOR = VECTOR_BYTES / sizeof(real), PARTS = LANES / PER_VECTOR };

/* Lanes that are not used hold the box of nothing, which overlaps none. */
typedef struct box_lanes {
    real low[3][LANES], high[3][LANES];
} __attribute__((aligned(VECTOR_BYTES))) box_lanes;

/* may_alias: a part of an array is read as a vector. (gcc 12 copies 32 bytes with memcpy in two halves through the stack, at half the
 * speed of a whole search.) */
typedef real real_vector __attribute__((vector_size(VECTOR_BYTES), may_alias));
typedef int int_vector __attribute__((vector_size(VECTOR_BYTES), may_alias));
typedef __typeof__((real_vector){0} < (real_vector){0}) truth_vector;

static inline void lanes_clear(box_lanes *lanes) {
    for (int axis = 0; axis < 3; axis++)
        for (int i = 0; i < LANES; i++) lanes->low[axis][i] = (real)INFINITY, lanes->high[axis][i] = -(real)INFINITY;
}

static inline void lane_put(box_lanes *lanes, int i, const pd_box *box) {
    for (int axis = 0; axis < 3; axis++) lanes->low[axis][i] = box->low[axis], lanes->high[axis][i] = box->high[axis];
}

static inline pd_box lane_box(const box_lanes *lanes, int i) {
    pd_box box;
    for (int axis = 0; axis < 3; axis++) box.low[axis] = lanes->low[axis][i], box.high[axis] = lanes->high[axis][i];
    return box;
}

/* The box around all of them. */
static inline pd_box lanes_union(const box_lanes *lanes) {
    pd_box all = lane_box(lanes, 0), box;
    for (int i = 1; i < LANES; i++) {
        box = lane_box(lanes, i);
        pd_box_add(&all, &box);
    }
    return all;
}

/* Bit i: the sign of the i-th number in a vector. */
PD_INLINE unsigned signs_of(truth_vector truth) {
#ifdef __AVX__
    return (unsigned)(sizeof(real) == sizeof(float) ? __builtin_ia32_movmskps256((__attribute__((vector_size(32))) float)truth)
                                                    : __builtin_ia32_movmskpd256((__attribute__((vector_size(32))) double)truth));
#else
    unsigned bits = 0;
    for (int i = 0; i < (int)PER_VECTOR; i++) bits |= (unsigned)(truth[i] & 1) << i;
    return bits;
#endif
}

/* Bit i: the i-th number is not 0. Of integers, as many as there are lanes. */
PD_INLINE unsigned bits_of_lanes(int_vector truth) {
#ifdef __AVX__
    return (unsigned)__builtin_ia32_movmskps256((__attribute__((vector_size(32))) float)truth);
#else
    unsigned bits = 0;
    for (int i = 0; i < LANES; i++) bits |= (unsigned)(truth[i] & 1) << i;
    return bits;
#endif
}

PD_INLINE truth_vector lanes_overlap_along(const box_lanes *lanes, int part, const pd_box *box, int axis) {
    const real_vector *low = (const real_vector *)lanes->low[axis] + part, *high = (const real_vector *)lanes->high[axis] + part;
    return (*low <= box->high[axis]) & (*high >= box->low[axis]);
}

/* Bit i: pd_boxes_overlap of the i-th lane and the box. */
PD_INLINE unsigned lanes_overlap(const box_lanes *lanes, const pd_box *box) {
    unsigned bits = 0;
#pragma GCC unroll 2
    for (int part = 0; part < (int)PARTS; part++) {
        truth_vector overlap =
            lanes_overlap_along(lanes, part, box, 0) & lanes_overlap_along(lanes, part, box, 1) & lanes_overlap_along(lanes, part, box, 2);
        bits |= signs_of(overlap) << part * (int)PER_VECTOR;
    }
    return bits;
}

#endif
