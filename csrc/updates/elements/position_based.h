/* Position-based dynamics: the moves that put one element into its constraint set [Müller et al. 2007; Wang 2015, Sec. 4.2, 5.3].
 *
 * With F = sum_i x_i g_i^T (table.h; g_0 = -sum g_i) and a target T, the moves that minimise sum m_i |dq_i|^2 subject to F(x + dq) = T
 * are, by Lagrange's multipliers,
 *
 *     dq_i = (T - F) W^-1 g_i / m_i,    W = sum_i g_i g_i^T / m_i  [d,d].
 *
 * This formula is the distance constraint for a spring, flattening for a hinge, the move to the target for an attachment. It does not
 * contain the stiffness. A pinned vertex has 1/m = 0. Momentum: sum m_i dq_i = 0, since sum g_i = 0.
 *
 * The torque about the positions x needs more: sum m_i x_i x dq_i is the skew part of F W^-1 (T - F)^T. It is not zero for the T of
 * table.h, which is nearest to F in the Frobenius norm: a tet would start to spin. Every constraint set with d > 1 is invariant under
 * rotations, so T is first rotated to the smallest moves: T <- Q T, Q the rotation nearest to F W^-1 T^T. Then F W^-1 T^T is symmetric
 * and the skew part is zero. For ARAP this Q T is the rotation of shape matching [Müller et al. 2005]. With d = 1, T is parallel to F
 * and needs no rotation.
 *
 * If fewer than d vertices are free, W is singular and T cannot be reached: the pseudo-inverse gives the nearest moves.
 *
 * With a vertex on a line or in a plane no W serves all directions, and it may be impossible to reach T. Then the element is a single
 * constraint C = |F - T| [Müller et al. 2007, Eq. 8], with the gradients projected on the lines and planes,
 *
 *     dq_i = -(1/m_i) P_i g_i C / sum_j (1/m_j) |P_j g_j|^2,    g_i = dC/dx_i.
 *
 * For d = 1 and P = I this equals the above. C is invariant under rotations, and so its gradient exerts no torque. */
#ifndef PD_UPDATES_ELEMENTS_POSITION_BASED_H
#define PD_UPDATES_ELEMENTS_POSITION_BASED_H

#include "elements/element.h"
#include "updates/time_step.h"

#include <stddef.h>

/* inverse [3,3] = pseudo-inverse of the positive semidefinite W [3,3], of which only the leading d x d block is filled, with at most
 * `rank` nonzero eigenvalues. W must be scaled to a trace of 1, which avoids over- and underflow. Symmetric to the bit. */
PD_FUNCTION void pd_metric_inverse(int d, int rank, const real *W, real *inverse) {
    real A[9], C[9], lambda[3], Q[9], largest = 0;
    if (rank >= d) {
        for (int i = 0; i < 9; i++) A[i] = W[i];
        for (int i = d; i < 3; i++) A[4 * i] = 1;
        pd_matrix3_cofactor(A, C);
        real determinant = pd_dot3(A, C);
        if (determinant > (real)64 * PD_EPSILON) {
            for (int i = 0; i < 3; i++)
                for (int j = i; j < 3; j++) inverse[3 * i + j] = inverse[3 * j + i] = j < d ? C[3 * i + j] / determinant : 0;
            return;
        }
    }
    pd_symmetric3_eigen(W, lambda, Q);
    for (int i = 0; i < 3; i++) largest = pd_max(largest, lambda[i]);
    for (int i = 0; i < 3; i++) {
        int before = 0; // larger eigenvalues, so that `rank` of all are kept
        for (int j = 0; j < 3; j++) before += lambda[j] > lambda[i] || (lambda[j] == lambda[i] && j < i);
        lambda[i] = before < rank && lambda[i] > (real)64 * PD_EPSILON * largest ? (real)1 / lambda[i] : 0;
    }
    for (int i = 0; i < 3; i++)
        for (int j = i; j < 3; j++) {
            real sum = 0;
            for (int m = 0; m < 3; m++) sum += lambda[m] * Q[3 * i + m] * Q[3 * j + m];
            inverse[3 * i + j] = inverse[3 * j + i] = sum;
        }
}

/* moves [k,3] out, m.
 *   rest   as in element.h      w [k]  1/kg, inverse masses, 0: pinned      F [3,d]      T [3,d]  the projection of F
 * All zero if every vertex is pinned. */
