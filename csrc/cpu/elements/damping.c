/* Loops of the damping matrix: its assembly at the begin of a step, its force and its energy. */
#include "updates/elements/damping_update.h"
#include "updates/elements/element_update.h"

#include "cpu/context.h"
#include "cpu/eight_floats.h"
#include "cpu/elements/damping.h"
#include "cpu/elements/isotropic_lanes.h"

/* Work of an element's K+ and blocks, of a pair and of a row, in ns. */
enum { ELEMENT_NANOSECONDS = 700, LANE_NANOSECONDS = 200, PAIR_NANOSECONDS = 20, PRODUCT_NANOSECONDS = 60 };
enum { AHEAD = 32 };

/* The first and the last of nine numbers, which may be in two cache lines. A macro, as in sweeps/vertex_block.h. */
#define FETCH_BLOCK(block) __builtin_prefetch(block), __builtin_prefetch((block) + 8)

#define PD_DAMPING_ELEMENTS(KIND, name, k, d, count, ...)                                               \
    static void elements_##name(pd_context *context, const pd_elements *g, const real *x_t) {           \
        const int team = pd_threads(context, g->n, ELEMENT_NANOSECONDS);                                \
        _Pragma("omp parallel for num_threads(team) schedule(static)") for (int e = 0; e < g->n; e++) { \
            if (!(g->damping[e] > 0)) continue;                                                         \
            pd_element_update_hessian_##name(g, 0, x_t, PD_FILTER_CLAMP, e, NULL);                      \
            pd_damping_update_element(k, d, g, e);                                                      \
        }                                                                                               \
    }
PD_ELEMENT_TABLE(PD_DAMPING_ELEMENTS)

typedef void damp_lanes(const pd_elements *g, const real *x, int pack);

/* 1 for a kind with a path in vector lanes. */
static int elements_in_lanes(pd_context *context, const pd_elements *g, const real *x_t) {
    int packs = (g->n + PD_ISOTROPIC_LANES - 1) / PD_ISOTROPIC_LANES;
    damp_lanes *damp = NULL;
#define PD_CHOOSE(KIND, name, count) \
    if (g->kind == KIND) damp = pd_##name##_damp_lanes;
    PD_ISOTROPIC_LANES_TABLE(PD_CHOOSE)
#undef PD_CHOOSE
    if (!damp) return 0;
#pragma omp parallel for num_threads(pd_threads(context, g->n, LANE_NANOSECONDS)) schedule(static)
    for (int pack = 0; pack < packs; pack++) damp(g, x_t, pack);
    return 1;
}

/* pd_damping_update_row, with eight entries transposed at once. */
static inline void update_row(const pd_damping *damping, int i) {
#ifdef PD_EIGHT_FLOATS
    if (sizeof(real) == sizeof(float)) {
        pd_eight sum = {0}, rows[8];
        real last = 0, *diagonal = damping->diagonals + 6 * (size_t)i;
        for (int s = damping->start[i]; s < damping->start[i + 1]; s += PD_DAMPING_LANES) {
            real *to = damping->blocks + pd_damping_number(s, 0);
            for (int l = 0; l < PD_DAMPING_LANES; l++) {
                const int pair = damping->entry_pairs[s + l];
                const real *from = damping->pair_blocks + 9 * (size_t)(pair / 2);
                const pd_eight own = *(const pd_eight *)from;
                rows[l] = pd_eight_choose(pair % 2, __builtin_shufflevector(own, own, 0, 3, 6, 1, 4, 7, 2, 5), own);
                sum -= rows[l];
                last -= to[8 * PD_DAMPING_LANES + l] = from[8];
            }
            pd_eight_transpose_square(rows);
            for (int c = 0; c < 8; c++) *(pd_eight *)(to + PD_DAMPING_LANES * c) = rows[c];
        }
        diagonal[0] = (real)sum[0], diagonal[1] = (real)sum[1], diagonal[2] = (real)sum[2];
        diagonal[3] = (real)sum[4], diagonal[4] = (real)sum[5], diagonal[5] = last;
        return;
    }
#endif
    pd_damping_update_row(damping, i);
}

