/* An element of a material of the caller (base/material_functions.h). Its functions read results of the caller's functions at F, which
 * dynamics/problem/custom_elements.h evaluates before.
 *
 *     p = {weight w, largest eigenvalue at rest, volume or area, E, P = dE/dF [3d], upper triangle of d2E/dF2 by rows [3d (3d+1)/2]}
 *
 * w is the median of the positive eigenvalues of d2E/dF2 at rest: 2 mu volume for an isotropic material, as for the built-in ones. */
#ifndef PD_ELEMENTS_CUSTOM_H
#define PD_ELEMENTS_CUSTOM_H

#include "base/symmetric.h"

/* Places in p. */
enum { PD_CUSTOM_WEIGHT, PD_CUSTOM_LARGEST, PD_CUSTOM_MEASURE, PD_CUSTOM_ENERGY, PD_CUSTOM_STRESS };
#define PD_CUSTOM_HESSIAN(d)    (PD_CUSTOM_STRESS + 3 * (d))
#define PD_CUSTOM_UPPER(d)      (3 * (d) * (3 * (d) + 1) / 2)
#define PD_CUSTOM_PARAMETERS(d) (PD_CUSTOM_HESSIAN(d) + PD_CUSTOM_UPPER(d))

/* H [3d,3d] out, symmetric to the bit. */
PD_FUNCTION void pd_custom_unpack(int d, const real *p, real *H) {
    const int n = 3 * d;
    int at = PD_CUSTOM_HESSIAN(d);
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++, at++) H[n * i + j] = H[n * j + i] = p[at];
}

/* The 3x3 block, then its clamp: only negative eigenvalues of the block itself, so a positive definite block is exact. */
PD_FUNCTION void pd_custom_block(int d, const real *p, const real *g, real *B) {
    real H[81];
    const int n = 3 * d;
    pd_custom_unpack(d, p, H);
    for (int a = 0; a < 3; a++)
        for (int c = a; c < 3; c++) {
            real sum = 0;
            for (int b = 0; b < d; b++)
                for (int e = 0; e < d; e++) sum += g[b] * H[n * (d * a + b) + d * c + e] * g[e];
            B[3 * a + c] = B[3 * c + a] = sum;
        }
    pd_symmetric_filter(3, B, PD_FILTER_CLAMP);
}

#define PD_CUSTOM_ELEMENT(name, d)                                                                          \
    PD_FUNCTION real pd_##name##_energy(const real *F, const real *p) {                                     \
        (void)F;                                                                                            \
        return p[PD_CUSTOM_ENERGY];                                                                         \
    }                                                                                                       \
    PD_FUNCTION void pd_##name##_gradient(const real *F, const real *p, real *P) {                          \
        (void)F;                                                                                            \
        for (int i = 0; i < 3 * (d); i++) P[i] = p[PD_CUSTOM_STRESS + i];                                   \
    }                                                                                                       \
    PD_FUNCTION void pd_##name##_hessian(const real *F, const real *p, pd_hessian_filter filter, real *H) { \
        (void)F;                                                                                            \
        pd_custom_unpack(d, p, H);                                                                          \
        pd_symmetric_filter(3 * (d), H, filter);                                                            \
    }                                                                                                       \
    PD_FUNCTION void pd_##name##_block(const real *F, const real *p, const real *g, real *B) {              \
        (void)F;                                                                                            \
        pd_custom_block(d, p, g, B);                                                                        \
    }
PD_CUSTOM_ELEMENT(custom_tet, 3)
PD_CUSTOM_ELEMENT(custom_triangle, 2)

#endif
