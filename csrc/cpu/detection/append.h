/* Appending to a pair buffer from many threads: each fills its own block before it reserves a part of the buffer. */
#ifndef PD_CPU_DETECTION_APPEND_H
#define PD_CPU_DETECTION_APPEND_H

#include "loops/collision_loops.h"

#include <string.h>

enum { PD_APPEND_BLOCK = 512 };

typedef struct pd_appender {
    pd_pair_buffer *out;
    int n;
    uint64_t keys[PD_APPEND_BLOCK];
} pd_appender;

static inline void pd_append_flush(pd_appender *appender) {
    pd_pair_buffer *out = appender->out;
    size_t count = (size_t)appender->n, slot;
#pragma omp atomic capture
    {
        slot = *out->found;
        *out->found += count;
    }
    if (slot < out->capacity)
        memcpy(out->keys + slot, appender->keys, (count < out->capacity - slot ? count : out->capacity - slot) * sizeof *out->keys);
    appender->n = 0;
}

static inline void pd_append_key(pd_appender *appender, uint64_t key) {
    appender->keys[appender->n++] = key;
    if (appender->n == PD_APPEND_BLOCK) pd_append_flush(appender);
}

static inline void pd_append(pd_appender *appender, int first, int second) {
    pd_append_key(appender, (uint64_t)first << appender->out->second_bits | (uint64_t)second);
}

/* i and j are of the same kind. */
static inline void pd_append_ordered(pd_appender *appender, int i, int j) { pd_append(appender, i < j ? i : j, i < j ? j : i); }

#endif
