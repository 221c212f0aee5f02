/* One vertex of a Gauss-Seidel or Jacobi sweep: the contribution of a neo-Hookean tet, and its 3x3 step [Chen et al. 2024, VBD, Sec.
 * 3.2, Eqs. 7-9]. */
#ifndef PD_UPDATES_ELEMENTS_VERTEX_CORRECTION_H
#define PD_UPDATES_ELEMENTS_VERTEX_CORRECTION_H

#include "elements/element.h"
#include "updates/time_step.h"

/* Numbers of a neo-Hookean corner, see pd_neo_hookean_corner. */
enum { PD_CORNER_A, PD_CORNER_B, PD_CORNER_C, PD_CORNER_VOLUME, PD_CORNER_PRESSURE, PD_CORNER_NUMBERS };

/* The energy of neo_hookean.h as a function of one corner i. With the opposite face (a, b, c), oriented towards i,
 *
 *     F g_i = sum_j (x_j - x_i) g_j.g_i,      cof(F) g_i = n/(6 V),  n = (x_b - x_a) x (x_c - x_a),      det F = n.(x_i - x_a)/(6 V),
 *
 * since det F is affine in x_i and vanishes for x_i in the face. With volume = lam/(36 V) and pressure = (lam + mu)/6,
 *
 *     (lam V (det F - 1) - mu V) cof(F) g_i = (volume n.(x_i - x_a) - pressure) n,      lam V (cof(F) g_i)(cof(F) g_i)^T = volume n n^T,
 *
 * so no 3x3 matrix is formed, and a corner needs five numbers instead of nine rest gradients. Number i of an array is at i * stride, so
 * that a loop over lanes vectorises; scalars only, for the same reason.
 *   edges    [9]  in      x_a - x_i, x_b - x_i, x_c - x_i, m
 *   numbers  [PD_CORNER_NUMBERS]  in  mu V g_j.g_i for a, b, c, N/m; volume, N/m^5; pressure, N/m^2
 *   sum      [9]  in/out  gradient (3) in N, and the upper triangle (6) of volume n n^T in N/m. The caller adds the constant rest of the
 *                          block, mu V |g_i|^2 I. */
PD_FUNCTION void pd_neo_hookean_corner(int stride, const real *edges, const real *numbers, real *sum) {
    real ax = edges[0], ay = edges[stride], az = edges[2 * stride];
    real bx = edges[3 * stride], by = edges[4 * stride], bz = edges[5 * stride];
    real cx = edges[6 * stride], cy = edges[7 * stride], cz = edges[8 * stride];
    real ux = bx - ax, uy = by - ay, uz = bz - az, vx = cx - ax, vy = cy - ay, vz = cz - az;
    real nx = uy * vz - uz * vy, ny = uz * vx - ux * vz, nz = ux * vy - uy * vx;
    real volume = numbers[PD_CORNER_VOLUME * stride], lx = volume * nx, ly = volume * ny, lz = volume * nz;
    real pressure = -(lx * ax + ly * ay + lz * az) - numbers[PD_CORNER_PRESSURE * stride];
    real ka = numbers[PD_CORNER_A * stride], kb = numbers[PD_CORNER_B * stride], kc = numbers[PD_CORNER_C * stride];
    sum[0] += ka * ax + kb * bx + kc * cx + pressure * nx;
    sum[stride] += ka * ay + kb * by + kc * cy + pressure * ny;
    sum[2 * stride] += ka * az + kb * bz + kc * cz + pressure * nz;
    sum[3 * stride] += lx * nx;
    sum[4 * stride] += lx * ny;
    sum[5 * stride] += lx * nz;
    sum[6 * stride] += ly * ny;
    sum[7 * stride] += ly * nz;
    sum[8 * stride] += lz * nz;
}

/* g [d] out: the rest gradient of corner a of an element of k > 1 vertices; see element.h. */
PD_FUNCTION void pd_element_corner_gradient(int k, int d, const real *rest, int a, real *g) {
    for (int b = 0; b < d; b++) {
        real sum = 0;
        for (int i = 1; i < k; i++) sum += rest[d * (i - 1) + b];
        g[b] = a > 0 ? rest[d * (a - 1) + b] : -sum;
    }
}

/* sum [9] as above, += P g and the upper triangle of the block B [9]; k = 1: P itself. */
PD_FUNCTION void pd_element_add_corner(int k, int d, const real *P, const real *g, const real *B, real sum[9]) {
    for (int i = 0; i < 3; i++) {
        real along = k == 1 ? P[i] : 0;
        for (int b = 0; b < d && k > 1; b++) along += P[d * i + b] * g[b];
        sum[i] += along;
    }
    sum[3] += B[0];
    sum[4] += B[1];
    sum[5] += B[2];
    sum[6] += B[4];
    sum[7] += B[5];
    sum[8] += B[8];
}

