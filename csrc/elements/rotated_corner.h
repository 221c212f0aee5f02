/* One corner of an ARAP or co-rotated tet in a sweep over vertices: gradient and 3x3 block, without a singular value decomposition.
 *
 * E = p/2 |F - R|^2 + l/2 (n - 3)^2, n = R:F, R the nearest rotation; arap.h (l = 0) and corotated.h. With the rest gradient g of the
 * corner, q = R g, t = l (n - 3) and K = n I - F R^T, whose eigenvalues are the sums of two singular values,
 *
 *     dE/dx = p (F - R) g + t q,      d2E/dx2 = p |g|^2 I + l q q^T + (t - p) [q]x K^-1 [q]x^T.
 *
 * The last term is from the derivative of R. For t > p it is kept. Otherwise it is negative, and is replaced by -k (|q|^2 I - q q^T)
 * with k = min(p/2, 3/2 (p - t)/n): K^-1 for singular values of n/3. The bound p/2 keeps half of the block in compression, where the
 * exact term is clamped too.
 *
 * For ARAP this lowers E with certainty: |F - R|^2 with the R at x bounds its minimum over all R from above, with equality at x. So E(x
 * - d) <= E(x) - d.dE/dx + p/2 |g|^2 |d|^2, and the block is at least p/2 |g|^2 I. A step d = (sum of the blocks)^-1 (sum of the
 * gradients) decreases the energy by at least half of the value that the other terms of the block, such as inertia, give. */
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

/* The data of a corner before n is computed, in sequence. */
enum {
    PD_ROTATED_SQUARE,    /* |F|^2 */
    PD_ROTATED_COFACTORS, /* |C|^2 */
    PD_ROTATED_DETERMINANT,
    PD_ROTATED_ROOT,                   /* n, or its present estimate */
    PD_ROTATED_OPEN,                   /* 1: it has not converged */
    PD_ROTATED_FG,                     /* [3] F g */
    PD_ROTATED_CG = PD_ROTATED_FG + 3, /* [3] C g */
    PD_ROTATED_PARTS = PD_ROTATED_CG + 3
};

/* The root has converged when its last step is below this, relative to it: Halley's method leaves about the cube of that. In a scan of a
 * million F of all ratios and sizes that pd_rotated_add_root accepts, all converge after four steps in float and five in double. The
 * error of n is then at most 8e-7 and 1.3e-15 |F|. */
#define PD_ROTATED_STILL ((real)(sizeof(real) == sizeof(float) ? 4e-3 : 4e-6))

/* The next estimate of a root that has not converged, and whether it has then. */
PD_LANE_FUNCTION real pd_rotated_next(real n, real open, real square, real determinant, real cofactors) {
    real next = pd_polar3_root_step(n, square, determinant, cofactors);
    return open > 0 ? next : n;
}

PD_LANE_FUNCTION real pd_rotated_is_open(real n, real next) { return n - next > PD_ROTATED_STILL * n ? (real)1 : (real)0; }

/* Steps of the root in pd_rotated_begin, and the number after which an unconverged one is left to pd_rotated_finish. */
enum { PD_ROTATED_FIRST_STEPS = sizeof(real) == sizeof(float) ? 1 : 2, PD_ROTATED_STEPS = 6 };

/* The start is an upper bound of n, the smaller of (|F|^2 + 3)/2 and sqrt(3) |F|. The first follows from sigma <= (sigma^2 + 1)/2 and is
 * nearly n for F near a rotation. Halley's iteration decreases from there. Returns whether it must continue. */
