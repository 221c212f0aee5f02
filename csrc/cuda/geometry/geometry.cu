/* Loops over pairs of primitives, one thread per pair: closest points, derivatives, lower bound, mollifier, time of impact. */
#include "cuda/context.cuh"

#include "geometry/collision.h"
#include "geometry/distance.h"
#include "geometry/mollifier.h"
#include "loops/projective_loops.h"
#include "updates/counted.h"

#include <climits>
#include <cstring>

static __global__ void closest_kernel(int kind, int n, const real *x, real *weights, real *gap, real *normal, real *distance,
                                      int *feature) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p >= n) return;
    size_t k = (size_t)pd_pair_corners(kind), row = (size_t)p;
    pd_closest closest;
    pd_pair_closest(kind, x + 3 * k * row, &closest);
    for (size_t j = 0; j < k; j++) weights[k * row + j] = closest.weights[j];
    for (size_t i = 0; i < 3; i++) gap[3 * row + i] = closest.gap[i], normal[3 * row + i] = closest.normal[i];
    distance[row] = closest.distance;
    feature[row] = closest.feature;
}

pd_status pd_pair_closest_batch(pd_context *context, int kind, int n, const real *x, real *weights, real *gap, real *normal, real *distance,
                                int *feature) {
    PD_LAUNCH(context, closest_kernel, n, kind, n, x, weights, gap, normal, distance, feature);
    return PD_OK;
}

static __global__ void pair_kernel(int kind, int quantity, int n, const real *x, real *out) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p >= n) return;
    int corners = pd_pair_corners(kind), squared = quantity == PD_PAIR_GRADIENT_SQUARED || quantity == PD_PAIR_HESSIAN_SQUARED;
    size_t size = 3 * (size_t)corners;
    const real *corner = x + size * (size_t)p;
    pd_closest closest;
    if (quantity == PD_PAIR_BOUND) {
        out[p] = pd_pair_distance_bound(kind, corner);
        return;
    }
    pd_pair_closest(kind, corner, &closest);
    if (quantity == PD_PAIR_GRADIENT || quantity == PD_PAIR_GRADIENT_SQUARED)
        pd_closest_gradient(&closest, corners, squared, out + size * (size_t)p);
    else
        pd_closest_hessian(&closest, corner, corners, squared, out + size * size * (size_t)p);
}

pd_status pd_pair_batch(pd_context *context, int kind, int quantity, int n, const real *x, real *out) {
    PD_LAUNCH(context, pair_kernel, n, kind, quantity, n, x, out);
    return PD_OK;
}

static __global__ void mollifier_kernel(int n, const real *x, const real *rest, real *value, real *gradient, real *hessian) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p >= n) return;
    size_t row = (size_t)p;
    real threshold = pd_mollifier_threshold(rest + 12 * row);
    value[row] = pd_mollifier(x + 12 * row, threshold, gradient ? gradient + 12 * row : NULL, hessian ? hessian + 144 * row : NULL);
}

pd_status pd_mollifier_batch(pd_context *context, int n, const real *x, const real *rest, real *value, real *gradient, real *hessian) {
    PD_LAUNCH(context, mollifier_kernel, n, n, x, rest, value, gradient, hessian);
    return PD_OK;
}

static __device__ __forceinline__ pd_collision collision_of(int kind, int method, int p, const real *x_t0, const real *x_t1,
                                                            const int *corners, real separation, real stop) {
    real x0[12], x1[12];
    for (int j = 0; j < 4; j++) {
        size_t slot = 4 * (size_t)p + (size_t)j, row = corners ? (size_t)corners[slot] : slot;
        for (int i = 0; i < 3; i++) x0[3 * j + i] = x_t0[3 * row + i], x1[3 * j + i] = x_t1[3 * row + i];
    }
    return pd_pair_collision(kind, method, x0, x1, separation, stop);
}

static __global__ void collision_kernel(int kind, int method, int n, const real *x_t0, const real *x_t1, const int *corners,
                                        real separation, real *time, int *iterations, unsigned char *reason) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p >= n) return;
    pd_collision found = collision_of(kind, method, p, x_t0, x_t1, corners, separation, 1);
    time[p] = found.time;
    iterations[p] = found.iterations;
    reason[p] = (unsigned char)found.reason;
}

pd_status pd_collision_times(pd_context *context, int kind, int method, int n, const real *x_t0, const real *x_t1, const int *corners,
                             real separation, real *time, int *iterations, unsigned char *reason) {
    PD_LAUNCH(context, collision_kernel, n, kind, method, n, x_t0, x_t1, corners, separation, time, iterations, reason);
    return PD_OK;
}

