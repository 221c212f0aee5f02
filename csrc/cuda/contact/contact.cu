/* Loops over contact pairs, one thread per pair. */
#include "cuda/block_sum.cuh"
#include "cuda/context.cuh"
#include "cuda/vertices.cuh"
#include "updates/contact/panel_update.h"
#include "updates/contact/separating_plane.h"

#include <cstring>

static __device__ __forceinline__ bool exists(const pd_contact_pairs &pairs, int p) {
    return (size_t)p < pd_counted((size_t)pairs.n, pairs.count);
}

static __global__ void contact_kernel(pd_pair_potential potential, int quantity, int size, pd_contact_pairs pairs, const real *x,
                                      real *out) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (!exists(pairs, p)) return;
    real *result = out + (size_t)size * (size_t)p;
    if (quantity == PD_CONTACT_GRADIENT)
        pd_contact_update_gradient(&potential, &pairs, x, p, result);
    else
        *result = pd_contact_update_number(&potential, quantity, &pairs, x, p);
}

/* Separate kernels: a 5x5 and a 9x9 matrix do not fit the registers, and would spill those of the other quantities. */
static __global__ void contact_hessian_kernel(pd_pair_potential potential, pd_hessian_filter filter, pd_contact_pairs pairs, const real *x,
                                              real *out) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (exists(pairs, p)) pd_contact_update_hessian(&potential, &pairs, x, p, filter, out + 144 * (size_t)p);
}

static __global__ void contact_blocks_kernel(pd_pair_potential potential, pd_hessian_filter filter, pd_contact_pairs pairs, const real *x,
                                             real *out) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (exists(pairs, p)) pd_contact_update_blocks(&potential, &pairs, x, p, filter, out + 36 * (size_t)p);
}

pd_status pd_contact_batch(pd_context *context, const pd_pair_potential *potential, int quantity, pd_hessian_filter filter,
                           const pd_contact_pairs *pairs, const real *x, real *out) {
    int size = pd_contact_quantity_size(quantity);
    switch (size) {
    case 0: return pd_fail(&context->error, PD_ERROR_VALUE, "quantity: %d is unknown", quantity);
    case 144: PD_LAUNCH(context, contact_hessian_kernel, pairs->n, *potential, filter, *pairs, x, out); break;
    case 36: PD_LAUNCH(context, contact_blocks_kernel, pairs->n, *potential, filter, *pairs, x, out); break;
    default: PD_LAUNCH(context, contact_kernel, pairs->n, *potential, quantity, size, *pairs, x, out);
    }
    return PD_OK;
}

/* ---- the pairs of a scene: one thread per pair, or per vertex -------------------------------------------------------------------- */

static __global__ void describe_kernel(pd_contact_scene scene, pd_active_pairs active, int n, pd_contact_columns out) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if ((size_t)p < pd_counted((size_t)n, active.count)) pd_contact_update_describe(&scene, &active, (size_t)p, &out);
}

pd_status pd_contact_describe(pd_context *context, const pd_contact_scene *scene, const pd_active_pairs *active, int n,
                              const pd_contact_columns *out) {
    PD_LAUNCH(context, describe_kernel, n, *scene, *active, n, *out);
    return PD_OK;
}

static __global__ void panel_order_kernel(pd_contact_pairs pairs, const int *panels, const real *x, real *order) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (exists(pairs, p)) order[p] = pd_panel_update_order(&pairs, panels, x, p);
}

static __global__ void panel_weight_kernel(pd_contact_pairs pairs, const int *panels, const real *order, real *weight,
                                           pd_contact_record *records) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    int n = (int)pd_counted((size_t)pairs.n, pairs.count);
    if (p < n) pd_panel_update_weight(&pairs, panels, order, n, weight, records, p);
}

pd_status pd_contact_choose_triangles(pd_context *context, const pd_contact_pairs *pairs, const int *panels, const real *x, real *order,
                                      real *weight, pd_contact_record *records) {
    PD_LAUNCH(context, panel_order_kernel, pairs->n, *pairs, panels, x, order);
    PD_LAUNCH(context, panel_weight_kernel, pairs->n, *pairs, panels, order, weight, records);
    return PD_OK;
}