PD_LANE_FUNCTION real pd_rotated_begin(int stride, const real *F, real g_0, real g_1, real g_2, real *parts) {
    real f_0 = F[0], f_1 = F[stride], f_2 = F[2 * stride], f_3 = F[3 * stride], f_4 = F[4 * stride];
    real f_5 = F[5 * stride], f_6 = F[6 * stride], f_7 = F[7 * stride], f_8 = F[8 * stride];
    real c_0 = f_4 * f_8 - f_5 * f_7, c_1 = f_5 * f_6 - f_3 * f_8, c_2 = f_3 * f_7 - f_4 * f_6;
    real c_3 = f_7 * f_2 - f_8 * f_1, c_4 = f_8 * f_0 - f_6 * f_2, c_5 = f_6 * f_1 - f_7 * f_0;
    real c_6 = f_1 * f_5 - f_2 * f_4, c_7 = f_2 * f_3 - f_0 * f_5, c_8 = f_0 * f_4 - f_1 * f_3;
    real square = f_0 * f_0 + f_1 * f_1 + f_2 * f_2 + f_3 * f_3 + f_4 * f_4 + f_5 * f_5 + f_6 * f_6 + f_7 * f_7 + f_8 * f_8;
    real cofactors = c_0 * c_0 + c_1 * c_1 + c_2 * c_2 + c_3 * c_3 + c_4 * c_4 + c_5 * c_5 + c_6 * c_6 + c_7 * c_7 + c_8 * c_8;
    real determinant = f_0 * c_0 + f_1 * c_1 + f_2 * c_2;
    real start = pd_min((real)0.5 * square + (real)1.5, pd_sqrt((real)3 * square));
    real n = pd_rotated_next(start, 1, square, determinant, cofactors), open = pd_rotated_is_open(start, n);
    if ((int)PD_ROTATED_FIRST_STEPS > 1) {
        real next = pd_rotated_next(n, open, square, determinant, cofactors);
        open = pd_rotated_is_open(n, next), n = next;
    }
    parts[PD_ROTATED_SQUARE * stride] = square;
    parts[PD_ROTATED_COFACTORS * stride] = cofactors;
    parts[PD_ROTATED_DETERMINANT * stride] = determinant;
    parts[PD_ROTATED_ROOT * stride] = n;
    parts[PD_ROTATED_OPEN * stride] = open;
    parts[PD_ROTATED_FG * stride] = f_0 * g_0 + f_1 * g_1 + f_2 * g_2;
    parts[(PD_ROTATED_FG + 1) * stride] = f_3 * g_0 + f_4 * g_1 + f_5 * g_2;
    parts[(PD_ROTATED_FG + 2) * stride] = f_6 * g_0 + f_7 * g_1 + f_8 * g_2;
    parts[PD_ROTATED_CG * stride] = c_0 * g_0 + c_1 * g_1 + c_2 * g_2;
    parts[(PD_ROTATED_CG + 1) * stride] = c_3 * g_0 + c_4 * g_1 + c_5 * g_2;
    parts[(PD_ROTATED_CG + 2) * stride] = c_6 * g_0 + c_7 * g_1 + c_8 * g_2;
    return open;
}

/* A step of an unconverged root. Returns whether it is still unconverged. */
PD_LANE_FUNCTION real pd_rotated_approach(int stride, real *parts) {
    real n = parts[PD_ROTATED_ROOT * stride];
    real next = pd_rotated_next(n, parts[PD_ROTATED_OPEN * stride], parts[PD_ROTATED_SQUARE * stride],
                                parts[PD_ROTATED_DETERMINANT * stride], parts[PD_ROTATED_COFACTORS * stride]);
    real open = pd_rotated_is_open(n, next);
    parts[PD_ROTATED_ROOT * stride] = next;
    parts[PD_ROTATED_OPEN * stride] = open;
    return open;
}

/* Adds the block level I + along q q^T to sum [9] of vertex_correction.h. */
PD_LANE_FUNCTION void pd_rotated_add_block(int stride, real qx, real qy, real qz, real level, real along, real *sum) {
    sum[3 * stride] += level + along * qx * qx;
    sum[4 * stride] += along * qx * qy;
    sum[5 * stride] += along * qx * qz;
    sum[6 * stride] += level + along * qy * qy;
    sum[7 * stride] += along * qy * qz;
    sum[8 * stride] += level + along * qz * qz;
}

