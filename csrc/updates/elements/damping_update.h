/* Damping, for both backends: one row of its matrix, blocks and product, and the energy of one element. pd_damping in element_loops.h
 * documents layout and formula. */
#ifndef PD_UPDATES_ELEMENTS_DAMPING_UPDATE_H
#define PD_UPDATES_ELEMENTS_DAMPING_UPDATE_H

#include "loops/element_loops.h"
#include "updates/elements/vertex_correction.h"

/* Numbers of the work array of one element below. */
enum { PD_DAMPING_WORK = 36 };

/* sum_b g_b M[b]; entry b of M is at [step b], of g at [lanes b]. */
PD_LANE_FUNCTION real pd_damping_contract(int d, int lanes, const real *g, const real *M, int step) {
    real sum = 0;
    for (int b = 0; b < d; b++) sum += g[lanes * b] * M[step * b];
    return sum;
}

/* The blocks of `lanes` elements for their pairs of corners, see pd_damping: k_d g_a^T K+ g_b by columns in the row of the lower vertex;
 * k = 1: -k_d K+. Number i of element l is at [lanes i + l].
 *   damping  [1]  in  s      H  [3d,3d]  in  J      gradients  [k,d]  in  rest gradients, 1/m
 *   vertices  [k]  in      work  [PD_DAMPING_WORK]      out  [PD_DAMPING_PAIRS(k),3,3] */
PD_LANE_FUNCTION void pd_damping_blocks(int k, int d, int lanes, const real *damping, const real *H, const real *gradients,
                                        const int *vertices, real *work, real *out) {
    real *T = work, *block = work + 27 * lanes; /* T [3d,3] = k_d K+ g_b */
    if (k == 1) {
        for (int i = 0; i < 9; i++) {
            PD_LANE_LOOP
            for (int l = 0; l < lanes; l++) out[lanes * i + l] = -damping[l] * H[lanes * i + l];
        }
        return;
    }
    for (int b = 1; b < k; b++) {
        const real *g_b = gradients + lanes * d * b;
        for (int row = 0; row < 3 * d; row++)
            for (int c = 0; c < 3; c++) {
                PD_LANE_LOOP
                for (int l = 0; l < lanes; l++)
                    T[lanes * (3 * row + c) + l] =
                        damping[l] * pd_damping_contract(d, lanes, g_b + l, H + lanes * (3 * d * row + d * c) + l, lanes);
            }
        for (int a = 0; a < b; a++) {
            const real *g_a = gradients + lanes * d * a;
            real *to = out + lanes * 9 * (b * (b - 1) / 2 + a);
            for (int row = 0; row < 3; row++)
                for (int c = 0; c < 3; c++) {
                    PD_LANE_LOOP
                    for (int l = 0; l < lanes; l++)
                        block[lanes * (3 * row + c) + l] =
                            pd_damping_contract(d, lanes, g_a + l, T + lanes * (3 * d * row + c) + l, 3 * lanes);
                }
            for (int row = 0; row < 3; row++)
                for (int c = 0; c < 3; c++) {
                    PD_LANE_LOOP
                    for (int l = 0; l < lanes; l++) {
                        const real own = block[lanes * (3 * c + row) + l], other = block[lanes * (3 * row + c) + l];
                        to[lanes * (3 * row + c) + l] = vertices[lanes * a + l] < vertices[lanes * b + l] ? own : other;
                    }
                }
        }
    }
}

/* The blocks of element e, from its damping_hessian. */
PD_LANE_FUNCTION void pd_damping_update_element(int k, int d, const pd_elements *g, int e) {
    const real *rest = g->rest + (size_t)e * (size_t)PD_REST_COUNT(k, d), *H = g->damping_hessian + (size_t)e * 9 * (size_t)(d * d);
    real gradients[12] = {0}, work[PD_DAMPING_WORK];
    for (int a = 0; a < k && k > 1; a++) pd_element_corner_gradient(k, d, rest, a, gradients + d * a);
    pd_damping_blocks(k, d, 1, g->damping + e, H, gradients, g->vertices + (size_t)k * (size_t)e, work,
                      g->damping_blocks + (size_t)e * 9 * (size_t)PD_DAMPING_PAIRS(k));
}

