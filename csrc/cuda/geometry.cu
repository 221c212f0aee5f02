/* Loops over pairs of primitives, one thread per pair: closest points, derivatives, lower bound, mollifier, time of impact. */
#include "cuda/context.cuh"

#include "geometry/collision.h"
#include "geometry/distance.h"
#include "geometry/mollifier.h"

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

static __global__ void collision_kernel(int kind, int method, int n, const real *x_t0, const real *x_t1, const int *corners,
                                        real separation, real *time, int *iterations, unsigned char *reason) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p >= n) return;
    real x0[12], x1[12];
    for (int j = 0; j < 4; j++) {
        size_t place = 4 * (size_t)p + (size_t)j, row = corners ? (size_t)corners[place] : place;
        for (int i = 0; i < 3; i++) x0[3 * j + i] = x_t0[3 * row + i], x1[3 * j + i] = x_t1[3 * row + i];
    }
    pd_collision found = pd_pair_collision(kind, method, x0, x1, separation, 1);
    time[p] = found.time;
    iterations[p] = found.iterations;
    reason[p] = (unsigned char)found.reason;
}

pd_status pd_collision_times(pd_context *context, int kind, int method, int n, const real *x_t0, const real *x_t1, const int *corners,
                             real separation, real *time, int *iterations, unsigned char *reason) {
    PD_LAUNCH(context, collision_kernel, n, kind, method, n, x_t0, x_t1, corners, separation, time, iterations, reason);
    return PD_OK;
}

pd_status pd_earliest_collision(pd_context *context, int kind, int method, int n, const real *x_t0, const real *x_t1, const int *corners,
                                real separation, real *time, int *index) {
    (void)kind, (void)method, (void)n, (void)x_t0, (void)x_t1, (void)corners, (void)separation, (void)time, (void)index;
    return pd_fail(&context->error, PD_ERROR_UNSUPPORTED, "device: the earliest collision is not available on 'cuda', only on 'cpu'");
}
