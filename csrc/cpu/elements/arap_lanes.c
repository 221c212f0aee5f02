/* Energy and gradient of ARAP tets, several tets per vector register.
 *
 * The polar decomposition is a Newton iteration on most tets: few operations, no branches. It runs over arrays of lanes, one tet each,
 * with the step function of the scalar code, which gcc vectorises. Every lane takes the number of steps that always suffices. So the
 * result of a tet does not depend on its neighbours in the vector. Inverted or nearly flat tets take the scalar path with the full
 * singular value decomposition. */
#include "cpu/elements/arap_lanes.h"

#include "elements/element.h"

enum { LANES = 16 };

/* For the tets of one vector: the deformation F = sum_a (x_a - x_0) g_a^T, the g_a, the weight, and F - R. */
typedef struct lanes {
    real F[9][LANES], G[9][LANES], w[LANES], difference[9][LANES];
} lanes;

static void find_differences(const pd_elements *g, const real *x, int e0, int end, lanes *at) {
    int count = end - e0 < LANES ? end - e0 : LANES;
    real R[9][LANES];
    int scalar[LANES]; // lanes in which the Newton iteration may not converge

    // gather; missing lanes repeat the last tet
    real corners[9][LANES];
    for (int l = 0; l < LANES; l++) {
        int e = l < count ? e0 + l : end - 1;
        const int *v = g->vertices + 4 * (size_t)e;
        const real *x0 = x + 3 * (size_t)v[0], *rest = g->rest + 9 * (size_t)e;
        for (int a = 0; a < 3; a++) {
            const real *xa = x + 3 * (size_t)v[a + 1];
            for (int c = 0; c < 3; c++) corners[3 * a + c][l] = xa[c] - x0[c];
        }
        for (int i = 0; i < 9; i++) at->G[i][l] = rest[i];
        at->w[l] = g->parameters[e];
    }

    for (int c = 0; c < 3; c++)
        for (int b = 0; b < 3; b++)
#pragma omp simd
            for (int l = 0; l < LANES; l++)
                at->F[3 * c + b][l] =
                    corners[c][l] * at->G[b][l] + corners[3 + c][l] * at->G[3 + b][l] + corners[6 + c][l] * at->G[6 + b][l];

    for (int l = 0; l < LANES; l++) {
        real a[9];
        for (int i = 0; i < 9; i++) a[i] = at->F[i][l];
        scalar[l] = !pd_polar3_newton_applies(a);
    }
    for (int i = 0; i < 9; i++)
        for (int l = 0; l < LANES; l++) R[i][l] = scalar[l] ? (real)(i % 4 == 0) : at->F[i][l];
    for (int k = 0; k < (int)PD_POLAR_NEWTON_STEPS; k++)
#pragma omp simd
        for (int l = 0; l < LANES; l++) pd_polar3_newton_lane(&R[0][l], &R[0][l], LANES);
    for (int l = 0; l < count; l++) {
        if (!scalar[l]) continue;
        real a[9], r[9];
        for (int i = 0; i < 9; i++) a[i] = at->F[i][l];
        pd_polar3(a, r);
        for (int i = 0; i < 9; i++) R[i][l] = r[i];
    }
    for (int i = 0; i < 9; i++)
#pragma omp simd
        for (int l = 0; l < LANES; l++) at->difference[i][l] = at->F[i][l] - R[i][l];
}

double pd_arap_tet_energy_lanes(const pd_elements *g, const real *x, int begin, int end) {
    double energy = 0.0;
    for (int e0 = begin; e0 < end; e0 += LANES) {
        int count = end - e0 < LANES ? end - e0 : LANES;
        lanes at;
        real sum[LANES] = {0};
        find_differences(g, x, e0, end, &at);
        for (int i = 0; i < 9; i++)
#pragma omp simd
            for (int l = 0; l < LANES; l++) sum[l] += at.difference[i][l] * at.difference[i][l];
        for (int l = 0; l < count; l++) energy += (double)((real)0.5 * at.w[l] * sum[l]);
    }
    return energy;
}

void pd_arap_tet_gradient_lanes(const pd_elements *g, const real *x, int begin, int end, real *f) {
    for (int e0 = begin; e0 < end; e0 += LANES) {
        int count = end - e0 < LANES ? end - e0 : LANES;
        lanes at;
        real P[9][LANES], forces[12][LANES];
        find_differences(g, x, e0, end, &at);
        for (int i = 0; i < 9; i++)
#pragma omp simd
            for (int l = 0; l < LANES; l++) P[i][l] = at.w[l] * at.difference[i][l];

        // dE/dx_a = P g_a, and corner 0 balances the others
        for (int c = 0; c < 3; c++)
#pragma omp simd
            for (int l = 0; l < LANES; l++) {
                real p0 = P[3 * c][l], p1 = P[3 * c + 1][l], p2 = P[3 * c + 2][l];
                real f1 = p0 * at.G[0][l] + p1 * at.G[1][l] + p2 * at.G[2][l], f2 = p0 * at.G[3][l] + p1 * at.G[4][l] + p2 * at.G[5][l],
                     f3 = p0 * at.G[6][l] + p1 * at.G[7][l] + p2 * at.G[8][l];
                forces[c][l] = -(f1 + f2 + f3);
                forces[3 + c][l] = f1;
                forces[6 + c][l] = f2;
                forces[9 + c][l] = f3;
            }
        for (int l = 0; l < count; l++)
            for (int i = 0; i < 12; i++) f[12 * (size_t)(e0 + l) + (size_t)i] = forces[i][l];
    }
}
