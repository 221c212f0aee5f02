/* The pose of a rigid body: centre and rotation, in double for any `real`. Matrices are row-major. */
#ifndef PD_BASE_POSE_H
#define PD_BASE_POSE_H

#include "base/real.h"

typedef struct pd_pose {
    double centre[3], rotation[9];
} pd_pose;

PD_FUNCTION void pd_pose_cross(const double a[3], const double b[3], double c[3]) {
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

PD_FUNCTION void pd_pose_rotate(const double R[9], const double p[3], double r[3]) {
    for (int i = 0; i < 3; i++) r[i] = R[3 * i] * p[0] + R[3 * i + 1] * p[1] + R[3 * i + 2] * p[2];
}

PD_FUNCTION void pd_pose_multiply(const double A[9], const double B[9], double C[9]) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) C[3 * i + j] = A[3 * i] * B[j] + A[3 * i + 1] * B[3 + j] + A[3 * i + 2] * B[6 + j];
}

/* R = exp(theta x), by Rodrigues' formula, or its series for a small theta. */
PD_FUNCTION void pd_pose_exponential(const double t[3], double R[9]) {
    double square = t[0] * t[0] + t[1] * t[1] + t[2] * t[2], angle = sqrt(square);
    double s = square < 1e-8 ? 1.0 - square / 6.0 : sin(angle) / angle;
    double half = square < 1e-8 ? 0.5 - square / 24.0 : 2.0 * sin(angle / 2.0) * sin(angle / 2.0) / square;
    double K[9] = {0.0, -t[2], t[1], t[2], 0.0, -t[0], -t[1], t[0], 0.0};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) R[3 * i + j] = (i == j ? 1.0 - half * square : 0.0) + s * K[3 * i + j] + half * t[i] * t[j];
}

/* A B^T */
PD_FUNCTION void pd_pose_relative(const double A[9], const double B[9], double C[9]) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) C[3 * i + j] = A[3 * i] * B[3 * j] + A[3 * i + 1] * B[3 * j + 1] + A[3 * i + 2] * B[3 * j + 2];
}

/* A multiple of the unit quaternion of R, q[3] its real part, by the k-th of the others. */
PD_FUNCTION void pd_pose_quaternion(const double R[9], int k, double q[4]) {
    int i = (k + 1) % 3, j = (k + 2) % 3;
    q[k] = 1.0 + R[4 * k] - R[4 * i] - R[4 * j];
    q[i] = R[3 * i + k] + R[3 * k + i];
    q[j] = R[3 * j + k] + R[3 * k + j];
    q[3] = R[3 * j + i] - R[3 * i + j];
}

/* The smallest t with exp(t x) = R, from the unit quaternion of R, whose largest component is computed first [Shepperd 1978]. The index
 * of the largest is a constant in each call, so that a GPU keeps all in registers. */
PD_FUNCTION void pd_pose_logarithm(const double R[9], double t[3]) {
    double q[4], trace = R[0] + R[4] + R[8];
    if (trace > R[0] && trace > R[4] && trace > R[8]) {
        q[3] = 1.0 + trace;
        for (int c = 0; c < 3; c++) q[c] = R[3 * ((c + 2) % 3) + (c + 1) % 3] - R[3 * ((c + 1) % 3) + (c + 2) % 3];
    } else if (R[8] > R[0] && R[8] > R[4]) {
        pd_pose_quaternion(R, 2, q);
    } else if (R[4] > R[0]) {
        pd_pose_quaternion(R, 1, q);
    } else {
        pd_pose_quaternion(R, 0, q);
    }
    double sign = q[3] < 0.0 ? -1.0 : 1.0, sine = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]);
    double angle = 2.0 * atan2(sine, sign * q[3]), scale = sine > 0.0 ? sign * angle / sine : 0.0;
    for (int c = 0; c < 3; c++) t[c] = scale * q[c];
}

/* The rotation nearest to A: Newton's iteration A <- (g A + A^-T / g)/2 with Higham's scaling [Higham 1986, Sec. 3]. Returns 0 unless
 * det A is positive: otherwise there is no unique nearest rotation. */
PD_FUNCTION int pd_pose_orthogonal(double A[9]) {
    for (int k = 0; k < 60; k++) {
        double cofactors[9], norm = 0.0, inverse = 0.0, change = 0.0;
        for (int i = 0; i < 3; i++) pd_pose_cross(A + 3 * ((i + 1) % 3), A + 3 * ((i + 2) % 3), cofactors + 3 * i);
        double determinant = A[0] * cofactors[0] + A[1] * cofactors[1] + A[2] * cofactors[2];
        for (int i = 0; i < 9; i++) norm += A[i] * A[i], inverse += cofactors[i] * cofactors[i];
        if (!(determinant > 1e-30 * norm * sqrt(norm))) return 0;
        double g = k < 4 ? sqrt(sqrt(inverse / norm) / determinant) : 1.0;
        for (int i = 0; i < 9; i++) {
            double next = 0.5 * (g * A[i] + cofactors[i] / (determinant * g));
            change = fmax(change, fabs(next - A[i]));
            A[i] = next;
        }
        if (k >= 4 && change < 1e-15) return 1;
    }
    return 1;
}

#endif
