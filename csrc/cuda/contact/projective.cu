/* Loops over frozen projections of contact pairs, one thread per pair or per vertex. */
#include "cuda/context.cuh"
#include "cuda/vertices.cuh"
#include "updates/contact/projective_update.h"

#define PD_UPDATE_CARRIES 0 // as in vertex_sweep.cu
#include "updates/contact/vertex_bound.h"

static __global__ void new_kernel(pd_active_pairs found, const real *distance, pd_contact_pairs limits, int n_kept, const uint64_t *kept,
                                  pd_active_pairs others, unsigned char *flags) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p < (int)found.capacity) flags[p] = pd_projective_update_new(&found, distance, &limits, n_kept, kept, &others, p);
}

pd_status pd_projective_mark_new(pd_context *context, const pd_active_pairs *found, const real *distance, const pd_contact_pairs *limits,
                                 int n_kept, const uint64_t *kept, const pd_active_pairs *others, unsigned char *flags) {
    PD_LAUNCH(context, new_kernel, (long long)found->capacity, *found, distance, limits ? *limits : pd_contact_pairs(), n_kept, kept,
              others ? *others : pd_active_pairs(), flags);
    return PD_OK;
}

static __global__ void round_kernel(pd_round_rules rules, const pd_earliest *earliest, const double *square, const double *along,
                                    const uint64_t *found_0, const uint64_t *found_1, size_t room_0, size_t room_1, pd_round *round) {
    bool complete = *found_0 <= room_0 && *found_1 <= room_1;
    pd_round chosen = pd_projective_update_round(&rules, (double)(real)earliest->time, *square, rules.before > 0.0 ? *along : 0.0);
    if (!complete) chosen.scale = chosen.fraction = 0.0;
    *round = chosen;
}

pd_status pd_projective_choose_round(pd_context *context, const pd_round_rules *rules, const pd_earliest *earliest, const double *square,
                                     const double *along, const uint64_t *const found[2], const size_t capacity[2], pd_round *round) {
    PD_LAUNCH_SHAPE(context, round_kernel, 1u, 1u, *rules, earliest, square, along, found[0], found[1], capacity[0], capacity[1], round);
    return PD_OK;
}

static __global__ void merge_kernel(int n_kept, pd_kept_pairs kept, int n_new, const int *rows, pd_active_pairs found, pd_kept_pairs out) {
    int e = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (e < n_kept + n_new) pd_projective_update_merge(n_kept, &kept, n_new, rows, &found, &out, e);
}

pd_status pd_projective_merge(pd_context *context, int n_kept, const pd_kept_pairs *kept, int n_new, const int *rows,
                              const pd_active_pairs *found, const pd_kept_pairs *out) {
    PD_LAUNCH(context, merge_kernel, n_kept + n_new, n_kept, *kept, n_new, rows, *found, *out);
    return PD_OK;
}

static __global__ void stiffen_kernel(int n, pd_kept_pairs kept, int n_hit, const uint64_t *hit) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p < n && pd_projective_has(hit, n_hit, kept.key[p])) kept.stiffening[p] *= 2;
}

pd_status pd_projective_stiffen(pd_context *context, int n, const pd_kept_pairs *kept, int n_hit, const uint64_t *hit) {
    PD_LAUNCH(context, stiffen_kernel, n, n, *kept, n_hit, hit);
    return PD_OK;
}

static __global__ void press_kernel(pd_projected_pairs pairs, const real *y, unsigned char *pressed) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p < pairs.n && pd_projective_distance(&pairs, y, p) < pairs.target[p]) pressed[p] = 1;
}

pd_status pd_projective_mark_pressed(pd_context *context, const pd_projected_pairs *pairs, const real *y, unsigned char *pressed) {
    PD_LAUNCH(context, press_kernel, pairs->n, *pairs, y, pressed);
    return PD_OK;
}

static __global__ void freeze_kernel(pd_vertices vertices, pd_contact_pairs pairs, pd_freezing freezing, const real *y, pd_kept_pairs kept,
                                     pd_projected_pairs out) {
    const pd_model model = vertices.model();
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p < pairs.n) pd_projective_update_freeze(&model, &pairs, &freezing, y, p, &kept, &out);
}

pd_status pd_projective_freeze_pairs(pd_context *context, const pd_model *model, const pd_contact_pairs *pairs, const pd_freezing *freezing,
                                     const real *y, const pd_kept_pairs *kept, const pd_projected_pairs *out) {
    PD_LAUNCH(context, freeze_kernel, pairs->n, pd_vertices_of(model), *pairs, *freezing, y, *kept, *out);
    return PD_OK;
}

