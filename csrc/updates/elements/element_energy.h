/* The energy of one element with its damping, for both backends: where it is summed up and where a vertex searches along its step. */
#ifndef PD_UPDATES_ELEMENTS_ELEMENT_ENERGY_H
#define PD_UPDATES_ELEMENTS_ELEMENT_ENERGY_H

#include "elements/element.h"
#include "loops/backend.h"

/* F [3,d] of element e of g at positions x [n,3]. */
#define PD_DEFORMATION_AT(k, d, x, e, F)                                                   \
    do {                                                                                   \
        real at_[3 * (k)];                                                                 \
        pd_element_gather(k, 3, x, g->vertices + (size_t)(e) * (k), at_);                  \
        pd_element_deformation(k, d, at_, g->rest + (size_t)(e) * PD_REST_COUNT(k, d), F); \
    } while (0)

/* Per kind: adds what element e has at F to *elastic, and its damping to *damped, J. */
#define PD_ELEMENT_ENERGY(KIND, name, k, d, count, ...)                                                                           \
    PD_LANE_FUNCTION void pd_element_energy_##name(const pd_elements *g, double inverse_h, const real *x_t, const real *F, int e, \
                                                   double *elastic, double *damped) {                                             \
        *elastic += (double)pd_##name##_energy(F, g->parameters + (size_t)e * (count));                                           \
        if (!g->damping || g->damping[e] <= 0) return;                                                                            \
        real Ft[3 * (d)];                                                                                                         \
        PD_DEFORMATION_AT(k, d, x_t, e, Ft);                                                                                      \
        *damped += (double)g->damping[e] * inverse_h *                                                                            \
                   (double)pd_element_damping_energy(3 * (d), g->damping_hessian + (size_t)e * 9 * (d) * (d), F, Ft);             \
    }
PD_ELEMENT_TABLE(PD_ELEMENT_ENERGY)

#endif
