/* Loops over pairs with a penalty. */
#include "cpu/context.h"
#include "updates/contact_constraint_update.h"

#include <math.h>

enum { DETECTION_NANOSECONDS = 400, CANDIDATE_NANOSECONDS = 40, PAIR_NANOSECONDS = 20, BLOCK = 256, LANES = 16 };

/* ---- what a detection finds: most candidates are plainly too far apart, which is told of LANES at a time --------------------------------- */

typedef struct lanes {
    real from[12][LANES], to[12][LANES]; /* candidate l in column l */
    real limit[LANES];
    real far[LANES]; /* 1: plainly no pair */
} lanes;

PD_INLINE pd_points4 lane(real (*x)[LANES], int l) {
    return pd_points4_of(pd_vector_of(x[0][l], x[1][l], x[2][l]), pd_vector_of(x[3][l], x[4][l], x[5][l]),
                         pd_vector_of(x[6][l], x[7][l], x[8][l]), pd_vector_of(x[9][l], x[10][l], x[11][l]));
}

/* Columns without a candidate repeat the last one. */
PD_INLINE void gather(const pd_penalty_search *search, size_t first, int count, lanes *out) {
    for (int l = 0; l < LANES; l++) {
        pd_candidate candidate = pd_candidate_of(&search->candidates, first + (size_t)(l < count ? l : count - 1));
        for (int j = 0; j < 4; j++) {
            size_t row = 3 * (size_t)candidate.points[j];
            for (size_t i = 0; i < 3; i++)
                out->from[3 * j + (int)i][l] = search->start[row + i], out->to[3 * j + (int)i][l] = search->end[row + i];
        }
        out->limit[l] = pd_penalty_farthest(search, pd_candidate_radius(&search->candidates, &candidate));
    }
}

PD_INLINE void find_far(int n_first, lanes *lanes) {
#pragma omp simd
    for (int l = 0; l < LANES; l++)
        lanes->far[l] = pd_pair_is_far(n_first, lane(lanes->from, l), lane(lanes->to, l), lanes->limit[l]) ? (real)1 : (real)0;
}

/* The candidates of a kind that is not with colliders. */
static void find_of_kind(pd_context *context, const pd_penalty_search *search, int pair, size_t first, size_t n, unsigned char *flags) {
    long long blocks = (long long)((n + LANES - 1) / LANES);
#pragma omp parallel for num_threads(pd_threads(context, (long long)n, CANDIDATE_NANOSECONDS)) schedule(dynamic, BLOCK / LANES)
    for (long long block = 0; block < blocks; block++) {
        lanes lanes;
        size_t start = (size_t)block * LANES;
        int count = n - start < LANES ? (int)(n - start) : LANES;
        gather(search, first + start, count, &lanes);
        if (pair == PD_EDGE_EDGE)
            find_far(2, &lanes);
        else
            find_far(1, &lanes);
        for (int l = 0; l < count; l++) {
            size_t row = first + start + (size_t)l;
            flags[row] = lanes.far[l] > 0 ? 0 : pd_penalty_update_find(search, row);
        }
    }
}

pd_status pd_penalty_find(pd_context *context, const pd_penalty_search *search, unsigned char *flags) {
    const pd_candidates *candidates = &search->candidates;
    size_t n_vt = candidates->n_vertex_triangle, with_collider = n_vt + candidates->n_edge_edge;
    find_of_kind(context, search, PD_VERTEX_TRIANGLE, 0, n_vt, flags);
    find_of_kind(context, search, PD_EDGE_EDGE, n_vt, candidates->n_edge_edge, flags);
#pragma omp parallel for num_threads(pd_threads(context, (long long)(candidates->n - with_collider), DETECTION_NANOSECONDS)) \
    schedule(dynamic, BLOCK)
    for (ptrdiff_t row = (ptrdiff_t)with_collider; row < (ptrdiff_t)candidates->n; row++)
        flags[row] = pd_penalty_update_find(search, (size_t)row);
    return PD_OK;
}

