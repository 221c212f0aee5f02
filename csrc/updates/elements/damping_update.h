/* Damping, for both backends: one row of its matrix, blocks and product, and the energy of one element. pd_damping in element_loops.h
 * documents layout and formula. */
#ifndef PD_UPDATES_ELEMENTS_DAMPING_UPDATE_H
#define PD_UPDATES_ELEMENTS_DAMPING_UPDATE_H

#include "loops/element_loops.h"
#include "updates/elements/vertex_correction.h"

/* Adds k_d g_a^T K+ g_b to the block of each other corner b in the row of corner a; k = 1: -k_d K+ to that of the fixed world. */
PD_FUNCTION void pd_damping_update_corner(int k, int d, const pd_elements *g, int e, int a, real *blocks) {
    const real *H = g->damping_hessian + (size_t)e * 9 * (size_t)(d * d), *rest = g->rest + (size_t)e * (size_t)PD_REST_COUNT(k, d);
    const int *entries = g->damping_entries + (size_t)k * ((size_t)k * (size_t)e + (size_t)a);
    real scale = g->damping[e], along[3], other[3], T[27]; /* T [3,3d]: scale g_a^T K+ */
    if (k == 1) {
        for (int i = 0; i < 9; i++) blocks[9 * (size_t)entries[0] + (size_t)i] -= scale * H[i];
        return;
    }
    pd_element_corner_gradient(k, d, rest, a, along);
    for (int i = 0; i < 3; i++)
        for (int c = 0; c < 3 * d; c++) {
            real sum = 0;
            for (int b = 0; b < d; b++) sum += along[b] * H[3 * d * (d * i + b) + c];
            T[3 * d * i + c] = scale * sum;
        }
    for (int corner = 0; corner < k; corner++) {
        if (corner == a) continue;
        real *block = blocks + 9 * (size_t)entries[corner];
        pd_element_corner_gradient(k, d, rest, corner, other);
        for (int j = 0; j < 3; j++)
            for (int i = 0; i < 3; i++) {
                real sum = 0;
                for (int b = 0; b < d; b++) sum += T[3 * d * i + d * j + b] * other[b];
                block[3 * j + i] += sum;
            }
    }
}

/* The blocks of row i. */
PD_FUNCTION void pd_damping_update_row(const pd_model *model, int i) {
    real *blocks = model->damping.blocks;
    for (size_t b = 9 * (size_t)model->damping.start[i]; b < 9 * (size_t)model->damping.start[i + 1]; b++) blocks[b] = 0;
    for (int c = model->corner_start[i], kind = 0; c < model->corner_start[i + 1]; c++) { // corners ascend, and so do their kinds
        while (kind + 1 < model->n_kinds && model->corners[c] >= model->kinds[kind + 1].first_corner) kind++;
        const pd_elements *g = &model->kinds[kind];
        const int corner = model->corners[c] - g->first_corner;
        if (!g->damping) continue;
#define PD_CASE(KIND, name, k, d, count, ...)                                                                    \
    case KIND:                                                                                                   \
        if (g->damping[corner / (k)] > 0) pd_damping_update_corner(k, d, g, corner / (k), corner % (k), blocks); \
        break;
        PD_SWITCH(g->kind, PD_ELEMENT_TABLE, PD_CASE)
#undef PD_CASE
    }
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
        const real *block = damping->blocks + 9 * (size_t)s;
        real u[3];
        pd_damping_update_difference(x, x_t, i, damping->columns[s], u);
        for (int c = 0; c < 3; c++) out[c] += block[c] * u[0] + block[3 + c] * u[1] + block[6 + c] * u[2];
    }
}

/* k_d/2 (F - F_t) : K+ : (F - F_t) of element e, J s, with F - F_t from displacements. By elements, since the sum of u_i.(D u)_i over
 * rows loses digits for a falling body. */
PD_FUNCTION double pd_damping_update_energy(int k, int d, const pd_elements *g, const real *x, const real *x_t, int e) {
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
