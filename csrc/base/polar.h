/* Nearest rotation of a 3x3 matrix and nearest orthonormal 3x2 matrix.
 *
 * pd_polar3 returns a rotation (determinant +1) for every F: with the signed singular value decomposition of svd.h it is
 * R = U V^T, and |F - R|^2 = sum (sigma_i - 1)^2. It is unique unless sigma_1 + sigma_2 = 0.
 *
 * Fast path, det F > 0: Newton's iteration with Frobenius scaling [Higham 1986, Computing the Polar Decomposition],
 *     X <- (g X + X^-T / g) / 2,    g^2 = |X^-1|_F / |X|_F.
 * Written with the cofactor matrix C = det(X) X^-T, a = |C|_F / |X|_F, and with its result divided by g, it is
 *     X <- (a X + C) / (2 a^2),
 * which has the same limit and needs one square root, one quotient per norm and no determinant. Singular values move as
 * s_i <- (a s_i + s_j s_k) / (2 a^2), independently of U and V, so the number of steps follows from a scan of all ratios
 * s_1/s_0, s_2/s_0 with s_0 s_1 s_2 >= 1e-3 (s_0^2 + s_1^2 + s_2^2)^(3/2). Largest |s_i - 1| after 3, 4, 5 and 6 steps:
 * 1e-2, 1e-5, 2e-11, below rounding. So PD_POLAR_NEWTON_STEPS = 5 (float) or 6 (double) always suffice where
 * pd_polar3_newton_applies holds; four or five are usual. Everything else goes through pd_svd3. */
#ifndef PD_BASE_POLAR_H
#define PD_BASE_POLAR_H

#include "base/svd.h"

#define PD_POLAR_NEWTON_STEPS (sizeof(real) == sizeof(float) ? 5 : 6)

/* Stop when pd_polar3_newton_step returns at most this: the remaining error is then about half of it. */
#define PD_POLAR_NEWTON_TOLERANCE PD_EPSILON

/* One Newton step Y from X for one lane of a structure of arrays: entry m of X is X[m * stride], and so for Y. No branch, no loop, no
 * local array: `#pragma omp simd` over the lanes vectorises it (a local real[9] per lane would prevent that).
 *   X in     Y out, may be X itself     Returns |Y - X|^2 / |Y|^2.
 * X must be nonsingular with representable fourth powers, as pd_polar3_newton_applies tests. */
PD_FUNCTION real pd_polar3_newton_lane(const real *X, real *Y, int stride) {
    real x_0 = X[0], x_1 = X[stride], x_2 = X[2 * stride], x_3 = X[3 * stride], x_4 = X[4 * stride];
    real x_5 = X[5 * stride], x_6 = X[6 * stride], x_7 = X[7 * stride], x_8 = X[8 * stride];
    real c_0 = x_4 * x_8 - x_5 * x_7, c_1 = x_5 * x_6 - x_3 * x_8, c_2 = x_3 * x_7 - x_4 * x_6;
    real c_3 = x_7 * x_2 - x_8 * x_1, c_4 = x_8 * x_0 - x_6 * x_2, c_5 = x_6 * x_1 - x_7 * x_0;
    real c_6 = x_1 * x_5 - x_2 * x_4, c_7 = x_2 * x_3 - x_0 * x_5, c_8 = x_0 * x_4 - x_1 * x_3;
    real x_x = x_0 * x_0 + x_1 * x_1 + x_2 * x_2 + x_3 * x_3 + x_4 * x_4 + x_5 * x_5 + x_6 * x_6 + x_7 * x_7 + x_8 * x_8;
    real c_c = c_0 * c_0 + c_1 * c_1 + c_2 * c_2 + c_3 * c_3 + c_4 * c_4 + c_5 * c_5 + c_6 * c_6 + c_7 * c_7 + c_8 * c_8;
    real a = pd_sqrt(c_c / x_x), half = (real)0.5 * x_x / c_c;
    real y_0 = half * (a * x_0 + c_0), y_1 = half * (a * x_1 + c_1), y_2 = half * (a * x_2 + c_2);
    real y_3 = half * (a * x_3 + c_3), y_4 = half * (a * x_4 + c_4), y_5 = half * (a * x_5 + c_5);
    real y_6 = half * (a * x_6 + c_6), y_7 = half * (a * x_7 + c_7), y_8 = half * (a * x_8 + c_8);
    Y[0] = y_0, Y[stride] = y_1, Y[2 * stride] = y_2, Y[3 * stride] = y_3, Y[4 * stride] = y_4;
    Y[5 * stride] = y_5, Y[6 * stride] = y_6, Y[7 * stride] = y_7, Y[8 * stride] = y_8;
    real y_y = y_0 * y_0 + y_1 * y_1 + y_2 * y_2 + y_3 * y_3 + y_4 * y_4 + y_5 * y_5 + y_6 * y_6 + y_7 * y_7 + y_8 * y_8;
    x_0 -= y_0, x_1 -= y_1, x_2 -= y_2, x_3 -= y_3, x_4 -= y_4, x_5 -= y_5, x_6 -= y_6, x_7 -= y_7, x_8 -= y_8;
    x_x = x_0 * x_0 + x_1 * x_1 + x_2 * x_2 + x_3 * x_3 + x_4 * x_4 + x_5 * x_5 + x_6 * x_6 + x_7 * x_7 + x_8 * x_8;
    return x_x / y_y;
}

