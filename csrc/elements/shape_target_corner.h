/* One corner of a tet with a target shape, in a sweep over vertices; see shape_target.h, and rotated_corner.h for the rotation.
 *
 * E = p/2 |F - R S|^2 = p/2 (|F|^2 - 2 n + |S|^2) with n = R:M, M = F S and R the rotation nearest to M. With the rest gradient g of the
 * corner, h = S g and q = R h,
 *
 *     dE/dx = p (F g - q),      d2E/dx2 = p |g|^2 I - p [q]x K^-1 [q]x^T,      K = n I - M R^T.
 *
 * The last term is replaced by -k (|q|^2 I - q q^T) with k = min(3/2 p/n, p/2 |g|^2/|q|^2), as for ARAP: K^-1 for singular values of
 * n/3, and at least half of p |g|^2 remains. So a step lowers E with certainty as it does there.
 *
 * Targets change between steps. So a record has the element's number and no stretch, which is read from the array of set_shape_targets. */
#ifndef PD_ELEMENTS_SHAPE_TARGET_CORNER_H
#define PD_ELEMENTS_SHAPE_TARGET_CORNER_H

#include "elements/rotated_corner.h"
#include "elements/shape_target.h"

/* Rest gradients of the three other corners [3,3] as in rotated_corner.h, then p [J]; the slots of the others, then the element. */
enum { PD_TARGET_WEIGHT = 9, PD_TARGET_NUMBERS, PD_TARGET_SLOTS = 4, PD_TARGET_PARAMETERS = 7 };

/* Adds gradient and block to sum [9] of vertex_correction.h: y = F g, along = |g|^2. */
PD_LANE_FUNCTION void pd_shape_target_add(int stride, real yx, real yy, real yz, real qx, real qy, real qz, real n, real along, real p,
                                          real *sum) {
    real square = qx * qx + qy * qy + qz * qz;
    real k = pd_min((real)1.5 / pd_max(n, (real)16 * PD_EPSILON), (real)0.5 * along / pd_max(square, (real)1e-30)) * p;
    real level = p * along - k * square;
    sum[0] += p * (yx - qx);
    sum[stride] += p * (yy - qy);
    sum[2 * stride] += p * (yz - qz);
    pd_rotated_add_block(stride, qx, qy, qz, level, k, sum);
}

/* M [9] and parts of rotated_corner.h, out of F and the upper triangle S [6]. Returns whether the root still moves. */
PD_LANE_FUNCTION real pd_shape_target_begin(int stride, const real *F, const real *S, real g_0, real g_1, real g_2, real *M, real *parts) {
    real h_0, h_1, h_2;
    for (int row = 0; row < 3; row++)
        pd_shape_target_row(stride, F[3 * row * stride], F[(3 * row + 1) * stride], F[(3 * row + 2) * stride], S, M + 3 * row * stride,
                            M + (3 * row + 1) * stride, M + (3 * row + 2) * stride);
    pd_shape_target_row(stride, g_0, g_1, g_2, S, &h_0, &h_1, &h_2);
    return pd_rotated_begin(stride, M, h_0, h_1, h_2, parts);
}

/* Adds gradient and block by the root if that is valid. Returns whether pd_shape_target_finish is needed. */
PD_LANE_FUNCTION real pd_shape_target_add_root(int stride, const real *F, const real *M, const real *parts, real g_0, real g_1, real g_2,
                                               real p, real *sum) {
    real qx, qy, qz, n;
    int is_good = pd_rotated_direction(stride, M, parts, &qx, &qy, &qz, &n);
    pd_shape_target_add(stride, F[0] * g_0 + F[stride] * g_1 + F[2 * stride] * g_2,
                        F[3 * stride] * g_0 + F[4 * stride] * g_1 + F[5 * stride] * g_2,
                        F[6 * stride] * g_0 + F[7 * stride] * g_1 + F[8 * stride] * g_2, qx, qy, qz, n, g_0 * g_0 + g_1 * g_1 + g_2 * g_2,
                        is_good ? p : (real)0, sum);
    return (is_good | (p == 0)) ? (real)0 : (real)1; // an unused lane has no weight
}

/* A corner whose R pd_polar3 computes. F, g, S and sum are separate arrays. */
PD_FUNCTION void pd_shape_target_finish(const real *F, const real *S, const real *g, real p, real sum[9]) {
    real M[9], R[9], h[3], y[3], q[3];
    for (int row = 0; row < 3; row++)
        pd_shape_target_row(1, F[3 * row], F[3 * row + 1], F[3 * row + 2], S, M + 3 * row, M + 3 * row + 1, M + 3 * row + 2);
    pd_shape_target_row(1, g[0], g[1], g[2], S, h, h + 1, h + 2);
    pd_polar3(M, R);
    for (int i = 0; i < 3; i++) {
        y[i] = pd_dot3(F + 3 * i, g);
        q[i] = pd_dot3(R + 3 * i, h);
    }
    pd_shape_target_add(1, y[0], y[1], y[2], q[0], q[1], q[2], pd_matrix3_dot(R, M), pd_dot3(g, g), p, sum);
}

/* The numbers of a lane of a group. */
PD_LANE_FUNCTION real pd_shape_target_begin_lane(int stride, const real *F, const real *S, const real *numbers, real *M, real *parts) {
    return pd_shape_target_begin(stride, F, S, pd_rotated_own(stride, numbers, 0), pd_rotated_own(stride, numbers, 1),
                                 pd_rotated_own(stride, numbers, 2), M, parts);
}

PD_LANE_FUNCTION real pd_shape_target_add_lane(int stride, const real *F, const real *M, const real *parts, const real *numbers,
                                               real *sum) {
    return pd_shape_target_add_root(stride, F, M, parts, pd_rotated_own(stride, numbers, 0), pd_rotated_own(stride, numbers, 1),
                                    pd_rotated_own(stride, numbers, 2), numbers[PD_TARGET_WEIGHT * stride], sum);
}

/* Gradient and block of one corner from a complete F; p as in shape_target.h. */
PD_FUNCTION void pd_shape_target_corner(const real *F, const real *g, const real *p, real sum[9]) {
    real M[9], parts[PD_ROTATED_PARTS];
    real open = pd_shape_target_begin(1, F, p + 1, g[0], g[1], g[2], M, parts);
    for (int iteration = (int)PD_ROTATED_FIRST_STEPS; iteration < PD_ROTATED_STEPS && open > 0; iteration++)
        open = pd_rotated_approach(1, parts);
    if (pd_shape_target_add_root(1, F, M, parts, g[0], g[1], g[2], p[0], sum) > 0) pd_shape_target_finish(F, p + 1, g, p[0], sum);
}

#endif
