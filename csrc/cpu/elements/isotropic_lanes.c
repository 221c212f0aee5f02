/* K+ of isotropic tets, one tet per lane: the formulas of base/svd.h and elements/isotropic.h in the same order. So a lane has the
 * result of the scalar code, up to fused products. Rotations of the singular value decomposition continue until no lane rotates. The
 * rotations of a converged lane are the identity, so a tet does not depend on its neighbours in the register. */
#include "cpu/elements/isotropic_lanes.h"

#include "elements/element.h"
#include "updates/elements/element_update.h"

enum { LANES = PD_ISOTROPIC_LANES, TRIANGLE = 45, MODES = 6 };

typedef struct lanes {
    real U[9][LANES], V[9][LANES];
    real block[9][LANES];                      /* filtered */
    real symmetric[3][LANES], twist[3][LANES]; /* filtered, halved */
} lanes;

typedef void quotients(const real s[3], const real *p, real block[9], real symmetric[3], real twist[3]);

static __attribute__((noinline)) void rotate(real B[9][LANES], real V[9][LANES]) {
    for (int sweep = 0; sweep < PD_SVD_SWEEPS; sweep++) {
        real open = 0;
#pragma omp simd reduction(+ : open)
        for (int l = 0; l < LANES; l++) {
            open += pd_svd_rotate_lane(LANES, &B[0][l], &V[0][l], 0, 1);
            open += pd_svd_rotate_lane(LANES, &B[0][l], &V[0][l], 0, 2);
            open += pd_svd_rotate_lane(LANES, &B[0][l], &V[0][l], 1, 2);
        }
        if (!(open > 0)) break;
    }
}

/* H [81] of `count` tets from e on. */
static __attribute__((noinline)) void set_hessians(const lanes *at, int count, real *out) {
    real D[3][9][LANES], G[3][9][LANES], mode[MODES][9][LANES], scaled[MODES][9][LANES], H[TRIANGLE][LANES];
    for (int r = 0; r < 9; r++) {
        int a = r / 3, b = r % 3;
#pragma omp simd
        for (int l = 0; l < LANES; l++) {
            for (int i = 0; i < 3; i++) D[i][r][l] = at->U[3 * a + i][l] * at->V[3 * b + i][l];
            for (int i = 0; i < 3; i++)
                G[i][r][l] = at->block[3 * i][l] * D[0][r][l] + at->block[3 * i + 1][l] * D[1][r][l] + at->block[3 * i + 2][l] * D[2][r][l];
        }
        for (int pair = 0; pair < 3; pair++) {
            int i = pair == 2 ? 1 : 0, j = pair == 0 ? 1 : 2;
#pragma omp simd
            for (int l = 0; l < LANES; l++) {
                real along = at->U[3 * a + i][l] * at->V[3 * b + j][l], across = at->U[3 * a + j][l] * at->V[3 * b + i][l];
                mode[2 * pair][r][l] = along + across, mode[2 * pair + 1][r][l] = along - across;
                scaled[2 * pair][r][l] = at->symmetric[pair][l] * (along + across);
                scaled[2 * pair + 1][r][l] = at->twist[pair][l] * (along - across);
            }
        }
    }
    for (int r = 0, slot = 0; r < 9; r++)
        for (int c = r; c < 9; c++, slot++)
#pragma omp simd
            for (int l = 0; l < LANES; l++) {
                real sum = D[0][r][l] * G[0][c][l] + D[1][r][l] * G[1][c][l] + D[2][r][l] * G[2][c][l];
                for (int m = 0; m < MODES; m++) sum += scaled[m][r][l] * mode[m][c][l];
                H[slot][l] = sum;
            }
    for (int l = 0; l < count; l++)
        for (int r = 0, slot = 0; r < 9; r++)
            for (int c = r; c < 9; c++, slot++) out[81 * l + 9 * r + c] = out[81 * l + 9 * c + r] = H[slot][l];
}

static inline __attribute__((always_inline)) void hessians(const pd_elements *g, const real *x, int block, int parameters, quotients *of) {
    int first = LANES * block, count = g->n - first < LANES ? g->n - first : LANES, damped = 0;
    real B[9][LANES], size[LANES];
    lanes at;
    for (int l = 0; l < count; l++) damped |= g->damping[first + l] > 0;
    if (!damped) return;
    for (int l = 0; l < LANES; l++) { // missing lanes repeat the last tet
        real F[9];
        PD_DEFORMATION_AT(4, 3, x, first + (l < count ? l : count - 1), F);
        size[l] = pd_largest(F, 9);
        for (int i = 0; i < 9; i++) B[i][l] = size[l] == 0 ? (real)0 : F[i] / size[l], at.V[i][l] = (real)(i % 4 == 0);
    }
    rotate(B, at.V);
    for (int l = 0; l < LANES; l++) {
        real b[9], U[9], s[3] = {0, 0, 0}, V[9], own[9], symmetric[3], twist[3];
        for (int i = 0; i < 9; i++) b[i] = B[i][l], V[i] = at.V[i][l], U[i] = (real)(i % 4 == 0);
        if (size[l] != 0) pd_svd_finish(b, V, U, s);
        for (int i = 0; i < 3; i++) s[i] *= size[l];
        of(s, g->parameters + (size_t)parameters * (size_t)(first + (l < count ? l : count - 1)), own, symmetric, twist);
        pd_symmetric3_filter(own, PD_FILTER_CLAMP);
        for (int i = 0; i < 9; i++) at.U[i][l] = U[i], at.block[i][l] = own[i];
        for (int i = 0; i < 3; i++) {
            at.symmetric[i][l] = (real)0.5 * pd_filter_eigenvalue(PD_FILTER_CLAMP, symmetric[i]);
            at.twist[i][l] = (real)0.5 * pd_filter_eigenvalue(PD_FILTER_CLAMP, twist[i]);
        }
    }
    set_hessians(&at, count, g->damping_hessian + 81 * (size_t)first);
}

#define PD_LANE_HESSIANS(KIND, name, count) \
    void pd_##name##_lane_hessians(const pd_elements *g, const real *x, int block) { hessians(g, x, block, count, pd_##name##_quotients); }
PD_ISOTROPIC_LANES_TABLE(PD_LANE_HESSIANS)
