/* Loops over pairs with a penalty, one thread per candidate, pair or vertex. */
#define PD_CALL_LARGE_FUNCTIONS
#include "cuda/context.cuh"
#include "cuda/vertices.cuh"
#include "updates/contact/contact_constraint_update.h"

static __global__ void detect_kernel(int n, pd_penalty_search search, unsigned char *flags) {
    int row = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (row < n) flags[row] = pd_penalty_update_find(&search, (size_t)row);
}

pd_status pd_penalty_find(pd_context *context, const pd_penalty_search *search, unsigned char *flags) {
    PD_LAUNCH(context, detect_kernel, (int)search->candidates.n, (int)search->candidates.n, *search, flags);
    return PD_OK;
}

static __global__ void freeze_kernel(int n, pd_penalty_search search, pd_active_pairs active, pd_frozen_pairs out) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if ((size_t)p < pd_counted((size_t)n, active.count)) pd_penalty_update_freeze(&search, &active, p, &out);
}

static __global__ void nearest_kernel(int n, pd_penalty_search search, pd_active_pairs active, pd_frozen_pairs out) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    n = (int)pd_counted((size_t)n, active.count);
    if (p < n && pd_penalty_update_is_farther(&search, &active, n, p, &out)) out.range[p] = -(real)INFINITY;
}

pd_status pd_penalty_freeze(pd_context *context, const pd_penalty_search *search, const pd_active_pairs *active, int n,
                            const pd_frozen_pairs *out) {
    PD_LAUNCH(context, freeze_kernel, n, n, *search, *active, *out);
    PD_LAUNCH(context, nearest_kernel, n, n, *search, *active, *out);
    return PD_OK;
}

static __global__ void penalty_kernel(int quantity, int size, pd_frozen_pairs pairs, const real *y, real *out) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p < pd_lagged_count(&pairs.at)) pd_penalty_update(quantity, &pairs, y, p, out + (size_t)size * (size_t)p);
}

pd_status pd_penalty_batch(pd_context *context, int quantity, const pd_frozen_pairs *pairs, const real *y, real *out) {
    int size = pd_penalty_quantity_size(quantity);
    if (!size) return pd_fail(&context->error, PD_ERROR_VALUE, "quantity: %d is unknown", quantity);
    PD_LAUNCH(context, penalty_kernel, pairs->at.n, quantity, size, *pairs, y, out);
    return PD_OK;
}

static __global__ void touching_kernel(int n, pd_incidence incidence, pd_frozen_pairs pairs, const real *y, unsigned char *touching) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i < n && !touching[i] && pd_penalty_update_touches(&incidence, &pairs, y, i)) touching[i] = 1;
}

pd_status pd_penalty_touching(pd_context *context, int n_vertices, const pd_incidence *incidence, const pd_frozen_pairs *pairs,
                              const real *y, unsigned char *touching) {
    PD_LAUNCH(context, touching_kernel, n_vertices, n_vertices, *incidence, *pairs, y, touching);
    return PD_OK;
}

static __global__ void strengths_kernel(pd_friction_scene scene, pd_frozen_pairs pairs, const real *y, real *strength) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p < pd_lagged_count(&pairs.at)) strength[p] = pd_penalty_update_strength(&scene, &pairs, y, p);
}

pd_status pd_penalty_strengths(pd_context *context, const pd_friction_scene *scene, const pd_frozen_pairs *pairs, const real *y,
                               real *strength) {
    PD_LAUNCH(context, strengths_kernel, pairs->at.n, *scene, *pairs, y, strength);
    return PD_OK;
}

static __global__ void shares_kernel(int n, pd_contact_sweep contact, const real *multipliers, int *shares) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i < n) shares[i] = pd_contact_constraint_shares(&contact, multipliers, i);
}

static __global__ void constrain_kernel(pd_vertices vertices, pd_contact_sweep contact, const int *shares, real compliance,
                                        real *multipliers, real *changes) {
    const pd_model model = vertices.model();
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p < pd_lagged_count(&contact.frozen.at))
        pd_contact_constraint_solve(&model, &contact, shares, compliance, p, multipliers + 4 * (size_t)p, changes + 4 * (size_t)p);
}

static __global__ void constrained_kernel(pd_vertices vertices, pd_contact_sweep contact, const real *changes, real *positions,
                                          real *correction) {
    const pd_model model = vertices.model();
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= vertices.n || contact.incidence.start[i + 1] == contact.incidence.start[i]) return;
    pd_vector move = pd_contact_constraint_move(&model, &contact, changes, i);
    real *x = positions + 3 * (size_t)i, *d = correction + 3 * (size_t)i;
    x[0] += move.x, x[1] += move.y, x[2] += move.z;
    d[0] -= move.x, d[1] -= move.y, d[2] -= move.z;
}

pd_status pd_penalty_constrain(pd_context *context, const pd_model *model, const pd_contact_sweep *contact, double inverse_h2,
                               real *multipliers, real *changes, int *shares, real *positions, real *correction) {
    int n = contact->frozen.at.n;
    real compliance = (real)(inverse_h2 / (double)contact->frozen.stiffness);
    PD_LAUNCH(context, shares_kernel, model->n_vertices, model->n_vertices, *contact, multipliers, shares);
    PD_LAUNCH(context, constrain_kernel, n, pd_vertices_of(model), *contact, shares, compliance, multipliers, changes);
    PD_LAUNCH(context, constrained_kernel, model->n_vertices, pd_vertices_of(model), *contact, changes, positions, correction);
    return PD_OK;
}

static __global__ void carry_kernel(int n, const uint64_t *keys, int n_before, const uint64_t *keys_before, const real *before,
                                    real *multipliers) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p < n) pd_contact_constraint_carry(keys[p], n_before, keys_before, before, multipliers + 4 * (size_t)p);
}

pd_status pd_penalty_carry(pd_context *context, int n, const uint64_t *keys, int n_before, const uint64_t *keys_before, const real *before,
                           real *multipliers) {
    PD_LAUNCH(context, carry_kernel, n, n, keys, n_before, keys_before, before, multipliers);
    return PD_OK;
}
