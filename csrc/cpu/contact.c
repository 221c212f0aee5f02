/* Loops over pairs in contact. */
#include "contact_turn.h"
#include "cpu/context.h"

enum { ENERGY_NANOSECONDS = 100, GRADIENT_NANOSECONDS = 150, HESSIAN_NANOSECONDS = 1500 };

pd_status pd_contact_batch(pd_context *context, const pd_contact_law *law, int quantity, const pd_contact_pairs *pairs, const real *x,
                           real *out) {
    size_t size = (size_t)pd_contact_quantity_size(quantity);
    if (!size) return pd_fail(&context->error, PD_ERROR_VALUE, "quantity: %d is unknown", quantity);
    int nanoseconds = quantity < PD_CONTACT_GRADIENT ? ENERGY_NANOSECONDS : size == 12 ? GRADIENT_NANOSECONDS : HESSIAN_NANOSECONDS;
#pragma omp parallel for num_threads(pd_threads(context, pairs->n, nanoseconds)) schedule(static)
    for (int p = 0; p < pairs->n; p++) {
        real *result = out + size * (size_t)p;
        switch (quantity) {
        case PD_CONTACT_DISTANCE:
        case PD_CONTACT_THRESHOLD:
        case PD_CONTACT_ACTIVATION:
        case PD_CONTACT_ENERGY: *result = pd_contact_turn_number(law, quantity, pairs, x, p); break;
        case PD_CONTACT_GRADIENT: pd_contact_turn_gradient(law, pairs, x, p, result); break;
        case PD_CONTACT_HESSIAN:
        case PD_CONTACT_HESSIAN_PSD: pd_contact_turn_hessian(law, pairs, x, p, quantity == PD_CONTACT_HESSIAN_PSD, result); break;
        default: pd_contact_turn_blocks(law, pairs, x, p, quantity == PD_CONTACT_BLOCKS_PSD, result);
        }
    }
    return PD_OK;
}

pd_status pd_contact_describe(pd_context *context, const pd_contact_scene *scene, const pd_active_pairs *active, int n,
                              const pd_contact_columns *out) {
#pragma omp parallel for num_threads(pd_threads(context, n, ENERGY_NANOSECONDS)) schedule(static)
    for (int p = 0; p < n; p++) pd_contact_turn_describe(scene, active, (size_t)p, out);
    return PD_OK;
}

pd_status pd_contact_sum(pd_context *context, int n, const real *values, double *partial, int also, double *out) {
    int blocks = (n + PD_SUM_BLOCK - 1) / PD_SUM_BLOCK;
#pragma omp parallel for num_threads(pd_threads(context, n, 1)) schedule(static)
    for (int b = 0; b < blocks; b++) {
        int end = (b + 1) * PD_SUM_BLOCK < n ? (b + 1) * PD_SUM_BLOCK : n;
        double sum = 0.0;
        for (int i = b * PD_SUM_BLOCK; i < end; i++) sum += (double)values[i];
        partial[b] = sum;
    }
    *out = (also ? *out : 0.0) + pd_add_partial_sums(partial, blocks);
    return PD_OK;
}

pd_status pd_contact_gather(pd_context *context, const pd_model *model, const pd_incidence *incidence, const real *corners, real *out) {
#pragma omp parallel for num_threads(pd_threads(context, model->n_vertices, 10)) schedule(static)
    for (int i = 0; i < model->n_vertices; i++) pd_contact_turn_gather_vertex(model, incidence, corners, i, out);
    return PD_OK;
}

pd_status pd_contact_gather_blocks(pd_context *context, const pd_model *model, const pd_incidence *incidence, const real *hessians,
                                   const int *diagonal_slots, real *blocks) {
#pragma omp parallel for num_threads(pd_threads(context, model->n_vertices, 10)) schedule(static)
    for (int i = 0; i < model->n_vertices; i++)
        pd_contact_turn_gather_block(incidence, hessians, i, blocks + 9 * (size_t)diagonal_slots[i]);
    return PD_OK;
}

pd_status pd_contact_product(pd_context *context, const pd_model *model, int n, const int *points, const real *hessians, const real *p,
                             real *corners, real *values) {
#pragma omp parallel for num_threads(pd_threads(context, n, ENERGY_NANOSECONDS)) schedule(static)
    for (int pair = 0; pair < n; pair++)
        values[pair] =
            pd_contact_turn_product(model, points + 4 * (size_t)pair, hessians + 144 * (size_t)pair, p, corners + 12 * (size_t)pair);
    return PD_OK;
}

pd_status pd_move_towards(pd_context *context, int n, const unsigned char *mask, double t, const real *target, real *x) {
    real part = (real)t;
#pragma omp parallel for num_threads(pd_threads(context, n, 3)) schedule(static)
    for (int i = 0; i < n; i++)
        for (size_t c = 3 * (size_t)i; c < 3 * (size_t)i + 3 && !(mask && !mask[i]); c++)
            x[c] = part == 1 ? target[c] : x[c] + part * (target[c] - x[c]);
    return PD_OK;
}
