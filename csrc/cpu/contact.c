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
