/* K+ of isotropic tets and its blocks, one tet per lane: the functions of base/svd.h, elements/isotropic.h and damping_update.h. So a lane
 * has the result of the scalar code, up to fused products. Rotations of the singular value decomposition continue until no lane rotates.
 * The rotations of a converged lane are the identity, so a tet does not depend on its neighbours in the register. */
#include "cpu/elements/isotropic_lanes.h"

#include "cpu/eight_floats.h"
#include "elements/element.h"
#include "elements/rotated_corner.h"
#include "updates/elements/damping_update.h"

enum { LANES = PD_ISOTROPIC_LANES, CORNERS = 4, PAIRS = PD_DAMPING_PAIRS(CORNERS) };

/* Number i of tet l is at [i][l]. */
typedef struct tets {
    int count; /* the other lanes repeat the last tet */
    int vertices[CORNERS][LANES];
    real gradients[3 * CORNERS][LANES], damping[LANES], parameters[2][LANES];
    real size[LANES]; /* the largest entry of F */
    real B[9][LANES]; /* F/size, or 0; then with orthogonal columns, F V/size */
    real U[9][LANES], V[9][LANES], sigma[3][LANES];
    real block[9][LANES];                      /* filtered */
    real symmetric[3][LANES], twist[3][LANES]; /* filtered, halved */
} tets;

typedef void quotients(int stride, const real *sigma, const real *p, real *block, real *symmetric, real *twist);

/* Divides F in B by its largest entry; V = I. In a function of its own: an array that is passed on inside a loop over lanes prevents
 * vectorisation. */
static inline __attribute__((always_inline)) real divide(real *B, real *V) {
    real F[9];
    for (int i = 0; i < 9; i++) F[i] = B[LANES * i];
    const real size = pd_largest(F, 9), divisor = size == 0 ? (real)1 : size;
    for (int i = 0; i < 9; i++) B[LANES * i] = F[i] / divisor, V[LANES * i] = (real)(i % 4 == 0);
    return size;
}

static __attribute__((noinline)) void gather(const pd_elements *g, const real *x, int first, int parameters, tets *at) {
    real edges[9][LANES];
    for (int l = 0; l < LANES; l++) {
        const size_t e = (size_t)(first + (l < at->count ? l : at->count - 1));
        const int *vertices = g->vertices + CORNERS * e;
        const real *rest = g->rest + 9 * e, *origin = x + 3 * (size_t)vertices[0];
        real along[3];
        for (int a = 1; a < CORNERS; a++)
            for (int c = 0; c < 3; c++) edges[3 * (a - 1) + c][l] = x[3 * (size_t)vertices[a] + (size_t)c] - origin[c];
        for (int a = 0; a < CORNERS; a++) {
            pd_element_corner_gradient(CORNERS, 3, rest, a, along);
            for (int b = 0; b < 3; b++) at->gradients[3 * a + b][l] = along[b];
            at->vertices[a][l] = vertices[a];
        }
        at->damping[l] = g->damping[e];
        for (int i = 0; i < parameters; i++) at->parameters[i][l] = g->parameters[(size_t)parameters * e + (size_t)i];
    }
#pragma omp simd
    for (int l = 0; l < LANES; l++) {
        pd_rotated_deformation(LANES, &edges[0][l], &at->gradients[3][l], &at->B[0][l]);
        at->size[l] = divide(&at->B[0][l], &at->V[0][l]);
    }
}

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

/* The singular values and left vectors. */
static __attribute__((noinline)) void finish(tets *at) {
    int known[LANES];
#pragma omp simd
    for (int l = 0; l < LANES; l++) known[l] = pd_svd_finish_lane(LANES, &at->B[0][l], &at->U[0][l], &at->sigma[0][l]);
    for (int l = 0; l < LANES; l++) {
        if (known[l] && at->size[l] != 0) continue;
        real B[9], V[9], U[9], s[3] = {0, 0, 0};
        for (int i = 0; i < 9; i++) B[i] = at->B[i][l], V[i] = at->V[i][l], U[i] = (real)(i % 4 == 0);
        if (at->size[l] != 0) pd_svd_finish(B, V, U, s);
        for (int i = 0; i < 9; i++) at->U[i][l] = U[i];
        for (int i = 0; i < 3; i++) at->sigma[i][l] = s[i];
    }
#pragma omp simd
    for (int l = 0; l < LANES; l++)
        for (int i = 0; i < 3; i++) at->sigma[i][l] *= at->size[l];
}

