/* One element of a batch of pdgpu.elements, for both backends: a quantity at corner positions x [k,3], written to its place in `out`. */
#ifndef PD_UPDATES_ELEMENTS_ELEMENT_BATCH_UPDATE_H
#define PD_UPDATES_ELEMENTS_ELEMENT_BATCH_UPDATE_H

#include "updates/elements/vertex_correction.h"

#include "loops/backend.h"

#define PD_BATCH_UPDATE(KIND, name, k, d, count, ...)                                                                               \
    PD_LANE_FUNCTION void pd_batch_update_##name(int quantity, pd_hessian_filter filter, size_t e, const real *x, const real *rest, \
                                                 const real *parameters, real *out) {                                               \
        const real *r = rest + e * PD_REST_COUNT(k, d), *p = parameters + e * (count);                                              \
        real F[3 * (d)], P[3 * (d)], H[9 * (d) * (d) + PD_HESSIAN_SCRATCH];                                                         \
        pd_element_deformation(k, d, x + e * 3 * (k), r, F);                                                                        \
        switch (quantity) {                                                                                                         \
        case PD_BATCH_ENERGY: out[e] = pd_##name##_energy(F, p); break;                                                             \
        case PD_BATCH_HESSIAN:                                                                                                      \
            pd_##name##_hessian(F, p, filter, H);                                                                                   \
            pd_element_hessian_from_F(KIND, k, d, r, H, out + e * 9 * (k) * (k));                                                   \
            break;                                                                                                                  \
        case PD_BATCH_BLOCKS:                                                                                                       \
            for (int a = 0; a < (k); a++) {                                                                                         \
                real along[3] = {0, 0, 0};                                                                                          \
                if ((k) > 1) pd_element_corner_gradient(k, d, r, a, along);                                                         \
                pd_##name##_block(F, p, along, out + (e * (k) + (size_t)a) * 9);                                                    \
            }                                                                                                                       \
            break;                                                                                                                  \
        default:                                                                                                                    \
            pd_##name##_gradient(F, p, P);                                                                                          \
            if (quantity == PD_BATCH_GRADIENT)                                                                                      \
                pd_element_forces_from_gradient(k, d, r, P, out + e * 3 * (k));                                                     \
            else                                                                                                                    \
                for (int i = 0; i < 3 * (d); i++) out[e * 3 * (d) + (size_t)i] = P[i];                                              \
        }                                                                                                                           \
    }
PD_ELEMENT_TABLE(PD_BATCH_UPDATE)

#define PD_PROJECTION_UPDATE(KIND, name, k, d, count, ...)                                                                            \
    PD_LANE_FUNCTION void pd_projection_update_##name(size_t e, const real *x, const real *rest, const real *parameters, real *out) { \
        real F[3 * (d)];                                                                                                              \
        pd_element_deformation(k, d, x + e * 3 * (k), rest + e * PD_REST_COUNT(k, d), F);                                             \
        pd_##name##_projection(F, parameters + e * (count), out + e * 3 * (d));                                                       \
    }
PD_PROJECTIVE_TABLE(PD_PROJECTION_UPDATE)

#endif
