/* Kernels that select the neighbour pairs. */
#include "cuda/largest.cuh"

#define PD_UPDATE_CARRIES 0 // as in vertex_sweep.cu
#include "updates/contact/vertex_bound.h"

static __device__ int item() { return (int)(blockIdx.x * PD_THREADS + threadIdx.x); }

static __global__ void ball_kernel(pd_chosen_points chosen, pd_incidence incidence, const real *pair_bounds, double far, real *balls) {
    int k = item();
    if (k >= chosen.n) return;
    int i = chosen.rows[k];
    balls[i] = pd_contact_update_ball(&incidence, pair_bounds, far, i);
}

pd_status pd_contact_balls(pd_context *context, const pd_chosen_points *chosen, const pd_incidence *incidence, const real *pair_bounds,
                           double far, real *balls) {
    PD_LAUNCH(context, ball_kernel, chosen->n, *chosen, *incidence, pair_bounds, far, balls);
    return PD_OK;
}

static __global__ void used_kernel(pd_chosen_points chosen, const real *balls, double far, double certain, double most, const real *start,
                                   const real *points, unsigned char *left, pd_bound_use *use) {
    int k = item();
    if (k >= chosen.n) return;
    int i = chosen.rows[k];
    double here = pd_contact_update_used(k >= chosen.n_vertices, balls, far, certain, most, start, points, i, left + i);
    if (here > 0.0) pd_keep_largest(&use->used, here);
    if (left[i]) atomicAdd((unsigned long long *)&use->left, 1ull);
}

pd_status pd_contact_used(pd_context *context, const pd_chosen_points *chosen, const real *balls, double far, double certain, double most,
                          const real *start, const real *points, unsigned char *left, pd_bound_use *use) {
    pd_status status = pd_memory_clear(context, use, sizeof *use);
    if (status) return status;
    PD_LAUNCH(context, used_kernel, chosen->n, *chosen, balls, far, certain, most, start, points, left, use);
    return PD_OK;
}

static __global__ void pair_flag_kernel(pd_contact_pairs pairs, real *distance, double rounding, double fraction, double cut,
                                        unsigned char *flags) {
    int p = item();
    if (p >= pairs.n) return;
    distance[p] = pd_contact_update_far_pair_bound(&pairs, distance[p], cut, rounding, fraction, p);
    flags[p] = distance[p] == (real)INFINITY;
}

static __global__ void role_flag_kernel(int n, pd_incidence incidence, int n_points, const unsigned char *flags,
                                        unsigned char *role_flags) {
    int r = item();
    if (r < n) role_flags[r] = r < incidence.start[n_points] ? flags[incidence.roles[r] / 4] : 0;
}

pd_status pd_contact_neighbour_flags(pd_context *context, const pd_contact_pairs *pairs, const pd_incidence *incidence, real *distance,
                                     double rounding, double fraction, double cut, int n_points, unsigned char *flags,
                                     unsigned char *role_flags) {
    PD_LAUNCH(context, pair_flag_kernel, pairs->n, *pairs, distance, rounding, fraction, cut, flags);
    PD_LAUNCH(context, role_flag_kernel, 4 * pairs->n, 4 * pairs->n, *incidence, n_points, flags, role_flags);
    return PD_OK;
}

static __global__ void release_kernel(pd_chosen_points chosen, const unsigned char *left, double far, real *balls) {
    int k = item();
    if (k < chosen.n && left[chosen.rows[k]]) balls[chosen.rows[k]] = (real)far;
}

static __global__ void flag_kernel(pd_contact_pairs pairs, const unsigned char *left, unsigned char *flags) {
    int p = item();
    if (p < pairs.n) flags[p] |= pd_contact_update_has_marked_corner(pairs.points + 4 * (size_t)p, left);
}

pd_status pd_contact_flag_pairs(pd_context *context, const pd_chosen_points *chosen, const unsigned char *left, double far,
                                const pd_contact_pairs *pairs, const pd_incidence *incidence, int n_points, real *balls,
                                unsigned char *flags, unsigned char *role_flags) {
    PD_LAUNCH(context, release_kernel, chosen->n, *chosen, left, far, balls);
    PD_LAUNCH(context, flag_kernel, pairs->n, *pairs, left, flags);
    PD_LAUNCH(context, role_flag_kernel, 4 * pairs->n, 4 * pairs->n, *incidence, n_points, flags, role_flags);
    return PD_OK;
}

