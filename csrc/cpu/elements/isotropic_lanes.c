/* Hessians of isotropic tets and triangles, K+ and its blocks, one element per lane: the functions of base/svd.h, elements/isotropic.h,
 * elements/element.h and damping_update.h. So a lane has the result of the scalar code, up to fused products. Rotations of the singular
 * value decomposition continue until no lane rotates. The rotations of a converged lane are the identity, so an element does not depend
 * on its neighbours in the register. */
#include "cpu/elements/isotropic_lanes.h"

#include "cpu/eight_floats.h"
#include "elements/element.h"
#include "elements/rotated_corner.h"
#include "updates/elements/damping_update.h"

enum { LANES = PD_ISOTROPIC_LANES, CORNERS = 4, PARAMETERS = 2 };

/* Sweeps that nearly all tets need. During these the memory of the results is prefetched. */
enum { USUAL_SWEEPS = 3 };

/* Bodies that tets (k = 4, d = 3) and triangles (k = 3, d = 2) share are inlined, so that k and d are constants. */
#define INLINE   static inline __attribute__((always_inline))
#define NOINLINE static __attribute__((noinline))

/* Number i of element l is at [i][l]. */
typedef struct gathered {
    int count; /* the other lanes repeat the last element */
    int vertices[CORNERS][LANES];
    real gradients[3 * CORNERS][LANES], damping[LANES], parameters[PARAMETERS][LANES];
    real size[LANES]; /* the largest entry of F */
    real B[9][LANES]; /* F/size, or 0; then with orthogonal columns, F V/size; a triangle has a third column of zeros */
    real U[9][LANES], V[9][LANES], sigma[3][LANES];
    real block[9][LANES];                      /* filtered */
    real symmetric[3][LANES], twist[3][LANES]; /* filtered, halved */
    real normal[2][LANES];                     /* of a triangle, filtered */
} gathered;

/* The parts of lane l before the filter. */
typedef void find_quotients(gathered *at, int l);
/* The parts of all lanes. */
typedef void find_parts(gathered *at, pd_hessian_filter filter);

/* Divides F in B by its largest entry; V = I. In a function of its own: an array that is passed on inside a loop over lanes prevents
 * vectorisation. */
INLINE real divide(real *B, real *V) {
    real F[9];
    for (int i = 0; i < 9; i++) F[i] = B[LANES * i];
    const real size = pd_largest(F, 9), divisor = size == 0 ? (real)1 : size;
    for (int i = 0; i < 9; i++) B[LANES * i] = F[i] / divisor, V[LANES * i] = (real)(i % 4 == 0);
    return size;
}

/* B = F of a triangle, from edges [2,3] and their rest gradients [2,2]. */
INLINE void deform_triangle(const real *edges, const real *rest, real *B) {
    for (int c = 0; c < 3; c++) {
        const real a = edges[LANES * c], b = edges[LANES * (3 + c)];
        B[LANES * 3 * c] = a * rest[0] + b * rest[LANES * 2];
        B[LANES * (3 * c + 1)] = a * rest[LANES] + b * rest[LANES * 3];
        B[LANES * (3 * c + 2)] = 0;
    }
}

INLINE void gather(int k, int d, const pd_elements *g, const real *x, int first, int parameters, gathered *at) {
    real edges[9][LANES];
    for (int l = 0; l < LANES; l++) {
        const size_t e = (size_t)(first + (l < at->count ? l : at->count - 1));
        const int *vertices = g->vertices + (size_t)k * e;
        const real *rest = g->rest + (size_t)((k - 1) * d) * e, *origin = x + 3 * (size_t)vertices[0];
        real along[3];
        for (int a = 1; a < k; a++)
            for (int c = 0; c < 3; c++) edges[3 * (a - 1) + c][l] = x[3 * (size_t)vertices[a] + (size_t)c] - origin[c];
        for (int a = 0; a < k; a++) {
            pd_element_corner_gradient(k, d, rest, a, along);
            for (int b = 0; b < d; b++) at->gradients[d * a + b][l] = along[b];
            at->vertices[a][l] = vertices[a];
        }
        at->damping[l] = g->damping ? g->damping[e] : (real)0;
        for (int i = 0; i < parameters; i++) at->parameters[i][l] = g->parameters[(size_t)parameters * e + (size_t)i];
    }
#pragma omp simd
    for (int l = 0; l < LANES; l++) {
        if (d == 3)
            pd_rotated_deformation(LANES, &edges[0][l], &at->gradients[3][l], &at->B[0][l]);
        else
            deform_triangle(&edges[0][l], &at->gradients[2][l], &at->B[0][l]);
        at->size[l] = divide(&at->B[0][l], &at->V[0][l]);
    }
}