/* The block of a pair of vertices. */
PD_FUNCTION void pd_damping_update_pair(const pd_damping *damping, int pair) {
    real sum[9] = {0}, *block = damping->pair_blocks + 9 * (size_t)pair;
    for (int s = damping->source_start[pair]; s < damping->source_start[pair + 1]; s++) {
        const real *source = damping->element_blocks + 9 * (size_t)damping->sources[s];
        for (int i = 0; i < 9; i++) sum[i] += source[i];
    }
    for (int i = 0; i < 9; i++) block[i] = sum[i];
}

/* The blocks of row i and D_ii, from those of its pairs. */
PD_FUNCTION void pd_damping_update_row(const pd_damping *damping, int i) {
    real sum[9] = {0}, *diagonal = damping->diagonals + 6 * (size_t)i;
    for (int s = damping->start[i]; s < damping->start[i + 1]; s++) {
        const int across = damping->entry_pairs[s] % 2;
        const real *from = damping->pair_blocks + 9 * (size_t)(damping->entry_pairs[s] / 2);
        real *to = damping->blocks + pd_damping_number(s, 0);
        for (int c = 0; c < 9; c++) {
            const real own = from[c], other = from[3 * (c % 3) + c / 3], number = across ? other : own;
            to[PD_DAMPING_LANES * c] = number;
            sum[c] -= number;
        }
    }
    for (int c = 0; c < 3; c++) diagonal[c] = sum[c];
    diagonal[3] = sum[4], diagonal[4] = sum[5], diagonal[5] = sum[8];
}

/* force [3] += D_ij u; number i of an array is at [stride i]. */
PD_LANE_FUNCTION void pd_damping_add_product(int stride, const real *D, const real *u, real *force) {
    const real x = u[0], y = u[stride], z = u[2 * stride];
    force[0] += D[0] * x + D[3 * stride] * y + D[6 * stride] * z;
    force[stride] += D[stride] * x + D[4 * stride] * y + D[7 * stride] * z;
    force[2 * stride] += D[2 * stride] * x + D[5 * stride] * y + D[8 * stride] * z;
}

/* D_ij [9] of entry s. */
PD_FUNCTION void pd_damping_read(const pd_damping *damping, int s, real D[9]) {
    for (int c = 0; c < 9; c++) D[c] = damping->blocks[pd_damping_number(s, c)];
}

/* u_j - u_i [3] of an entry of row i, with the displacements u = x - x_t since the start of the step; u_j = 0 for the fixed world. */
PD_FUNCTION void pd_damping_update_difference(const real *x, const real *x_t, int i, int column, real out[3]) {
    for (int c = 0; c < 3; c++) {
        const size_t own = 3 * (size_t)i + (size_t)c, other = 3 * (size_t)(column < 0 ? 0 : column) + (size_t)c;
        out[c] = (column < 0 ? 0 : x[other] - x_t[other]) - (x[own] - x_t[own]);
    }
}

/* out [3] = (D u)_i, N s. */
PD_FUNCTION void pd_damping_update_product(const pd_damping *damping, const real *x, const real *x_t, int i, real out[3]) {
    out[0] = out[1] = out[2] = 0;
    for (int s = damping->start[i]; s < damping->start[i + 1]; s++) {
        real D[9], u[3];
        pd_damping_read(damping, s, D);
        pd_damping_update_difference(x, x_t, i, damping->columns[s], u);
        pd_damping_add_product(1, D, u, out);
    }
}

/* k_d/2 (F - F_t) : K+ : (F - F_t) of element e, J s, with F - F_t from displacements. By elements, since the sum of u_i.(D u)_i over
 * rows loses digits for a falling body. */
PD_LANE_FUNCTION double pd_damping_update_energy(int k, int d, const pd_elements *g, const real *x, const real *x_t, int e) {
    const int *vertices = g->vertices + (size_t)k * (size_t)e;
    const real none[9] = {0};
    real u[12], F[9];
    if (!(g->damping[e] > 0)) return 0.0;
    for (int a = 0; a < k; a++)
        for (int c = 0; c < 3; c++) {
            const size_t at = 3 * (size_t)vertices[a] + (size_t)c;
            u[3 * a + c] = x[at] - x_t[at];
        }
    for (int c = 0; c < 3 && k == 1; c++) F[c] = u[c];
    if (k > 1) pd_element_deformation(k, d, u, g->rest + (size_t)e * (size_t)PD_REST_COUNT(k, d), F);
    return (double)g->damping[e] * (double)pd_element_damping_energy(3 * d, g->damping_hessian + (size_t)e * 9 * (size_t)(d * d), F, none);
}

#endif
