/* Loops over pairs in contact, one thread per pair. */
#include "contact_turn.h"
#include "cuda/context.cuh"

static __global__ void contact_kernel(pd_contact_law law, int quantity, int size, pd_contact_pairs pairs, const real *x, real *out) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p >= pairs.n) return;
    real *result = out + (size_t)size * (size_t)p;
    if (quantity == PD_CONTACT_GRADIENT)
        pd_contact_turn_gradient(&law, &pairs, x, p, result);
    else
        *result = pd_contact_turn_number(&law, quantity, &pairs, x, p);
}

/* Kernels of their own: a 5x5 and a 9x9 matrix by rotations leave the registers, and must not take the small quantities with them. */
static __global__ void contact_hessian_kernel(pd_contact_law law, int psd, pd_contact_pairs pairs, const real *x, real *out) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p < pairs.n) pd_contact_turn_hessian(&law, &pairs, x, p, psd, out + 144 * (size_t)p);
}

static __global__ void contact_blocks_kernel(pd_contact_law law, int psd, pd_contact_pairs pairs, const real *x, real *out) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p < pairs.n) pd_contact_turn_blocks(&law, &pairs, x, p, psd, out + 36 * (size_t)p);
}

pd_status pd_contact_batch(pd_context *context, const pd_contact_law *law, int quantity, const pd_contact_pairs *pairs, const real *x,
                           real *out) {
    int size = pd_contact_quantity_size(quantity);
    switch (size) {
    case 0: return pd_fail(&context->error, PD_ERROR_VALUE, "quantity: %d is unknown", quantity);
    case 144: PD_LAUNCH(context, contact_hessian_kernel, pairs->n, *law, quantity == PD_CONTACT_HESSIAN_PSD, *pairs, x, out); break;
    case 36: PD_LAUNCH(context, contact_blocks_kernel, pairs->n, *law, quantity == PD_CONTACT_BLOCKS_PSD, *pairs, x, out); break;
    default: PD_LAUNCH(context, contact_kernel, pairs->n, *law, quantity, size, *pairs, x, out);
    }
    return PD_OK;
}