NOINLINE void gather_tets(const pd_elements *g, const real *x, int first, int parameters, gathered *at) {
    gather(4, 3, g, x, first, parameters, at);
}

NOINLINE void gather_triangles(const pd_elements *g, const real *x, int first, int parameters, gathered *at) {
    gather(3, 2, g, x, first, parameters, at);
}

/* Prefetches one of `parts` of the memory of the results, with so many numbers per element, for which a store would otherwise wait. All
 * parts at once would delay other loads. */
INLINE void fetch_results(const pd_elements *g, int first, size_t of_hessian, size_t of_blocks, int part, int parts) {
    const char *hessians = (const char *)(g->damping_hessian + of_hessian * (size_t)first);
    const char *blocks = (const char *)(g->damping_blocks + of_blocks * (size_t)first);
    const size_t begin = 64 * (size_t)part, step = 64 * (size_t)parts;
    for (size_t at = begin; at < of_hessian * LANES * sizeof(real); at += step) __builtin_prefetch(hessians + at, 1);
    for (size_t at = begin; at < of_blocks * LANES * sizeof(real); at += step) __builtin_prefetch(blocks + at, 1);
}

/* One pair of columns. Returns 0 if no lane has changed. */
INLINE int rotate_columns(int p, int q, real B[9][LANES], real V[9][LANES]) {
    real above[LANES], product[LANES], c[LANES], s[LANES], open = 0;
    int exchanged[LANES], turns[LANES];
#pragma omp simd reduction(+ : open)
    for (int l = 0; l < LANES; l++) {
        const pd_svd_columns columns = pd_svd_compare_lane(LANES, &B[0][l], p, q);
        above[l] = columns.shorter - columns.longer, product[l] = columns.product;
        exchanged[l] = columns.exchanged, turns[l] = columns.turns;
        open += columns.exchanged | columns.turns ? (real)1 : (real)0;
    }
    if (!(open > 0)) return 0;
#pragma omp simd
    for (int l = 0; l < LANES; l++) {
        const real tangent = pd_svd_tangent_lane(above[l], product[l], turns[l]);
        c[l] = pd_svd_cosine_lane(tangent), s[l] = tangent * c[l];
    }
#pragma omp simd
    for (int l = 0; l < LANES; l++) {
        pd_svd_rotate_lane(LANES, &B[0][l], p, q, exchanged[l], c[l], s[l]);
        pd_svd_rotate_lane(LANES, &V[0][l], p, q, exchanged[l], c[l], s[l]);
    }
    return 1;
}

/* Only for K+ and its blocks. */
NOINLINE void rotate_tets(const pd_elements *g, int first, gathered *at) {
    for (int sweep = 0; sweep < PD_SVD_SWEEPS; sweep++) {
        int open = 0;
        for (int pair = 0; pair < 3; pair++) {
            if (sweep < USUAL_SWEEPS) fetch_results(g, first, 81, 9 * PD_DAMPING_PAIRS(4), 3 * sweep + pair, 3 * USUAL_SWEEPS);
            open |= rotate_columns(pair == 2 ? 1 : 0, pair == 0 ? 1 : 2, at->B, at->V);
        }
        if (!open) break;
    }
}

NOINLINE void rotate_triangles(gathered *at) {
    for (int sweep = 0; sweep < PD_SVD_SWEEPS; sweep++)
        if (!rotate_columns(0, 1, at->B, at->V)) break;
}