static __global__ void projective_kernel(pd_projected_pairs pairs, const real *y, const real *y_0, real *values, real *corners) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p < pairs.n) pd_projective_update(&pairs, y, y_0, p, values ? values + p : NULL, corners ? corners + 12 * (size_t)p : NULL);
}

pd_status pd_projective_batch(pd_context *context, const pd_projected_pairs *pairs, const real *y, const real *y_0, real *values,
                              real *corners) {
    PD_LAUNCH(context, projective_kernel, pairs->n, *pairs, y, y_0, values, corners);
    return PD_OK;
}

static __global__ void diagonal_kernel(pd_vertices vertices, pd_incidence incidence, pd_projected_pairs pairs, double *diagonal,
                                       real *coupling, unsigned char *touching) {
    const pd_model model = vertices.model();
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= vertices.n) return;
    diagonal[i] = pd_projective_update_diagonal(&model, &incidence, &pairs, i, coupling ? coupling + 9 * (size_t)i : NULL);
    touching[i] = incidence.start[i + 1] > incidence.start[i];
}

pd_status pd_projective_gather_diagonal(pd_context *context, const pd_model *model, const pd_incidence *incidence,
                                        const pd_projected_pairs *pairs, double *diagonal, real *coupling, unsigned char *touching) {
    PD_LAUNCH(context, diagonal_kernel, model->n_vertices, pd_vertices_of(model), *incidence, *pairs, diagonal, coupling, touching);
    return PD_OK;
}

static __global__ void truncate_kernel(const __grid_constant__ pd_model model, const __grid_constant__ pd_contact_sweep contact,
                                       const real *target, real *x) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i < model.n_vertices) pd_bound_move_towards(&model, &contact, target, i, x);
}

pd_status pd_projective_move_within(pd_context *context, const pd_model *model, const pd_contact_sweep *contact, const real *target,
                                    real *x) {
    PD_LAUNCH(context, truncate_kernel, model->n_vertices, *model, *contact, target, x);
    return PD_OK;
}

static __global__ void velocities_kernel(pd_vertices vertices, int n, real inverse_h, const real *y, const real *y_0, const real *offset,
                                         const real *v, real *velocities) {
    const pd_model model = vertices.model();
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i < n) pd_projective_update_velocity(&model, inverse_h, y, y_0, offset, v, i, velocities);
}

pd_status pd_projective_velocities(pd_context *context, const pd_model *model, int n_points, double inverse_h, const real *y,
                                   const real *y_0, const real *offset, const real *v, real *velocities) {
    PD_LAUNCH(context, velocities_kernel, n_points, pd_vertices_of(model), n_points, (real)inverse_h, y, y_0, offset, v, velocities);
    return PD_OK;
}

static __global__ void rebounds_kernel(pd_projected_pairs pairs, const unsigned char *pressed, const real *velocities, real restitution,
                                       real rest_speed, real *wanted) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p < pairs.n) wanted[p] = pd_projective_update_rebound(&pairs, pressed, velocities, restitution, rest_speed, p);
}

pd_status pd_projective_rebounds(pd_context *context, const pd_projected_pairs *pairs, const unsigned char *pressed, const real *velocities,
                                 double restitution, double rest_speed, real *wanted) {
    PD_LAUNCH(context, rebounds_kernel, pairs->n, *pairs, pressed, velocities, (real)restitution, (real)rest_speed, wanted);
    return PD_OK;
}

static __global__ void count_rebounds_kernel(pd_vertices vertices, int n, pd_incidence incidence, const real *wanted, int *count) {
    const pd_model model = vertices.model();
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i < n) count[i] = pd_projective_update_count(&model, &incidence, wanted, i);
}

pd_status pd_projective_count_rebounds(pd_context *context, const pd_model *model, int n_points, const pd_incidence *incidence,
                                       const real *wanted, int *count) {
    PD_LAUNCH(context, count_rebounds_kernel, n_points, pd_vertices_of(model), n_points, *incidence, wanted, count);
    return PD_OK;
}

static __global__ void impulses_kernel(pd_vertices vertices, pd_projected_pairs pairs, const real *wanted, const int *count,
                                       const real *velocities, real *corners) {
    const pd_model model = vertices.model();
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p < pairs.n) pd_projective_update_impulse(&model, &pairs, wanted, count, velocities, p, corners + 12 * (size_t)p);
}

pd_status pd_projective_impulses(pd_context *context, const pd_model *model, const pd_projected_pairs *pairs, const real *wanted,
                                 const int *count, const real *velocities, real *corners) {
    PD_LAUNCH(context, impulses_kernel, pairs->n, pd_vertices_of(model), *pairs, wanted, count, velocities, corners);
    return PD_OK;
}
