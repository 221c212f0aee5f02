/* Loops over proxies, one thread per proxy or vertex. */
#include "cuda/context.cuh"

#include "geometry/collider.h"
#include "updates/contact/proxy_update.h"

static __global__ void detect_kernel(int n_colliders, const pd_collider *colliders, pd_proxy_points proxies) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p >= proxies.n) return;
    real depth = 0;
    pd_surface_point found;
    unsigned char active = 0;
    for (int k = 0; k < n_colliders; k++) {
        pd_collider_query(colliders + k, proxies.y + 3 * (size_t)p, &found);
        pd_proxy_keep(colliders + k, &found, &depth, proxies.target + 3 * (size_t)p, &active);
    }
    proxies.depth[p] = depth;
    proxies.active[p] = active;
}

pd_status pd_proxy_detect(pd_context *context, int n_colliders, const pd_collider *colliders, const pd_proxy_points *proxies) {
    PD_LAUNCH(context, detect_kernel, proxies->n, n_colliders, colliders, *proxies);
    return PD_OK;
}

static __global__ void detect_rest_kernel(size_t n_pairs, const int *pairs, pd_rest_fields fields, const real *x, pd_proxy_points proxies) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p < proxies.n) pd_proxy_update_rest(p, n_pairs, pairs, &fields, x, &proxies);
}

pd_status pd_proxy_detect_rest(pd_context *context, size_t n_pairs, const int *pairs, const pd_rest_fields *fields, const real *x,
                               const pd_proxy_points *proxies) {
    PD_LAUNCH(context, detect_rest_kernel, proxies->n, n_pairs, pairs, *fields, x, *proxies);
    return PD_OK;
}

static __global__ void carry_kernel(const real *x, pd_proxy_points proxies) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p < proxies.n) pd_proxy_update_carry((size_t)p, x, &proxies);
}

pd_status pd_proxy_carry(pd_context *context, const real *x, const pd_proxy_points *proxies) {
    PD_LAUNCH(context, carry_kernel, proxies->n, x, *proxies);
    return PD_OK;
}

static __global__ void gather_targets_kernel(int n_vertices, pd_incidence of, pd_proxy_points proxies, real *gradient) {
    int v = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (v < n_vertices) pd_proxy_update_gather_targets(v, &of, &proxies, gradient + 3 * (size_t)v);
}

pd_status pd_proxy_gather_targets(pd_context *context, int n_vertices, const pd_incidence *of, const pd_proxy_points *proxies,
                                  real *gradient) {
    PD_LAUNCH(context, gather_targets_kernel, n_vertices, n_vertices, *of, *proxies, gradient);
    return PD_OK;
}

static __global__ void gather_kernel(int n, const int *vertices, const int *start, const int *roles, pd_proxy_points proxies,
                                     real *gradient) {
    int v = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (v < n) pd_proxy_update_gather(v, start, roles, &proxies, gradient + 3 * (size_t)vertices[v]);
}

pd_status pd_proxy_gather(pd_context *context, int n, const int *vertices, const int *start, const int *roles,
                          const pd_proxy_points *proxies, real *gradient) {
    PD_LAUNCH(context, gather_kernel, n, n, vertices, start, roles, *proxies, gradient);
    return PD_OK;
}
