/* The loop over points and a collider, one thread per point. */
#include "cuda/context.cuh"

#include "geometry/collider.h"

static __global__ void collider_kernel(const pd_collider *collider, int n, const real *x, real *distance, real *gradient, real *normal,
                                       real *closest) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p >= n) return;
    size_t row = 3 * (size_t)p;
    pd_surface_point found;
    pd_collider_query(collider, x + row, &found);
    distance[p] = found.distance;
    for (size_t i = 0; i < 3; i++)
        gradient[row + i] = found.gradient[i], normal[row + i] = found.normal[i], closest[row + i] = found.closest[i];
}

pd_status pd_collider_batch(pd_context *context, const pd_collider *collider, int n, const real *x, real *distance, real *gradient,
                            real *normal, real *closest) {
    PD_LAUNCH(context, collider_kernel, n, collider, n, x, distance, gradient, normal, closest);
    return PD_OK;
}