/* Adds gradient and block to sum [9] of vertex_correction.h, from q and n, without the term of pd_rotated_add_turning. Returns t - p; that
 * term is needed if it is positive. Scalars only, as in pd_neo_hookean_corner. */
PD_LANE_FUNCTION real pd_rotated_add(int stride, real yx, real yy, real yz, real qx, real qy, real qz, real n, real p, real l, real *sum) {
    real t = l * (n - (real)3), square = qx * qx + qy * qy + qz * qz;
    real excess = t - p, mean = pd_max(n, (real)16 * PD_EPSILON);
    real k = pd_min((real)0.5 * p, pd_max((real)-1.5 * excess / mean, 0));
    real level = (p - k) * square, along = l + k;
    sum[0] += p * (yx - qx) + t * qx;
    sum[stride] += p * (yy - qy) + t * qy;
    sum[2 * stride] += p * (yz - qz) + t * qz;
    pd_rotated_add_block(stride, qx, qy, qz, level, along, sum);
    return excess;
}

/* The direction of a corner from the root:
 *
 *     q = dn/dF g = (4 (n^2 + |F|^2) F g + 8 n C g - 8 F F^T F g) / s,      s = 4 n (n^2 - |F|^2) - 8 det F,
 *
 * with the cofactor matrix C of F. Valid for a converged root, s > |F|^3, and an |F|^2 whose powers float can hold. s = 8 (s_0 +
 * s_1)(s_0 + s_2)(s_1 + s_2) by the singular values, which measures the distance from a non-unique R. Otherwise q = 0 and n = 3. Returns
 * whether it is valid. */
PD_LANE_FUNCTION int pd_rotated_direction(int stride, const real *F, const real *parts, real *qx, real *qy, real *qz, real *root) {
    real f_0 = F[0], f_1 = F[stride], f_2 = F[2 * stride], f_3 = F[3 * stride], f_4 = F[4 * stride];
    real f_5 = F[5 * stride], f_6 = F[6 * stride], f_7 = F[7 * stride], f_8 = F[8 * stride];
    real yx = parts[PD_ROTATED_FG * stride], yy = parts[(PD_ROTATED_FG + 1) * stride], yz = parts[(PD_ROTATED_FG + 2) * stride];
    real square = parts[PD_ROTATED_SQUARE * stride], n = parts[PD_ROTATED_ROOT * stride], n_n = n * n;
    real slope = (real)4 * n * (n_n - square) - (real)8 * parts[PD_ROTATED_DETERMINANT * stride];
    int is_good = (parts[PD_ROTATED_OPEN * stride] == 0) & (slope > 0) & (slope * slope > square * square * square) &
                  (square >= (real)9.5367431640625e-07) & (square <= (real)1048576);
    n = is_good ? n : (real)3, slope = is_good ? slope : (real)8;
    real part = (real)8 / slope, whole = part * (real)0.5 * (n_n + square), of_cofactors = part * n;
    whole = is_good ? whole : (real)0;
    real zx = f_0 * yx + f_3 * yy + f_6 * yz, zy = f_1 * yx + f_4 * yy + f_7 * yz, zz = f_2 * yx + f_5 * yy + f_8 * yz;
    zx *= part, zy *= part, zz *= part;
    real x = whole * yx + of_cofactors * parts[PD_ROTATED_CG * stride] - (f_0 * zx + f_1 * zy + f_2 * zz);
    real y = whole * yy + of_cofactors * parts[(PD_ROTATED_CG + 1) * stride] - (f_3 * zx + f_4 * zy + f_5 * zz);
    real z = whole * yz + of_cofactors * parts[(PD_ROTATED_CG + 2) * stride] - (f_6 * zx + f_7 * zy + f_8 * zz);
    *qx = is_good ? x : (real)0, *qy = is_good ? y : (real)0, *qz = is_good ? z : (real)0, *root = n;
    return is_good;
}