static __global__ void plane_kernel(pd_contact_pairs pairs, const real *x, double rounding, double fraction, pd_separating_plane *planes) {
    int p = item();
    if (p < pairs.n) pd_contact_update_plane(&pairs, x, rounding, fraction, 0, p, planes + p);
}

pd_status pd_contact_planes(pd_context *context, const pd_contact_pairs *pairs, const real *x, double rounding, double fraction,
                            pd_separating_plane *planes) {
    PD_LAUNCH(context, plane_kernel, pairs->n, *pairs, x, rounding, fraction, planes);
    return PD_OK;
}

static __global__ void take_kernel(int n, const int *rows, pd_contact_pairs pairs, const int *panel, pd_contact_columns out,
                                   pd_contact_record *records, int *ranks) {
    int to = item();
    if (to >= n) return;
    pd_contact_update_take(&pairs, panel, rows[to], &out, records, to);
    ranks[rows[to]] = to;
}

pd_status pd_contact_take(pd_context *context, int n, const int *rows, const pd_contact_pairs *pairs, const int *panel,
                          const pd_contact_columns *out, pd_contact_record *records, int *ranks) {
    PD_LAUNCH(context, take_kernel, n, n, rows, *pairs, panel, *out, records, ranks);
    return PD_OK;
}

static __global__ void take_roles_kernel(int n_points, int n_roles, const int *role_rows, const int *ranks, pd_incidence incidence,
                                         pd_incidence out) {
    int i = item();
    if (i > n_points) return;
    int begin = pd_contact_update_rows_below(role_rows, n_roles, incidence.start[i]);
    pd_contact_update_take_roles(n_points, n_roles, role_rows, ranks, &incidence, &out, begin, i);
}

pd_status pd_contact_take_roles(pd_context *context, int n_points, int n_roles, const int *role_rows, const int *ranks,
                                const pd_incidence *incidence, const pd_incidence *out) {
    PD_LAUNCH(context, take_roles_kernel, n_points + 1, n_points, n_roles, role_rows, ranks, *incidence, *out);
    return PD_OK;
}

static __global__ void bound_moves_kernel(const __grid_constant__ pd_model model, const __grid_constant__ pd_contact_sweep contact,
                                          real *d) {
    int i = item();
    if (i < model.n_vertices) pd_bound_move(&model, &contact, i, NULL, d + 3 * (size_t)i);
}

pd_status pd_contact_bound_moves(pd_context *context, const pd_model *model, const pd_contact_sweep *contact, real *d) {
    PD_LAUNCH(context, bound_moves_kernel, model->n_vertices, *model, *contact, d);
    return PD_OK;
}

// One block: it runs only while a prescribed motion is limited.
static __global__ void closing_kernel(pd_contact_pairs pairs, const real *before, const real *after, double least, double floor,
                                      pd_closing *closing) {
    __shared__ pd_closing found[PD_THREADS];
    pd_closing here = {(double)INFINITY, (double)INFINITY, 1.0};
    for (int p = (int)threadIdx.x; p < pairs.n; p += PD_THREADS) pd_contact_update_closing(&pairs, before, after, least, floor, p, &here);
    found[threadIdx.x] = here;
    for (int half = PD_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x >= half) continue;
        const pd_closing other = found[threadIdx.x + half];
        pd_closing *own = found + threadIdx.x;
        own->before = fmin(own->before, other.before);
        own->after = fmin(own->after, other.after);
        own->fraction = fmin(own->fraction, other.fraction);
    }
    if (threadIdx.x == 0) *closing = found[0];
}

pd_status pd_contact_closing(pd_context *context, const pd_contact_pairs *pairs, const real *before, const real *after, double least,
                             double floor, pd_closing *closing) {
    PD_LAUNCH_BLOCKS(context, closing_kernel, 1u, *pairs, before, after, least, floor, closing);
    return PD_OK;
}

static __global__ void most_kernel(int n, const real *values, double *most) {
    int i = item();
    if (i >= n) return;
    double here = values[i] >= 0 ? (double)values[i] : (double)INFINITY;
    if (here > 0.0) pd_keep_largest(most, here);
}

pd_status pd_contact_most(pd_context *context, int n, const real *values, double *most) {
    pd_status status = pd_memory_clear(context, most, sizeof *most);
    if (status) return status;
    PD_LAUNCH(context, most_kernel, n, n, values, most);
    return PD_OK;
}
