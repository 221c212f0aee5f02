/* Loops over vertices and over the coordinates of vectors. */
#include "updates/conjugate_factors.h"
#include "updates/time_step.h"

#include "cuda/block_sum.cuh"
#include "cuda/linear/ends.cuh"

/* One block per sum. */
static __global__ void add_partial_sums_kernel(const double *partial, unsigned blocks, unsigned count, double *out) {
    double sum = pd_partial_sum(partial, blocks, count, blockIdx.x);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

pd_status pd_add_partial_sums(pd_context *context, const double *partial, unsigned blocks, unsigned count, double *out) {
    PD_LAUNCH_BLOCKS(context, add_partial_sums_kernel, count, partial, blocks, count, out);
    return PD_OK;
}

static __global__ void dot_kernel(int n, const real *x, const real *y, double *partial) {
    long long begin = (long long)blockIdx.x * PD_SUM_BLOCK * 3, end = begin + PD_SUM_BLOCK * 3, last = 3LL * n;
    if (end > last) end = last;
    double sum = 0.0;
    for (long long i = begin + threadIdx.x; i < end; i += PD_THREADS) sum += (double)x[i] * (double)y[i];
    sum = pd_block_sum(sum);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

pd_status pd_dot(pd_context *context, const pd_model *model, const real *x, const real *y, double *out) {
    unsigned blocks = pd_sum_blocks(model->n_vertices);
    PD_LAUNCH_BLOCKS(context, dot_kernel, blocks, model->n_vertices, x, y, model->partial_sums);
    return pd_add_partial_sums(context, model->partial_sums, blocks, 1, out);
}

static __global__ void update_kernel(size_t count, const double *sums, const real *z, real *p) {
    size_t j = (size_t)blockIdx.x * PD_THREADS + threadIdx.x;
    if (j < count) p[j] = z[j] + (real)pd_conjugate_beta(sums) * p[j];
}

pd_status pd_conjugate_redirect(pd_context *context, const pd_model *model, const double *sums, const real *z, real *p) {
    size_t count = 3 * (size_t)model->n_vertices;
    PD_LAUNCH(context, update_kernel, (long long)count, count, sums, z, p);
    return PD_OK;
}

static __global__ void scale_kernel(size_t count, const double *sums, const real *p, real *d) {
    size_t j = (size_t)blockIdx.x * PD_THREADS + threadIdx.x;
    if (j < count) d[j] = (real)pd_conjugate_alpha(sums) * p[j];
}

pd_status pd_conjugate_scale(pd_context *context, const pd_model *model, const double *sums, const real *p, real *d) {
    size_t count = 3 * (size_t)model->n_vertices;
    PD_LAUNCH(context, scale_kernel, (long long)count, count, sums, p, d);
    return PD_OK;
}

static __global__ void project_kernel(int n, const real *subspace, real *v) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i < n) pd_vertex_project(subspace + 9 * (size_t)i, v + 3 * (size_t)i);
}

pd_status pd_project(pd_context *context, int n, const real *subspace, real *v) {
    PD_LAUNCH(context, project_kernel, n, n, subspace, v);
    return PD_OK;
}

static __global__ void find_not_finite_kernel(int n, const real *x, int *index) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= n) return;
    if (!isfinite(x[3 * (size_t)i]) || !isfinite(x[3 * (size_t)i + 1]) || !isfinite(x[3 * (size_t)i + 2])) atomicMin(index, i);
}

pd_status pd_find_not_finite(pd_context *context, const pd_model *model, const real *x, int *index) {
    // a fill of bytes needs no host memory, so only the download synchronises
    const int none = 0x7f7f7f7f;
    *index = -1;
    pd_status status = pd_memory_fill(context, context->index, 0x7f, sizeof(int));
    if (status) return status;
    PD_LAUNCH(context, find_not_finite_kernel, model->n_vertices, model->n_vertices, x, context->index);
    status = pd_memory_download(context, index, context->index, sizeof *index);
    if (status || *index == none) *index = -1;
    return status;
}

