/* The chain rule of all elements: corner positions -> F, and dE/dF, d2E/dF2 -> derivatives in the corners.
 *
 * See table.h for the map F = sum_{i>=1} (x_i - x_0) g_i^T and the list of elements. k (vertices) and d (columns of F) are constants at
 * every call, so that inlined loops unroll. `rest` is
 *     k > 1   [k-1, d]   the gradients g_1 .. g_{k-1}, 1/m (cotangent weights, m, for bending); g_0 = -sum g_i is not stored
 *     k = 1   [3]        the target, m
 * This header includes every element, so a loop includes only this header. */
#ifndef PD_ELEMENTS_ELEMENT_H
#define PD_ELEMENTS_ELEMENT_H

#include "elements/arap.h"
#include "elements/attachment.h"
#include "elements/bending.h"
#include "elements/corotated.h"
#include "elements/custom.h"
#include "elements/fixed_corotated.h"
#include "elements/hinge.h"
#include "elements/log_neo_hookean.h"
#include "elements/neo_hookean.h"
#include "elements/orthotropic.h"
#include "elements/rod_bending.h"
#include "elements/shape_target.h"
#include "elements/slide.h"
#include "elements/spring.h"
#include "elements/strain_limit.h"
#include "elements/stvk.h"
#include "elements/swing.h"
#include "elements/table.h"
#include "elements/volume.h"
#include "elements/world_box.h"

#include <stddef.h>

/* The size of `rest` of one element. */
enum { PD_REST_COUNT_POINT = 3 };
#define PD_REST_COUNT(k, d) ((k) > 1 ? ((k) - 1) * (d) : PD_REST_COUNT_POINT)

/* Copies the corner positions at [k,3] of one element from x [n,stride]. */
PD_LANE_FUNCTION void pd_element_gather(int k, int stride, const real *x, const int *vertices, real *at) {
    for (int a = 0; a < k; a++)
        for (int c = 0; c < 3; c++) at[3 * a + c] = x[(size_t)stride * (size_t)vertices[a] + (size_t)c];
}

/* F [3,d] out from the corner positions x [k,3]. Differences come first, so a body far from the origin loses no digits. */
PD_FUNCTION void pd_element_deformation(int k, int d, const real *x, const real *rest, real *F) {
    if (k == 1) {
        for (int a = 0; a < 3; a++) F[a] = x[a] - rest[a];
        return;
    }
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < d; b++) {
            real sum = 0;
            for (int i = 1; i < k; i++) sum += (x[3 * i + a] - x[a]) * rest[d * (i - 1) + b];
            F[d * a + b] = sum;
        }
}

/* f [k,3] out: dE/dx_i = P g_i from P = dE/dF [3,d]. This is the gradient; the force is its negative. Vertex 0 gets minus the sum of the
 * others, so that f_1 + ... + f_{k-1} + f_0, added in this order, is exactly zero. */
PD_FUNCTION void pd_element_forces_from_gradient(int k, int d, const real *rest, const real *P, real *f) {
    if (k == 1) {
        for (int a = 0; a < 3; a++) f[a] = P[a];
        return;
    }
    for (int a = 0; a < 3; a++) {
        real total = 0;
        for (int i = 1; i < k; i++) {
            real sum = 0;
            for (int b = 0; b < d; b++) sum += P[d * a + b] * rest[d * (i - 1) + b];
            f[3 * i + a] = sum;
            total += sum;
        }
        f[a] = -total;
    }
}

/* The size of a work array after a Hessian by F, and the kinds with one: hinges, orthotropic and custom materials. nvcc 13.0 gives two arrays
 * the same memory and treats H[0] as undefined, if large functions are calls or H is not in registers. All others use two arrays. */
enum { PD_HESSIAN_SCRATCH = 27 };
#if defined(__CUDACC__) && defined(PD_CALL_LARGE_FUNCTIONS)
#define PD_HESSIAN_SCRATCH_USED(kind) ((void)(kind), 1)
#else
#define PD_HESSIAN_SCRATCH_USED(kind)                                                                                 \
    ((kind) == PD_HINGE || (kind) == PD_CUSTOM_TET || (kind) == PD_CUSTOM_TRIANGLE || (kind) == PD_ORTHOTROPIC_TET || \
     (kind) == PD_ORTHOTROPIC_TRIANGLE)
#endif

