/* Preservation of volume (tet, det F = 1) and of area (triangle, sigma_0 sigma_1 = 1).
 *
 *     E(F) = w/2 |F - T|^2,    T = the closest matrix with det T = 1 (or area factor 1),    dE/dF = w (F - T)
 *
 * p = {w [J] = k volume, or k area}. [Bouaziz et al. 2014, Projective Dynamics, Sec. 5, Area and Volume]. T must be the exact closest
 * point, otherwise w (F - T) is not the gradient of E. It is T = U diag(p) V^T with the signed singular values sigma of F (svd.h) and the p
 * > 0 closest to sigma with product 1.
 *
 * Volume. Stationary points: p_i (sigma_i - p_i) = lambda, so p_i = (sigma_i +- sqrt(sigma_i^2 - 4 lambda))/2.
 *   product of sigma < 1: lambda < 0, only the roots + are positive, and their product decreases with lambda: one solution.
 *   product > 1: lambda > 0; only the smallest, p_2, can be the root -. Along x = p_2/sigma_2 with the other roots +, the log of the
 *     product increases with slope 1 to 3 (in log x) on [1/2, 1], where p_2 is a root +. It increases on (0, 1/3], but may decrease in
 *     between: up to three solutions, of which the first and the last are local minima. Product < 2: only the last exists;
 *     product > 12: only the first. In between both are searched, one from either end, and the closer one is used. At equal distances
 *     E has a kink and T jumps: for sigma = (s, s, s) at s = 1.9019.
 *   The searches use log x, or log(-lambda) for sigma_2 <= 0 or a product below 1/e; outside the fold the slope lies between 0.38
 *   and 3. Newton with a bracket: a few steps, at most PD_VOLUME_STEPS.
 * Area. With x = p_0 + p_1, y = p_0 - p_1: x^2 - y^2 = 4 and Sigma/x + Delta/y = 2, where Sigma = sigma_0 + sigma_1,
 *   Delta = sigma_0 - sigma_1; that is 2 y - Sigma y/x = Delta, convex in y with one positive root: Newton from above is monotone.
 *
 * Hessian of 1/2 dist^2: I - dp/dsigma in the block, with dp/dsigma = N (N^T K N)^-1 N^T, N a basis of the tangent plane of the constraint
 * and K = I + lambda Hess(product) (implicit function theorem); pairs (i,j), k the third (area: p_k = 1):
 *     symmetric  1 - 1/(1 - lambda p_k)        twist  1 - 1/(1 + lambda p_k)        normal (area)  1 - p_i/sigma_i
 * A denominator vanishes where T is not unique: sigma_1 + sigma_2 = 0 for a tet, sigma_1 = 0 for a triangle, sigma_i = sigma_j where T is
 * not symmetric in i and j. pd_singular_quotient keeps the eigenvalue finite. Every finite sigma, also zero or inverted, has a finite p. A
 * p_2 below exp(-700) sigma_2 (float: exp(-80)) is set to this limit: the closest point to rounding, but its product is not 1. */
#ifndef PD_ELEMENTS_VOLUME_H
#define PD_ELEMENTS_VOLUME_H

#include "base/svd.h"
#include "elements/isotropic.h"

#define PD_VOLUME_STEPS 60

/* Bound of |log p| in the searches: its exp is representable. */
#define PD_VOLUME_LOG_LIMIT ((real)(sizeof(real) == sizeof(float) ? 80 : 700))

PD_FUNCTION real pd_exp(real x) { return sizeof(real) == sizeof(float) ? (real)expf((float)x) : (real)exp((double)x); }

PD_FUNCTION real pd_cbrt(real x) { return sizeof(real) == sizeof(float) ? (real)cbrtf((float)x) : (real)cbrt((double)x); }

/* sqrt(a^2 + b^2) for a, b >= 0 without overflow. */
PD_FUNCTION real pd_volume_hypotenuse(real a, real b) {
    real longer = pd_max(a, b), ratio = longer > 0 ? pd_min(a, b) / longer : 0;
    return longer * pd_sqrt((real)1 + ratio * ratio);
}

/* The stationary point at x = p_2/s_2 = exp(u), s_2 > 0, the other two on the root +: p, d = s - p, and the slope of the returned
 * log(p_0 p_1 p_2) in u. With e = s_2/s_i: p_i = s_i (1 + h)/2, h^2 = 1 - e^2 + (2x - 1)^2 e^2, a sum without cancellation. */
