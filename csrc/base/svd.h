/* Signed singular value decomposition F = U diag(sigma) V^T of 3x3 and 3x2 matrices.
 *
 * U and V are rotations (determinant +1), so a reflection in F gives a negative smallest singular value: an inverted tet has sigma_2 < 0,
 * and U V^T is the closest rotation for any sign of det F [Irving, Teran, Fedkiw 2004, Invertible Finite Elements].
 *
 * Method: one-sided Jacobi [Hestenes 1958], with the columns ordered during the rotations [de Rijk 1989]. The columns of B = F V are made
 * orthogonal relative to their own lengths. This keeps the relative accuracy of tiny singular values if the entries determine them [Demmel
 * and Veselic 1992]; F^T F would lose all digits below 1e-8 of the largest.
 *
 * F is divided by its largest entry first: 1e-200 to 1e200 in double and 1e-30 to 1e30 in float give the same U and V as entries of size 1.
 * For rank-deficient input, undetermined vectors are chosen close to those of V, so that F = 0 and nonnegative diagonal F give U V^T = I.
 * At most PD_SVD_SWEEPS sweeps; three to five in practice, at most six in a million random matrices. */
#ifndef PD_BASE_SVD_H
#define PD_BASE_SVD_H

#include "base/matrix3.h"

#define PD_SVD_SWEEPS 12

/* Orders columns p < q of B by length and makes them orthogonal; V follows. Returns 0 if nothing changed. An exchange counts as a
 * change: after one, three successive pairs need not be the three different ones. */
PD_FUNCTION int pd_svd_rotate(real B[9], real V[9], int p, int q) {
    real alpha = 0, beta = 0, gamma = 0;
    int exchanged = 0;
    for (int i = 0; i < 3; i++) {
        alpha += B[3 * i + p] * B[3 * i + p];
        beta += B[3 * i + q] * B[3 * i + q];
        gamma += B[3 * i + p] * B[3 * i + q];
    }
    if (alpha < beta) {
        /* A quarter turn exchanges the columns and stays a rotation. */
        pd_matrix3_rotate_columns(B, p, q, 0, -1);
        pd_matrix3_rotate_columns(V, p, q, 0, -1);
        real swap = alpha;
        alpha = beta;
        beta = swap;
        gamma = -gamma;
        exchanged = 1;
    }
    if (pd_fabs(gamma) <= (real)4 * PD_EPSILON * pd_sqrt(alpha) * pd_sqrt(beta)) return exchanged;
    real t = pd_jacobi_tangent((beta - alpha) / ((real)2 * gamma));
    real c = (real)1 / pd_sqrt((real)1 + t * t), s = t * c;
    pd_matrix3_rotate_columns(B, p, q, c, s);
    pd_matrix3_rotate_columns(V, p, q, c, s);
    return 1;
}

/* The same for one lane without a branch, in three parts, so that the divisions of several registers overlap: entry i of B is at [stride i].
 * The squares of the lengths of columns p and q, and their product after an exchange. */
typedef struct pd_svd_columns {
    real longer, shorter, product;
    int exchanged, turns; /* turns: they are not orthogonal */
} pd_svd_columns;

PD_LANE_FUNCTION pd_svd_columns pd_svd_compare_lane(int stride, const real *B, int p, int q) {
    real alpha = 0, beta = 0, gamma = 0;
    pd_svd_columns out;
    for (int i = 0; i < 3; i++) {
        real b_p = B[stride * (3 * i + p)], b_q = B[stride * (3 * i + q)];
        alpha += b_p * b_p, beta += b_q * b_q, gamma += b_p * b_q;
    }
    out.exchanged = alpha < beta;
    out.longer = out.exchanged ? beta : alpha, out.shorter = out.exchanged ? alpha : beta;
    out.product = out.exchanged ? -gamma : gamma;
    out.turns = !(pd_fabs(out.product) <= (real)4 * PD_EPSILON * pd_sqrt(out.longer) * pd_sqrt(out.shorter));
    return out;
}

