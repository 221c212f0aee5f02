/* Loops over vertices and over the coordinates of vectors. */
#include "cpu/context.h"
#include "updates/conjugate_factors.h"
#include "updates/time_step.h"

double pd_dot_of_rows(const pd_context *context, int n, int width, const real *x, const real *y, double *partial_sums) {
    int blocks = (n + PD_SUM_BLOCK - 1) / PD_SUM_BLOCK;
#pragma omp parallel for num_threads(pd_threads(context, n, 2 * width)) schedule(static)
    for (int b = 0; b < blocks; b++) {
        int last = (b + 1) * PD_SUM_BLOCK < n ? (b + 1) * PD_SUM_BLOCK : n;
        size_t begin = (size_t)width * (size_t)b * PD_SUM_BLOCK, end = (size_t)width * (size_t)last;
        double sum = 0.0;
        for (size_t j = begin; j < end; j++) sum += (double)x[j] * (double)y[j];
        partial_sums[b] = sum;
    }
    return pd_add_partial_sums(partial_sums, blocks);
}

pd_status pd_dot(pd_context *context, const pd_model *model, const real *x, const real *y, double *out) {
    *out = pd_dot_of_rows(context, model->n_vertices, 3, x, y, model->partial_sums);
    return PD_OK;
}

pd_status pd_conjugate_redirect(pd_context *context, const pd_model *model, const double *sums, const real *z, real *p) {
    int n = 3 * model->n_vertices;
    real beta = (real)pd_conjugate_beta(sums);
#pragma omp parallel for num_threads(pd_threads(context, n, 1)) schedule(static)
    for (int j = 0; j < n; j++) p[j] = z[j] + beta * p[j];
    return PD_OK;
}

pd_status pd_conjugate_scale(pd_context *context, const pd_model *model, const double *sums, const real *p, real *d) {
    int n = 3 * model->n_vertices;
    real alpha = (real)pd_conjugate_alpha(sums);
#pragma omp parallel for num_threads(pd_threads(context, n, 1)) schedule(static)
    for (int j = 0; j < n; j++) d[j] = alpha * p[j];
    return PD_OK;
}

pd_status pd_project(pd_context *context, int n, const real *subspace, real *v) {
#pragma omp parallel for num_threads(pd_threads(context, n, 5)) schedule(static)
    for (int i = 0; i < n; i++) pd_vertex_project(subspace + 9 * (size_t)i, v + 3 * (size_t)i);
    return PD_OK;
}

pd_status pd_find_not_finite(pd_context *context, const pd_model *model, const real *x, int *index) {
    (void)context;
    *index = -1;
    for (int i = 0; i < model->n_vertices && *index < 0; i++)
        if (!isfinite(x[3 * i]) || !isfinite(x[3 * i + 1]) || !isfinite(x[3 * i + 2])) *index = i;
    return PD_OK;
}

pd_status pd_predict(pd_context *context, const pd_model *model, double w, const real *v, const real *slopes, const real *rates,
                     const real *external_acceleration, real *shift, real *velocity) {
#pragma omp parallel for num_threads(pd_threads(context, model->n_vertices, 5)) schedule(static)
    for (int i = 0; i < model->n_vertices; i++) {
        size_t j = 3 * (size_t)i;
        pd_vertex_predict((real)w, model->subspace ? model->subspace + 3 * j : NULL, v + j, slopes ? slopes + j : NULL, rates + j,
                          external_acceleration + j, shift + j, velocity + j);
    }
    return PD_OK;
}

pd_status pd_keep_history(pd_context *context, const pd_model *model, const pd_inertial *inertial, const real *predicted_displacement,
                          const real *offset, const real *v, const real *v_previous, real *slopes, real *rates) {
#pragma omp parallel for num_threads(pd_threads(context, model->n_vertices, 5)) schedule(static)
    for (int i = 0; i < model->n_vertices; i++) {
        size_t j = 3 * (size_t)i;
        pd_vertex_history((real)inertial->h, (real)inertial->dt, model->fixed[i], predicted_displacement + j, offset + j, v + j,
                          v_previous + j, slopes ? slopes + j : NULL, rates + j);
    }
    return PD_OK;
}

pd_status pd_find_rates(pd_context *context, const pd_model *model, const real *gradient, real *rates) {
#pragma omp parallel for num_threads(pd_threads(context, model->n_vertices, 5)) schedule(static)
    for (int i = 0; i < model->n_vertices; i++)
        pd_vertex_rates(model->fixed[i], model->masses[i], gradient + 3 * (size_t)i, rates + 3 * (size_t)i);
    return PD_OK;
}

pd_status pd_first_guess(pd_context *context, const pd_model *model, int guess, const pd_inertial *inertial, const real *x_t, const real *v,
                         const real *v_previous, int has_previous, const real *external_acceleration, const real *targets, real *x,
                         real *offset, real *predicted_displacement) {
    const real *shift = inertial->shift;
#pragma omp parallel for num_threads(pd_threads(context, model->n_vertices, 5)) schedule(static)
    for (int i = 0; i < model->n_vertices; i++) {
        size_t j = 3 * (size_t)i;
        pd_vertex_first_guess(guess, (real)inertial->h, (real)inertial->dt, x_t + j, inertial->velocity + j, shift ? shift + j : NULL,
                              v + j, has_previous ? v_previous + j : NULL, external_acceleration + j, x + j, offset + j,
                              predicted_displacement + j);
        if (model->subspace) pd_vertex_keep(model->subspace + 3 * j, x_t + j, predicted_displacement + j, x + j, offset + j);
        for (size_t c = j; model->fixed[i] && c < j + 3; c++) x[c] = targets[c], offset[c] = 0;
    }
    return PD_OK;
}