PD_FUNCTION real pd_volume_at_ratio(const real s[3], real u, real p[3], real d[3], real *slope) {
    real x = pd_exp(u), z = (real)2 * x - (real)1;
    p[2] = s[2] * x;
    d[2] = s[2] * ((real)1 - x);
    *slope = 1;
    for (int i = 0; i < 2; i++) {
        real e = s[2] / s[i], h = pd_sqrt(((real)1 - e) * ((real)1 + e) + (z * e) * (z * e));
        p[i] = (real)0.5 * s[i] * ((real)1 + h);
        d[i] = (real)2 * x * e / ((real)1 + h) * d[2];
        if (h > 0) *slope += (real)2 * x * e / ((real)1 + h) * (z * e / h);
    }
    return pd_log(p[2] * p[0] * p[1]);
}

/* The stationary point at lambda = -exp(u), all on the root +; otherwise as above. */
PD_FUNCTION real pd_volume_at_multiplier(const real s[3], real u, real p[3], real d[3], real *slope) {
    real m = pd_exp((real)0.5 * u);
    *slope = 0;
    for (int i = 0; i < 3; i++) {
        real size = pd_fabs(s[i]), root = pd_volume_hypotenuse(size, (real)2 * m);
        real larger = (real)0.5 * (size + root), smaller = m * (m / larger);
        p[i] = s[i] < 0 ? smaller : larger;
        d[i] = s[i] < 0 ? -larger : -smaller;
        *slope -= d[i] / root;
    }
    return pd_log(p[2] * p[0] * p[1]);
}

/* Finds the u in [low, high] with log(p_0 p_1 p_2) = 0, which increases there; p and d are those at u. Newton, replaced by a bisection
 * outside the bracket and, after 16 steps, every other time. */
PD_FUNCTION void pd_volume_search(const real s[3], int at_ratio, real low, real high, real u, real p[3], real d[3]) {
    for (int iteration = 0; iteration < PD_VOLUME_STEPS; iteration++) {
        real slope;
        real value = at_ratio ? pd_volume_at_ratio(s, u, p, d, &slope) : pd_volume_at_multiplier(s, u, p, d, &slope);
        real tolerance = (real)4 * PD_EPSILON * ((real)1 + pd_fabs(u)), next = u - value / slope;
        if (pd_fabs(value) <= tolerance * pd_fabs(slope)) return;
        if (value < 0)
            low = u;
        else
            high = u;
        if (high - low <= (real)0.25 * tolerance) return;
        if (!(next > low && next < high) || (iteration >= 16 && iteration % 2 == 1)) next = (real)0.5 * (low + high);
        u = next;
    }
}

/* p = the closest point to s with p_0 p_1 p_2 = 1, and d = s - p; s_0 >= s_1 >= |s_2|. */
PD_LARGE_FUNCTION void pd_volume_project(const real s[3], real p[3], real d[3]) {
    real product = s[0] * s[2] * s[1], slope;
    if (!(s[2] > 0 && product > (real)0.36787944117144233)) {
        /* Every p_i >= s_i and the slope is at least 0.38: with the value at u = 0 this bounds u from below. */
        real value = pd_volume_at_multiplier(s, 0, p, d, &slope);
        real low = pd_max((real)-3 * value, (real)-2 * PD_VOLUME_LOG_LIMIT);
        pd_volume_search(s, 0, low, 0, 0, p, d);
        return;
    }
    real log_product = pd_min(pd_log(product), (real)3 * PD_VOLUME_LOG_LIMIT);
    if (product <= 1) {
        pd_volume_search(s, 1, -log_product / (real)3, -log_product, -log_product / (real)3, p, d);
        return;
    }
    /* The product is at most x times that of s: below 2, it is less than 1 on x < 1/2. It is at least x/4 times: above 12, it is more than
     * 1 on x > 1/3. */
    if (product < 2) {
        pd_volume_search(s, 1, -log_product, -log_product / (real)3, -log_product / (real)3, p, d);
        return;
    }
    real low = pd_max(-log_product, -PD_VOLUME_LOG_LIMIT), p_a[3], d_a[3], farther = 0;
    pd_volume_search(s, 1, low, 0, low, p, d);
    if (product > 12) return;
    pd_volume_search(s, 1, low, 0, 0, p_a, d_a);
    for (int i = 0; i < 3; i++) farther += (d[i] / s[2]) * (d[i] / s[2]) - (d_a[i] / s[2]) * (d_a[i] / s[2]);
    if (farther > 0) {
        for (int i = 0; i < 3; i++) {
            p[i] = p_a[i];
            d[i] = d_a[i];
        }
    }
}