/* Nonnegative numbers have the order of their bits, and a minimum does not depend on the schedule. */
static __device__ __forceinline__ void keep_earliest(double *earliest, real time) {
    double wide = (double)time;
    unsigned long long bits;
    memcpy(&bits, &wide, sizeof bits);
    atomicMin((unsigned long long *)earliest, bits);
}

static __global__ void begin_kernel(real time, pd_earliest *earliest) {
    earliest->time = earliest->before = (double)time;
    earliest->index = INT_MAX;
}

pd_status pd_earliest_begin(pd_context *context, real time, pd_earliest *earliest) {
    PD_LAUNCH_SHAPE(context, begin_kernel, 1u, 1u, time, earliest);
    return PD_OK;
}

/* The smallest time, or with for_index the smallest number of a pair that has it. The same code for both, so that it gives the same bits
 * again. */
static __global__ void earliest_kernel(int kind, int method, int n, const uint64_t *count, const real *x_t0, const real *x_t1,
                                       const int *corners, real separation, const real *radii, int for_index, int first,
                                       pd_earliest *earliest) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if ((size_t)p >= pd_counted((size_t)n, count)) return;
    real stop = (real) * (volatile double *)&earliest->time;
    if (radii) separation += pd_separation_of_radii(kind, radii, corners + 4 * (size_t)p);
    pd_collision found = collision_of(kind, method, p, x_t0, x_t1, corners, separation, stop);
    if (found.reason == PD_NO_CONTACT || found.time > stop) return;
    if (for_index)
        atomicMin(&earliest->index, first + p);
    else
        keep_earliest(&earliest->time, found.time);
}

/* Between the two: drops the pair of an earlier smallest time. */
static __global__ void forget_kernel(pd_earliest *earliest) {
    if (earliest->time < earliest->before) earliest->index = INT_MAX;
    earliest->before = earliest->time;
}

pd_status pd_earliest_collision(pd_context *context, int kind, int method, int n, const uint64_t *count, const real *x_t0, const real *x_t1,
                                const int *corners, real separation, const real *radii, int first, pd_earliest *earliest) {
    PD_LAUNCH(context, earliest_kernel, n, kind, method, n, count, x_t0, x_t1, corners, separation, radii, 0, first, earliest);
    PD_LAUNCH_SHAPE(context, forget_kernel, 1u, 1u, earliest);
    PD_LAUNCH(context, earliest_kernel, n, kind, method, n, count, x_t0, x_t1, corners, separation, radii, 1, first, earliest);
    return PD_OK;
}

static __global__ void earliest_plane_kernel(int n, const real *x_t0, const real *x_t1, const int *vertices, int plane, real separation,
                                             const real *radii, int for_index, int first, pd_earliest *earliest) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= n) return;
    pd_collision found = pd_plane_collision(x_t0, x_t1, vertices[i], plane, radii ? separation + radii[vertices[i]] : separation);
    if (found.reason == PD_NO_CONTACT || found.time > (real) * (volatile double *)&earliest->time) return;
    if (for_index)
        atomicMin(&earliest->index, first + i);
    else
        keep_earliest(&earliest->time, found.time);
}

pd_status pd_earliest_plane_collision(pd_context *context, int n, const real *x_t0, const real *x_t1, const int *vertices, int plane,
                                      real separation, const real *radii, int first, pd_earliest *earliest) {
    PD_LAUNCH(context, earliest_plane_kernel, n, n, x_t0, x_t1, vertices, plane, separation, radii, 0, first, earliest);
    PD_LAUNCH_SHAPE(context, forget_kernel, 1u, 1u, earliest);
    PD_LAUNCH(context, earliest_plane_kernel, n, n, x_t0, x_t1, vertices, plane, separation, radii, 1, first, earliest);
    return PD_OK;
}

static __global__ void parts_kernel(int kind, int n, const uint64_t *count, const real *x_t0, const real *x_t1, const int *corners,
                                    real separation, const real *radii, double *parts, unsigned long long *hits) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p >= n || (size_t)p >= pd_counted((size_t)n, count)) return;
    const int *points = corners + 4 * (size_t)p;
    if (radii) separation += pd_separation_of_radii(kind, radii, points);
    if (pd_stands_still(x_t0, x_t1, points, 4)) return;
    pd_collision found = collision_of(kind, PD_CCD_CERTIFIED, p, x_t0, x_t1, corners, separation, 1);
    if (found.reason == PD_NO_CONTACT) return;
    for (int j = 0; j < 4; j++) keep_earliest(parts + points[j], found.time);
    atomicAdd(hits, 1ull);
}

