/* Preconditioners of conjugate gradients: the inverse of one vertex's diagonal block of the Hessian of G, or of its diagonal; the inverse
 * of a 3x3 block on the diagonal of a matrix given in double. */
#ifndef PD_UPDATES_LINEAR_PRECONDITIONER_H
#define PD_UPDATES_LINEAR_PRECONDITIONER_H

#include "base/matrix3.h"
#include "updates/elements/vertex_correction.h"

/* inverse [3] out: 1/(H_aa + shift), H [3,3]. An entry below 1e-10 of the block's mean counts as that. The inverse of a block without
 * positive entries is zero: its vertex does not move. Returns 1 if all three entries are positive. */
PD_FUNCTION int pd_diagonal_inverse(const real *H, real shift, real *inverse) {
    real diagonal[3] = {H[0] + shift, H[4] + shift, H[8] + shift};
    real mean = (pd_max(diagonal[0], 0) + pd_max(diagonal[1], 0) + pd_max(diagonal[2], 0)) / 3;
    for (int a = 0; a < 3; a++) inverse[a] = mean > 0 ? (real)1 / pd_max(diagonal[a], (real)1e-10 * mean) : (real)0;
    return diagonal[0] > 0 && diagonal[1] > 0 && diagonal[2] > 0;
}

/* inverse [3,3] out: (H + shift I)^-1 of a symmetric H [3,3], symmetric to the bit. Returns 1 if that is positive definite beyond
 * rounding, by its minors; otherwise inverse is that of its diagonal. */
PD_FUNCTION int pd_block_inverse(const real *H, real shift, real *inverse) {
    real scaled[9], C[9], diagonal[3], trace = H[0] + H[4] + H[8] + 3 * shift;
    int positive = pd_diagonal_inverse(H, shift, diagonal);
    for (int i = 0; i < 9; i++) scaled[i] = positive ? (i % 4 == 0 ? H[i] + shift : H[i]) / trace : 0; // avoids over- and underflow
    pd_matrix3_cofactor(scaled, C);
    real determinant = pd_dot3(scaled, C);
    if (positive && C[8] > 0 && determinant > (real)4 * PD_EPSILON * (scaled[0] * scaled[4] * scaled[8])) {
        for (int i = 0; i < 3; i++)
            for (int j = i; j < 3; j++) inverse[3 * i + j] = inverse[3 * j + i] = C[3 * i + j] / determinant / trace;
        return 1;
    }
    for (int i = 0; i < 9; i++) inverse[i] = i % 4 == 0 ? diagonal[i / 4] : 0;
    return 0;
}

/* inverse [3] or [3,3] out, by `block` 1 or 3: the inverse of a vertex's diagonal or diagonal block, plus shift. For a vertex on a line
 * or in a plane (`subspace` [3,3], its projector, otherwise NULL) the inverse of the restricted block, as in pd_vertex_restrict, or a
 * multiple of the identity: neither leaves the subspace. Returns 1 if the inverted matrix is positive definite. */
PD_FUNCTION int pd_vertex_inverse(const real *H, real shift, int block, const real *subspace, real *inverse) {
    if (!subspace) return block == 1 ? pd_diagonal_inverse(H, shift, inverse) : pd_block_inverse(H, shift, inverse);
    real half[6] = {H[0], H[1], H[2], H[4], H[5], H[8]}, none[3] = {0, 0, 0};
    pd_vertex_restrict(subspace, half, none);
    real full[9] = {half[0], half[1], half[2], half[1], half[3], half[4], half[2], half[4], half[5]};
    if (block == 3 && pd_block_inverse(full, shift, inverse)) return 1;
    real mean = (half[0] + half[3] + half[5]) / 3 + shift;
    for (int i = 0; i < 3 * block; i++) inverse[i] = block == 1 || i % 4 == 0 ? (mean > 0 ? (real)1 / mean : (real)0) : (real)0;
    return block == 1 && mean > 0;
}

/* inverse [3,3] out: that of a symmetric positive definite matrix a by its adjugate. Returns 0 if a is not positive definite: inverse is
 * then that of its diagonal. */
PD_FUNCTION int pd_double_block_inverse(const double *a, double *inverse) {
    double c00 = a[4] * a[8] - a[5] * a[7], c01 = a[5] * a[6] - a[3] * a[8], c02 = a[3] * a[7] - a[4] * a[6];
    double determinant = a[0] * c00 + a[1] * c01 + a[2] * c02;
    double adjugate[9] = {c00, a[2] * a[7] - a[1] * a[8], a[1] * a[5] - a[2] * a[4],
                          c01, a[0] * a[8] - a[2] * a[6], a[2] * a[3] - a[0] * a[5],
                          c02, a[1] * a[6] - a[0] * a[7], a[0] * a[4] - a[1] * a[3]};
    int positive = a[0] > 0 && a[0] * a[4] - a[1] * a[3] > 0 && determinant > 0;
    for (int i = 0; i < 9; i++) inverse[i] = positive ? adjugate[i] / determinant : i % 4 == 0 ? 1.0 / a[i] : 0.0;
    return positive;
}

/* inverse [3,3] out: (diagonal I + coupling)^-1 of a positive diagonal and a coupling [3,3] that is positive semidefinite to rounding. */
PD_FUNCTION void pd_coupled_inverse(double diagonal, const real *coupling, real *inverse) {
    double a[9], found[9];
    for (int i = 0; i < 9; i++) a[i] = (double)coupling[i] + (i % 4 == 0 ? diagonal : 0.0);
    pd_double_block_inverse(a, found);
    for (int i = 0; i < 9; i++) inverse[i] = (real)found[i];
}

/* The same for a block [3,3] with `diagonal` [3] as its diagonal. */
PD_FUNCTION int pd_inverse_on_diagonal(const double *block, const double *diagonal, double *inverse) {
    double a[9];
    for (int i = 0; i < 9; i++) a[i] = i % 4 == 0 ? diagonal[i / 4] : block[i];
    return pd_double_block_inverse(a, inverse);
}

#endif