static __global__ void collapsed_kernel(pd_contact_pairs pairs, real *values) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p < pairs.n) values[p] = pd_contact_update_collapsed(&pairs, values[p], p);
}

pd_status pd_contact_mark_collapsed(pd_context *context, const pd_contact_pairs *pairs, real *values) {
    PD_LAUNCH(context, collapsed_kernel, pairs->n, *pairs, values);
    return PD_OK;
}

static __global__ void sum_kernel(int n, const real *values, double *partial) {
    int begin = (int)blockIdx.x * PD_SUM_BLOCK, end = begin + PD_SUM_BLOCK < n ? begin + PD_SUM_BLOCK : n;
    double sum = 0.0;
    for (int i = begin + (int)threadIdx.x; i < end; i += PD_THREADS) sum += (double)values[i];
    sum = pd_block_sum(sum);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

static __global__ void join_kernel(unsigned blocks, const double *partial, int also, double *out) {
    double sum = 0.0;
    for (unsigned b = threadIdx.x; b < blocks; b += PD_THREADS) sum += partial[b];
    sum = pd_block_sum(sum);
    if (threadIdx.x == 0) *out = (also ? *out : 0.0) + sum;
}

pd_status pd_contact_sum(pd_context *context, int n, const real *values, double *partial, int also, double *out) {
    PD_LAUNCH_BLOCKS(context, sum_kernel, pd_sum_blocks(n), n, values, partial);
    PD_LAUNCH_BLOCKS(context, join_kernel, 1u, pd_sum_blocks(n), partial, also, out);
    return PD_OK;
}

static __global__ void gather_kernel(pd_vertices vertices, pd_incidence incidence, const real *corners, real *out) {
    const pd_model model = vertices.model();
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i < vertices.n) pd_contact_update_gather_vertex(&model, &incidence, corners, i, out);
}

pd_status pd_contact_gather(pd_context *context, const pd_model *model, const pd_incidence *incidence, const real *corners, real *out) {
    PD_LAUNCH(context, gather_kernel, model->n_vertices, pd_vertices_of(model), *incidence, corners, out);
    return PD_OK;
}

static __global__ void gather_blocks_kernel(int n, pd_incidence incidence, const real *hessians, const int *diagonal_slots, real *blocks) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i < n) pd_contact_update_gather_block(&incidence, hessians, i, blocks + 9 * (size_t)diagonal_slots[i]);
}

pd_status pd_contact_gather_blocks(pd_context *context, const pd_model *model, const pd_incidence *incidence, const real *hessians,
                                   const int *diagonal_slots, real *blocks) {
    PD_LAUNCH(context, gather_blocks_kernel, model->n_vertices, model->n_vertices, *incidence, hessians, diagonal_slots, blocks);
    return PD_OK;
}

static __global__ void bounds_kernel(pd_vertices vertices, pd_incidence incidence, const int *points, const real *hessians, double *out) {
    const pd_model model = vertices.model();
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i < vertices.n) out[i] = pd_contact_update_bound(&model, &incidence, points, hessians, i);
}

pd_status pd_contact_gather_bounds(pd_context *context, const pd_model *model, const pd_incidence *incidence, const int *points,
                                   const real *hessians, double *out) {
    PD_LAUNCH(context, bounds_kernel, model->n_vertices, pd_vertices_of(model), *incidence, points, hessians, out);
    return PD_OK;
}

static __global__ void product_kernel(pd_vertices vertices, int n, const int *points, const real *hessians, int all, const real *p,
                                      real *corners, real *values) {
    const pd_model model = vertices.model();
    int pair = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    size_t slot = (size_t)pair;
    if (pair < n) values[pair] = pd_contact_update_product(&model, points + 4 * slot, hessians + 144 * slot, all, p, corners + 12 * slot);
}

