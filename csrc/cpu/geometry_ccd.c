/* Loops over moving pairs: the time of impact of each, and the earliest of all. */
#include "cpu/context.h"

#include "geometry/collision.h"

#include <limits.h>

/* A pair costs from 50 ns to many microseconds: small pieces, handed out as threads become free. Each result has its own place, so the
 * order does not show. */
enum { NANOSECONDS = 200, PIECE = 256 };

static inline void gather(const real *x, const int *corners, int pair, real out[12]) {
    for (int j = 0; j < 4; j++) {
        const real *row = x + 3 * (corners ? (size_t)corners[4 * (size_t)pair + (size_t)j] : 4 * (size_t)pair + (size_t)j);
        for (int i = 0; i < 3; i++) out[3 * j + i] = row[i];
    }
}

pd_status pd_collision_times(pd_context *context, int kind, int method, int n, const real *x_t0, const real *x_t1, const int *corners,
                             real separation, real *time, int *iterations, unsigned char *reason) {
#pragma omp parallel for num_threads(pd_threads(context, n, NANOSECONDS)) schedule(dynamic, PIECE)
    for (int p = 0; p < n; p++) {
        real x0[12], x1[12];
        gather(x_t0, corners, p, x0);
        gather(x_t1, corners, p, x1);
        pd_collision found = pd_pair_collision(kind, method, x0, x1, separation, 1);
        time[p] = found.time;
        iterations[p] = found.iterations;
        reason[p] = (unsigned char)found.reason;
    }
    return PD_OK;
}

pd_status pd_earliest_collision(pd_context *context, int kind, int method, int n, const real *x_t0, const real *x_t1, const int *corners,
                                real separation, real *time, int *index) {
    real best = *time;
    int best_index = INT_MAX;
#pragma omp parallel for num_threads(pd_threads(context, n, NANOSECONDS)) schedule(dynamic, PIECE)
    for (int p = 0; p < n; p++) {
        real x0[12], x1[12], stop;
#pragma omp atomic read
        stop = best;
        gather(x_t0, corners, p, x0);
        gather(x_t1, corners, p, x1);
        pd_collision found = pd_pair_collision(kind, method, x0, x1, separation, stop);
        if (found.reason == PD_NO_CONTACT || found.time > stop) continue;
            // rare: the earliest time falls a few dozen times in millions of pairs
#pragma omp critical(pd_earliest)
        if (found.time < best || (found.time == best && p < best_index)) {
#pragma omp atomic write
            best = found.time;
            best_index = p;
        }
    }
    *time = best;
    *index = best_index == INT_MAX ? -1 : best_index;
    return PD_OK;
}
