/* 3-vectors and 3x3 matrices: the operations of the elements and of the polar decomposition.
 *
 * Matrices are real[9], row-major. Inputs come first, outputs last. An output must not overlap an input unless its comment allows it.
 * All sizes are constants, so that the compiler unrolls the loops. */
#ifndef PD_BASE_MATRIX3_H
#define PD_BASE_MATRIX3_H

#include "base/hessian_filter.h"

PD_FUNCTION real pd_dot3(const real a[3], const real b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

PD_FUNCTION real pd_norm3(const real a[3]) { return pd_sqrt(pd_dot3(a, a)); }

PD_FUNCTION void pd_cross3(const real a[3], const real b[3], real c[3]) {
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

/* The largest |a_i| of n numbers. */
PD_FUNCTION real pd_largest(const real *a, int n) {
    real largest = 0;
    for (int i = 0; i < n; i++) largest = pd_max(largest, pd_fabs(a[i]));
    return largest;
}

PD_FUNCTION void pd_matrix3_identity(real A[9]) {
    for (int i = 0; i < 9; i++) A[i] = (real)(i % 4 == 0);
}

/* C = A B */
PD_FUNCTION void pd_matrix3_multiply(const real A[9], const real B[9], real C[9]) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) C[3 * i + j] = A[3 * i] * B[j] + A[3 * i + 1] * B[3 + j] + A[3 * i + 2] * B[6 + j];
}

/* C = A^T B */
PD_FUNCTION void pd_matrix3_transpose_multiply(const real A[9], const real B[9], real C[9]) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) C[3 * i + j] = A[i] * B[j] + A[3 + i] * B[3 + j] + A[6 + i] * B[6 + j];
}

/* C = A B^T */
PD_FUNCTION void pd_matrix3_multiply_transpose(const real A[9], const real B[9], real C[9]) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) C[3 * i + j] = pd_dot3(A + 3 * i, B + 3 * j);
}

PD_FUNCTION void pd_matrix3_transpose(const real A[9], real B[9]) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) B[3 * i + j] = A[3 * j + i];
}

/* A : B, the sum of the products of the entries. */
PD_FUNCTION real pd_matrix3_dot(const real A[9], const real B[9]) { return pd_dot3(A, B) + pd_dot3(A + 3, B + 3) + pd_dot3(A + 6, B + 6); }

/* The Frobenius norm. */
PD_FUNCTION real pd_matrix3_norm(const real A[9]) { return pd_sqrt(pd_matrix3_dot(A, A)); }

/* The cofactor matrix, d(det A)/dA = det(A) A^-T; its rows are cross products of the rows of A. */
PD_FUNCTION void pd_matrix3_cofactor(const real A[9], real C[9]) {
    pd_cross3(A + 3, A + 6, C);
    pd_cross3(A + 6, A, C + 3);
    pd_cross3(A, A + 3, C + 6);
}

PD_FUNCTION real pd_matrix3_determinant(const real A[9]) {
    real c[3];
    pd_cross3(A + 3, A + 6, c);
    return pd_dot3(A, c);
}

/* The tangent t of the Jacobi rotation, the smaller root of t^2 + 2 zeta t = 1. Above 1e9 the square root is |zeta| to the last bit, and
 * its square could overflow in float. */
PD_FUNCTION real pd_jacobi_tangent(real zeta) {
    real size = pd_fabs(zeta);
    real t = size > (real)1e9 ? (real)0.5 / size : (real)1 / (size + pd_sqrt((real)1 + size * size));
    return zeta < 0 ? -t : t;
}

/* Rotates columns p and q of A: (a_p, a_q) <- (c a_p - s a_q, s a_p + c a_q). */
PD_FUNCTION void pd_matrix3_rotate_columns(real A[9], int p, int q, real c, real s) {
    for (int i = 0; i < 3; i++) {
        real a_p = A[3 * i + p], a_q = A[3 * i + q];
        A[3 * i + p] = c * a_p - s * a_q;
        A[3 * i + q] = s * a_p + c * a_q;
    }
}

