/* Hessian of an energy that depends on F through its singular values only, from the derivatives by these.
 *
 * For F = U diag(sigma) V^T and Psi(sigma), d2Psi/dF2 has a closed eigensystem up to one small block [Smith, de Goes, Kim 2019, Analytic
 * Eigensystems for Isotropic Distortion Energies]. With D_ij = u_i v_j^T:
 *
 *     block         span{D_00, D_11, D_22}       d2Psi / dsigma_i dsigma_j
 *     symmetric     (D_ij + D_ji) / sqrt 2       (Psi_i - Psi_j) / (sigma_i - sigma_j)
 *     twist         (D_ij - D_ji) / sqrt 2       (Psi_i + Psi_j) / (sigma_i + sigma_j)
 *     normal (3x2)  n v_i^T                      Psi_i / sigma_i            (n = u_2, the unit normal; i = 0, 1)
 *
 * The caller computes the three quotients analytically. At sigma_i = sigma_j the first has a finite limit, which a quotient of rounded
 * differences would miss. At a zero of the sum or of sigma_i, twist and normal eigenvalues diverge to -infinity; pd_singular_quotient
 * keeps them finite. */
#ifndef PD_ELEMENTS_ISOTROPIC_H
#define PD_ELEMENTS_ISOTROPIC_H

#include "base/matrix3.h"

/* a / b for b >= 0, with b at least 16 rounding errors: a smaller b is the noise of the singular values (stretches, near 1). */
PD_FUNCTION real pd_singular_quotient(real a, real b) { return a / pd_max(b, (real)16 * PD_EPSILON); }

/* Modes of a Hessian beside its block, at most, and work arrays of an assembly of one element: the block's D_ii and sum_j B_ij D_jj, the
 * modes, and the modes times their coefficients. */
enum { PD_ISOTROPIC_MODES = 6, PD_ISOTROPIC_WORK = 54 + 18 * PD_ISOTROPIC_MODES };

/* These functions process `lanes` elements at once: number i of element l is at [lanes i + l]. The last function below documents H. */

/* Mode number `number`: m = D_ij + sign D_ji as a vector of length 3d, and coefficient m. D_ij = u_i v_j^T; U is 3x3, V is d x d; sign = 0
 * uses D_ij only. work [PD_ISOTROPIC_WORK] */
PD_LANE_FUNCTION void pd_isotropic_set_mode(int lanes, int d, const real *U, const real *V, int number, int i, int j, real sign,
                                            const real *coefficient, real *work) {
    real *mode = work + lanes * (54 + 9 * number), *scaled = mode + lanes * 9 * PD_ISOTROPIC_MODES;
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < d; b++) {
            PD_LANE_LOOP
            for (int l = 0; l < lanes; l++) {
                real m = U[lanes * (3 * a + i) + l] * V[lanes * (d * b + j) + l];
                if (sign != 0) m += sign * U[lanes * (3 * a + j) + l] * V[lanes * (d * b + i) + l];
                mode[lanes * (d * a + b) + l] = m;
                scaled[lanes * (d * a + b) + l] = coefficient[l] * m;
            }
        }
}

/* The parts of the block span{D_ii}, sum_ij B_ij D_ii D_jj^T; B [9] with row length 3 for both d. work [PD_ISOTROPIC_WORK] */
PD_LANE_FUNCTION void pd_isotropic_set_block(int lanes, int d, const real *U, const real *V, const real *B, real *work) {
    real *D = work, *G = work + 27 * lanes; /* row i: D_ii, and sum_j B_ij D_jj, as vectors of length 3d <= 9 */
    for (int i = 0; i < d; i++)
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < d; b++) {
                PD_LANE_LOOP
                for (int l = 0; l < lanes; l++)
                    D[lanes * (9 * i + d * a + b) + l] = U[lanes * (3 * a + i) + l] * V[lanes * (d * b + i) + l];
            }
    for (int i = 0; i < d; i++)
        for (int r = 0; r < 3 * d; r++) {
            PD_LANE_LOOP
            for (int l = 0; l < lanes; l++) {
                real sum = 0;
                for (int j = 0; j < d; j++) sum += B[lanes * (3 * i + j) + l] * D[lanes * (9 * j + r) + l];
                G[lanes * (9 * i + r) + l] = sum;
            }
        }
}