pd_status pd_damping_prepare(pd_context *context, const pd_model *model, const real *x_t) {
    const pd_damping *damping = &model->damping;
    if (!damping->start) return PD_OK;
    for (int kind = 0; kind < model->n_kinds; kind++) {
        const pd_elements *g = &model->kinds[kind];
        if (!g->damping || elements_in_lanes(context, g, x_t)) continue;
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: elements_##name(context, g, x_t); break;
        PD_SWITCH(g->kind, PD_ELEMENT_TABLE, PD_CASE)
#undef PD_CASE
    }
    const int n_sources = damping->source_start[damping->n_pairs];
#pragma omp parallel for num_threads(pd_threads(context, damping->n_pairs, PAIR_NANOSECONDS)) schedule(static)
    for (int pair = 0; pair < damping->n_pairs; pair++) {
        for (int s = damping->source_start[pair] + AHEAD; s < damping->source_start[pair + 1] + AHEAD && s < n_sources; s++)
            FETCH_BLOCK(damping->element_blocks + 9 * (size_t)damping->sources[s]);
        pd_damping_update_pair(damping, pair);
    }
#pragma omp parallel for num_threads(pd_threads(context, model->n_vertices, PRODUCT_NANOSECONDS)) schedule(static)
    for (int i = 0; i < model->n_vertices; i++) update_row(damping, i);
    return PD_OK;
}

void pd_damping_add_gradient(pd_context *context, const pd_model *model, const pd_step_data *step, const real *x, real *gradient) {
#pragma omp parallel for num_threads(pd_threads(context, model->n_vertices, PRODUCT_NANOSECONDS)) schedule(static)
    for (int i = 0; i < model->n_vertices; i++) {
        real force[3];
        if (model->fixed[i]) continue;
        pd_damping_update_product(&model->damping, x, step->x_t, i, force);
        for (int c = 0; c < 3; c++) force[c] *= (real)step->inverse_h;
        if (model->subspace) pd_vertex_project(model->subspace + 9 * (size_t)i, force);
        for (int c = 0; c < 3; c++) gradient[3 * (size_t)i + (size_t)c] += force[c];
    }
}

#define PD_DAMPING_ENERGIES(KIND, name, k, d, count, ...)                                                     \
    static double energies_##name(const pd_elements *g, const real *x, const real *x_t, int begin, int end) { \
        double sum = 0.0;                                                                                     \
        for (int e = begin; e < end; e++) sum += pd_damping_update_energy(k, d, g, x, x_t, e);                \
        return sum;                                                                                           \
    }
PD_ELEMENT_TABLE(PD_DAMPING_ENERGIES)

static double energies_of(const pd_elements *g, const real *x, const real *x_t, int begin, int end) {
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: return energies_##name(g, x, x_t, begin, end);
    PD_SWITCH(g->kind, PD_ELEMENT_TABLE, PD_CASE)
#undef PD_CASE
    return 0.0;
}

double pd_damping_energy(pd_context *context, const pd_model *model, const pd_step_data *step, const real *x) {
    double sum = 0.0, *partial = model->partial_sums;
    for (int kind = 0; kind < model->n_kinds; kind++) {
        const pd_elements *g = &model->kinds[kind];
        int blocks = g->damping ? (g->n + PD_SUM_BLOCK - 1) / PD_SUM_BLOCK : 0;
#pragma omp parallel for num_threads(pd_threads(context, g->n, PRODUCT_NANOSECONDS)) schedule(static)
        for (int b = 0; b < blocks; b++) {
            int end = (b + 1) * PD_SUM_BLOCK < g->n ? (b + 1) * PD_SUM_BLOCK : g->n;
            partial[b] = energies_of(g, x, step->x_t, b * PD_SUM_BLOCK, end);
        }
        for (int b = 0; b < blocks; b++) sum += partial[b];
    }
    return sum * step->inverse_h;
}
