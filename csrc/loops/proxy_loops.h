/* Loops over proxies, points of a body that springs of length zero keep out of colliders [Wang et al. 2021, Sec. 4.1]; what one of them does with
 * one proxy or one vertex stands in updates/proxy_update.h. The rules of backend.h hold. */
#ifndef PD_PROXY_LOOPS_H
#define PD_PROXY_LOOPS_H

#include "loops/proximity_loops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All B. */
typedef struct pd_proxy_points {
    int n;
    const int *rows;       /* [n,4] vertices, -1: none */
    const real *weights;   /* [n,4] */
    const real *stiffness; /* [n] N/m */
    real *y;               /* [n,3] m */
    real *target;          /* [n,3] m, of those that are active */
    unsigned char *active; /* [n] */
} pd_proxy_points;

/* active and target of every proxy, from where it is: in the collider that it is deepest in, of equal ones the first. colliders  B [n_colliders] */
pd_status pd_proxy_detect(pd_context *context, int n_colliders, const pd_collider *colliders, const pd_proxy_points *proxies);

/* gradient of vertices[i] += sum of c w (y - t) over its roles, 4 proxy + corner, roles[start[i]] to roles[start[i+1]-1], in that order, those
 * that are active.   vertices B [n], each once   start B [n+1]   gradient B [.,3] N */
pd_status pd_proxy_gather(pd_context *context, int n, const int *vertices, const int *start, const int *roles,
                          const pd_proxy_points *proxies, real *gradient);

#ifdef __cplusplus
}
#endif

#endif
