/* Loops over pairs with a penalty. */
#include "cpu/context.h"
#include "updates/contact/contact_constraint_update.h"

#include <math.h>

enum { DETECTION_NANOSECONDS = 200, PAIR_NANOSECONDS = 20, BLOCK = 256 };

pd_status pd_penalty_find(pd_context *context, const pd_penalty_search *search, unsigned char *flags) {
#pragma omp parallel for num_threads(pd_threads(context, (long long)search->candidates.n, DETECTION_NANOSECONDS)) schedule(dynamic, BLOCK)
    for (ptrdiff_t row = 0; row < (ptrdiff_t)search->candidates.n; row++) flags[row] = pd_penalty_update_find(search, (size_t)row);
    return PD_OK;
}

pd_status pd_penalty_freeze(pd_context *context, const pd_penalty_search *search, const pd_active_pairs *active, int n,
                            const pd_frozen_pairs *out) {
    n = (int)pd_counted((size_t)n, active->count);
#pragma omp parallel num_threads(pd_threads(context, n, DETECTION_NANOSECONDS))
    {
#pragma omp for schedule(dynamic, BLOCK)
        for (int p = 0; p < n; p++) pd_penalty_update_freeze(search, active, p, out);
#pragma omp for schedule(static)
        for (int p = 0; p < n; p++)
            if (pd_penalty_update_is_farther(search, active, n, p, out)) out->range[p] = -(real)INFINITY;
    }
    return PD_OK;
}

pd_status pd_penalty_batch(pd_context *context, int quantity, const pd_frozen_pairs *pairs, const real *y, real *out) {
    size_t size = (size_t)pd_penalty_quantity_size(quantity);
    if (!size) return pd_fail(&context->error, PD_ERROR_VALUE, "quantity: %d is unknown", quantity);
    int n = pd_lagged_count(&pairs->at);
#pragma omp parallel for num_threads(pd_threads(context, n, PAIR_NANOSECONDS)) schedule(static)
    for (int p = 0; p < n; p++) pd_penalty_update(quantity, pairs, y, p, out + size * (size_t)p);
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
    int n = pd_lagged_count(&pairs->at);
#pragma omp parallel for num_threads(pd_threads(context, n, PAIR_NANOSECONDS)) schedule(static)
    for (int p = 0; p < n; p++) strength[p] = pd_penalty_update_strength(scene, pairs, y, p);
    return PD_OK;
}

pd_status pd_penalty_constrain(pd_context *context, const pd_model *model, const pd_contact_sweep *contact, double inverse_h2,
                               real *multipliers, real *changes, int *shares, real *positions, real *correction) {
    int n = pd_lagged_count(&contact->frozen.at);
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
            for (size_t c = 0; c < 3; c++) positions[3 * (size_t)i + c] += move[c], correction[3 * (size_t)i + c] -= move[c];
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
