/* Eight corners of a vertex in vector lanes: the gathering of their edges and the sums of their results. Both are transpositions. */
#ifndef PD_CPU_SWEEPS_CORNER_LANES_H
#define PD_CPU_SWEEPS_CORNER_LANES_H

#include "cpu/eight_floats.h"
#include "loops/sweep_loops.h"

enum { PD_SWEEP_LANES = 8 };

/* edges [3][8] out: the positions at slots [8] minus here [3], coordinate by coordinate. */
static inline __attribute__((always_inline)) void pd_corner_edges(const real *positions, const int *slots, const real *here,
                                                                  real (*edges)[PD_SWEEP_LANES]) {
#ifdef PD_EIGHT_FLOATS
    if (sizeof(real) == sizeof(float)) {
        const real *row[PD_SWEEP_LANES];
        pd_eight out[4];
        for (int l = 0; l < PD_SWEEP_LANES; l++) row[l] = positions + PD_POSITION_STRIDE * (size_t)slots[l];
        pd_eight_transpose(pd_eight_of(row[0], row[4]), pd_eight_of(row[1], row[5]), pd_eight_of(row[2], row[6]),
                           pd_eight_of(row[3], row[7]), out);
        for (int c = 0; c < 3; c++) *(pd_eight *)edges[c] = out[c] - (float)here[c];
        return;
    }
#endif
    for (int l = 0; l < PD_SWEEP_LANES; l++)
        for (int c = 0; c < 3; c++) edges[c][l] = positions[PD_POSITION_STRIDE * (size_t)slots[l] + (size_t)c] - here[c];
}

/* sum [9] += the sums over the lanes, one after the other. */
static inline __attribute__((always_inline)) void pd_corner_sums(const real (*lanes)[PD_SWEEP_LANES], real sum[9]) {
    int first = 0;
#ifdef PD_EIGHT_FLOATS
    if (sizeof(real) == sizeof(float)) {
        pd_eight total = {0}, part[4];
        for (int half = 0; half < 2; half++) {
            pd_eight_transpose_rows(lanes[0] + 4 * half, PD_SWEEP_LANES, part);
            for (int i = 0; i < 4; i++) total += part[i];
        }
        for (int i = 0; i < 8; i++) sum[i] += (real)total[i];
        first = 8;
    }
#endif
    for (int i = first; i < 9; i++) {
        real total = 0;
        for (int l = 0; l < PD_SWEEP_LANES; l++) total += lanes[i][l];
        sum[i] += total;
    }
}

/* total [3] = the sums over the lanes, by halves: lanes l and l + 4, then l and l + 2, l and l + 1. */
static inline __attribute__((always_inline)) void pd_corner_total(const real (*lanes)[PD_SWEEP_LANES], real total[3]) {
#ifdef PD_EIGHT_FLOATS
    if (sizeof(real) == sizeof(float)) {
        pd_eight half[3], part[4];
        for (int c = 0; c < 3; c++) {
            const pd_eight row = *(const pd_eight *)lanes[c];
            half[c] = row + __builtin_shufflevector(row, row, 4, 5, 6, 7, 0, 1, 2, 3);
        }
        pd_eight_transpose(half[0], half[1], half[2], half[2], part);
        const pd_eight sum = (part[0] + part[2]) + (part[1] + part[3]);
        for (int c = 0; c < 3; c++) total[c] = (real)sum[c];
        return;
    }
#endif
    real sum[3][PD_SWEEP_LANES];
    for (int c = 0; c < 3; c++)
        for (int l = 0; l < PD_SWEEP_LANES; l++) sum[c][l] = lanes[c][l];
    for (int width = PD_SWEEP_LANES / 2; width > 0; width /= 2)
        for (int c = 0; c < 3; c++)
            for (int l = 0; l < width; l++) sum[c][l] += sum[c][l + width];
    for (int c = 0; c < 3; c++) total[c] = sum[c][0];
}

#endif
