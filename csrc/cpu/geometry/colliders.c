/* The loop over points and a collider. */
#include "cpu/context.h"

#include "cpu/geometry/collider_point.h"

enum { QUERY_NANOSECONDS = 30 };

__attribute__((noinline)) void pd_collider_point(const pd_collider *collider, const real x[3], pd_surface_point *out) {
    pd_collider_query(collider, x, out);
}

pd_status pd_collider_batch(pd_context *context, const pd_collider *collider, int n, const real *x, real *distance, real *gradient,
                            real *normal, real *closest) {
#pragma omp parallel for num_threads(pd_threads(context, n, QUERY_NANOSECONDS)) schedule(static)
    for (int p = 0; p < n; p++) {
        size_t row = 3 * (size_t)p;
        pd_surface_point found;
        pd_collider_point(collider, x + row, &found);
        distance[p] = found.distance;
        for (size_t i = 0; i < 3; i++)
            gradient[row + i] = found.gradient[i], normal[row + i] = found.normal[i], closest[row + i] = found.closest[i];
    }
    return PD_OK;
}
