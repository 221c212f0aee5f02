/* The local step of ADMM at one element, for both backends. */
#ifndef PD_UPDATES_ELEMENTS_ADMM_UPDATE_H
#define PD_UPDATES_ELEMENTS_ADMM_UPDATE_H

#include "updates/elements/admm.h"

#include "updates/elements/element_update.h"

#ifdef __CUDACC__
#define PD_ADMM_UPDATE_FUNCTION static __device__ __forceinline__
#else
#define PD_ADMM_UPDATE_FUNCTION PD_LANE_FUNCTION
#endif

/* Reads x [n,3] and the weight of element e, updates its dual u [3,d], and writes the contributions of its corners to f [k,3]. */
#define PD_ADMM_UPDATE(KIND, name, k, d, count, ...)                                                                                      \
    PD_ADMM_UPDATE_FUNCTION void pd_admm_update_##name(const pd_elements *g, real inverse_h, const real *x_t, const real *x, real weight, \
                                                       int e, real *u, real *f) {                                                         \
        real F[3 * (d)], Ft[3 * (d)] = {0}, P[3 * (d)], scale = g->damping ? g->damping[e] * inverse_h : 0;                               \
        PD_DEFORMATION_AT(k, d, x, e, F);                                                                                                 \
        if (scale > 0) PD_DEFORMATION_AT(k, d, x_t, e, Ft);                                                                               \
        pd_admm_local_##name(F, g->parameters + (size_t)e * (count), weight, scale,                                                       \
                             g->damping ? g->damping_hessian + (size_t)e * 9 * (d) * (d) : NULL, Ft, u, P);                               \
        pd_element_forces_from_gradient(k, d, g->rest + (size_t)e * PD_REST_COUNT(k, d), P, f);                                           \
    }
PD_FORMULA_TABLE(PD_ADMM_UPDATE)

#endif
