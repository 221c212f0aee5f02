/* The neighbour pairs of a broad phase on the CPU. A vectorised lower bound of the distance rejects most pairs, LANES at a time. */
#include "updates/detection/pair_within.h"

#include "cpu/context.h"
#include "cpu/detection/append.h"

enum { LANES = 16, BLOCKS = 64, NANOSECONDS = 15 };

typedef struct lanes {
    real from[12][LANES], to[12][LANES]; /* pair l in column l */
    real limit[LANES];
    real far[LANES]; /* 1: certainly too far apart */
} lanes;

PD_INLINE pd_points4 lane(real (*x)[LANES], int l) {
    return pd_points4_of(pd_vector_of(x[0][l], x[1][l], x[2][l]), pd_vector_of(x[3][l], x[4][l], x[5][l]),
                         pd_vector_of(x[6][l], x[7][l], x[8][l]), pd_vector_of(x[9][l], x[10][l], x[11][l]));
}

/* Columns without a pair repeat the last one. moves: start and end of the paths differ. */
PD_INLINE void gather(int moves, const uint64_t *keys, int count, int second_bits, const pd_primitives *first, const pd_primitives *second,
                      const pd_ways *ways, lanes *out) {
    for (int l = 0; l < LANES; l++) {
        int points[4];
        out->limit[l] = pd_pair_within_of(keys[l < count ? l : count - 1], second_bits, first, second, ways, points);
        for (int j = 0; j < 4; j++) {
            const real *from = ways->x_t0 + 3 * (size_t)points[j], *to = ways->x_t1 + 3 * (size_t)points[j];
            for (int i = 0; i < 3; i++) out->from[3 * j + i][l] = from[i];
            for (int i = 0; i < 3 && moves; i++) out->to[3 * j + i][l] = to[i];
        }
    }
}

PD_INLINE void find_far(int n_first, int moves, lanes *lanes) {
#pragma omp simd
    for (int l = 0; l < LANES; l++)
        lanes->far[l] =
            pd_pair_apart(n_first, lane(lanes->from, l), lane(moves ? lanes->to : lanes->from, l)) > lanes->limit[l] ? (real)1 : (real)0;
}

/* n_first is k of the first kind again: constants unroll the loops over corners. */
PD_INLINE void append_within(int n_first, int moves, const uint64_t *keys, int count, const pd_primitives *first,
                             const pd_primitives *second, const pd_ways *ways, pd_appender *appender) {
    pd_primitives a = *first, b = *second;
    lanes lanes;
    a.k = n_first, b.k = 4 - n_first;
    gather(moves, keys, count, appender->out->second_bits, &a, &b, ways, &lanes);
    find_far(n_first, moves, &lanes);
    for (int l = 0; l < count; l++)
        if (!(lanes.far[l] > 0)) pd_append_key(appender, keys[l]);
}

pd_status pd_keep_most(pd_context *context, const pd_watched_capacities *capacities, uint64_t *most) {
    (void)context;
    pd_update_most(capacities, most);
    return PD_OK;
}

pd_status pd_pairs_within(pd_context *context, size_t n, const uint64_t *count, const uint64_t *keys, const pd_primitives *first,
                          const pd_primitives *second, const pd_ways *ways, pd_pair_buffer *out) {
    n = pd_counted(n, count);
    long long blocks = (long long)((n + LANES - 1) / LANES);
    int moves = ways->x_t0 != ways->x_t1;
#pragma omp parallel num_threads(pd_threads(context, (long long)n, NANOSECONDS))
    {
        pd_appender appender = {.out = out};
#pragma omp for schedule(dynamic, BLOCKS)
        for (long long block = 0; block < blocks; block++) {
            size_t start = (size_t)block * LANES;
            int count = n - start < LANES ? (int)(n - start) : LANES;
            if (first->k == 2 && moves)
                append_within(2, 1, keys + start, count, first, second, ways, &appender);
            else if (first->k == 2)
                append_within(2, 0, keys + start, count, first, second, ways, &appender);
            else if (moves)
                append_within(1, 1, keys + start, count, first, second, ways, &appender);
            else
                append_within(1, 0, keys + start, count, first, second, ways, &appender);
        }
        pd_append_flush(&appender);
    }
    return PD_OK;
}
