/* One corner of an ARAP or co-rotated tet in a sweep over vertices: gradient and 3x3 block, without a singular value decomposition.
 *
 * E = p/2 |F - R|^2 + l/2 (n - 3)^2, n = R:F, R the nearest rotation; arap.h (l = 0) and corotated.h. With the rest gradient g of the corner,
 * q = R g, t = l (n - 3) and K = n I - F R^T, whose eigenvalues are the sums of two singular values,
 *
 *     dE/dx = p (F - R) g + t q,      d2E/dx2 = p |g|^2 I + l q q^T + (t - p) [q]x K^-1 [q]x^T,
 *
 * since dR/dF turns by K^-1. Where t > p all of it is kept. Elsewhere the last term is negative, and becomes -k (|q|^2 I - q q^T) with
 * k = min(p/2, 3/2 (p - t)/n): K^-1 as if all singular values were n/3, and never more than a block keeps of itself in compression, where
 * the exact term is clamped too.
 *
 * For ARAP that lowers E for certain: |F - R|^2 for the R of where x is lies above the least over all R and touches it there, so E(x - d) <=
 * E(x) - d.dE/dx + p/2 |g|^2 |d|^2, and the block is at least p/2 |g|^2 I: a step d = (sum of the blocks)^-1 (sum of the gradients) gains at
 * least half of what the other terms of the block, inertia among them, measure of it. */
#ifndef PD_ELEMENTS_ROTATED_CORNER_H
#define PD_ELEMENTS_ROTATED_CORNER_H

#include "base/polar.h"

/* Rest gradients of the three other corners [3,3], then p and l [J]. */
enum { PD_ROTATED_WEIGHT = 9, PD_ROTATED_LAME, PD_ROTATED_NUMBERS };

/* F [9] out of edges x_j - x_i [3,3] and their rest gradients; number i of each lies at i * stride. */
PD_LANE_FUNCTION void pd_rotated_deformation(int stride, const real *edges, const real *numbers, real *F) {
    real ax = edges[0], ay = edges[stride], az = edges[2 * stride];
    real bx = edges[3 * stride], by = edges[4 * stride], bz = edges[5 * stride];
    real cx = edges[6 * stride], cy = edges[7 * stride], cz = edges[8 * stride];
    real a_0 = numbers[0], a_1 = numbers[stride], a_2 = numbers[2 * stride];
    real b_0 = numbers[3 * stride], b_1 = numbers[4 * stride], b_2 = numbers[5 * stride];
    real c_0 = numbers[6 * stride], c_1 = numbers[7 * stride], c_2 = numbers[8 * stride];
    F[0] = ax * a_0 + bx * b_0 + cx * c_0;
    F[stride] = ax * a_1 + bx * b_1 + cx * c_1;
    F[2 * stride] = ax * a_2 + bx * b_2 + cx * c_2;
    F[3 * stride] = ay * a_0 + by * b_0 + cy * c_0;
    F[4 * stride] = ay * a_1 + by * b_1 + cy * c_1;
    F[5 * stride] = ay * a_2 + by * b_2 + cy * c_2;
    F[6 * stride] = az * a_0 + bz * b_0 + cz * c_0;
    F[7 * stride] = az * a_1 + bz * b_1 + cz * c_1;
    F[8 * stride] = az * a_2 + bz * b_2 + cz * c_2;
}

/* Adds gradient and block of the corner with rest gradient g to sum [9] of vertex_step.h, given F and the R nearest to it, but for what
 * pd_rotated_add_turning adds where t - p, returned, is positive.
 * Scalars only, as in pd_neo_hookean_corner. */
PD_LANE_FUNCTION real pd_rotated_add(int stride, const real *F, const real *R, real n, real g_0, real g_1, real g_2, real p, real l,
                                     real *sum) {
    real f_0 = F[0], f_1 = F[stride], f_2 = F[2 * stride], f_3 = F[3 * stride], f_4 = F[4 * stride];
    real f_5 = F[5 * stride], f_6 = F[6 * stride], f_7 = F[7 * stride], f_8 = F[8 * stride];
    real r_0 = R[0], r_1 = R[stride], r_2 = R[2 * stride], r_3 = R[3 * stride], r_4 = R[4 * stride];
    real r_5 = R[5 * stride], r_6 = R[6 * stride], r_7 = R[7 * stride], r_8 = R[8 * stride];
    real d_0 = f_0 - r_0, d_1 = f_1 - r_1, d_2 = f_2 - r_2, d_3 = f_3 - r_3, d_4 = f_4 - r_4;
    real d_5 = f_5 - r_5, d_6 = f_6 - r_6, d_7 = f_7 - r_7, d_8 = f_8 - r_8;
    real t = l * (r_0 * d_0 + r_1 * d_1 + r_2 * d_2 + r_3 * d_3 + r_4 * d_4 + r_5 * d_5 + r_6 * d_6 + r_7 * d_7 + r_8 * d_8);
    real qx = r_0 * g_0 + r_1 * g_1 + r_2 * g_2, qy = r_3 * g_0 + r_4 * g_1 + r_5 * g_2, qz = r_6 * g_0 + r_7 * g_1 + r_8 * g_2;
    real square = qx * qx + qy * qy + qz * qz;
    real gx = p * (d_0 * g_0 + d_1 * g_1 + d_2 * g_2) + t * qx;
    real gy = p * (d_3 * g_0 + d_4 * g_1 + d_5 * g_2) + t * qy;
    real gz = p * (d_6 * g_0 + d_7 * g_1 + d_8 * g_2) + t * qz;
    real excess = t - p, mean = pd_max(n, (real)16 * PD_EPSILON);
    real k = pd_min((real)0.5 * p, pd_max((real)-1.5 * excess / mean, 0));
    real level = (p - k) * square, along = l + k;
    real bxx = level + along * qx * qx, bxy = along * qx * qy, bxz = along * qx * qz;
    real byy = level + along * qy * qy, byz = along * qy * qz, bzz = level + along * qz * qz;

    sum[0] += gx;
    sum[stride] += gy;
    sum[2 * stride] += gz;
    sum[3 * stride] += bxx;
    sum[4 * stride] += bxy;
    sum[5 * stride] += bxz;
    sum[6 * stride] += byy;
    sum[7 * stride] += byz;
    sum[8 * stride] += bzz;
    return excess;
}