pd_status pd_collision_parts(pd_context *context, int kind, int n, const uint64_t *count, const real *x_t0, const real *x_t1,
                             const int *corners, real separation, const real *radii, double *parts, uint64_t *hits) {
    PD_LAUNCH(context, parts_kernel, n, kind, n, count, x_t0, x_t1, corners, separation, radii, parts, (unsigned long long *)hits);
    return PD_OK;
}

static __global__ void plane_parts_kernel(int n, const real *x_t0, const real *x_t1, const int *vertices, int plane, real separation,
                                          const real *radii, double *parts, unsigned long long *hits) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= n) return;
    int points[2] = {vertices[i], plane};
    pd_collision found = pd_plane_collision(x_t0, x_t1, vertices[i], plane, radii ? separation + radii[vertices[i]] : separation);
    if (found.reason == PD_NO_CONTACT || pd_stands_still(x_t0, x_t1, points, 2)) return;
    for (int j = 0; j < 2; j++) keep_earliest(parts + points[j], found.time);
    atomicAdd(hits, 1ull);
}

pd_status pd_plane_parts(pd_context *context, int n, const real *x_t0, const real *x_t1, const int *vertices, int plane, real separation,
                         const real *radii, double *parts, uint64_t *hits) {
    PD_LAUNCH(context, plane_parts_kernel, n, n, x_t0, x_t1, vertices, plane, separation, radii, parts, (unsigned long long *)hits);
    return PD_OK;
}

/* One thread: it serves comparisons, and the host synchronises anyway. */
static __global__ void least_part_kernel(int n_points, int first, double *parts, uint64_t *hits, double *together) {
    double least = 1.0;
    for (int i = first; i < n_points; i++) least = parts[i] < least ? parts[i] : least;
    for (int i = first; i < n_points; i++) parts[i] = least;
    *together *= least;
    *hits = 0;
}

static __global__ void shorten_kernel(int n_points, const real *x_t0, real *x_t1, double *parts) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= n_points) return;
    pd_shorten_way(parts[i], x_t0 + 3 * (size_t)i, x_t1 + 3 * (size_t)i);
    parts[i] = 1.0;
}

pd_status pd_shorten_ways(pd_context *context, int n_points, int first, const real *x_t0, real *x_t1, double *parts, uint64_t *hits,
                          double *together) {
    PD_LAUNCH_SHAPE(context, least_part_kernel, 1u, 1u, n_points, first, parts, hits, together);
    PD_LAUNCH(context, shorten_kernel, n_points, n_points, x_t0, x_t1, parts);
    return PD_OK;
}

static __global__ void hits_kernel(int kind, int n, const uint64_t *count, const real *x_t0, const real *x_t1, const int *corners,
                                   real separation, const real *radii, const pd_earliest *earliest, unsigned char *flags) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p >= n) return;
    if (!(earliest->time < 1.0) || (size_t)p >= pd_counted((size_t)n, count)) {
        flags[p] = 0;
        return;
    }
    if (radii) separation += pd_separation_of_radii(kind, radii, corners + 4 * (size_t)p);
    flags[p] = collision_of(kind, PD_CCD_CERTIFIED, p, x_t0, x_t1, corners, separation, 1).reason != PD_NO_CONTACT;
}

pd_status pd_collision_hits(pd_context *context, int kind, int n, const uint64_t *count, const real *x_t0, const real *x_t1,
                            const int *corners, real separation, const real *radii, const pd_earliest *earliest, unsigned char *flags) {
    PD_LAUNCH(context, hits_kernel, n, kind, n, count, x_t0, x_t1, corners, separation, radii, earliest, flags);
    return PD_OK;
}

static __global__ void plane_hits_kernel(int n, const real *x_t0, const real *x_t1, const int *vertices, int plane, real separation,
                                         const real *radii, const pd_earliest *earliest, unsigned char *flags) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= n) return;
    real allowed = radii ? separation + radii[vertices[i]] : separation;
    flags[i] = earliest->time < 1.0 && pd_plane_collision(x_t0, x_t1, vertices[i], plane, allowed).reason != PD_NO_CONTACT;
}

pd_status pd_plane_hits(pd_context *context, int n, const real *x_t0, const real *x_t1, const int *vertices, int plane, real separation,
                        const real *radii, const pd_earliest *earliest, unsigned char *flags) {
    PD_LAUNCH(context, plane_hits_kernel, n, n, x_t0, x_t1, vertices, plane, separation, radii, earliest, flags);
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