static __global__ void predict_kernel(int n, const real *subspace, real w, const real *v, const real *slopes, const real *rates,
                                      const real *external_acceleration, real *shift, real *velocity) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= n) return;
    size_t j = 3 * (size_t)i;
    pd_vertex_predict(w, subspace ? subspace + 3 * j : nullptr, v + j, slopes ? slopes + j : nullptr, rates + j, external_acceleration + j,
                      shift + j, velocity + j);
}

pd_status pd_predict(pd_context *context, const pd_model *model, double w, const real *v, const real *slopes, const real *rates,
                     const real *external_acceleration, real *shift, real *velocity) {
    PD_LAUNCH(context, predict_kernel, model->n_vertices, model->n_vertices, model->subspace, (real)w, v, slopes, rates,
              external_acceleration, shift, velocity);
    return PD_OK;
}

static __global__ void keep_history_kernel(int n, const unsigned char *fixed, real h, real dt, const real *predicted_displacement,
                                           const real *offset, const real *v, const real *v_previous, real *slopes, real *rates) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= n) return;
    size_t j = 3 * (size_t)i;
    pd_vertex_history(h, dt, fixed[i], predicted_displacement + j, offset + j, v + j, v_previous + j, slopes ? slopes + j : nullptr,
                      rates + j);
}

pd_status pd_keep_history(pd_context *context, const pd_model *model, const pd_inertial *inertial, const real *predicted_displacement,
                          const real *offset, const real *v, const real *v_previous, real *slopes, real *rates) {
    PD_LAUNCH(context, keep_history_kernel, model->n_vertices, model->n_vertices, model->fixed, (real)inertial->h, (real)inertial->dt,
              predicted_displacement, offset, v, v_previous, slopes, rates);
    return PD_OK;
}

static __global__ void find_rates_kernel(int n, const unsigned char *fixed, const real *masses, const real *gradient, real *rates) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= n) return;
    pd_vertex_rates(fixed[i], masses[i], gradient + 3 * (size_t)i, rates + 3 * (size_t)i);
}

pd_status pd_find_rates(pd_context *context, const pd_model *model, const real *gradient, real *rates) {
    PD_LAUNCH(context, find_rates_kernel, model->n_vertices, model->n_vertices, model->fixed, model->masses, gradient, rates);
    return PD_OK;
}

static __global__ void first_guess_kernel(int n, const unsigned char *fixed, const real *subspace, int guess, real h, real dt,
                                          const real *x_t, const real *velocity, const real *shift, const real *v, const real *v_previous,
                                          int has_previous, const real *external_acceleration, const real *targets, real *x, real *offset,
                                          real *predicted_displacement) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= n) return;
    size_t j = 3 * (size_t)i;
    pd_vertex_first_guess(guess, h, dt, x_t + j, velocity + j, shift ? shift + j : nullptr, v + j, has_previous ? v_previous + j : nullptr,
                          external_acceleration + j, x + j, offset + j, predicted_displacement + j);
    if (subspace) pd_vertex_keep(subspace + 3 * j, x_t + j, predicted_displacement + j, x + j, offset + j);
    for (size_t c = j; fixed[i] && c < j + 3; c++) x[c] = targets[c], offset[c] = 0;
}

pd_status pd_first_guess(pd_context *context, const pd_model *model, int guess, const pd_inertial *inertial, const real *x_t, const real *v,
                         const real *v_previous, int has_previous, const real *external_acceleration, const real *targets, real *x,
                         real *offset, real *predicted_displacement) {
    PD_LAUNCH(context, first_guess_kernel, model->n_vertices, model->n_vertices, model->fixed, model->subspace, guess, (real)inertial->h,
              (real)inertial->dt, x_t, inertial->velocity, inertial->shift, v, v_previous, has_previous, external_acceleration, targets, x,
              offset, predicted_displacement);
    return PD_OK;
}