PD_FUNCTION real pd_volume_energy(const real *F, const real *p) {
    real U[9], s[3], V[9], q[3], d[3];
    pd_svd3(F, U, s, V);
    pd_volume_project(s, q, d);
    return (real)0.5 * p[0] * pd_dot3(d, d);
}

PD_FUNCTION void pd_volume_gradient(const real *F, const real *p, real *P) {
    real U[9], s[3], V[9], q[3], d[3];
    pd_svd3(F, U, s, V);
    pd_volume_project(s, q, d);
    for (int i = 0; i < 3; i++) d[i] *= p[0];
    pd_svd3_compose(U, d, V, P);
}

PD_FUNCTION void pd_volume_projection(const real *F, const real *p, real *T) {
    real U[9], s[3], V[9], q[3], d[3];
    (void)p;
    pd_svd3(F, U, s, V);
    pd_volume_project(s, q, d);
    pd_svd3_compose(U, q, V, T);
}

PD_FUNCTION void pd_volume_parts(const real *F, const real *p, real U[9], real V[9], real block[9], real symmetric[3], real twist[3]) {
    real s[3], q[3], d[3];
    pd_svd3(F, U, s, V);
    pd_volume_project(s, q, d);

    /* lambda q_k of the pair (i,j) is d_j/q_i, at most 1: q_0 >= 1 and q_1 >= q_2, so no quotient overflows. */
    real k_01 = d[1] / q[0], k_02 = d[2] / q[0], k_12 = d[2] / q[1], k[3] = {k_01, k_02, k_12};
    for (int pair = 0; pair < 3; pair++) {
        symmetric[pair] = p[0] * ((real)1 - pd_singular_quotient(1, (real)1 - k[pair]));
        twist[pair] = p[0] * ((real)1 - pd_singular_quotient(1, (real)1 + k[pair]));
    }

    /* Columns n_0, n_1: orthonormal, perpendicular to the constraint's normal (1/q_i) [Duff et al. 2017, Building an Orthonormal
     * Basis, Revisited]. */
    real g[3] = {q[2] / q[0], q[2] / q[1], 1}, length = pd_norm3(g);
    for (int i = 0; i < 3; i++) g[i] /= length;
    real a = (real)-1 / ((real)1 + g[2]), b = a * g[0] * g[1];
    real n_0[3] = {(real)1 + a * g[0] * g[0], b, -g[0]}, n_1[3] = {b, (real)1 + a * g[1] * g[1], -g[1]};
    real k_n_0[3] = {n_0[0] + k_01 * n_0[1] + k_02 * n_0[2], k_01 * n_0[0] + n_0[1] + k_12 * n_0[2],
                     k_02 * n_0[0] + k_12 * n_0[1] + n_0[2]};
    real k_n_1[3] = {n_1[0] + k_01 * n_1[1] + k_02 * n_1[2], k_01 * n_1[0] + n_1[1] + k_12 * n_1[2],
                     k_02 * n_1[0] + k_12 * n_1[1] + n_1[2]};
    real m_00 = pd_dot3(n_0, k_n_0), m_01 = pd_dot3(n_0, k_n_1), m_11 = pd_dot3(n_1, k_n_1);
    real inverse = pd_singular_quotient(1, m_00 * m_11 - m_01 * m_01);
    for (int i = 0; i < 3; i++)
        for (int j = i; j < 3; j++) {
            real moved = m_11 * n_0[i] * n_0[j] - m_01 * (n_0[i] * n_1[j] + n_1[i] * n_0[j]) + m_00 * n_1[i] * n_1[j];
            block[3 * i + j] = block[3 * j + i] = p[0] * ((i == j ? (real)1 : (real)0) - inverse * moved);
        }
}

PD_ISOTROPIC_TET(volume)

