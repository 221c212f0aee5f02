/* Loops over pairs with friction. */
#include "cpu/context.h"
#include "updates/friction_update.h"

enum { LAG_NANOSECONDS = 80, PAIR_NANOSECONDS = 20 };

pd_status pd_friction_lag_pairs(pd_context *context, const pd_contact_law *law, const pd_friction_scene *scene,
                                const pd_contact_pairs *pairs, const real *y, const pd_lagged_pairs *out) {
#pragma omp parallel for num_threads(pd_threads(context, pairs->n, LAG_NANOSECONDS)) schedule(static)
    for (int p = 0; p < pairs->n; p++) pd_friction_update_lag(law, scene, pairs, y, p, out);
    return PD_OK;
}

pd_status pd_friction_moves(pd_context *context, const pd_chosen_points *chosen, const pd_slipping *slipping) {
#pragma omp parallel for num_threads(pd_threads(context, chosen->n, 5)) schedule(static)
    for (int k = 0; k < chosen->n; k++) pd_friction_update_move(slipping, chosen->rows[k]);
    return PD_OK;
}

pd_status pd_friction_role_flags(pd_context *context, const pd_lagged_pairs *pairs, const pd_incidence *incidence, int n_points,
                                 unsigned char *flags) {
#pragma omp parallel for num_threads(pd_threads(context, 4 * pairs->n, 3)) schedule(static)
    for (int r = 0; r < 4 * pairs->n; r++) flags[r] = pd_friction_update_role_flag(pairs, incidence, n_points, r);
    return PD_OK;
}

pd_status pd_friction_batch(pd_context *context, int quantity, const pd_lagged_pairs *pairs, const pd_slipping *slipping, real *out) {
    size_t size = (size_t)pd_friction_quantity_size(quantity);
    if (!size) return pd_fail(&context->error, PD_ERROR_VALUE, "quantity: %d is unknown", quantity);
#pragma omp parallel for num_threads(pd_threads(context, pairs->n, PAIR_NANOSECONDS)) schedule(static)
    for (int p = 0; p < pairs->n; p++) pd_friction_update(quantity, pairs, slipping, p, out + size * (size_t)p);
    return PD_OK;
}

pd_status pd_friction_gather_blocks(pd_context *context, const pd_model *model, const pd_incidence *incidence, const pd_lagged_pairs *pairs,
                                    const real *matrices, const int *diagonal_slots, real *blocks) {
#pragma omp parallel for num_threads(pd_threads(context, model->n_vertices, 10)) schedule(static)
    for (int i = 0; i < model->n_vertices; i++)
        pd_friction_update_gather_block(incidence, pairs, matrices, i, blocks + 9 * (size_t)diagonal_slots[i]);
    return PD_OK;
}

pd_status pd_friction_gather_bounds(pd_context *context, const pd_model *model, const pd_incidence *incidence, const pd_lagged_pairs *pairs,
                                    const real *matrices, double *out) {
#pragma omp parallel for num_threads(pd_threads(context, model->n_vertices, 20)) schedule(static)
    for (int i = 0; i < model->n_vertices; i++) out[i] += pd_friction_update_bound(model, incidence, pairs, matrices, i);
    return PD_OK;
}

pd_status pd_friction_product(pd_context *context, const pd_model *model, const pd_lagged_pairs *pairs, const real *matrices, int all,
                              const real *p, real *corners, real *values) {
#pragma omp parallel for num_threads(pd_threads(context, pairs->n, PAIR_NANOSECONDS)) schedule(static)
    for (int pair = 0; pair < pairs->n; pair++)
        values[pair] = pd_friction_update_product(model, pairs, matrices, all, p, pair, corners + 12 * (size_t)pair);
    return PD_OK;
}