PD_FUNCTION void pd_element_moves(int k, int d, const real *rest, const real *w, const real *F, const real *T, real *moves) {
    real W[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0}, inverse[9], C[9], last[3], largest = 0, trace = 0;
    int n_free = 0;
    for (int i = 0; i < 3 * k; i++) moves[i] = 0;
    for (int i = 0; i < k; i++) {
        n_free += w[i] > 0;
        largest = pd_max(largest, w[i]);
    }
    if (n_free == 0) return;

    // W with inverse masses in units of the largest, then with a trace of 1
    for (int i = 0; i < k; i++) {
        if (!(w[i] > 0)) continue;
        for (int b = 0; b < d; b++) {
            last[b] = k > 1 ? 0 : 1;
            for (int j = 1; j < k && i == 0; j++) last[b] -= rest[d * (j - 1) + b];
        }
        const real *g = i > 0 ? rest + d * (i - 1) : last;
        for (int a = 0; a < d; a++)
            for (int b = 0; b < d; b++) W[3 * a + b] += w[i] / largest * (g[a] * g[b]);
    }
    for (int b = 0; b < d; b++) trace += W[4 * b];
    if (!(trace > 0)) return;
    for (int i = 0; i < 9; i++) W[i] /= trace;
    int rank = n_free < d ? n_free : d;
    pd_metric_inverse(d, rank, W, inverse);

    // D = Q T - F, in C
    for (int i = 0; i < 3 * d; i++) C[i] = T[i] - F[i];
    if (d > 1 && rank == d) {
        real F_inverse[9], A[9], Q[9];
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < d; b++) {
                F_inverse[d * a + b] = 0;
                for (int c = 0; c < d; c++) F_inverse[d * a + b] += F[d * a + c] * inverse[3 * c + b];
            }
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++) {
                A[3 * a + b] = 0;
                for (int c = 0; c < d; c++) A[3 * a + b] += F_inverse[d * a + c] * T[d * b + c];
            }
        pd_polar3(A, Q);
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < d; b++) {
                real sum = 0;
                for (int c = 0; c < 3; c++) sum += Q[3 * a + c] * T[d * c + b];
                C[d * a + b] = sum - F[d * a + b];
            }
    }

    // C = D W^-1, moves_i = w_i C g_i
    for (int a = 0; a < 3; a++) {
        real row[3] = {0, 0, 0};
        for (int b = 0; b < d; b++)
            for (int c = 0; c < d; c++) row[b] += C[d * a + c] * inverse[3 * c + b];
        for (int b = 0; b < d; b++) C[d * a + b] = row[b] / trace;
    }
    pd_element_forces_from_gradient(k, d, rest, C, moves);
    for (int i = 0; i < k; i++)
        for (int a = 0; a < 3; a++) moves[3 * i + a] *= w[i] / largest;
}

/* The same for corners on lines or in planes, with the projectors subspace [n,3,3] of the vertices [k]. */
PD_FUNCTION void pd_element_held_moves(int k, int d, const real *rest, const real *w, const real *F, const real *T, const int *vertices,
                                       const real *subspace, real *moves) {
    real D[9], largest = 0, square = 0, sum = 0;
    for (int i = 0; i < 3 * d; i++) {
        D[i] = T[i] - F[i];
        square += D[i] * D[i];
    }
    for (int i = 0; i < k; i++) largest = pd_max(largest, w[i]);
    pd_element_forces_from_gradient(k, d, rest, D, moves); // -C g_i
    for (int i = 0; i < k; i++) {
        pd_vertex_project(subspace + 9 * (size_t)vertices[i], moves + 3 * i);
        real part = largest > 0 ? w[i] / largest : (real)0;
        sum += part * pd_dot3(moves + 3 * i, moves + 3 * i);
        for (int a = 0; a < 3; a++) moves[3 * i + a] *= part;
    }
    for (int i = 0; i < 3 * k; i++) moves[i] = sum > 0 ? moves[i] * (square / sum) : (real)0;
}

/* Selects one of the two; `subspace` NULL: no lines and planes. */
PD_FUNCTION void pd_element_moves_within(int k, int d, const real *rest, const real *w, const real *F, const real *T, const int *vertices,
                                         const real *subspace, real *moves) {
    int held = 0;
    for (int i = 0; i < k && subspace; i++) {
        const real *P = subspace + 9 * (size_t)vertices[i];
        held |= P[0] + P[4] + P[8] < (real)2.5;
    }
    if (held)
        pd_element_held_moves(k, d, rest, w, F, T, vertices, subspace, moves);
    else
        pd_element_moves(k, d, rest, w, F, T, moves);
}

#endif
