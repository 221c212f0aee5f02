/* The local problem of ADMM for one element [Overby, Brown, Li, Narain 2017, ADMM ⊇ Projective Dynamics, local step].
 *
 * With the scaled dual u [3,d] and p = F + u, w the element's weight in the matrix M/h^2 + sum w S^T S (pd_admm_weight of
 * mesh/element_set.h, times 1 + k_d/h with damping):
 *
 *     z = argmin E(z) + k_d/(2h) (z - F_t) : H : (z - F_t) + w/2 |z - p|^2,    u' = p - z,    P = w (F - z + u') = w (2 u' - u).
 *
 * P is the element's contribution, through S^T, to the right-hand side of the global step. For F = z, w u' = dE/dF: the forces balance.
 * z is not stored between iterations: it follows from x and u, and Newton starts from F, its limit. */
#ifndef PD_UPDATES_ELEMENTS_ADMM_H
#define PD_UPDATES_ELEMENTS_ADMM_H

#include "elements/element.h"

enum { PD_ADMM_NEWTON_STEPS = 20, PD_ADMM_HALVINGS = 20 };

/* In a kernel these are calls: inlining all of them takes a compiler many minutes. */
#ifdef __CUDACC__
#define PD_ADMM_FUNCTION static __device__ __noinline__
#else
#define PD_ADMM_FUNCTION static inline
#endif

/* Solves A s = g in place, g becomes s; A [n,n] symmetric, its lower half becomes the Cholesky factor. 0: not positive definite. */
PD_FUNCTION int pd_admm_solve(int n, real *A, real *g) {
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            real sum = A[n * i + j];
            for (int c = 0; c < j; c++) sum -= A[n * i + c] * A[n * j + c];
            if (i > j) {
                A[n * i + j] = sum / A[n * j + j];
                continue;
            }
            if (!(sum > 0)) return 0;
            A[n * i + i] = pd_sqrt(sum);
        }
    }
    for (int i = 0; i < n; i++) {
        for (int c = 0; c < i; c++) g[i] -= A[n * i + c] * g[c];
        g[i] /= A[n * i + i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int c = i + 1; c < n; c++) g[i] -= A[n * c + i] * g[c];
        g[i] /= A[n * i + i];
    }
    return 1;
}

/* w/2 |z - p|^2 and the damping, scale = k_d/h; H and F_t are read only for scale > 0. */
PD_FUNCTION double pd_admm_quadratic(int n, double w, real scale, const real *H, const real *F_t, const real *p, const real *z) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (double)(z[i] - p[i]) * (double)(z[i] - p[i]);
    return 0.5 * w * sum + (scale > 0 ? (double)scale * (double)pd_element_damping_energy(n, H, z, F_t) : 0.0);
}

/* z in: the start of Newton, out: the minimiser. The Hessian of E is projected, so every step descends, and is halved until the
 * objective does not grow beyond rounding. */
#define PD_ADMM_NEWTON(KIND, name, k, d, count, ...)                                                                                       \
    PD_ADMM_FUNCTION double pd_admm_objective_##name(const real *parameters, real w, real scale, const real *H, const real *F_t,           \
                                                     const real *p, const real *z) {                                                       \
        return (double)pd_##name##_energy(z, parameters) + pd_admm_quadratic(3 * (d), (double)w, scale, H, F_t, p, z);                     \
    }                                                                                                                                      \
    PD_ADMM_FUNCTION void pd_admm_newton_##name(const real *parameters, real w, real scale, const real *H, const real *F_t, const real *p, \
                                                real *z) {                                                                                 \
        enum { n_ = 3 * (d) };                                                                                                             \
        double before = pd_admm_objective_##name(parameters, w, scale, H, F_t, p, z);                                                      \
        for (int iteration = 0; iteration < PD_ADMM_NEWTON_STEPS; iteration++) {                                                           \
            real g[n_], A[n_ * n_], next[n_], moved = 0, size = 0;                                                                         \
            pd_##name##_gradient(z, parameters, g);                                                                                        \
            pd_##name##_hessian(z, parameters, PD_FILTER_CLAMP, A);                                                                        \
            if (scale > 0) {                                                                                                               \
                pd_element_damping_gradient(n_, scale, H, z, F_t, g);                                                                      \
                for (int i = 0; i < n_ * n_; i++) A[i] += scale * H[i];                                                                    \
            }                                                                                                                              \
            for (int i = 0; i < n_; i++) {                                                                                                 \
                g[i] += w * (z[i] - p[i]);                                                                                                 \
                A[(n_ + 1) * i] += w;                                                                                                      \
                size += z[i] * z[i];                                                                                                       \
            }                                                                                                                              \
            if (!pd_admm_solve(n_, A, g)) return;                                                                                          \
            for (int i = 0; i < n_; i++) moved += g[i] * g[i];                                                                             \
            double after = before, noise = 8.0 * (double)PD_EPSILON * fabs(before);                                                        \
            int halving = 0;                                                                                                               \
            for (; halving < PD_ADMM_HALVINGS; halving++) {                                                                                \
                for (int i = 0; i < n_; i++) next[i] = z[i] - g[i];                                                                        \
                after = pd_admm_objective_##name(parameters, w, scale, H, F_t, p, next);                                                   \
                if (after <= before + noise) break;                                                                                        \
                for (int i = 0; i < n_; i++) g[i] *= (real)0.5;                                                                            \
            }                                                                                                                              \
            if (halving == PD_ADMM_HALVINGS) return;                                                                                       \
            for (int i = 0; i < n_; i++) z[i] = next[i];                                                                                   \
            before = after;                                                                                                                \
            if (moved <= 16 * PD_EPSILON * PD_EPSILON * size) return;                                                                      \
        }                                                                                                                                  \
    }
