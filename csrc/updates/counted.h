/* Lists with their length in backend memory, and a capacity above it. */
#ifndef PD_UPDATES_COUNTED_H
#define PD_UPDATES_COUNTED_H

#include "loops/collision_loops.h"

#include <stddef.h>
#include <stdint.h>

/* The number of valid items among n; count NULL: all. */
PD_FUNCTION size_t pd_counted(size_t n, const uint64_t *count) { return count && *count < n ? (size_t)*count : n; }

/* pd_keep_most. */
PD_FUNCTION void pd_update_most(const pd_watched_capacities *capacities, uint64_t *most) {
    for (int i = 0; i < capacities->n; i++)
        if (most[i] > capacities->capacity[i]) return;
    for (int i = 0; i < capacities->n; i++)
        if (*capacities->found[i] > most[i]) most[i] = *capacities->found[i];
}

#endif