static __global__ void update_velocity_kernel(int n, const unsigned char *fixed, real h, real dt, const real *x, const real *x_t,
                                              const real *velocity, const real *external_acceleration, const real *offset, real *v,
                                              real *v_previous) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= n) return;
    size_t j = 3 * (size_t)i;
    pd_vertex_velocity(h, dt, fixed[i], x + j, x_t + j, velocity + j, external_acceleration + j, offset + j, v + j, v_previous + j);
}

pd_status pd_vertex_update_velocity(pd_context *context, const pd_model *model, const pd_inertial *inertial, const real *x, const real *x_t,
                                    const real *external_acceleration, const real *offset, real *v, real *v_previous) {
    PD_LAUNCH(context, update_velocity_kernel, model->n_vertices, model->n_vertices, model->fixed, (real)inertial->h, (real)inertial->dt, x,
              x_t, inertial->velocity, external_acceleration, offset, v, v_previous);
    return PD_OK;
}

static __global__ void offset_kernel(int n, const unsigned char *fixed, real h, const real *x, const real *x_t, const real *velocity,
                                     const real *shift, const real *external_acceleration, real *offset) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= n) return;
    size_t j = 3 * (size_t)i;
    pd_vertex_offset(h, x + j, x_t + j, velocity + j, shift ? shift + j : nullptr, external_acceleration + j, offset + j);
    for (size_t c = j; fixed[i] && c < j + 3; c++) offset[c] = 0;
}

pd_status pd_offset(pd_context *context, const pd_model *model, const pd_inertial *inertial, const real *x, const real *x_t,
                    const real *external_acceleration, real *offset) {
    PD_LAUNCH(context, offset_kernel, model->n_vertices, model->n_vertices, model->fixed, (real)inertial->h, x, x_t, inertial->velocity,
              inertial->shift, external_acceleration, offset);
    return PD_OK;
}

/* partial [blocks,2]: sum |increment|^2, number of changed coordinates */
static __global__ void advance_kernel(int n, const unsigned char *fixed, const real *x_t, const real *predicted_displacement, real a,
                                      const real *correction, real b, real *increment, real *x, real *offset, double *partial) {
    int begin = (int)blockIdx.x * PD_SUM_BLOCK, end = begin + PD_SUM_BLOCK < n ? begin + PD_SUM_BLOCK : n;
    double square = 0.0, changed = 0.0;
    for (int i = begin + (int)threadIdx.x; i < end; i += PD_THREADS) {
        if (fixed[i]) continue;
        for (size_t j = 3 * (size_t)i; j < 3 * (size_t)i + 3; j++) {
            real s = pd_next_increment(a, correction[j], b, increment + j), away = offset[j] + s,
                 moved = pd_next_position(x_t, predicted_displacement, j, away, x, s);
            increment[j] = s;
            square += (double)s * (double)s;
            square += pd_finite_zero(moved);
            changed += moved != x[j];
            x[j] = moved;
            offset[j] = away;
        }
    }
    square = pd_block_sum(square);
    changed = pd_block_sum(changed);
    if (threadIdx.x == 0) partial[2 * blockIdx.x] = square, partial[2 * blockIdx.x + 1] = changed;
}

/* The same without the report, one thread per coordinate: neighbouring threads access adjacent numbers. */
static __global__ void move_kernel(size_t count, const real *correction, pd_moves move) {
    const size_t j = (size_t)blockIdx.x * PD_THREADS + threadIdx.x;
    pd_let_next_begin();
    const bool free = move.is_free(j < count, (int)(j / 3));
    pd_wait_for_launch_before();
    move(free, j, free ? correction[j] : (real)0);
}