/* Adds gradient and block by the root if that is valid, otherwise nothing. Returns whether pd_rotated_finish is needed, and the validity
 * in *good. */
PD_LANE_FUNCTION real pd_rotated_add_root(int stride, const real *F, const real *parts, real p, real l, real *sum, real *good) {
    real yx = parts[PD_ROTATED_FG * stride], yy = parts[(PD_ROTATED_FG + 1) * stride], yz = parts[(PD_ROTATED_FG + 2) * stride];
    real qx, qy, qz, n;
    int is_good = pd_rotated_direction(stride, F, parts, &qx, &qy, &qz, &n);
    p = is_good ? p : (real)0, l = is_good ? l : (real)0;
    real excess = pd_rotated_add(stride, yx, yy, yz, qx, qy, qz, n, p, l, sum);
    *good = is_good ? (real)1 : (real)0;
    return (is_good & !(excess > 0)) ? (real)0 : (real)1;
}

/* Adds the stiffness from the rotation of R in tension, t > p: (t - p) [q]x K^-1 [q]x^T. */
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

/* A corner's own rest gradient is minus the sum of the others. */
PD_LANE_FUNCTION real pd_rotated_own(int stride, const real *numbers, int i) {
    return -(numbers[i * stride] + numbers[(3 + i) * stride] + numbers[(6 + i) * stride]);
}

/* The numbers of a lane of a group. */
PD_LANE_FUNCTION real pd_rotated_begin_lane(int stride, const real *F, const real *numbers, real *parts) {
    return pd_rotated_begin(stride, F, pd_rotated_own(stride, numbers, 0), pd_rotated_own(stride, numbers, 1),
                            pd_rotated_own(stride, numbers, 2), parts);
}

PD_LANE_FUNCTION real pd_rotated_add_lane(int stride, const real *F, const real *parts, const real *numbers, real *sum, real *good) {
    real p = numbers[PD_ROTATED_WEIGHT * stride], l = numbers[PD_ROTATED_LAME * stride];
    real left = pd_rotated_add_root(stride, F, parts, p, l, sum, good);
    return ((p == 0) & (l == 0)) ? (real)0 : left; // an unused lane
}

/* The remaining work of pd_rotated_add_root: a corner with `good` 0, whose R pd_polar3 computes, and the stiffness in tension. F, g and sum
 * are separate arrays. */
PD_FUNCTION void pd_rotated_finish(const real *F, const real *g, int good, real p, real l, real sum[9]) {
    real R[9], y[3], q[3];
    pd_polar3(F, R);
    real n = pd_matrix3_dot(R, F), excess = l * (n - (real)3) - p;
    for (int i = 0; i < 3; i++) {
        y[i] = F[3 * i] * g[0] + F[3 * i + 1] * g[1] + F[3 * i + 2] * g[2];
        q[i] = R[3 * i] * g[0] + R[3 * i + 1] * g[1] + R[3 * i + 2] * g[2];
    }
    if (!good) excess = pd_rotated_add(1, y[0], y[1], y[2], q[0], q[1], q[2], n, p, l, sum);
    if (excess > 0) pd_rotated_add_turning(1, F, R, n, excess, g[0], g[1], g[2], sum);
}

/* Gradient and block of one corner from a complete F. */
PD_FUNCTION void pd_rotated_corner(const real *F, const real *g, real p, real l, real sum[9]) {
    real parts[PD_ROTATED_PARTS];
    real open = pd_rotated_begin(1, F, g[0], g[1], g[2], parts);
    for (int iteration = (int)PD_ROTATED_FIRST_STEPS; iteration < PD_ROTATED_STEPS && open > 0; iteration++)
        open = pd_rotated_approach(1, parts);
    real good;
    if (pd_rotated_add_root(1, F, parts, p, l, sum, &good) > 0) pd_rotated_finish(F, g, good > 0, p, l, sum);
}

#endif