/* The cosine of the rotation by its tangent; above = shorter - longer. */
PD_LANE_FUNCTION real pd_svd_tangent_lane(real above, real product, int turns) {
    return turns ? pd_jacobi_tangent(above / (turns ? (real)2 * product : (real)1)) : (real)0;
}
PD_LANE_FUNCTION real pd_svd_cosine_lane(real tangent) { return (real)1 / pd_sqrt((real)1 + tangent * tangent); }

/* Exchanges and rotates columns of A, which is B or V. */
PD_LANE_FUNCTION void pd_svd_rotate_lane(int stride, real *A, int p, int q, int exchanged, real c, real s) {
    for (int i = 0; i < 3; i++) {
        real a_p = A[stride * (3 * i + p)], a_q = A[stride * (3 * i + q)];
        real to_p = exchanged ? a_q : a_p, to_q = exchanged ? -a_p : a_q;
        A[stride * (3 * i + p)] = c * to_p - s * to_q, A[stride * (3 * i + q)] = s * to_p + c * to_q;
    }
}

/* U and sigma from unit vectors along the first two columns of B. The clamps only repair the order of values that are equal to rounding. */
PD_LANE_FUNCTION void pd_svd_values(int stride, const real *B, const real u_0[3], const real u_1[3], real *U, real *sigma) {
    const real b_0[3] = {B[0], B[3 * stride], B[6 * stride]}, b_1[3] = {B[stride], B[4 * stride], B[7 * stride]};
    const real b_2[3] = {B[2 * stride], B[5 * stride], B[8 * stride]};
    real u_2[3];
    pd_cross3(u_0, u_1, u_2);
    const real s_1 = pd_max(pd_dot3(u_1, b_1), 0), s_2 = pd_dot3(u_2, b_2);
    sigma[0] = pd_max(pd_dot3(u_0, b_0), s_1);
    sigma[stride] = s_1;
    sigma[2 * stride] = pd_max(-s_1, pd_min(s_1, s_2));
    for (int i = 0; i < 3; i++) {
        U[3 * i * stride] = u_0[i];
        U[(3 * i + 1) * stride] = u_1[i];
        U[(3 * i + 2) * stride] = u_2[i];
    }
}

/* U and sigma from the orthogonal columns of B, longest first, B scaled so that the longest is at least 1: one lane, without a branch.
 * Returns 0 for rank one: only the first column of U is then defined. */
PD_LANE_FUNCTION int pd_svd_finish_lane(int stride, const real *B, real *U, real *sigma) {
    real u_0[3], u_1[3];
    for (int i = 0; i < 3; i++) u_0[i] = B[3 * i * stride], u_1[i] = B[(3 * i + 1) * stride];
    real length = pd_norm3(u_0);
    for (int i = 0; i < 3; i++) u_0[i] /= length;

    /* Divide by the largest entry first: the square of a tiny column would underflow. */
    const real largest = pd_largest(u_1, 3), divisor = largest > 0 ? largest : (real)1;
    for (int i = 0; i < 3; i++) u_1[i] /= divisor;
    const real along = pd_dot3(u_0, u_1);
    for (int i = 0; i < 3; i++) u_1[i] -= along * u_0[i];
    length = pd_norm3(u_1);
    for (int i = 0; i < 3; i++) u_1[i] /= length;
    pd_svd_values(stride, B, u_0, u_1, U, sigma);
    return length > (real)0.5;
}

/* The same for any rank. */
PD_FUNCTION void pd_svd_finish(const real B[9], const real V[9], real U[9], real sigma[3]) {
    if (pd_svd_finish_lane(1, B, U, sigma)) return;
    /* Rank one: any unit vector perpendicular to u_0 is valid. The better of v_1 and v_2 keeps at least 1/sqrt(2). */
    real u_0[3] = {U[0], U[3], U[6]}, u_1[3], v_1[3] = {V[1], V[4], V[7]}, v_2[3] = {V[2], V[5], V[8]};
    const int first = pd_fabs(pd_dot3(u_0, v_1)) <= pd_fabs(pd_dot3(u_0, v_2));
    for (int i = 0; i < 3; i++) u_1[i] = first ? v_1[i] : v_2[i];
    const real along = pd_dot3(u_0, u_1);
    for (int i = 0; i < 3; i++) u_1[i] -= along * u_0[i];
    const real length = pd_norm3(u_1);
    for (int i = 0; i < 3; i++) u_1[i] /= length;
    pd_svd_values(1, B, u_0, u_1, U, sigma);
}

