/* Loops over moving pairs: the time of impact of each, and the earliest of all.
 *
 * The first step that the distance allows decides most pairs of a broad phase. That part runs several pairs per vector register, over
 * arrays of lanes, with the functions of geometry/. Undecided pairs continue one by one from that distance. A pair's lane does not
 * matter: all lanes of all blocks run the same instructions, and missing pairs repeat the last one. */
#include "cpu/context.h"

#include "geometry/collision.h"
#include "loops/projective_loops.h"
#include "updates/counted.h"

#include <limits.h>

/* The work per pair varies from nanoseconds to many microseconds: small pieces with a dynamic schedule. Each result has its own place,
 * so the order has no effect. */
enum { NANOSECONDS = 100, LANES = 16, BLOCKS = 32 };

/* LANES pairs, pair l in column l. */
typedef struct lanes {
    real x_t0[12][LANES], x_t1[12][LANES];
    real separation[LANES];                           /* m */
    real distance[LANES], speed[LANES], first[LANES]; /* pd_motion_distance at 0, and the first step it allows */
    int regular[LANES];                               /* 0: the motion must be scaled, these three are undefined */
} lanes;

PD_INLINE void gather(const real *x_t0, const real *x_t1, const int *corners, int first, int count, lanes *out) {
    for (int l = 0; l < LANES; l++) {
        size_t slot = 4 * (size_t)(first + (l < count ? l : count - 1));
        for (size_t j = 0; j < 4; j++) {
            size_t row = 3 * (corners ? (size_t)corners[slot + j] : slot + j);
            for (size_t i = 0; i < 3; i++) out->x_t0[3 * j + i][l] = x_t0[row + i], out->x_t1[3 * j + i][l] = x_t1[row + i];
        }
    }
}

PD_INLINE pd_points4 lane(real (*x)[LANES], int l) {
    return pd_points4_of(pd_vector_of(x[0][l], x[1][l], x[2][l]), pd_vector_of(x[3][l], x[4][l], x[5][l]),
                         pd_vector_of(x[6][l], x[7][l], x[8][l]), pd_vector_of(x[9][l], x[10][l], x[11][l]));
}

PD_INLINE void start_of_kind(int kind, lanes *lanes) {
#pragma omp simd
    for (int l = 0; l < LANES; l++) {
        pd_points4 x_t0 = lane(lanes->x_t0, l), x_t1 = lane(lanes->x_t1, l);
        pd_points4 x = pd_points4_shift(x_t0, x_t0.a), v = pd_motion_relative(pd_points4_subtract(x_t1, x_t0));
        pd_motion_size size = pd_motion_size_of(x_t0, x_t1, x, v);
        real distance = pd_points4_bound(kind, x) - pd_motion_slack(size), speed = pd_motion_speed(kind, v, size);
        lanes->distance[l] = distance;
        lanes->speed[l] = speed;
        lanes->first[l] = pd_motion_step(distance, lanes->separation[l], speed);
        lanes->regular[l] = pd_motion_is_regular(size);
    }
}

/* Loads a block of pairs; returns their number. One copy of the code, so that all callers get the same bits. */
static __attribute__((noinline)) int start(int kind, int n, const real *x_t0, const real *x_t1, const int *corners, int block,
                                           real separation, const real *radii, lanes *out) {
    int first = LANES * block, count = n - first < LANES ? n - first : LANES;
    gather(x_t0, x_t1, corners, first, count, out);
    for (int l = 0; l < LANES; l++) out->separation[l] = separation;
    for (int l = 0; l < count && radii; l++) out->separation[l] += pd_separation_of_radii(kind, radii, corners + 4 * (size_t)(first + l));
    if (kind == PD_VERTEX_TRIANGLE)
        start_of_kind(PD_VERTEX_TRIANGLE, out);
    else
        start_of_kind(PD_EDGE_EDGE, out);
    return count;
}

/* The collision of lane l; stop as for pd_motion_collision. One copy of the code, too. */
static __attribute__((noinline)) pd_collision finish(int kind, int method, const lanes *lanes, int l, real stop) {
    real separation = lanes->separation[l];
    real x_t0[12], x_t1[12];
    for (int i = 0; i < 12; i++) x_t0[i] = lanes->x_t0[i][l], x_t1[i] = lanes->x_t1[i][l];
    if (!lanes->regular[l]) return pd_pair_collision(kind, method, x_t0, x_t1, separation, stop);
    pd_motion motion;
    pd_motion_create(kind, x_t0, x_t1, separation, &motion);
    if (!motion.usable) return pd_collision_of(0, 0, PD_CUT_SHORT);
    motion.speed = lanes->speed[l];
    return pd_motion_collision(&motion, method, lanes->distance[l], stop);
}