/* In a function of its own, as above. */
static inline __attribute__((always_inline)) int is_definite(const real *block) {
    real S[9];
    for (int i = 0; i < 9; i++) S[i] = block[LANES * i];
    return pd_symmetric3_is_definite(S);
}

/* The parts of the Hessians. Few blocks of singular values are not positive definite. */
static inline __attribute__((always_inline)) void find_parts(tets *at, quotients *of) {
    int definite[LANES];
#pragma omp simd
    for (int l = 0; l < LANES; l++) {
        of(LANES, &at->sigma[0][l], &at->parameters[0][l], &at->block[0][l], &at->symmetric[0][l], &at->twist[0][l]);
        definite[l] = is_definite(&at->block[0][l]);
        for (int i = 0; i < 3; i++) {
            at->symmetric[i][l] = (real)0.5 * pd_filter_eigenvalue(PD_FILTER_CLAMP, at->symmetric[i][l]);
            at->twist[i][l] = (real)0.5 * pd_filter_eigenvalue(PD_FILTER_CLAMP, at->twist[i][l]);
        }
    }
    for (int l = 0; l < LANES; l++) {
        real block[9];
        if (definite[l]) continue;
        for (int i = 0; i < 9; i++) block[i] = at->block[i][l];
        pd_symmetric3_filter(block, PD_FILTER_CLAMP);
        for (int i = 0; i < 9; i++) at->block[i][l] = block[i];
    }
}

/* out [count,n] of lanes [n][LANES]. */
static inline __attribute__((always_inline)) void put_rows(int n, int count, const real (*lanes)[LANES], real *out) {
    int done = 0;
#ifdef PD_EIGHT_FLOATS
    if (sizeof(real) == sizeof(float) && count == LANES) {
        pd_eight rows[4];
        for (; done + 8 <= n; done += 8)
            for (int l = 0; l < LANES; l += 4) {
                pd_eight_transpose_rows(lanes[done] + l, LANES, rows);
                for (int j = 0; j < 4; j++) *(pd_eight *)(out + n * (l + j) + done) = rows[j];
            }
    }
#endif
    for (int l = 0; l < count; l++)
        for (int i = done; i < n; i++) out[n * l + i] = lanes[i][l];
}

/* The Hessians and blocks of tets from number `first` on. */
static __attribute__((noinline)) void set_blocks(const tets *at, const pd_elements *g, int first) {
    real H[81][LANES], blocks[9 * PAIRS][LANES], work[PD_ISOTROPIC_WORK][LANES];
    pd_isotropic_assemble3(LANES, at->U[0], at->V[0], at->block[0], at->symmetric[0], at->twist[0], work[0], H[0]);
    pd_isotropic_mirror(LANES, 9, H[0]);
    pd_damping_blocks(CORNERS, 3, LANES, at->damping, H[0], at->gradients[0], at->vertices[0], work[0], blocks[0]);
    put_rows(81, at->count, (const real(*)[LANES])H, g->damping_hessian + 81 * (size_t)first);
    put_rows(9 * PAIRS, at->count, (const real(*)[LANES])blocks, g->damping_blocks + 9 * PAIRS * (size_t)first);
}

static void damp(const pd_elements *g, const real *x, int pack, int parameters, void (*find)(tets *at)) {
    const int first = LANES * pack;
    int damped = 0;
    tets at;
    at.count = g->n - first < LANES ? g->n - first : LANES;
    for (int l = 0; l < at.count; l++) damped |= g->damping[first + l] > 0;
    if (!damped) return;
    gather(g, x, first, parameters, &at);
    rotate(at.B, at.V);
    finish(&at);
    find(&at);
    set_blocks(&at, g, first);
}

#define PD_DAMP_LANES(KIND, name, count)                                                                   \
    static __attribute__((noinline)) void find_##name(tets *at) { find_parts(at, pd_##name##_quotients); } \
    void pd_##name##_damp_lanes(const pd_elements *g, const real *x, int pack) { damp(g, x, pack, count, find_##name); }
PD_ISOTROPIC_LANES_TABLE(PD_DAMP_LANES)