/* F = U diag(sigma) V^T, det U = det V = +1, sigma_0 >= sigma_1 >= |sigma_2|; only sigma_2 may be negative, with det F.
 *   F [9] in     U [9], sigma [3], V [9] out
 * F = 0 gives U = V = I. Rank one or two: U, V are still rotations, not unique. Not-finite F: not-finite results. */
PD_LARGE_FUNCTION void pd_svd3(const real F[9], real U[9], real sigma[3], real V[9]) {
    real scale = pd_largest(F, 9), B[9];
    pd_matrix3_identity(V);
    if (scale == 0) {
        pd_matrix3_identity(U);
        sigma[0] = sigma[1] = sigma[2] = 0;
        return;
    }
    for (int i = 0; i < 9; i++) B[i] = F[i] / scale;
    for (int sweep = 0; sweep < PD_SVD_SWEEPS; sweep++) {
        int rotated = pd_svd_rotate(B, V, 0, 1);
        rotated |= pd_svd_rotate(B, V, 0, 2);
        rotated |= pd_svd_rotate(B, V, 1, 2);
        if (!rotated) break;
    }
    pd_svd_finish(B, V, U, sigma);
    for (int i = 0; i < 3; i++) sigma[i] *= scale;
}

/* F = U[:, 0:2] diag(sigma) V^T for a 3x2 F: U a 3x3 rotation whose third column is the unit normal, V a 2x2 rotation,
 * sigma_0 >= sigma_1 >= 0.
 *   F [6] in     U [9], sigma [2], V [4] out
 * The same iteration with a third column of zeros, which no rotation touches. F = 0 gives U = I, V = I. */
PD_LARGE_FUNCTION void pd_svd32(const real F[6], real U[9], real sigma[2], real V[4]) {
    real scale = pd_largest(F, 6), B[9], V_3[9], sigma_3[3];
    pd_matrix3_identity(V_3);
    pd_matrix3_identity(U);
    sigma_3[0] = sigma_3[1] = 0;
    if (scale != 0) {
        for (int i = 0; i < 3; i++) {
            B[3 * i] = F[2 * i] / scale;
            B[3 * i + 1] = F[2 * i + 1] / scale;
            B[3 * i + 2] = 0;
        }
        for (int sweep = 0; sweep < PD_SVD_SWEEPS; sweep++)
            if (!pd_svd_rotate(B, V_3, 0, 1)) break;
        pd_svd_finish(B, V_3, U, sigma_3);
    }
    for (int i = 0; i < 2; i++) {
        sigma[i] = sigma_3[i] * scale;
        V[2 * i] = V_3[3 * i];
        V[2 * i + 1] = V_3[3 * i + 1];
    }
}

/* A = U diag(s) V^T, 3x3 */
PD_FUNCTION void pd_svd3_compose(const real U[9], const real s[3], const real V[9], real A[9]) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            A[3 * i + j] = s[0] * U[3 * i] * V[3 * j] + s[1] * U[3 * i + 1] * V[3 * j + 1] + s[2] * U[3 * i + 2] * V[3 * j + 2];
}

/* A = U[:, 0:2] diag(s) V^T, 3x2 */
PD_FUNCTION void pd_svd32_compose(const real U[9], const real s[2], const real V[4], real A[6]) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 2; j++) A[2 * i + j] = s[0] * U[3 * i] * V[2 * j] + s[1] * U[3 * i + 1] * V[2 * j + 1];
}

#endif