/* One step of pd_symmetric3_eigen: the rotation of columns p and q that makes S[p,q] zero; r is the third index. */
PD_FUNCTION void pd_symmetric3_rotate(real S[9], real Q[9], int p, int q, int r) {
    real s_pq = S[3 * p + q];
    if (s_pq == 0) return;
    real t = pd_jacobi_tangent((S[4 * q] - S[4 * p]) / ((real)2 * s_pq));
    real c = (real)1 / pd_sqrt((real)1 + t * t), s = t * c;
    real s_rp = S[3 * r + p], s_rq = S[3 * r + q];
    S[4 * p] -= t * s_pq;
    S[4 * q] += t * s_pq;
    S[3 * p + q] = S[3 * q + p] = 0;
    S[3 * r + p] = S[3 * p + r] = c * s_rp - s * s_rq;
    S[3 * r + q] = S[3 * q + r] = s * s_rp + c * s_rq;
    pd_matrix3_rotate_columns(Q, p, q, c, s);
}

/* S = Q diag(lambda) Q^T by cyclic Jacobi rotations; Q is a rotation, lambda is unordered. Only squares of rotation tangents are formed,
 * never of entries, so no scaling is needed. Errors are a few rounding errors of |S|. The loop has at most ten sweeps; convergence is
 * quadratic. [Golub and Van Loan 2013, Sec. 8.5] */
PD_FUNCTION void pd_symmetric3_eigen(const real S[9], real lambda[3], real Q[9]) {
    real A[9];
    for (int i = 0; i < 9; i++) A[i] = S[i];
    pd_matrix3_identity(Q);
    for (int sweep = 0; sweep < 10; sweep++) {
        real off = pd_fabs(A[1]) + pd_fabs(A[2]) + pd_fabs(A[5]);
        real diagonal = pd_fabs(A[0]) + pd_fabs(A[4]) + pd_fabs(A[8]);
        if (off <= (real)0.125 * PD_EPSILON * diagonal) break;
        pd_symmetric3_rotate(A, Q, 0, 1, 2);
        pd_symmetric3_rotate(A, Q, 0, 2, 1);
        pd_symmetric3_rotate(A, Q, 1, 2, 0);
    }
    for (int i = 0; i < 3; i++) lambda[i] = A[4 * i];
}

/* 1 if the minors of S show that its eigenvalues are above 64 rounding errors of its trace: those of pd_symmetric3_eigen are then
 * positive. A third row of zeros, as for a triangle, has the eigenvalue 0 and counts as positive. 0 if the minors do not show it, also
 * for S not finite. */
PD_LANE_FUNCTION int pd_symmetric3_is_definite(const real S[9]) {
    const real least = (real)64 * PD_EPSILON, scale = (real)1 / (S[0] + S[4] + S[8]); /* a trace of 1: no product over- or underflows */
    real A[9];
    for (int i = 0; i < 9; i++) A[i] = S[i] * scale;
    return (scale > 0) & (A[0] > 0) & (A[0] * A[4] - A[1] * A[1] > least) &
           (((S[2] == 0) & (S[5] == 0) & (S[8] == 0)) | (pd_matrix3_determinant(A) > least));
}

/* Filters the eigenvalues of S. A matrix without negative ones is unchanged, to the bit. */
PD_FUNCTION void pd_symmetric3_filter(real S[9], pd_hessian_filter filter) {
    real lambda[3], Q[9];
    if (filter == PD_FILTER_NONE || pd_symmetric3_is_definite(S)) return;
    pd_symmetric3_eigen(S, lambda, Q);
    if (lambda[0] >= 0 && lambda[1] >= 0 && lambda[2] >= 0) return;
    for (int i = 0; i < 3; i++) lambda[i] = pd_filter_eigenvalue(filter, lambda[i]);
    for (int i = 0; i < 3; i++)
        for (int j = i; j < 3; j++) {
            real sum = 0;
            for (int m = 0; m < 3; m++) sum += lambda[m] * Q[3 * i + m] * Q[3 * j + m];
            S[3 * i + j] = S[3 * j + i] = sum;
        }
}

#endif