/* The upper triangle of H: the sum of the block and of the first `modes` modes. Three entries of a row at a time, so that each number of the
 * row is loaded once for them; those below the diagonal have no meaning. */
PD_LANE_FUNCTION void pd_isotropic_sum(int lanes, int d, int modes, const real *work, real *H) {
    const real *G = work + 27 * lanes, *mode = work + 54 * lanes, *scaled = mode + 9 * PD_ISOTROPIC_MODES * lanes;
    for (int r = 0; r < 3 * d; r++)
        for (int c = r / 3 * 3; c < 3 * d; c += 3) {
            PD_LANE_LOOP
            for (int l = 0; l < lanes; l++) {
                real x = 0, y = 0, z = 0;
                for (int i = 0; i < d; i++) {
                    const real own = work[lanes * (9 * i + r) + l];
                    x += own * G[lanes * (9 * i + c) + l];
                    y += own * G[lanes * (9 * i + c + 1) + l];
                    z += own * G[lanes * (9 * i + c + 2) + l];
                }
                for (int m = 0; m < modes; m++) {
                    const real own = scaled[lanes * (9 * m + r) + l];
                    x += own * mode[lanes * (9 * m + c) + l];
                    y += own * mode[lanes * (9 * m + c + 1) + l];
                    z += own * mode[lanes * (9 * m + c + 2) + l];
                }
                H[lanes * (3 * d * r + c) + l] = x;
                H[lanes * (3 * d * r + c + 1) + l] = y;
                H[lanes * (3 * d * r + c + 2) + l] = z;
            }
        }
}

/* The 9x9 Hessians of 3x3 matrices F, upper triangle, from filtered parts.
 *   block [9] in      symmetric, twist [3]  in  halved      work [PD_ISOTROPIC_WORK] */
PD_LANE_FUNCTION void pd_isotropic_assemble3(int lanes, const real *U, const real *V, const real *block, const real *symmetric,
                                             const real *twist, real *work, real *H) {
    pd_isotropic_set_block(lanes, 3, U, V, block, work);
    for (int pair = 0; pair < 3; pair++) {
        const int i = pair == 2 ? 1 : 0, j = pair == 0 ? 1 : 2;
        pd_isotropic_set_mode(lanes, 3, U, V, 2 * pair, i, j, 1, symmetric + lanes * pair, work);
        pd_isotropic_set_mode(lanes, 3, U, V, 2 * pair + 1, i, j, -1, twist + lanes * pair, work);
    }
    pd_isotropic_sum(lanes, 3, 6, work, H);
}

/* The 6x6 Hessians of 3x2 matrices F, upper triangle, from filtered parts.
 *   block [9] in      symmetric, twist  in  halved      normal [2]  in      work [PD_ISOTROPIC_WORK] */
PD_LANE_FUNCTION void pd_isotropic_assemble32(int lanes, const real *U, const real *V, const real *block, const real *symmetric,
                                              const real *twist, const real *normal, real *work, real *H) {
    pd_isotropic_set_block(lanes, 2, U, V, block, work);
    pd_isotropic_set_mode(lanes, 2, U, V, 0, 0, 1, 1, symmetric, work);
    pd_isotropic_set_mode(lanes, 2, U, V, 1, 0, 1, -1, twist, work);
    for (int i = 0; i < 2; i++) pd_isotropic_set_mode(lanes, 2, U, V, 2 + i, 2, i, 0, normal + lanes * i, work);
    pd_isotropic_sum(lanes, 2, 4, work, H);
}

PD_LANE_FUNCTION void pd_isotropic_mirror(int lanes, int n, real *H) {
    for (int r = 0; r < n; r++)
        for (int c = 0; c < r; c++) {
            PD_LANE_LOOP
            for (int l = 0; l < lanes; l++) H[lanes * (n * r + c) + l] = H[lanes * (n * c + r) + l];
        }
}