/* Tells whether lane l has certainly no contact up to `stop`. */
PD_INLINE int is_free(const lanes *lanes, int l, real stop) { return lanes->regular[l] && lanes->first[l] > stop; }

pd_status pd_collision_times(pd_context *context, int kind, int method, int n, const real *x_t0, const real *x_t1, const int *corners,
                             real separation, real *time, int *iterations, unsigned char *reason) {
    int blocks = n / LANES + (n % LANES > 0);
#pragma omp parallel for num_threads(pd_threads(context, n, NANOSECONDS)) schedule(dynamic, BLOCKS)
    for (int block = 0; block < blocks; block++) {
        lanes lanes;
        int first = LANES * block, count = start(kind, n, x_t0, x_t1, corners, block, separation, NULL, &lanes);
        for (int l = 0; l < count; l++) {
            pd_collision found = is_free(&lanes, l, 1) ? pd_collision_of(1, 0, PD_NO_CONTACT) : finish(kind, method, &lanes, l, 1);
            time[first + l] = found.time;
            iterations[first + l] = found.iterations;
            reason[first + l] = (unsigned char)found.reason;
        }
    }
    return PD_OK;
}

pd_status pd_collision_hits(pd_context *context, int kind, int capacity, const uint64_t *found, const real *x_t0, const real *x_t1,
                            const int *corners, real separation, const real *radii, const pd_earliest *earliest, unsigned char *flags) {
    int n = !(earliest->time < 1.0) ? 0 : found && *found < (uint64_t)capacity ? (int)*found : capacity;
    int blocks = n / LANES + (n % LANES > 0);
    for (int p = n; p < capacity; p++) flags[p] = 0;
#pragma omp parallel for num_threads(pd_threads(context, n, NANOSECONDS)) schedule(dynamic, BLOCKS)
    for (int block = 0; block < blocks; block++) {
        lanes lanes;
        int first = LANES * block, count = start(kind, n, x_t0, x_t1, corners, block, separation, radii, &lanes);
        for (int l = 0; l < count; l++)
            flags[first + l] = !is_free(&lanes, l, 1) && finish(kind, PD_CCD_CERTIFIED, &lanes, l, 1).reason != PD_NO_CONTACT;
    }
    return PD_OK;
}

pd_status pd_plane_hits(pd_context *context, int n, const real *x_t0, const real *x_t1, const int *vertices, int plane, real separation,
                        const real *radii, const pd_earliest *earliest, unsigned char *flags) {
    (void)context; // too little work for threads
    for (int i = 0; i < n; i++) {
        real allowed = radii ? separation + radii[vertices[i]] : separation;
        flags[i] = earliest->time < 1.0 && pd_plane_collision(x_t0, x_t1, vertices[i], plane, allowed).reason != PD_NO_CONTACT;
    }
    return PD_OK;
}

pd_status pd_earliest_begin(pd_context *context, real time, pd_earliest *earliest) {
    (void)context;
    *earliest = (pd_earliest){(double)time, (double)time, INT_MAX};
    return PD_OK;
}

pd_status pd_earliest_collision(pd_context *context, int kind, int method, int n, const uint64_t *count, const real *x_t0, const real *x_t1,
                                const int *corners, real separation, const real *radii, int first_number, pd_earliest *earliest) {
    real best = (real)earliest->time;
    n = (int)pd_counted((size_t)n, count);
    int best_index = earliest->index, blocks = n / LANES + (n % LANES > 0);
#pragma omp parallel for num_threads(pd_threads(context, n, NANOSECONDS)) schedule(dynamic, BLOCKS)
    for (int block = 0; block < blocks; block++) {
        lanes lanes;
        int first = LANES * block, filled = start(kind, n, x_t0, x_t1, corners, block, separation, radii, &lanes);
        for (int l = 0; l < filled; l++) {
            real stop;
#pragma omp atomic read
            stop = best;
            if (is_free(&lanes, l, stop)) continue;
            pd_collision found = finish(kind, method, &lanes, l, stop);
            if (found.reason == PD_NO_CONTACT || found.time > stop) continue;
            int number = first_number + first + l;
            // rare: the earliest time decreases a few dozen times in millions of pairs
#pragma omp critical(pd_earliest)
            if (found.time < best || (found.time == best && number < best_index)) {
#pragma omp atomic write
                best = found.time;
                best_index = number;
            }
        }
    }
    earliest->time = earliest->before = (double)best;
    earliest->index = best_index;
    return PD_OK;
}

