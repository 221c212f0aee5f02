/* The work on one element, for both backends: energy, gradient, Hessian, moves of position-based dynamics, and the quantities of
 * pdgpu.elements. Every function is one macro expanded over the element table, so that k and d are constants and the element's formula
 * is inlined. A new element needs no change here. */
#ifndef PD_UPDATES_ELEMENTS_ELEMENT_UPDATE_H
#define PD_UPDATES_ELEMENTS_ELEMENT_UPDATE_H

#include "elements/element.h"
#include "loops/backend.h"
#include "updates/elements/position_based.h"
#include "updates/elements/vertex_correction.h"

/* F [3,d] of element e of g at positions x [n,3]. */
#define PD_DEFORMATION_AT(k, d, x, e, F)                                                   \
    do {                                                                                   \
        real at_[3 * (k)];                                                                 \
        pd_element_gather(k, 3, x, g->vertices + (size_t)(e) * (k), at_);                  \
        pd_element_deformation(k, d, at_, g->rest + (size_t)(e) * PD_REST_COUNT(k, d), F); \
    } while (0)

/* Per kind:
 *   energy    E of element e at x, J, undamped
 *   gradient  dE/dx of its corners, undamped, into f [k,3] of the element, N
 *   hessian   d2E/dx2 of its corners, damping included, into K [3k,3k], N/m; K NULL: d2E/dF2 into its place in g->damping_hessian */
#define PD_ELEMENT_UPDATE(KIND, name, k, d, count, ...)                                                                                   \
    PD_LANE_FUNCTION double pd_element_update_energy_##name(const pd_elements *g, const real *x, int e) {                                 \
        real F[3 * (d)];                                                                                                                  \
        PD_DEFORMATION_AT(k, d, x, e, F);                                                                                                 \
        return (double)pd_##name##_energy(F, g->parameters + (size_t)e * (count));                                                        \
    }                                                                                                                                     \
    PD_LANE_FUNCTION void pd_element_update_gradient_##name(const pd_elements *g, const real *x, int e, real *f) {                        \
        real F[3 * (d)], P[3 * (d)];                                                                                                      \
        PD_DEFORMATION_AT(k, d, x, e, F);                                                                                                 \
        pd_##name##_gradient(F, g->parameters + (size_t)e * (count), P);                                                                  \
        pd_element_forces_from_gradient(k, d, g->rest + (size_t)e * PD_REST_COUNT(k, d), P, f);                                           \
    }                                                                                                                                     \
    PD_LANE_FUNCTION void pd_element_update_hessian_##name(const pd_elements *g, real inverse_h, const real *x, pd_hessian_filter filter, \
                                                           int e, real *K) {                                                              \
        real F[3 * (d)], H[9 * (d) * (d) + PD_HESSIAN_SCRATCH], *D = g->damping ? g->damping_hessian + (size_t)e * 9 * (d) * (d) : NULL;  \
        PD_DEFORMATION_AT(k, d, x, e, F);                                                                                                 \
        pd_##name##_hessian(F, g->parameters + (size_t)e * (count), filter, H);                                                           \
        if (!K) {                                                                                                                         \
            for (int i = 0; i < 9 * (d) * (d); i++) D[i] = H[i];                                                                          \
            return;                                                                                                                       \
        }                                                                                                                                 \
        if (D && g->damping[e] > 0) {                                                                                                     \
            real scale = g->damping[e] * inverse_h;                                                                                       \
            for (int i = 0; i < 9 * (d) * (d); i++) H[i] += scale * D[i];                                                                 \
        }                                                                                                                                 \
        pd_element_hessian_from_F(KIND, k, d, g->rest + (size_t)e * PD_REST_COUNT(k, d), H, K);                                           \
    }
PD_ELEMENT_TABLE(PD_ELEMENT_UPDATE)

/* Moves [k,3] of the corners of element e by position-based dynamics; `f` is the element's. */
#define PD_MOVES_UPDATE(KIND, name, k, d, count, ...)                                                                          \
    PD_LANE_FUNCTION void pd_element_update_moves_##name(const pd_elements *g, const unsigned char *fixed, const real *masses, \
                                                         const real *subspace, const real *x, int e, real *f) {                \
        const int *vertices = g->vertices + (size_t)e * (k);                                                                   \
        real F[3 * (d)], T[3 * (d)], w[k];                                                                                     \
        PD_DEFORMATION_AT(k, d, x, e, F);                                                                                      \
        pd_##name##_projection(F, g->parameters + (size_t)e * (count), T);                                                     \
        for (int a = 0; a < (k); a++) w[a] = fixed[vertices[a]] ? (real)0 : (real)1 / masses[vertices[a]];                     \
        pd_element_moves_within(k, d, g->rest + (size_t)e * PD_REST_COUNT(k, d), w, F, T, vertices, subspace, f);              \
    }
PD_PROJECTIVE_TABLE(PD_MOVES_UPDATE)

#endif