pd_status pd_contact_product(pd_context *context, const pd_model *model, int n, const int *points, const real *hessians, int all,
                             const real *p, real *corners, real *values) {
    PD_LAUNCH(context, product_kernel, n, pd_vertices_of(model), n, points, hessians, all, p, corners, values);
    return PD_OK;
}

static __device__ __forceinline__ void move_towards(int i, real t, const real *target, real *x) {
    for (size_t c = 3 * (size_t)i; c < 3 * (size_t)i + 3; c++) x[c] = t == (real)1 ? target[c] : x[c] + t * (target[c] - x[c]);
}

static __global__ void towards_kernel(int n, const unsigned char *mask, real t, const real *target, real *x) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i < n && (!mask || mask[i])) move_towards(i, t, target, x);
}

pd_status pd_move_towards(pd_context *context, int n, const unsigned char *mask, double t, const real *target, real *x) {
    PD_LAUNCH(context, towards_kernel, n, n, mask, (real)t, target, x);
    return PD_OK;
}

static __global__ void fraction_of_way_kernel(int n, const double *fraction, const real *target, real *x) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i < n) move_towards(i, (real)*fraction, target, x);
}

pd_status pd_move_fraction_of_way(pd_context *context, int n, const double *fraction, const real *target, real *x) {
    PD_LAUNCH(context, fraction_of_way_kernel, n, n, fraction, target, x);
    return PD_OK;
}

static __global__ void bound_fraction_kernel(int n, pd_incidence incidence, const int *kind, const pd_separating_plane *planes,
                                             double outer, int curved, const real *x_0, const real *x_1, double *fraction) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= n) return;
    double here = pd_contact_update_displacement_bound(&incidence, kind, planes, outer, curved, x_0, x_1, i);
    // nonnegative numbers have the order of their bits, and a minimum does not depend on the schedule
    unsigned long long bits;
    memcpy(&bits, &here, sizeof bits);
    if (here < 1.0) atomicMin((unsigned long long *)fraction, bits);
}

static __global__ void all_the_way_kernel(double *fraction) { *fraction = 1.0; }

pd_status pd_contact_bound_fraction(pd_context *context, int n_points, const pd_incidence *incidence, const int *kind,
                                    const pd_separating_plane *planes, double outer, int curved, const real *x_0, const real *x_1,
                                    double *fraction) {
    PD_LAUNCH_SHAPE(context, all_the_way_kernel, 1u, 1u, fraction);
    PD_LAUNCH(context, bound_fraction_kernel, n_points, n_points, *incidence, kind, planes, outer, curved, x_0, x_1, fraction);
    return PD_OK;
}

static __global__ void displacement_bounds_kernel(pd_chosen_points chosen, pd_incidence incidence, const real *pair_bounds,
                                                  const real *balls, const real *start, const real *points, real *bound,
                                                  unsigned char *touching) {
    int k = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (k >= chosen.n_vertices) return;
    int i = chosen.rows[k];
    bound[i] = pd_contact_update_displacement_bound_of(&incidence, pair_bounds, balls, start, points, i, touching + i);
}

pd_status pd_contact_displacement_bounds(pd_context *context, const pd_chosen_points *chosen, const pd_incidence *incidence,
                                         const real *pair_bounds, const real *balls, const real *start, const real *points, real *bound,
                                         unsigned char *touching) {
    PD_LAUNCH(context, displacement_bounds_kernel, chosen->n_vertices, *chosen, *incidence, pair_bounds, balls, start, points, bound,
              touching);
    return PD_OK;
}

static __global__ void reach_kernel(pd_contact_pairs pairs, real *distance, double rounding, double fraction, pd_contact_record *records) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p >= pairs.n) return;
    records[p].slack = pd_contact_update_slack(&pairs, distance[p], rounding, p);
    distance[p] = pd_contact_update_pair_bound(&pairs, distance[p], rounding, fraction, p);
}

pd_status pd_contact_pair_bounds(pd_context *context, const pd_contact_pairs *pairs, real *distance, double rounding, double fraction,
                                 pd_contact_record *records) {
    PD_LAUNCH(context, reach_kernel, pairs->n, *pairs, distance, rounding, fraction, records);
    return PD_OK;
}
