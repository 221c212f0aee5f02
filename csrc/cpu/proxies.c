/* Loops over proxies. */
#include "cpu/context.h"

#include "cpu/collider_point.h"
#include "updates/proxy_update.h"

enum { QUERY_NANOSECONDS = 30, GATHER_NANOSECONDS = 20 };

pd_status pd_proxy_detect(pd_context *context, int n_colliders, const pd_collider *colliders, const pd_proxy_points *proxies) {
#pragma omp parallel for num_threads(pd_threads(context, proxies->n, QUERY_NANOSECONDS *(n_colliders + 1))) schedule(static)
    for (int p = 0; p < proxies->n; p++) {
        real depth = 0;
        pd_surface_point found;
        for (int k = 0; k < n_colliders; k++) {
            pd_collider_point(colliders + k, proxies->y + 3 * (size_t)p, &found);
            pd_proxy_keep(&found, &depth, proxies->target + 3 * (size_t)p);
        }
        proxies->active[p] = depth > 0;
    }
    return PD_OK;
}

pd_status pd_proxy_gather(pd_context *context, int n, const int *vertices, const int *start, const int *roles,
                          const pd_proxy_points *proxies, real *gradient) {
#pragma omp parallel for num_threads(pd_threads(context, n, GATHER_NANOSECONDS)) schedule(static)
    for (int v = 0; v < n; v++) pd_proxy_update_gather(v, start, roles, proxies, gradient + 3 * (size_t)vertices[v]);
    return PD_OK;
}
