/* One pair of a broad phase by its key, for the loops of both backends: its corners. */
#ifndef PD_UPDATES_DETECTION_PAIR_WITHIN_H
#define PD_UPDATES_DETECTION_PAIR_WITHIN_H

#include "geometry/apart.h"
#include "updates/counted.h"

/* points [4]: rows of the corners of pair `key`; returns its search distance, m. */
PD_FUNCTION real pd_pair_within_of(uint64_t key, int second_bits, const pd_primitives *first, const pd_primitives *second,
                                   const pd_ways *ways, int points[4]) {
    size_t i = (size_t)(key >> second_bits), j = (size_t)(key & (((uint64_t)1 << second_bits) - 1));
    for (int c = 0; c < first->k; c++) points[c] = first->corners[i * (size_t)first->k + (size_t)c];
    for (int c = 0; c < second->k; c++) points[first->k + c] = second->corners[j * (size_t)second->k + (size_t)c];
    return ways->limit + (first->radii ? first->radii[i] : (real)0) + (second->radii ? second->radii[j] : (real)0);
}

#endif