/* Adds what the turning of R stiffens where it is in tension, t > p: (t - p) [q]x K^-1 [q]x^T. */
PD_LANE_FUNCTION void pd_rotated_add_turning(int stride, const real *F, const real *R, real n, real excess, real g_0, real g_1, real g_2,
                                             real *sum) {
    real f_0 = F[0], f_1 = F[stride], f_2 = F[2 * stride], f_3 = F[3 * stride], f_4 = F[4 * stride];
    real f_5 = F[5 * stride], f_6 = F[6 * stride], f_7 = F[7 * stride], f_8 = F[8 * stride];
    real r_0 = R[0], r_1 = R[stride], r_2 = R[2 * stride], r_3 = R[3 * stride], r_4 = R[4 * stride];
    real r_5 = R[5 * stride], r_6 = R[6 * stride], r_7 = R[7 * stride], r_8 = R[8 * stride];
    real qx = r_0 * g_0 + r_1 * g_1 + r_2 * g_2, qy = r_3 * g_0 + r_4 * g_1 + r_5 * g_2, qz = r_6 * g_0 + r_7 * g_1 + r_8 * g_2;

    /* K, its cofactors w, and [q]x w [q]x^T by the rows of [q]x w */
    real kxx = n - (f_0 * r_0 + f_1 * r_1 + f_2 * r_2), kxy = -(f_0 * r_3 + f_1 * r_4 + f_2 * r_5);
    real kxz = -(f_0 * r_6 + f_1 * r_7 + f_2 * r_8), kyy = n - (f_3 * r_3 + f_4 * r_4 + f_5 * r_5);
    real kyz = -(f_3 * r_6 + f_4 * r_7 + f_5 * r_8), kzz = n - (f_6 * r_6 + f_7 * r_7 + f_8 * r_8);
    real wxx = kyy * kzz - kyz * kyz, wxy = kxz * kyz - kxy * kzz, wxz = kxy * kyz - kxz * kyy;
    real wyy = kxx * kzz - kxz * kxz, wyz = kxy * kxz - kxx * kyz, wzz = kxx * kyy - kxy * kxy;
    real determinant = kxx * wxx + kxy * wxy + kxz * wxz;
    real mean = pd_max(n, (real)16 * PD_EPSILON);
    real turning = pd_max(excess, 0) / pd_max(determinant, (real)16 * PD_EPSILON * mean * mean * mean);
    real ax = qy * wxz - qz * wxy, ay = qy * wyz - qz * wyy, az = qy * wzz - qz * wyz;
    real bx = qz * wxx - qx * wxz, by = qz * wxy - qx * wyz, bz = qz * wxz - qx * wzz;
    real cx = qx * wxy - qy * wxx, cy = qx * wyy - qy * wxy;
    sum[3 * stride] += turning * (qy * az - qz * ay);
    sum[4 * stride] += turning * (qz * ax - qx * az);
    sum[5 * stride] += turning * (qx * ay - qy * ax);
    sum[6 * stride] += turning * (qz * bx - qx * bz);
    sum[7 * stride] += turning * (qx * by - qy * bx);
    sum[8 * stride] += turning * (qx * cy - qy * cx);
}

/* The own rest gradient of a corner balances those of the others. */
PD_LANE_FUNCTION real pd_rotated_own(int stride, const real *numbers, int i) {
    return -(numbers[i * stride] + numbers[(3 + i) * stride] + numbers[(6 + i) * stride]);
}

/* Both for a lane of a group. */
PD_LANE_FUNCTION real pd_rotated_add_lane(int stride, const real *F, const real *R, real n, const real *numbers, real *sum) {
    return pd_rotated_add(stride, F, R, n, pd_rotated_own(stride, numbers, 0), pd_rotated_own(stride, numbers, 1),
                          pd_rotated_own(stride, numbers, 2), numbers[PD_ROTATED_WEIGHT * stride], numbers[PD_ROTATED_LAME * stride], sum);
}

PD_LANE_FUNCTION void pd_rotated_turn_lane(int stride, const real *F, const real *R, real n, real excess, const real *numbers, real *sum) {
    pd_rotated_add_turning(stride, F, R, n, excess, pd_rotated_own(stride, numbers, 0), pd_rotated_own(stride, numbers, 1),
                           pd_rotated_own(stride, numbers, 2), sum);
}

/* The rotation of a tet that the closed form is not good for, and its R:F. */
PD_FUNCTION real pd_rotated_slowly(const real *F, real *R) {
    pd_polar3(F, R);
    return pd_matrix3_dot(R, F);
}

/* The same from a whole F: gradient and block B [9] of a corner, for tets that stand in no group. */
PD_FUNCTION void pd_rotated_corner(const real *F, const real *g, real p, real l, real sum[9]) {
    real R[9], n;
    if (!pd_polar3_closed_lane(F, R, 1, &n)) n = pd_rotated_slowly(F, R);
    real excess = pd_rotated_add(1, F, R, n, g[0], g[1], g[2], p, l, sum);
    if (excess > 0) pd_rotated_add_turning(1, F, R, n, excess, g[0], g[1], g[2], sum);
}

#endif