/* The 9x9 Hessian of a 3x3 F, exactly symmetric.
 *   U, V       [9]   in   singular vectors, by columns      B      [9]   in      d2Psi / dsigma_i dsigma_j
 *   symmetric  [3]   in   } quotients of the pairs          twist  [3]   in
 *                         } (0,1), (0,2), (1,2)             H      [81]  out     row index 3a+b for entry (a,b) of F
 * The modes and the block are orthogonal, so filtering each is exact. */
PD_LARGE_FUNCTION void pd_isotropic_hessian3(const real U[9], const real V[9], const real B[9], const real symmetric[3],
                                             const real twist[3], pd_hessian_filter filter, real H[81]) {
    real block[9], s[3], t[3], work[PD_ISOTROPIC_WORK];
    for (int i = 0; i < 9; i++) block[i] = B[i];
    pd_symmetric3_filter(block, filter);
    for (int pair = 0; pair < 3; pair++) {
        s[pair] = (real)0.5 * pd_filter_eigenvalue(filter, symmetric[pair]);
        t[pair] = (real)0.5 * pd_filter_eigenvalue(filter, twist[pair]);
    }
    pd_isotropic_assemble3(1, U, V, block, s, t, work, H);
    pd_isotropic_mirror(1, 9, H);
}

/* The 6x6 Hessian of a 3x2 F, exactly symmetric: one pair (0,1) and the two normal modes.
 *   U [9], V [4]  in      B [4]  in      symmetric, twist  in      normal [2]  in      H [36]  out, row index 2a+b */
PD_LARGE_FUNCTION void pd_isotropic_hessian32(const real U[9], const real V[4], const real B[4], real symmetric, real twist,
                                              const real normal[2], pd_hessian_filter filter, real H[36]) {
    real block[9] = {B[0], B[1], 0, B[2], B[3], 0, 0, 0, 0}, across[2], work[PD_ISOTROPIC_WORK];
    const real s = (real)0.5 * pd_filter_eigenvalue(filter, symmetric), t = (real)0.5 * pd_filter_eigenvalue(filter, twist);
    pd_symmetric3_filter(block, filter);
    for (int i = 0; i < 2; i++) across[i] = pd_filter_eigenvalue(filter, normal[i]);
    pd_isotropic_assemble32(1, U, V, block, &s, &t, across, work, H);
    pd_isotropic_mirror(1, 6, H);
}

/* B [9] out: the block of a corner with rest gradient g, sum_bc g_b g_c d2Psi/dF_ab dF_cd, from the same parts, each clamped
 * (PD_FILTER_CLAMP): with gamma = V^T g every mode maps to one vector in the frame of U, and no 9x9 matrix is formed. */
PD_LARGE_FUNCTION void pd_isotropic_block3(const real U[9], const real V[9], const real parts[9], const real symmetric[3],
                                           const real twist[3], const real g[3], real B[9]) {
    real M[9], gamma[3], right[9];
    for (int i = 0; i < 9; i++) M[i] = parts[i];
    pd_symmetric3_filter(M, PD_FILTER_CLAMP);
    for (int i = 0; i < 3; i++) gamma[i] = V[i] * g[0] + V[3 + i] * g[1] + V[6 + i] * g[2];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) M[3 * i + j] *= gamma[i] * gamma[j];
    for (int pair = 0; pair < 3; pair++) {
        int i = pair == 2 ? 1 : 0, j = pair == 0 ? 1 : 2;
        real s = (real)0.5 * pd_filter_eigenvalue(PD_FILTER_CLAMP, symmetric[pair]);
        real t = (real)0.5 * pd_filter_eigenvalue(PD_FILTER_CLAMP, twist[pair]);
        M[4 * i] += (s + t) * gamma[j] * gamma[j];
        M[4 * j] += (s + t) * gamma[i] * gamma[i];
        M[3 * i + j] += (s - t) * gamma[i] * gamma[j];
        M[3 * j + i] = M[3 * i + j];
    }
    pd_matrix3_multiply_transpose(M, U, right);
    pd_matrix3_multiply(U, right, B);
    B[3] = B[1], B[6] = B[2], B[7] = B[5];
}

