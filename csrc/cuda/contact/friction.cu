/* Loops over pairs with friction, one thread per pair or per vertex. */
#include "cuda/context.cuh"
#include "cuda/vertices.cuh"
#include "updates/contact/friction_update.h"

static __global__ void lag_kernel(pd_pair_potential potential, pd_friction_scene scene, pd_contact_pairs pairs, const real *y,
                                  pd_lagged_pairs out) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p < pairs.n) pd_friction_update_lag(&potential, &scene, &pairs, y, p, &out);
}

pd_status pd_friction_lag_pairs(pd_context *context, const pd_pair_potential *potential, const pd_friction_scene *scene,
                                const pd_contact_pairs *pairs, const real *y, const pd_lagged_pairs *out) {
    PD_LAUNCH(context, lag_kernel, pairs->n, *potential, *scene, *pairs, y, *out);
    return PD_OK;
}

static __global__ void moves_kernel(pd_chosen_points chosen, pd_slipping slipping) {
    int k = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (k < chosen.n) pd_friction_update_move(&slipping, chosen.rows[k]);
}

pd_status pd_friction_moves(pd_context *context, const pd_chosen_points *chosen, const pd_slipping *slipping) {
    PD_LAUNCH(context, moves_kernel, chosen->n, *chosen, *slipping);
    return PD_OK;
}

static __global__ void role_flag_kernel(pd_lagged_pairs pairs, pd_incidence incidence, int n_points, unsigned char *flags) {
    int r = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (r < 4 * pairs.n) flags[r] = pd_friction_update_role_flag(&pairs, &incidence, n_points, r);
}

pd_status pd_friction_role_flags(pd_context *context, const pd_lagged_pairs *pairs, const pd_incidence *incidence, int n_points,
                                 unsigned char *flags) {
    PD_LAUNCH(context, role_flag_kernel, 4 * pairs->n, *pairs, *incidence, n_points, flags);
    return PD_OK;
}

int pd_friction_lists_roles(void) { return 0; }

pd_status pd_friction_list_roles(pd_context *, const pd_friction_scene *, const pd_lagged_pairs *, const pd_incidence *, int, char *) {
    return PD_OK; // this backend does not read it
}

static __global__ void friction_kernel(int quantity, int size, pd_lagged_pairs pairs, pd_slipping slipping, real *out) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p < pd_lagged_count(&pairs)) pd_friction_update(quantity, &pairs, &slipping, p, out + (size_t)size * (size_t)p);
}

pd_status pd_friction_batch(pd_context *context, int quantity, const pd_lagged_pairs *pairs, const pd_slipping *slipping, real *out) {
    int size = pd_friction_quantity_size(quantity);
    if (!size) return pd_fail(&context->error, PD_ERROR_VALUE, "quantity: %d is unknown", quantity);
    PD_LAUNCH(context, friction_kernel, pairs->n, quantity, size, *pairs, *slipping, out);
    return PD_OK;
}

static __global__ void friction_blocks_kernel(int n, pd_incidence incidence, pd_lagged_pairs pairs, const real *matrices,
                                              const int *diagonal_slots, real *blocks) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i < n) pd_friction_update_gather_block(&incidence, &pairs, matrices, i, blocks + 9 * (size_t)diagonal_slots[i]);
}

pd_status pd_friction_gather_blocks(pd_context *context, const pd_model *model, const pd_incidence *incidence, const pd_lagged_pairs *pairs,
                                    const real *matrices, const int *diagonal_slots, real *blocks) {
    PD_LAUNCH(context, friction_blocks_kernel, model->n_vertices, model->n_vertices, *incidence, *pairs, matrices, diagonal_slots, blocks);
    return PD_OK;
}

static __global__ void friction_bounds_kernel(pd_vertices vertices, pd_incidence incidence, pd_lagged_pairs pairs, const real *matrices,
                                              double *out) {
    const pd_model model = vertices.model();
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i < vertices.n) out[i] += pd_friction_update_bound(&model, &incidence, &pairs, matrices, i);
}

pd_status pd_friction_gather_bounds(pd_context *context, const pd_model *model, const pd_incidence *incidence, const pd_lagged_pairs *pairs,
                                    const real *matrices, double *out) {
    PD_LAUNCH(context, friction_bounds_kernel, model->n_vertices, pd_vertices_of(model), *incidence, *pairs, matrices, out);
    return PD_OK;
}

static __global__ void friction_product_kernel(pd_vertices vertices, pd_lagged_pairs pairs, const real *matrices, int all, const real *p,
                                               real *corners, real *values) {
    const pd_model model = vertices.model();
    int pair = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (pair < pd_lagged_count(&pairs))
        values[pair] = pd_friction_update_product(&model, &pairs, matrices, all, p, pair, corners + 12 * (size_t)pair);
}

pd_status pd_friction_product(pd_context *context, const pd_model *model, const pd_lagged_pairs *pairs, const real *matrices, int all,
                              const real *p, real *corners, real *values) {
    PD_LAUNCH(context, friction_product_kernel, pairs->n, pd_vertices_of(model), *pairs, matrices, all, p, corners, values);
    return PD_OK;
}