/* The singular values and left vectors. */
NOINLINE void finish(gathered *at) {
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
INLINE int is_definite(const real *block) {
    real S[9];
    for (int i = 0; i < 9; i++) S[i] = block[LANES * i];
    return pd_symmetric3_is_definite(S);
}

INLINE void filter_rows(pd_hessian_filter filter, int n, real scale, real (*rows)[LANES]) {
    for (int i = 0; i < n; i++)
#pragma omp simd
        for (int l = 0; l < LANES; l++) rows[i][l] = scale * pd_filter_eigenvalue(filter, rows[i][l]);
}

INLINE void filter_modes(int d, pd_hessian_filter filter, gathered *at) {
    filter_rows(filter, d == 3 ? 3 : 1, (real)0.5, at->symmetric);
    filter_rows(filter, d == 3 ? 3 : 1, (real)0.5, at->twist);
    if (d == 2) filter_rows(filter, 2, 1, at->normal);
}

/* The parts of the Hessians. Few blocks of singular values are not positive definite. */
INLINE void find(int d, find_quotients *of, gathered *at, pd_hessian_filter filter) {
    int definite[LANES];
#pragma omp simd
    for (int l = 0; l < LANES; l++) {
        of(at, l);
        definite[l] = is_definite(&at->block[0][l]);
    }
    if (filter == PD_FILTER_CLAMP)
        filter_modes(d, PD_FILTER_CLAMP, at);
    else
        filter_modes(d, filter, at);
    for (int l = 0; l < LANES && filter != PD_FILTER_NONE; l++) {
        real block[9];
        if (definite[l]) continue;
        for (int i = 0; i < 9; i++) block[i] = at->block[i][l];
        pd_symmetric3_filter(block, filter);
        for (int i = 0; i < 9; i++) at->block[i][l] = block[i];
    }
}

/* out [count,n] of lanes [n][LANES], n >= 8. */
INLINE void put_rows(int n, int count, const real (*lanes)[LANES], real *out) {
#ifdef PD_EIGHT_FLOATS
    if (sizeof(real) == sizeof(float) && count == LANES) {
        pd_eight rows[4];
        for (int next = 0; next < n; next += 8)
            for (int l = 0; l < LANES; l += 4) {
                const int i = next + 8 <= n ? next : n - 8; // the last eight overlap those before
                pd_eight_transpose_rows(lanes[i] + l, LANES, rows);
                for (int j = 0; j < 4; j++) *(pd_eight *)(out + n * (l + j) + i) = rows[j];
            }
        return;
    }
    if (sizeof(real) == sizeof(double) && count == LANES) {
        pd_four_doubles rows[4];
        for (int next = 0; next < n; next += 4)
            for (int l = 0; l < LANES; l += 4) {
                const int i = next + 4 <= n ? next : n - 4;
                pd_four_transpose_rows((const double *)(lanes[i] + l), LANES, rows);
                for (int j = 0; j < 4; j++) *(pd_four_doubles *)(out + n * (l + j) + i) = rows[j];
            }
        return;
    }
#endif
    for (int l = 0; l < count; l++)
        for (int i = 0; i < n; i++) out[n * l + i] = lanes[i][l];
}

/* d2E/dF2 of all lanes, H [9 d^2][LANES]. */
NOINLINE void assemble_tets(const gathered *at, real (*H)[LANES]) {
    real work[PD_ISOTROPIC_WORK][LANES];
    pd_isotropic_assemble3(LANES, at->U[0], at->V[0], at->block[0], at->symmetric[0], at->twist[0], work[0], H[0]);
    pd_isotropic_mirror(LANES, 9, H[0]);
}

NOINLINE void assemble_triangles(const gathered *at, real (*H)[LANES]) {
    real V[4][LANES], work[PD_ISOTROPIC_WORK][LANES];
    for (int i = 0; i < 4; i++)
        for (int l = 0; l < LANES; l++) V[i][l] = at->V[3 * (i / 2) + i % 2][l];
    pd_isotropic_assemble32(LANES, at->U[0], V[0], at->block[0], at->symmetric[0], at->twist[0], at->normal[0], work[0], H[0]);
    pd_isotropic_mirror(LANES, 6, H[0]);
}

/* K+ and the blocks of elements from number `first` on. */
INLINE void set_blocks(int k, int d, const gathered *at, const pd_elements *g, int first) {
    const int n = 9 * d * d, n_blocks = 9 * PD_DAMPING_PAIRS(k);
    real H[81][LANES], blocks[9 * PD_DAMPING_PAIRS(CORNERS)][LANES], work[PD_DAMPING_WORK][LANES];
    if (d == 3)
        assemble_tets(at, H);
    else
        assemble_triangles(at, H);
    pd_damping_blocks(k, d, LANES, at->damping, H[0], at->gradients[0], at->vertices[0], work[0], blocks[0]);
    put_rows(n, at->count, (const real(*)[LANES])H, g->damping_hessian + (size_t)n * (size_t)first);
    put_rows(n_blocks, at->count, (const real(*)[LANES])blocks, g->damping_blocks + (size_t)n_blocks * (size_t)first);
}

NOINLINE void set_tet_blocks(const gathered *at, const pd_elements *g, int first) { set_blocks(4, 3, at, g, first); }
NOINLINE void set_triangle_blocks(const gathered *at, const pd_elements *g, int first) { set_blocks(3, 2, at, g, first); }

/* F = U sigma V^T of elements from number `first` on. */
static void decompose_tets(const pd_elements *g, const real *x, int first, int parameters, gathered *at) {
    gather_tets(g, x, first, parameters, at);
    rotate_tets(g, first, at);
    finish(at);
}

static void decompose_triangles(const pd_elements *g, const real *x, int first, int parameters, gathered *at) {
    gather_triangles(g, x, first, parameters, at);
    rotate_triangles(at);
    finish(at);
}

/* The number of elements from number `first` on; 0: none of them has damping. */
static int damped_count(const pd_elements *g, int first) {
    const int count = g->n - first < LANES ? g->n - first : LANES;
    int damped = 0;
    for (int l = 0; l < count; l++) damped |= g->damping[first + l] > 0;
    return damped ? count : 0;
}

static void damp_tets(const pd_elements *g, const real *x, int pack, int parameters, find_parts *of) {
    const int first = LANES * pack;
    gathered at;
    at.count = damped_count(g, first);
    if (at.count == 0) return;
    decompose_tets(g, x, first, parameters, &at);
    of(&at, PD_FILTER_CLAMP);
    set_tet_blocks(&at, g, first);
}

#define PD_TET_LANES(KIND, name, count)                                                                                                  \
    INLINE void quotients_##name(gathered *at, int l) {                                                                                  \
        pd_##name##_quotients(LANES, &at->sigma[0][l], &at->parameters[0][l], &at->block[0][l], &at->symmetric[0][l], &at->twist[0][l]); \
    }                                                                                                                                    \
    NOINLINE void find_##name(gathered *at, pd_hessian_filter filter) { find(3, quotients_##name, at, filter); }                         \
    void pd_##name##_damp_lanes(const pd_elements *g, const real *x, int pack) { damp_tets(g, x, pack, count, find_##name); }