pd_status pd_penalty_freeze(pd_context *context, const pd_penalty_search *search, const pd_active_pairs *active, int n,
                            const pd_frozen_pairs *out) {
#pragma omp parallel num_threads(pd_threads(context, n, DETECTION_NANOSECONDS))
    {
#pragma omp for schedule(dynamic, BLOCK)
        for (int p = 0; p < n; p++) pd_penalty_update_freeze(search, active, p, out);
#pragma omp for schedule(static)
        for (int p = 0; p < n; p++)
            if (pd_penalty_update_is_farther(search, active, n, p, out)) out->reach[p] = -(real)INFINITY;
    }
    return PD_OK;
}

pd_status pd_penalty_batch(pd_context *context, int quantity, const pd_frozen_pairs *pairs, const real *y, real *out) {
    size_t size = (size_t)pd_penalty_quantity_size(quantity);
    if (!size) return pd_fail(&context->error, PD_ERROR_VALUE, "quantity: %d is unknown", quantity);
#pragma omp parallel for num_threads(pd_threads(context, pairs->at.n, PAIR_NANOSECONDS)) schedule(static)
    for (int p = 0; p < pairs->at.n; p++) pd_penalty_update(quantity, pairs, y, p, out + size * (size_t)p);
    return PD_OK;
}

pd_status pd_penalty_touching(pd_context *context, int n_vertices, const pd_incidence *incidence, const pd_frozen_pairs *pairs,
                              const real *y, unsigned char *touching) {
#pragma omp parallel for num_threads(pd_threads(context, n_vertices, PAIR_NANOSECONDS)) schedule(static)
    for (int i = 0; i < n_vertices; i++)
        if (!touching[i] && pd_penalty_update_touches(incidence, pairs, y, i)) touching[i] = 1;
    return PD_OK;
}

pd_status pd_penalty_strengths(pd_context *context, const pd_friction_scene *scene, const pd_frozen_pairs *pairs, const real *y,
                               real *strength) {
#pragma omp parallel for num_threads(pd_threads(context, pairs->at.n, PAIR_NANOSECONDS)) schedule(static)
    for (int p = 0; p < pairs->at.n; p++) strength[p] = pd_penalty_update_strength(scene, pairs, y, p);
    return PD_OK;
}

pd_status pd_penalty_constrain(pd_context *context, const pd_model *model, const pd_contact_sweep *contact, double inverse_h2,
                               real *multipliers, real *changes, int *shares, real *positions, real *direction) {
    int n = contact->frozen.at.n;
    real compliance = (real)(inverse_h2 / (double)contact->frozen.stiffness);
#pragma omp parallel num_threads(pd_threads(context, n, PAIR_NANOSECONDS))
    {
#pragma omp for schedule(static)
        for (int i = 0; i < model->n_vertices; i++) shares[i] = pd_contact_constraint_shares(contact, multipliers, i);
#pragma omp for schedule(static)
        for (int p = 0; p < n; p++)
            pd_contact_constraint_solve(model, contact, shares, compliance, p, multipliers + 4 * (size_t)p, changes + 4 * (size_t)p);
#pragma omp for schedule(static)
        for (int i = 0; i < model->n_vertices; i++) {
            real move[3];
            if (contact->incidence.start[i + 1] == contact->incidence.start[i]) continue;
            pd_vector_store(pd_contact_constraint_move(model, contact, changes, i), move);
            for (size_t c = 0; c < 3; c++) positions[3 * (size_t)i + c] += move[c], direction[3 * (size_t)i + c] -= move[c];
        }
    }
    return PD_OK;
}

pd_status pd_penalty_carry(pd_context *context, int n, const uint64_t *keys, int n_before, const uint64_t *keys_before, const real *before,
                           real *multipliers) {
#pragma omp parallel for num_threads(pd_threads(context, n, PAIR_NANOSECONDS)) schedule(static)
    for (int p = 0; p < n; p++) pd_contact_constraint_carry(keys[p], n_before, keys_before, before, multipliers + 4 * (size_t)p);
    return PD_OK;
}
