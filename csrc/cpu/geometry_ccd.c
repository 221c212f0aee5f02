/* Loops over moving pairs: the time of impact of each, and the earliest of all.
 *
 * Most pairs of a broad phase are told apart by their distance and speed at the start. That part runs several pairs per vector register,
 * over arrays of lanes, with the functions of the scalar code; what it cannot decide goes on one by one, from the distance found here. A
 * pair's lane does not matter: all lanes of all blocks run the same instructions, missing pairs repeat the last one. */
#include "cpu/context.h"

#include "geometry/collision.h"

#include <limits.h>

/* A pair costs from 50 ns to many microseconds: small pieces, handed out as threads become free. Each result has its own place, so the
 * order does not show. */
enum { NANOSECONDS = 100, LANES = 16, BLOCKS = 32 };

typedef struct start_lanes {
    real x_t0[12][LANES], x_t1[12][LANES];
    real distance[LANES], speed[LANES];
    int regular[LANES]; /* 0: must be scaled, distance and speed mean nothing */
} start_lanes;

PD_INLINE void gather(const real *x_t0, const real *x_t1, const int *corners, int first, int count, start_lanes *lanes) {
    for (int l = 0; l < LANES; l++) {
        size_t place = 4 * (size_t)(first + (l < count ? l : count - 1));
        for (size_t j = 0; j < 4; j++) {
            size_t row = 3 * (corners ? (size_t)corners[place + j] : place + j);
            for (size_t i = 0; i < 3; i++) lanes->x_t0[3 * j + i][l] = x_t0[row + i], lanes->x_t1[3 * j + i][l] = x_t1[row + i];
        }
    }
}

/* Distance and speed of all lanes at the start. */
PD_INLINE void start_of_kind(int kind, start_lanes *lanes) {
    real(*a)[LANES] = lanes->x_t0, (*b)[LANES] = lanes->x_t1;
#pragma omp simd
    for (int l = 0; l < LANES; l++) {
        pd_vector a0 = pd_vector_of(a[0][l], a[1][l], a[2][l]), a1 = pd_vector_of(a[3][l], a[4][l], a[5][l]);
        pd_vector a2 = pd_vector_of(a[6][l], a[7][l], a[8][l]), a3 = pd_vector_of(a[9][l], a[10][l], a[11][l]);
        pd_vector b0 = pd_vector_of(b[0][l], b[1][l], b[2][l]), b1 = pd_vector_of(b[3][l], b[4][l], b[5][l]);
        pd_vector b2 = pd_vector_of(b[6][l], b[7][l], b[8][l]), b3 = pd_vector_of(b[9][l], b[10][l], b[11][l]);
        pd_motion_lines lines = pd_motion_localise(a0, a1, a2, a3, b0, b1, b2, b3);
        pd_motion_size size = pd_motion_size_of(lines, a0, a1, a2, a3, b0, b1, b2, b3);
        lanes->speed[l] = pd_motion_speed(kind, lines.v0, lines.v1, lines.v2, lines.v3, size);
        lanes->distance[l] = pd_moving_pair_bound(kind, lines.x0, lines.x1, lines.x2, lines.x3) - pd_motion_slack(size);
        lanes->regular[l] = pd_motion_is_regular(size);
    }
}

/* One copy of the code each: whoever asks gets the same bits. */
static __attribute__((noinline)) void start_vertex_triangle(start_lanes *lanes) { start_of_kind(PD_VERTEX_TRIANGLE, lanes); }
static __attribute__((noinline)) void start_edge_edge(start_lanes *lanes) { start_of_kind(PD_EDGE_EDGE, lanes); }

/* The collision of lane l. */
static pd_collision finish(int kind, int method, const start_lanes *lanes, int l, real separation, real stop) {
    if (lanes->regular[l] && pd_motion_is_free(lanes->distance[l], separation, lanes->speed[l] * stop))
        return pd_collision_of(1, 0, PD_NO_CONTACT);
    real x_t0[12], x_t1[12];
    pd_motion motion;
    for (int i = 0; i < 12; i++) x_t0[i] = lanes->x_t0[i][l], x_t1[i] = lanes->x_t1[i][l];
    pd_motion_create(kind, x_t0, x_t1, separation, &motion);
    if (!motion.usable) return pd_collision_of(0, 0, PD_CUT_SHORT);
    motion.speed = lanes->regular[l] ? lanes->speed[l] : motion.speed;
    return pd_motion_collision(&motion, method, lanes->regular[l] ? lanes->distance[l] : pd_motion_distance(&motion, 0), stop);
}

pd_status pd_collision_times(pd_context *context, int kind, int method, int n, const real *x_t0, const real *x_t1, const int *corners,
                             real separation, real *time, int *iterations, unsigned char *reason) {
    int blocks = n / LANES + (n % LANES > 0);
#pragma omp parallel for num_threads(pd_threads(context, n, NANOSECONDS)) schedule(dynamic, BLOCKS)
    for (int block = 0; block < blocks; block++) {
        start_lanes lanes;
        int first = LANES * block, count = n - first < LANES ? n - first : LANES;
        gather(x_t0, x_t1, corners, first, count, &lanes);
        if (kind == PD_VERTEX_TRIANGLE)
            start_vertex_triangle(&lanes);
        else
            start_edge_edge(&lanes);
        for (int l = 0; l < count; l++) {
            pd_collision found = finish(kind, method, &lanes, l, separation, 1);
            time[first + l] = found.time;
            iterations[first + l] = found.iterations;
            reason[first + l] = (unsigned char)found.reason;
        }
    }
    return PD_OK;
}

pd_status pd_earliest_collision(pd_context *context, int kind, int method, int n, const real *x_t0, const real *x_t1, const int *corners,
                                real separation, real *time, int *index) {
    real best = *time;
    int best_index = INT_MAX, blocks = n / LANES + (n % LANES > 0);
#pragma omp parallel for num_threads(pd_threads(context, n, NANOSECONDS)) schedule(dynamic, BLOCKS)
    for (int block = 0; block < blocks; block++) {
        start_lanes lanes;
        int first = LANES * block, count = n - first < LANES ? n - first : LANES;
        gather(x_t0, x_t1, corners, first, count, &lanes);
        if (kind == PD_VERTEX_TRIANGLE)
            start_vertex_triangle(&lanes);
        else
            start_edge_edge(&lanes);
        for (int l = 0; l < count; l++) {
            real stop;
#pragma omp atomic read
            stop = best;
            pd_collision found = finish(kind, method, &lanes, l, separation, stop);
            if (found.reason == PD_NO_CONTACT || found.time > stop) continue;
                // rare: the earliest time falls a few dozen times in millions of pairs
#pragma omp critical(pd_earliest)
            if (found.time < best || (found.time == best && first + l < best_index)) {
#pragma omp atomic write
                best = found.time;
                best_index = first + l;
            }
        }
    }
    *time = best;
    *index = best_index == INT_MAX ? -1 : best_index;
    return PD_OK;
}
