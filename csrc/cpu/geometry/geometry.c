/* Loops over pairs of primitives: closest points, derivatives of the distance, its lower bound, the mollifier. */
#include "cpu/context.h"

#include "geometry/distance.h"
#include "geometry/distance_bound.h"
#include "geometry/mollifier.h"

enum { CLOSEST_NANOSECONDS = 100, HESSIAN_NANOSECONDS = 500 };

pd_status pd_pair_closest_batch(pd_context *context, int kind, int n, const real *x, real *weights, real *gap, real *normal, real *distance,
                                int *feature) {
    size_t k = (size_t)pd_pair_corners(kind);
#pragma omp parallel for num_threads(pd_threads(context, n, CLOSEST_NANOSECONDS)) schedule(static)
    for (int p = 0; p < n; p++) {
        size_t row = (size_t)p;
        pd_closest closest;
        pd_pair_closest(kind, x + 3 * k * row, &closest);
        for (size_t j = 0; j < k; j++) weights[k * row + j] = closest.weights[j];
        for (size_t i = 0; i < 3; i++) gap[3 * row + i] = closest.gap[i], normal[3 * row + i] = closest.normal[i];
        distance[row] = closest.distance;
        feature[row] = closest.feature;
    }
    return PD_OK;
}

pd_status pd_pair_batch(pd_context *context, int kind, int quantity, int n, const real *x, real *out) {
    int corners = pd_pair_corners(kind), nanoseconds = quantity >= PD_PAIR_HESSIAN ? HESSIAN_NANOSECONDS : CLOSEST_NANOSECONDS;
    size_t size = 3 * (size_t)corners;
#pragma omp parallel for num_threads(pd_threads(context, n, nanoseconds)) schedule(static)
    for (int p = 0; p < n; p++) {
        const real *corner = x + size * (size_t)p;
        pd_closest closest;
        if (quantity == PD_PAIR_BOUND) {
            out[p] = pd_pair_distance_bound(kind, corner);
            continue;
        }
        pd_pair_closest(kind, corner, &closest);
        int squared = quantity == PD_PAIR_GRADIENT_SQUARED || quantity == PD_PAIR_HESSIAN_SQUARED;
        if (quantity == PD_PAIR_GRADIENT || quantity == PD_PAIR_GRADIENT_SQUARED)
            pd_closest_gradient(&closest, corners, squared, out + size * (size_t)p);
        else
            pd_closest_hessian(&closest, corner, corners, squared, out + size * size * (size_t)p);
    }
    return PD_OK;
}

pd_status pd_mollifier_batch(pd_context *context, int n, const real *x, const real *rest, real *value, real *gradient, real *hessian) {
#pragma omp parallel for num_threads(pd_threads(context, n, CLOSEST_NANOSECONDS)) schedule(static)
    for (int p = 0; p < n; p++) {
        size_t row = (size_t)p;
        real threshold = pd_mollifier_threshold(rest + 12 * row);
        value[row] = pd_mollifier(x + 12 * row, threshold, gradient ? gradient + 12 * row : NULL, hessian ? hessian + 144 * row : NULL);
    }
    return PD_OK;
}
