/* What the loops over proxies do with one proxy, and with one vertex; see loops/proxy_loops.h. */
#ifndef PD_PROXY_UPDATE_H
#define PD_PROXY_UPDATE_H

#include "geometry/surface_point.h"
#include "loops/proxy_loops.h"

/* What a collider says of the proxy at y: kept where it lies deeper in it than in those before; `depth` begins at 0. */
PD_FUNCTION void pd_proxy_keep(const pd_surface_point *found, real *depth, real target[3]) {
    if (!(found->distance < -*depth)) return;
    *depth = -found->distance;
    for (int i = 0; i < 3; i++) target[i] = found->closest[i];
}

PD_FUNCTION void pd_proxy_update_gather(int v, const int *start, const int *roles, const pd_proxy_points *proxies, real *out) {
    real sum[3] = {0, 0, 0};
    for (int r = start[v]; r < start[v + 1]; r++) {
        size_t p = (size_t)(roles[r] / 4);
        if (!proxies->active[p]) continue;
        real scale = proxies->stiffness[p] * proxies->weights[roles[r]];
        for (size_t i = 0; i < 3; i++) sum[i] += scale * (proxies->y[3 * p + i] - proxies->target[3 * p + i]);
    }
    for (int i = 0; i < 3; i++) out[i] += sum[i];
}

#endif