/* The same for a 3x2 F: g [2], one pair and the two normal modes. */
PD_LARGE_FUNCTION void pd_isotropic_block32(const real U[9], const real V[4], const real parts[4], real symmetric, real twist,
                                            const real normal[2], const real g[2], real B[9]) {
    real M[9] = {parts[0], parts[1], 0, parts[2], parts[3], 0, 0, 0, 0}, right[9];
    real gamma[2] = {V[0] * g[0] + V[2] * g[1], V[1] * g[0] + V[3] * g[1]};
    real s = (real)0.5 * pd_filter_eigenvalue(PD_FILTER_CLAMP, symmetric), t = (real)0.5 * pd_filter_eigenvalue(PD_FILTER_CLAMP, twist);
    pd_symmetric3_filter(M, PD_FILTER_CLAMP);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) M[3 * i + j] *= gamma[i] * gamma[j];
    M[0] += (s + t) * gamma[1] * gamma[1];
    M[4] += (s + t) * gamma[0] * gamma[0];
    M[1] += (s - t) * gamma[0] * gamma[1];
    M[3] = M[1];
    M[8] = pd_filter_eigenvalue(PD_FILTER_CLAMP, normal[0]) * gamma[0] * gamma[0] +
           pd_filter_eigenvalue(PD_FILTER_CLAMP, normal[1]) * gamma[1] * gamma[1];
    pd_matrix3_multiply_transpose(M, U, right);
    pd_matrix3_multiply(U, right, B);
    B[3] = B[1], B[6] = B[2], B[7] = B[5];
}

/* pd_NAME_parts of a tet, from the derivatives that pd_NAME_quotients finds at singular values s. Its number i of an array is at
 * [stride i]. */
#define PD_ISOTROPIC_TET_PARTS(name)                                                                                         \
    PD_FUNCTION void pd_##name##_parts(const real *F, const real *p, real U[9], real V[9], real block[9], real symmetric[3], \
                                       real twist[3]) {                                                                      \
        real s[3];                                                                                                           \
        pd_svd3(F, U, s, V);                                                                                                 \
        pd_##name##_quotients(1, s, p, block, symmetric, twist);                                                             \
    }

/* pd_NAME_hessian of a tet, from the singular vectors and the derivatives by the singular values that pd_NAME_parts finds. */
#define PD_ISOTROPIC_TET_HESSIAN(name)                                                                      \
    PD_FUNCTION void pd_##name##_hessian(const real *F, const real *p, pd_hessian_filter filter, real *H) { \
        real U[9], V[9], block[9], symmetric[3], twist[3];                                                  \
        pd_##name##_parts(F, p, U, V, block, symmetric, twist);                                             \
        pd_isotropic_hessian3(U, V, block, symmetric, twist, filter, H);                                    \
    }

/* The same, and pd_NAME_block. */
#define PD_ISOTROPIC_TET(name)                                                                 \
    PD_ISOTROPIC_TET_HESSIAN(name)                                                             \
    PD_FUNCTION void pd_##name##_block(const real *F, const real *p, const real *g, real *B) { \
        real U[9], V[9], block[9], symmetric[3], twist[3];                                     \
        pd_##name##_parts(F, p, U, V, block, symmetric, twist);                                \
        pd_isotropic_block3(U, V, block, symmetric, twist, g, B);                              \
    }

/* The same of a triangle. */
#define PD_ISOTROPIC_TRIANGLE(name)                                                                         \
    PD_FUNCTION void pd_##name##_hessian(const real *F, const real *p, pd_hessian_filter filter, real *H) { \
        real U[9], V[4], block[4], symmetric, twist, normal[2];                                             \
        pd_##name##_parts(F, p, U, V, block, &symmetric, &twist, normal);                                   \
        pd_isotropic_hessian32(U, V, block, symmetric, twist, normal, filter, H);                           \
    }                                                                                                       \
    PD_FUNCTION void pd_##name##_block(const real *F, const real *p, const real *g, real *B) {              \
        real U[9], V[4], block[4], symmetric, twist, normal[2];                                             \
        pd_##name##_parts(F, p, U, V, block, &symmetric, &twist, normal);                                   \
        pd_isotropic_block32(U, V, block, symmetric, twist, normal, g, B);                                  \
    }

#endif