/* q = the closest point to s with q_0 q_1 = 1, d = s - q, and 1 - lambda, 1 + lambda; s_0 >= s_1 >= 0. For equal singular values above 2 T
 * is not unique: then q_0 > q_1 are the two roots of q + 1/q = s. */
PD_LARGE_FUNCTION void pd_area_project(const real s[2], real q[2], real d[2], real *minus, real *plus) {
    real sum = s[0] + s[1], difference = s[0] - s[1], excess = sum - (real)4;
    /* Upper bounds of the root: y = s_0 always, and those of the cubic y^3 <= alpha y + beta that x <= x(s_0) gives. */
    real x = pd_volume_hypotenuse(2, s[0]), alpha = (real)0.5 * excess * (x + (real)2);
    real y = pd_min(s[0], pd_cbrt((real)0.5 * difference * x * (x + (real)2)) + pd_sqrt(pd_max(alpha, 0)));
    if (excess < 0) y = pd_min(y, difference * x / -excess);
    for (int iteration = 0; iteration < PD_VOLUME_STEPS && y > 0; iteration++) {
        x = pd_volume_hypotenuse(2, y);
        /* 2x - sum without cancellation around the fork at sum = 4, difference = 0. */
        real value = y / x * ((real)2 * (y / (x + (real)2)) * y - excess) - difference;
        real next = y - value / ((real)2 - sum / x * ((real)2 / x) * ((real)2 / x));
        if (!(next < y)) break;
        int done = y - next <= (real)2 * PD_EPSILON * y;
        y = pd_max(next, 0);
        if (done) break;
    }
    x = pd_volume_hypotenuse(2, y);
    q[0] = (real)0.5 * (x + y);
    q[1] = (real)1 / q[0];
    *plus = sum / x;
    *minus = y > 0 ? difference / y : (real)2 - sum / x;
    for (int i = 0; i < 2; i++) d[i] = s[i] - q[i];
}

PD_FUNCTION real pd_area_energy(const real *F, const real *p) {
    real U[9], s[2], V[4], q[2], d[2], minus, plus;
    pd_svd32(F, U, s, V);
    pd_area_project(s, q, d, &minus, &plus);
    return (real)0.5 * p[0] * (d[0] * d[0] + d[1] * d[1]);
}

PD_FUNCTION void pd_area_gradient(const real *F, const real *p, real *P) {
    real U[9], s[2], V[4], q[2], d[2], minus, plus;
    pd_svd32(F, U, s, V);
    pd_area_project(s, q, d, &minus, &plus);
    for (int i = 0; i < 2; i++) d[i] *= p[0];
    pd_svd32_compose(U, d, V, P);
}

PD_FUNCTION void pd_area_projection(const real *F, const real *p, real *T) {
    real U[9], s[2], V[4], q[2], d[2], minus, plus;
    (void)p;
    pd_svd32(F, U, s, V);
    pd_area_project(s, q, d, &minus, &plus);
    pd_svd32_compose(U, q, V, T);
}

PD_FUNCTION void pd_area_parts(const real *F, const real *p, real U[9], real V[4], real block[4], real *symmetric, real *twist,
                               real normal[2]) {
    real s[2], q[2], d[2], minus, plus;
    pd_svd32(F, U, s, V);
    pd_area_project(s, q, d, &minus, &plus);

    /* The tangent of q_0 q_1 = 1 is n = (1, -r)/sqrt(1 + r^2), r = q_1/q_0 <= 1, and n^T K n = 1 - 2 lambda r/(1 + r^2). */
    real r = q[1] / q[0], square = (real)1 + r * r, lambda = plus - (real)1;
    real inverse = pd_singular_quotient(1, (real)1 - (real)2 * lambda * r / square) / square;
    block[0] = p[0] * ((real)1 - inverse);
    block[1] = block[2] = p[0] * inverse * r;
    block[3] = p[0] * ((real)1 - inverse * r * r);
    *symmetric = p[0] * ((real)1 - pd_singular_quotient(1, minus));
    *twist = p[0] * ((real)1 - pd_singular_quotient(1, plus));
    for (int i = 0; i < 2; i++) normal[i] = p[0] * ((real)1 - pd_singular_quotient(q[i], s[i]));
}

PD_ISOTROPIC_TRIANGLE(area)

#endif