pd_status pd_advance(pd_context *context, const pd_model *model, const pd_step_data *data, double alpha, const real *correction,
                     double beta, real *increment, real *x, real *offset, double *report) {
    unsigned blocks = pd_sum_blocks(model->n_vertices);
    const real *x_t = data ? data->x_t : nullptr, *predicted_displacement = data ? data->predicted_displacement : nullptr;
    if (!report) {
        size_t count = 3 * (size_t)model->n_vertices;
        PD_LAUNCH_OVERLAPPING(context, move_kernel, pd_thread_blocks((long long)count), count, correction,
                              pd_moves_of({model, data, alpha, beta, increment, x, offset}));
        return PD_OK;
    }
    PD_LAUNCH_BLOCKS(context, advance_kernel, blocks, model->n_vertices, model->fixed, x_t, predicted_displacement, (real)alpha, correction,
                     (real)beta, increment, x, offset, model->partial_sums);
    return pd_add_partial_sums(context, model->partial_sums, blocks, 2, report);
}

static __global__ void advance_touching_kernel(int n, const unsigned char *fixed, real a, const real *correction, real b,
                                               const unsigned char *touching, const real *bound, real *increment, real *x, real *offset,
                                               double *partial) {
    int begin = (int)blockIdx.x * PD_SUM_BLOCK, end = begin + PD_SUM_BLOCK < n ? begin + PD_SUM_BLOCK : n;
    double square = 0.0, changed = 0.0;
    for (int i = begin + (int)threadIdx.x; i < end; i += PD_THREADS) {
        if (fixed[i]) continue;
        size_t at = 3 * (size_t)i;
        pd_touching_increment(touching[i] ? (real)-1 : a, correction + at, touching[i] ? (real)0 : b, bound ? bound[i] : (real)INFINITY,
                              increment + at);
        pd_touching_move(increment + at, x + at, offset + at, &square, &changed);
    }
    square = pd_block_sum(square);
    changed = pd_block_sum(changed);
    if (threadIdx.x == 0) partial[2 * blockIdx.x] = square, partial[2 * blockIdx.x + 1] = changed;
}

pd_status pd_advance_touching(pd_context *context, const pd_model *model, double alpha, const real *correction, double beta,
                              const unsigned char *touching, const real *bound, real *increment, real *x, real *offset, double *report) {
    unsigned blocks = pd_sum_blocks(model->n_vertices);
    PD_LAUNCH_BLOCKS(context, advance_touching_kernel, blocks, model->n_vertices, model->fixed, (real)alpha, correction, (real)beta,
                     touching, bound, increment, x, offset, model->partial_sums);
    return report ? pd_add_partial_sums(context, model->partial_sums, blocks, 2, report) : PD_OK;
}

static __global__ void place_at_offset_kernel(int n, const unsigned char *fixed, const real *x_t, const real *predicted_displacement,
                                              const real *x, const real *offset, real *moved) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= n) return;
    for (size_t j = 3 * (size_t)i; j < 3 * (size_t)i + 3; j++)
        moved[j] = fixed[i] ? x[j] : pd_vertex_position(x_t[j], predicted_displacement[j], offset[j]);
}

pd_status pd_place_at_offset(pd_context *context, const pd_model *model, const pd_step_data *data, const real *x, const real *offset,
                             real *moved) {
    PD_LAUNCH(context, place_at_offset_kernel, model->n_vertices, model->n_vertices, model->fixed, data->x_t, data->predicted_displacement,
              x, offset, moved);
    return PD_OK;
}

static __global__ void add_scaled_kernel(int n, const unsigned char *fixed, const real *x, real a, const real *d, real *y) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= n) return;
    for (size_t j = 3 * (size_t)i; j < 3 * (size_t)i + 3; j++) y[j] = fixed[i] ? x[j] : x[j] + a * d[j];
}

pd_status pd_add_scaled(pd_context *context, const pd_model *model, const real *x, double alpha, const real *d, real *y) {
    PD_LAUNCH(context, add_scaled_kernel, model->n_vertices, model->n_vertices, model->fixed, x, (real)alpha, d, y);
    return PD_OK;
}