pd_status pd_earliest_plane_collision(pd_context *context, int n, const real *x_t0, const real *x_t1, const int *vertices, int plane,
                                      real separation, const real *radii, int first, pd_earliest *earliest) {
    double best = earliest->time;
    int best_index = earliest->index;
    (void)context; // too little work for threads
    for (int i = 0; i < n; i++) {
        pd_collision found = pd_plane_collision(x_t0, x_t1, vertices[i], plane, radii ? separation + radii[vertices[i]] : separation);
        if (found.reason == PD_NO_CONTACT || !((double)found.time < best || ((double)found.time == best && first + i < best_index)))
            continue;
        best = (double)found.time;
        best_index = first + i;
    }
    earliest->time = earliest->before = best;
    earliest->index = best_index;
    return PD_OK;
}

pd_status pd_collision_parts(pd_context *context, int kind, int n, const uint64_t *count, const real *x_t0, const real *x_t1,
                             const int *corners, real separation, const real *radii, double *parts, uint64_t *hits) {
    n = (int)pd_counted((size_t)n, count);
    int blocks = n / LANES + (n % LANES > 0);
#pragma omp parallel for num_threads(pd_threads(context, n, NANOSECONDS)) schedule(dynamic, BLOCKS)
    for (int block = 0; block < blocks; block++) {
        lanes lanes;
        int first = LANES * block, filled = start(kind, n, x_t0, x_t1, corners, block, separation, radii, &lanes);
        for (int l = 0; l < filled; l++) {
            const int *points = corners + 4 * (size_t)(first + l);
            // a pair at rest that starts too close has time 0 and must not be tested again
            if (is_free(&lanes, l, 1) || pd_stands_still(x_t0, x_t1, points, 4)) continue;
            pd_collision found = finish(kind, PD_CCD_CERTIFIED, &lanes, l, 1);
            if (found.reason == PD_NO_CONTACT) continue;
                // a minimum and a count do not depend on the order
#pragma omp critical(pd_collision_parts)
            {
                for (int j = 0; j < 4; j++)
                    if ((double)found.time < parts[points[j]]) parts[points[j]] = (double)found.time;
                *hits += 1;
            }
        }
    }
    return PD_OK;
}

pd_status pd_plane_parts(pd_context *context, int n, const real *x_t0, const real *x_t1, const int *vertices, int plane, real separation,
                         const real *radii, double *parts, uint64_t *hits) {
    (void)context; // too little work for threads
    for (int i = 0; i < n; i++) {
        int points[] = {vertices[i], plane};
        pd_collision found = pd_plane_collision(x_t0, x_t1, vertices[i], plane, radii ? separation + radii[vertices[i]] : separation);
        if (found.reason == PD_NO_CONTACT || pd_stands_still(x_t0, x_t1, points, 2)) continue;
        for (int j = 0; j < 2; j++)
            if ((double)found.time < parts[points[j]]) parts[points[j]] = (double)found.time;
        *hits += 1;
    }
    return PD_OK;
}

pd_status pd_shorten_ways(pd_context *context, int n_points, int first, const real *x_t0, real *x_t1, double *parts, uint64_t *hits,
                          double *together) {
    double least = 1.0;
    for (int i = first; i < n_points; i++) least = parts[i] < least ? parts[i] : least;
#pragma omp parallel for num_threads(pd_threads(context, n_points, 5)) schedule(static)
    for (int i = 0; i < n_points; i++) {
        pd_shorten_way(i < first ? parts[i] : least, x_t0 + 3 * (size_t)i, x_t1 + 3 * (size_t)i);
        parts[i] = 1.0;
    }
    *together *= least;
    *hits = 0;
    return PD_OK;
}

pd_status pd_earliest_read(pd_context *context, const pd_earliest *earliest, real *time, int *index) {
    pd_earliest found;
    pd_status status = pd_memory_download(context, &found, earliest, sizeof found);
    if (status) return status;
    *time = (real)found.time;
    *index = found.index == INT_MAX ? -1 : found.index;
    return PD_OK;
}