/* K [3k,3k] out, row-major with index 3i+a: block (i,j) is g_i^T (d2E/dF2) g_j, from H = d2E/dF2 [3d,3d] with index a*d+b, k > 1. H is
 * symmetric to the bit, and so is K; rows and columns of vertex 0 are minus the sums of the others. For `lanes` elements at once: number
 * i of element l is at [lanes i + l], also of rest [k-1,d] and of H_g [PD_HESSIAN_SCRATCH], a work array. */
PD_LANE_FUNCTION void pd_element_hessians_from_F(int lanes, int k, int d, const real *rest, const real *H, real *H_g, real *K) {
    const int n = 3 * k;
    for (int j = 1; j < k; j++) {
        const real *g_j = rest + lanes * d * (j - 1);
        for (int r = 0; r < 3 * d; r++)
            for (int c = 0; c < 3; c++) {
                PD_LANE_LOOP
                for (int l = 0; l < lanes; l++) {
                    real sum = 0;
                    for (int b = 0; b < d; b++) sum += H[lanes * (3 * d * r + d * c + b) + l] * g_j[lanes * b + l];
                    H_g[lanes * (3 * r + c) + l] = sum; /* [3d,3]: H contracted with g_j */
                }
            }
        for (int i = 1; i <= j; i++)
            for (int a = 0; a < 3; a++)
                for (int c = i == j ? a : 0; c < 3; c++) {
                    const real *g_i = rest + lanes * d * (i - 1);
                    PD_LANE_LOOP
                    for (int l = 0; l < lanes; l++) {
                        real sum = 0;
                        for (int b = 0; b < d; b++) sum += g_i[lanes * b + l] * H_g[lanes * (3 * (d * a + b) + c) + l];
                        K[lanes * (n * (3 * i + a) + 3 * j + c) + l] = K[lanes * (n * (3 * j + c) + 3 * i + a) + l] = sum;
                    }
                }
    }
    for (int j = 3; j < n; j++)
        for (int a = 0; a < 3; a++) {
            PD_LANE_LOOP
            for (int l = 0; l < lanes; l++) {
                real sum = 0;
                for (int i = 1; i < k; i++) sum += K[lanes * (n * (3 * i + a) + j) + l];
                K[lanes * (n * a + j) + l] = K[lanes * (n * j + a) + l] = -sum;
            }
        }
    for (int a = 0; a < 3; a++)
        for (int c = a; c < 3; c++) {
            PD_LANE_LOOP
            for (int l = 0; l < lanes; l++) {
                real sum = 0;
                for (int i = 1; i < k; i++) sum += K[lanes * (n * a + 3 * i + c) + l];
                K[lanes * (n * a + c) + l] = K[lanes * (n * c + a) + l] = -sum;
            }
        }
}

/* The same of one element, for any k; PD_HESSIAN_SCRATCH unused numbers follow H. */
PD_FUNCTION void pd_element_hessian_from_F(pd_kind kind, int k, int d, const real *rest, real *H, real *K) {
    real apart[PD_HESSIAN_SCRATCH], *H_g = PD_HESSIAN_SCRATCH_USED(kind) ? H + 9 * d * d : apart;
    if (k > 1) {
        pd_element_hessians_from_F(1, k, d, rest, H, H_g, K);
        return;
    }
    for (int i = 0; i < 9; i++) K[i] = H[i];
}

/* Damping of one element with the projected H = d2E/dF2 at the start of the step, n = 3d numbers in F. The potential is k_d/(2h) (F - F_t)
 * : H : (F - F_t), which does not brake rigid motion. Both functions omit the factor k_d/h. */
PD_LANE_FUNCTION real pd_element_damping_energy(int n, const real *H, const real *F, const real *F_t) {
    real change[9], sums[3] = {0}; /* a chain of additions per column, then three sums: short chains */
    for (int i = 0; i < n; i++) change[i] = F[i] - F_t[i];
    for (int i = 0; i < n; i++) {
        real sum = 0;
        for (int j = 0; j < n; j++) sum += H[n * j + i] * change[j];
        sums[i % 3] += change[i] * sum;
    }
    return (real)0.5 * (sums[0] + sums[1] + sums[2]);
}

/* P += scale H (F - F_t) */
PD_FUNCTION void pd_element_damping_gradient(int n, real scale, const real *H, const real *F, const real *F_t, real *P) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) P[i] += scale * H[n * i + j] * (F[j] - F_t[j]);
}

#endif
