/* Loops over proxies. */
#include "cpu/context.h"

#include "cpu/geometry/collider_point.h"
#include "updates/contact/proxy_update.h"

enum { QUERY_NANOSECONDS = 30, GATHER_NANOSECONDS = 20, REST_NANOSECONDS = 400, CARRY_NANOSECONDS = 10, VERTEX_NANOSECONDS = 2 };

pd_status pd_proxy_detect(pd_context *context, int n_colliders, const pd_collider *colliders, const pd_proxy_points *proxies) {
#pragma omp parallel for num_threads(pd_threads(context, proxies->n, QUERY_NANOSECONDS *(n_colliders + 1))) schedule(static)
    for (int p = 0; p < proxies->n; p++) {
        real depth = 0;
        pd_surface_point found;
        unsigned char active = 0;
        for (int k = 0; k < n_colliders; k++) {
            pd_collider_point(colliders + k, proxies->y + 3 * (size_t)p, &found);
            pd_proxy_keep(colliders + k, &found, &depth, proxies->target + 3 * (size_t)p, &active);
        }
        proxies->depth[p] = depth;
        proxies->active[p] = active;
    }
    return PD_OK;
}

pd_status pd_proxy_detect_rest(pd_context *context, size_t n_pairs, const int *pairs, const pd_rest_fields *fields, const real *x,
                               const pd_proxy_points *proxies) {
#pragma omp parallel for num_threads(pd_threads(context, proxies->n, REST_NANOSECONDS)) schedule(dynamic, 64)
    for (int p = 0; p < proxies->n; p++) pd_proxy_update_rest(p, n_pairs, pairs, fields, x, proxies);
    return PD_OK;
}

pd_status pd_proxy_carry(pd_context *context, const real *x, const pd_proxy_points *proxies) {
#pragma omp parallel for num_threads(pd_threads(context, proxies->n, CARRY_NANOSECONDS)) schedule(static)
    for (int p = 0; p < proxies->n; p++) pd_proxy_update_carry((size_t)p, x, proxies);
    return PD_OK;
}

pd_status pd_proxy_gather_targets(pd_context *context, int n_vertices, const pd_incidence *of, const pd_proxy_points *proxies,
                                  real *gradient) {
#pragma omp parallel for num_threads(pd_threads(context, n_vertices, VERTEX_NANOSECONDS)) schedule(static)
    for (int v = 0; v < n_vertices; v++) pd_proxy_update_gather_targets(v, of, proxies, gradient + 3 * (size_t)v);
    return PD_OK;
}

pd_status pd_proxy_gather(pd_context *context, int n, const int *vertices, const int *start, const int *roles,
                          const pd_proxy_points *proxies, real *gradient) {
#pragma omp parallel for num_threads(pd_threads(context, n, GATHER_NANOSECONDS)) schedule(static)
    for (int v = 0; v < n; v++) pd_proxy_update_gather(v, start, roles, proxies, gradient + 3 * (size_t)vertices[v]);
    return PD_OK;
}