/* B [9] += scale g^T H g, the block of a corner from H = d2E/dF2 [3d,3d]; k = 1: scale H. */
PD_FUNCTION void pd_element_add_block_from_F(int k, int d, real scale, const real *H, const real *g, real *B) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            real sum = k == 1 ? H[3 * i + j] : 0;
            for (int b = 0; b < d && k > 1; b++)
                for (int c = 0; c < d; c++) sum += g[b] * H[3 * d * (d * i + b) + d * j + c] * g[c];
            B[3 * i + j] += scale * sum;
        }
}

/* Below this fraction of (tr H / 3)^3, det H is rounding [Chen et al. 2024, Sec. 3.2, with a relative threshold]. */
#define PD_VERTEX_RANK ((real)(sizeof(real) == sizeof(float) ? 1e-6 : 1e-12))

/* d [3] = H^-1 g for a symmetric positive definite H, upper triangle {00, 01, 02, 11, 12, 22}, by its LDL^T factors; 0 if H is singular
 * to rounding or indefinite: such a vertex waits for its neighbours to move. */
PD_FUNCTION void pd_vertex_correction(const real H[6], const real g[3], real d[3]) {
    real mean = (H[0] + H[3] + H[5]) / (real)3;
    real l1 = H[1] / H[0], l2 = H[2] / H[0];
    real d1 = H[3] - l1 * H[1], w = H[4] - l1 * H[2];
    real l3 = w / d1, d2 = H[5] - l2 * H[2] - l3 * w;
    // divided one by one: the product of three stiffnesses overflows in float. A pivot of 0, as of a spring along an axis, makes
    // the product NaN. Non-finite entries of H are passed on, for the frame to detect.
    if (!(((H[0] / mean) * (d1 / mean) * (d2 / mean) > PD_VERTEX_RANK) & (H[0] > 0) & (d1 > 0) & (d2 > 0))) {
        d[0] = d[1] = d[2] = (mean + H[1] + H[2] + H[4]) * 0;
        return;
    }
    real y1 = g[1] - l1 * g[0], y2 = g[2] - l2 * g[0] - l3 * y1;
    d[2] = y2 / d2;
    d[1] = y1 / d1 - l3 * d[2];
    d[0] = g[0] / H[0] - l1 * d[1] - l2 * d[2];
}

/* The same for the sum of two such systems. The second, of contact, may be many orders of magnitude stiffer than the first along a line
 * or in a plane, and zero across it. The contribution of the first across it must survive the sum, and is no rounding. sums [9] as
 * above. */
PD_FUNCTION void pd_vertex_correction_touching(const real elastic[9], const real touching[9], real d[3]) {
    double s[9];
    for (int i = 0; i < 9; i++) s[i] = (double)elastic[i] + (double)touching[i];
    const double *g = s, *H = s + 3;
    double least = 1e-14 * (H[0] + H[3] + H[5]), l1 = H[1] / H[0], l2 = H[2] / H[0];
    double d1 = H[3] - l1 * H[1], w = H[4] - l1 * H[2], l3 = w / d1, d2 = H[5] - l2 * H[2] - l3 * w;
    if (!(H[0] > least && d1 > least && d2 > least)) {
        d[0] = d[1] = d[2] = (real)((H[0] + H[3] + H[5] + H[1] + H[2] + H[4]) * 0);
        return;
    }
    double y1 = g[1] - l1 * g[0], y2 = g[2] - l2 * g[0] - l3 * y1, z2 = y2 / d2, z1 = y1 / d1 - l3 * z2;
    d[0] = (real)(g[0] / H[0] - l1 * z1 - l2 * z2), d[1] = (real)z1, d[2] = (real)z2;
}

/* Restricts a vertex to a line or plane: g <- P g and H <- P H P + t (I - P), with the projector P [9] and t the mean of the diagonal of
 * P H P. The step of the 3x3 system is then that of the 1x1 or 2x2 one in the line or plane [Chen et al. 2024, Sec. 3.4]. */
PD_FUNCTION void pd_vertex_restrict(const real P[9], real H[6], real g[3]) {
    real full[9] = {H[0], H[1], H[2], H[1], H[3], H[4], H[2], H[4], H[5]}, right[9], both[9];
    pd_matrix3_multiply(full, P, right);
    pd_matrix3_multiply(P, right, both);
    real rank = P[0] + P[4] + P[8], t = (both[0] + both[4] + both[8]) / pd_max(rank, (real)1);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) both[3 * i + j] += t * ((real)(i == j) - P[3 * i + j]);
    H[0] = both[0], H[1] = both[1], H[2] = both[2], H[3] = both[4], H[4] = both[5], H[5] = both[8];
    pd_vertex_project(P, g);
}

#endif