PD_ISOTROPIC_TETS(PD_TET_LANES)

/* ---- triangles ----------------------------------------------------------------------------------------------------------------------- */

INLINE void quotients_stvk_triangle(gathered *at, int l) {
    pd_stvk_triangle_quotients(LANES, &at->sigma[0][l], &at->parameters[0][l], &at->block[0][l], &at->symmetric[0][l], &at->twist[0][l],
                               &at->normal[0][l]);
}

NOINLINE void find_stvk_triangle(gathered *at, pd_hessian_filter filter) { find(2, quotients_stvk_triangle, at, filter); }

void pd_stvk_triangle_damp_lanes(const pd_elements *g, const real *x, int pack) {
    const int first = LANES * pack;
    gathered at;
    at.count = damped_count(g, first);
    if (at.count == 0) return;
    fetch_results(g, first, 36, 9 * PD_DAMPING_PAIRS(3), 0, 1);
    decompose_triangles(g, x, first, PARAMETERS, &at);
    find_stvk_triangle(&at, PD_FILTER_CLAMP);
    set_triangle_blocks(&at, g, first);
}

/* H += damping/h K+. */
NOINLINE void add_damping(const gathered *at, const pd_elements *g, real inverse_h, int first, real (*H)[LANES]) {
    for (int l = 0; l < at->count; l++) {
        if (!(at->damping[l] > 0)) continue;
        const real scale = at->damping[l] * inverse_h, *D = g->damping_hessian + 36 * (size_t)(first + l);
        for (int i = 0; i < 36; i++) H[i][l] += scale * D[i];
    }
}

NOINLINE void put_hessians(const gathered *at, const real (*H)[LANES], real *out) {
    real K[81][LANES], work[PD_HESSIAN_SCRATCH][LANES];
    pd_element_hessians_from_F(LANES, 3, 2, at->gradients[2], H[0], work[0], K[0]);
    put_rows(81, at->count, (const real(*)[LANES])K, out);
}

void pd_stvk_triangle_hessian_lanes(const pd_elements *g, real inverse_h, const real *x, pd_hessian_filter filter, int first, int count,
                                    real *K) {
    gathered at;
    real H[36][LANES];
    at.count = count;
    decompose_triangles(g, x, first, PARAMETERS, &at);
    find_stvk_triangle(&at, filter);
    assemble_triangles(&at, H);
    if (g->damping) add_damping(&at, g, inverse_h, first, H);
    put_hessians(&at, (const real(*)[LANES])H, K);
}