PD_FORMULA_TABLE(PD_ADMM_NEWTON)
#undef PD_ADMM_NEWTON

/* E = k/2 |F - T(F)|^2, k the first parameter: z is at the fraction k / (k + w) of the path from p to its nearest point, which is the
 * same for all points between. */
#define PD_ADMM_CLOSED(KIND, name, k, d, count, ...)                                                      \
    PD_ADMM_FUNCTION void pd_admm_closed_##name(const real *parameters, real w, const real *p, real *z) { \
        real sum = parameters[0] + w, part = sum > 0 ? parameters[0] / sum : (real)0.5;                   \
        pd_##name##_projection(p, parameters, z);                                                         \
        for (int i = 0; i < 3 * (d); i++) z[i] = part * z[i] + (1 - part) * p[i];                         \
    }
PD_PROJECTIVE_TABLE(PD_ADMM_CLOSED)
#undef PD_ADMM_CLOSED

/* One local step: u [3,d] in and out, P [3,d] out; weight is the element's, without damping. */
#define PD_ADMM_LOCAL(name, d, minimise)                                                                                      \
    PD_ADMM_FUNCTION void pd_admm_local_##name(const real *F, const real *parameters, real weight, real scale, const real *H, \
                                               const real *F_t, real *u, real *P) {                                           \
        real w = weight * (1 + scale), p[3 * (d)], z[3 * (d)];                                                                \
        for (int i = 0; i < 3 * (d); i++) p[i] = F[i] + u[i], z[i] = F[i];                                                    \
        minimise;                                                                                                             \
        for (int i = 0; i < 3 * (d); i++) {                                                                                   \
            real dual = p[i] - z[i];                                                                                          \
            P[i] = w * (2 * dual - u[i]);                                                                                     \
            u[i] = dual;                                                                                                      \
        }                                                                                                                     \
    }
#define PD_ADMM_PROJECTIVE(KIND, name, k, d, count, ...)                                             \
    PD_ADMM_LOCAL(name, d, if (scale > 0) pd_admm_newton_##name(parameters, w, scale, H, F_t, p, z); \
                  else pd_admm_closed_##name(parameters, w, p, z))
#define PD_ADMM_HYPERELASTIC(KIND, name, k, d, count, ...) PD_ADMM_LOCAL(name, d, pd_admm_newton_##name(parameters, w, scale, H, F_t, p, z))
PD_PROJECTIVE_TABLE(PD_ADMM_PROJECTIVE)
PD_HYPERELASTIC_TABLE(PD_ADMM_HYPERELASTIC)
PD_ORTHOTROPIC_TABLE(PD_ADMM_HYPERELASTIC)
PD_JOINT_TABLE(PD_ADMM_HYPERELASTIC)
PD_ANGLE_TABLE(PD_ADMM_HYPERELASTIC)
#undef PD_ADMM_PROJECTIVE
#undef PD_ADMM_HYPERELASTIC
#undef PD_ADMM_LOCAL

#endif
