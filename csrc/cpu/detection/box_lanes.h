/* Eight boxes in vector lanes, tested against one box with a few vector instructions. */
#ifndef PD_CPU_DETECTION_BOX_LANES_H
#define PD_CPU_DETECTION_BOX_LANES_H

#include "cpu/context.h"

#include "geometry/box.h"

enum { LANES = 8, VECTOR_BYTES = 32, PER_VECTOR = VECTOR_BYTES / sizeof(real), PARTS = LANES / PER_VECTOR };

/* Unused lanes hold the empty box, which overlaps none. */
typedef struct box_lanes {
    real low[3][LANES], high[3][LANES];
} __attribute__((aligned(VECTOR_BYTES))) box_lanes;

/* may_alias: a part of an array is read as a vector. memcpy is no alternative: gcc 12 copies 32 bytes in two halves through the stack,
 * which halves the speed of a search. */
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

/* The bounding box of all lanes. */
static inline pd_box lanes_union(const box_lanes *lanes) {
    pd_box all = lane_box(lanes, 0), box;
    for (int i = 1; i < LANES; i++) {
        box = lane_box(lanes, i);
        pd_box_add(&all, &box);
    }
    return all;
}

/* Bit i: the i-th comparison of a vector. By address, since not every machine can pass such vectors by value. */
PD_INLINE unsigned bits_of(const truth_vector *truth) {
#ifdef __AVX__
    return (unsigned)(sizeof(real) == sizeof(float) ? __builtin_ia32_movmskps256((__attribute__((vector_size(32))) float)*truth)
                                                    : __builtin_ia32_movmskpd256((__attribute__((vector_size(32))) double)*truth));
#else
    unsigned bits = 0;
    for (int i = 0; i < (int)PER_VECTOR; i++) bits |= (unsigned)((*truth)[i] & 1) << i;
    return bits;
#endif
}

/* The same for comparisons of integers, one per lane. */
PD_INLINE unsigned bits_of_lanes(const int_vector *truth) {
#ifdef __AVX__
    return (unsigned)__builtin_ia32_movmskps256((__attribute__((vector_size(32))) float)*truth);
#else
    unsigned bits = 0;
    for (int i = 0; i < LANES; i++) bits |= (unsigned)((*truth)[i] & 1) << i;
    return bits;
#endif
}

/* Bit i: pd_boxes_overlap of the i-th lane and the box. */
PD_INLINE unsigned lanes_overlap(const box_lanes *lanes, const pd_box *box) {
    unsigned bits = 0;
    for (int part = 0; part < (int)PARTS; part++) {
        const real_vector *low = (const real_vector *)lanes->low[0] + part, *high = (const real_vector *)lanes->high[0] + part;
        truth_vector overlap = (low[0] <= box->high[0]) & (high[0] >= box->low[0]) & (low[PARTS] <= box->high[1]) &
                               (high[PARTS] >= box->low[1]) & (low[2 * PARTS] <= box->high[2]) & (high[2 * PARTS] >= box->low[2]);
        bits |= bits_of(&overlap) << part * (int)PER_VECTOR;
    }
    return bits;
}

#endif
