/* The mollifier that makes the distance of nearly parallel edges twice differentiable.
 *
 *     m(x) = (2 - c/eps) c/eps  for c < eps,  1 beyond;      c = |e_a x e_b|^2,      eps = 1e-3 |e_a|^2 |e_b|^2 at rest, m^4
 *
 * [Li et al. 2020, Incremental Potential Contact, Eq. 24]. An energy of the distance is multiplied by m. Both m and its slope vanish for
 * parallel edges, where the closest points jump. c depends on x only through e = e_a and f = e_b:
 *
 *     dc/de = 2 ((f.f) e - (e.f) f),     d2c/de2 = 2 ((f.f) I - f f^T),     d2c/de df = 2 (2 e f^T - (e.f) I - f e^T)         (derived) */
#ifndef PD_GEOMETRY_MOLLIFIER_H
#define PD_GEOMETRY_MOLLIFIER_H

#include "geometry/pair.h"
#include "geometry/vector.h"

#define PD_MOLLIFIER_FRACTION ((real)1e-3)

/* eps of a pair of edges from its rest positions [4,3], m. */
PD_FUNCTION real pd_mollifier_threshold(const real rest[12]) {
    real e[3], f[3];
    pd_subtract3(rest + 3, rest, e);
    pd_subtract3(rest + 9, rest + 6, f);
    return PD_MOLLIFIER_FRACTION * pd_dot3(e, e) * pd_dot3(f, f);
}

/* m and its derivatives by c. For eps = 0, an edge without rest length, m = 1. */
typedef struct pd_mollifier_terms {
    real value, first, second;
    int below; /* whether m < 1 */
} pd_mollifier_terms;

PD_LANE_FUNCTION pd_mollifier_terms pd_mollifier_terms_of(real c, real threshold) {
    pd_mollifier_terms out;
    int flat = !(c < threshold); /* also where eps = 0 */
    out.below = !flat;
    real ratio = flat ? (real)1 : c / threshold;
    out.value = ((real)2 - ratio) * ratio;
    out.first = flat ? (real)0 : (real)2 * ((real)1 - ratio) / threshold;
    out.second = flat ? (real)0 : (real)-2 / threshold / threshold;
    return out;
}

/* dc/de of two edges; dc/df is pd_mollifier_slope(f, e). */
PD_LANE_FUNCTION pd_vector pd_mollifier_slope(pd_vector e, pd_vector f) {
    return pd_vector_scale(2, pd_vector_along(pd_vector_scale(pd_vector_dot(f, f), e), -pd_vector_dot(e, f), f));
}

/* m, and unless NULL its gradient [4,3] 1/m and Hessian [12,12] 1/m^2. */
PD_FUNCTION real pd_mollifier(const real x[12], real threshold, real *gradient, real *hessian) {
    real e[3], f[3], n[3];
    pd_subtract3(x + 3, x, e);
    pd_subtract3(x + 9, x + 6, f);
    pd_cross3(e, f, n);
    pd_mollifier_terms terms = pd_mollifier_terms_of(pd_dot3(n, n), threshold);
    real value = terms.value, first = terms.first, second = terms.second;
    if (!gradient && !hessian) return value;

    pd_vector of_e = pd_mollifier_slope(pd_vector_load(e), pd_vector_load(f)),
              of_f = pd_mollifier_slope(pd_vector_load(f), pd_vector_load(e));
    real ee = pd_dot3(e, e), ff = pd_dot3(f, f), ef = pd_dot3(e, f), H[36];
    real slope[6] = {of_e.x, of_e.y, of_e.z, of_f.x, of_f.y, of_f.z};
    if (gradient)
        for (int i = 0; i < 3; i++) {
            gradient[i] = -first * slope[i], gradient[3 + i] = first * slope[i];
            gradient[6 + i] = -first * slope[3 + i], gradient[9 + i] = first * slope[3 + i];
        }
    if (!hessian) return value;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            real identity = (real)(i == j);
            H[6 * i + j] = (real)2 * (ff * identity - f[i] * f[j]);
            H[6 * (3 + i) + 3 + j] = (real)2 * (ee * identity - e[i] * e[j]);
            H[6 * i + 3 + j] = H[6 * (3 + j) + i] = (real)2 * ((real)2 * e[i] * f[j] - ef * identity - f[i] * e[j]);
        }
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) H[6 * i + j] = first * H[6 * i + j] + second * slope[i] * slope[j];
    // corners 0, 1 move e by -1, +1; corners 2, 3 move f
    for (int p = 0; p < 4; p++)
        for (int q = 0; q < 4; q++)
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++)
                    hessian[12 * (3 * p + i) + 3 * q + j] =
                        (p % 2 == q % 2 ? (real)1 : (real)-1) * H[6 * (3 * (p / 2) + i) + 3 * (q / 2) + j];
    return value;
}

#endif