pd_status pd_vertex_update_velocity(pd_context *context, const pd_model *model, const pd_inertial *inertial, const real *x, const real *x_t,
                                    const real *external_acceleration, const real *offset, real *v, real *v_previous) {
#pragma omp parallel for num_threads(pd_threads(context, model->n_vertices, 5)) schedule(static)
    for (int i = 0; i < model->n_vertices; i++) {
        size_t j = 3 * (size_t)i;
        pd_vertex_velocity((real)inertial->h, (real)inertial->dt, model->fixed[i], x + j, x_t + j, inertial->velocity + j,
                           external_acceleration + j, offset + j, v + j, v_previous + j);
    }
    return PD_OK;
}

pd_status pd_offset(pd_context *context, const pd_model *model, const pd_inertial *inertial, const real *x, const real *x_t,
                    const real *external_acceleration, real *offset) {
    const real *shift = inertial->shift;
#pragma omp parallel for num_threads(pd_threads(context, model->n_vertices, 5)) schedule(static)
    for (int i = 0; i < model->n_vertices; i++) {
        size_t j = 3 * (size_t)i;
        pd_vertex_offset((real)inertial->h, x + j, x_t + j, inertial->velocity + j, shift ? shift + j : NULL, external_acceleration + j,
                         offset + j);
        for (size_t c = j; model->fixed[i] && c < j + 3; c++) offset[c] = 0;
    }
    return PD_OK;
}

pd_status pd_advance(pd_context *context, const pd_model *model, const pd_step_data *data, double alpha, const real *correction,
                     double beta, real *increment, real *x, real *offset, double *report) {
    int n = model->n_vertices, blocks = (n + PD_SUM_BLOCK - 1) / PD_SUM_BLOCK;
    double *squares = model->partial_sums, *changes = model->partial_sums + blocks;
    real a = (real)alpha, b = (real)beta;
#pragma omp parallel for num_threads(pd_threads(context, n, 10)) schedule(static)
    for (int block = 0; block < blocks; block++) {
        int end = (block + 1) * PD_SUM_BLOCK < n ? (block + 1) * PD_SUM_BLOCK : n;
        double square = 0.0, changed = 0.0;
        for (int i = block * PD_SUM_BLOCK; i < end; i++) {
            if (model->fixed[i]) continue;
            for (int j = 3 * i; j < 3 * i + 3; j++) {
                real s = a * correction[j] + b * increment[j], away = offset[j] + s;
                real moved = data ? pd_vertex_position(data->x_t[j], data->predicted_displacement[j], away) : x[j] + s;
                increment[j] = s;
                if (report) {
                    square += (double)s * (double)s;
                    square += pd_finite_zero(moved);
                    changed += moved != x[j];
                }
                x[j] = moved;
                offset[j] = away;
            }
        }
        squares[block] = square;
        changes[block] = changed;
    }
    if (!report) return PD_OK;
    report[0] = pd_add_partial_sums(squares, blocks);
    report[1] = pd_add_partial_sums(changes, blocks);
    return PD_OK;
}

pd_status pd_advance_touching(pd_context *context, const pd_model *model, double alpha, const real *correction, double beta,
                              const unsigned char *touching, const real *bound, real *increment, real *x, real *offset, double *report) {
    int n = model->n_vertices, blocks = (n + PD_SUM_BLOCK - 1) / PD_SUM_BLOCK;
    double *squares = model->partial_sums, *changes = model->partial_sums + blocks;
#pragma omp parallel for num_threads(pd_threads(context, n, 20)) schedule(static)
    for (int block = 0; block < blocks; block++) {
        int end = (block + 1) * PD_SUM_BLOCK < n ? (block + 1) * PD_SUM_BLOCK : n;
        double square = 0.0, changed = 0.0;
        for (int i = block * PD_SUM_BLOCK; i < end; i++) {
            if (model->fixed[i]) continue;
            size_t at = 3 * (size_t)i;
            pd_touching_increment(touching[i] ? (real)-1 : (real)alpha, correction + at, touching[i] ? (real)0 : (real)beta,
                                  bound ? bound[i] : (real)INFINITY, increment + at);
            pd_touching_move(increment + at, x + at, offset + at, &square, &changed);
        }
        squares[block] = square;
        changes[block] = changed;
    }
    if (!report) return PD_OK;
    report[0] = pd_add_partial_sums(squares, blocks);
    report[1] = pd_add_partial_sums(changes, blocks);
    return PD_OK;
}

pd_status pd_place_at_offset(pd_context *context, const pd_model *model, const pd_step_data *data, const real *x, const real *offset,
                             real *moved) {
#pragma omp parallel for num_threads(pd_threads(context, model->n_vertices, 5)) schedule(static)
    for (int i = 0; i < model->n_vertices; i++)
        for (int j = 3 * i; j < 3 * i + 3; j++)
            moved[j] = model->fixed[i] ? x[j] : pd_vertex_position(data->x_t[j], data->predicted_displacement[j], offset[j]);
    return PD_OK;
}

pd_status pd_add_scaled(pd_context *context, const pd_model *model, const real *x, double alpha, const real *d, real *y) {
    real a = (real)alpha;
#pragma omp parallel for num_threads(pd_threads(context, model->n_vertices, 5)) schedule(static)
    for (int i = 0; i < model->n_vertices; i++)
        for (int j = 3 * i; j < 3 * i + 3; j++) y[j] = model->fixed[i] ? x[j] : x[j] + a * d[j];
    return PD_OK;
}