/* The same for one row-major matrix: X [9] in, Y [9] out. */
PD_FUNCTION real pd_polar3_newton_step(const real X[9], real Y[9]) { return pd_polar3_newton_lane(X, Y, 1); }

/* 1 if the Newton iteration converges from F: det F >= 1e-3 |F|_F^3 (a rotation has 0.19) and |F|_F^2 between 2^-20 and 2^20, so that no
 * power over- or underflows in float. Evaluated without a branch; 0 for F not finite. */
PD_FUNCTION int pd_polar3_newton_applies(const real F[9]) {
    real f_f = pd_matrix3_dot(F, F), determinant = pd_matrix3_determinant(F);
    return (determinant > 0) & (determinant * determinant >= (real)1e-6 * f_f * f_f * f_f) & (f_f >= (real)9.5367431640625e-07) &
           (f_f <= (real)1048576);
}

/* n = max_R R:F = sum sigma_i is the largest root of (n^2 - i)^2 - 8 d n - 4 c with i = |F|^2, d = det F and c = |C|^2, C the cofactor
 * matrix of F [Lin, Chitalu, Komura 2022, Isotropic ARAP Energy Using Cauchy-Green Invariants]. One step of Halley's iteration for it. */
PD_LANE_FUNCTION real pd_polar3_root_step(real n, real i, real d, real c) {
    real a = n * n - i, p = a * a - (real)8 * d * n - (real)4 * c, q = (real)4 * n * a - (real)8 * d, r = (real)12 * n * n - (real)4 * i;
    return n - (real)2 * p * q / ((real)2 * q * q - p * r);
}

/* R = the rotation nearest to F in the Frobenius norm.
 *   F [9] in     R [9] out
 * Orthogonal to a few rounding errors for every finite F. If the nearest rotation is not unique (sigma_1 + sigma_2 = 0), one of them; F
 * = 0 and nonnegative diagonal F give I. */
PD_LARGE_FUNCTION void pd_polar3(const real F[9], real R[9]) {
    if (pd_polar3_newton_applies(F)) {
        real change = pd_polar3_newton_step(F, R);
        for (int iteration = 1; iteration < (int)PD_POLAR_NEWTON_STEPS && change > PD_POLAR_NEWTON_TOLERANCE; iteration++)
            change = pd_polar3_newton_step(R, R);
        return;
    }
    real U[9], sigma[3], V[9];
    pd_svd3(F, U, sigma, V);
    pd_matrix3_multiply_transpose(U, V, R);
}

/* R = the 3x2 matrix with orthonormal columns nearest to F, |F - R|^2 = (sigma_0 - 1)^2 + (sigma_1 - 1)^2.
 *   F [6] in, columns f_0 f_1     R [6] out
 * With the unit normal n of f_0 x f_1:  R = [f_0 + f_1 x n, f_1 + n x f_0] / (sigma_0 + sigma_1), the planar formula F + cof F. If the
 * columns are parallel to rounding, where n is lost, or F = 0: one of the nearest matrices, by pd_svd32. */
PD_LARGE_FUNCTION void pd_polar32(const real F[6], real R[6]) {
    real scale = pd_largest(F, 6), f_0[3], f_1[3], normal[3];
    for (int i = 0; i < 3; i++) {
        f_0[i] = scale > 0 ? F[2 * i] / scale : 0;
        f_1[i] = scale > 0 ? F[2 * i + 1] / scale : 0;
    }
    pd_cross3(f_0, f_1, normal);
    real largest = pd_largest(normal, 3);
    if (!(largest > (real)16 * PD_EPSILON * pd_largest(f_0, 3) * pd_largest(f_1, 3))) {
        real U[9], sigma[2], V[4], ones[2] = {1, 1};
        pd_svd32(F, U, sigma, V);
        pd_svd32_compose(U, ones, V, R);
        return;
    }
    for (int i = 0; i < 3; i++) normal[i] /= largest;

    /* Nearly parallel columns give n an error along the longer column, which would spoil R: remove it. */
    real along_0 = pd_dot3(normal, f_0), along_1 = pd_dot3(normal, f_1);
    real square_0 = pd_dot3(f_0, f_0), square_1 = pd_dot3(f_1, f_1);
    for (int i = 0; i < 3; i++) normal[i] -= square_0 >= square_1 ? along_0 / square_0 * f_0[i] : along_1 / square_1 * f_1[i];
    real length = pd_norm3(normal);
    for (int i = 0; i < 3; i++) normal[i] /= length;

    real r_0[3], r_1[3];
    pd_cross3(f_1, normal, r_0);
    pd_cross3(normal, f_0, r_1);
    for (int i = 0; i < 3; i++) {
        r_0[i] += f_0[i];
        r_1[i] += f_1[i];
    }
    real length_0 = pd_norm3(r_0), length_1 = pd_norm3(r_1);
    for (int i = 0; i < 3; i++) {
        R[2 * i] = r_0[i] / length_0;
        R[2 * i + 1] = r_1[i] / length_1;
    }
}

#endif
