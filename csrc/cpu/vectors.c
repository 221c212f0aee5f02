/* Loops over vertices and over the coordinates of vectors. */
#include "cpu/context.h"

/* Sum over blocks of a fixed size, then over the partial sums in order: the bits do not depend on the threads. */
static double add_partial_sums(const double *partial, int n) {
    double sum = 0.0;
    for (int b = 0; b < n; b++) sum += partial[b];
    return sum;
}

pd_status pd_dot(pd_context *context, const pd_model *model, const real *x, const real *y, double *out) {
    int n = model->n_vertices, blocks = (n + PD_SUM_BLOCK - 1) / PD_SUM_BLOCK;
#pragma omp parallel for num_threads(context->threads) schedule(static)
    for (int b = 0; b < blocks; b++) {
        size_t begin = (size_t)b * PD_SUM_BLOCK * 3, end = begin + PD_SUM_BLOCK * 3;
        if (end > (size_t)n * 3) end = (size_t)n * 3;
        double sum = 0.0;
        for (size_t i = begin; i < end; i++) sum += (double)x[i] * (double)y[i];
        model->partial_sums[b] = sum;
    }
    *out = add_partial_sums(model->partial_sums, blocks);
    return PD_OK;
}

pd_status pd_find_not_finite(pd_context *context, const pd_model *model, const real *x, int *index) {
    (void)context;
    *index = -1;
    for (int i = 0; i < model->n_vertices && *index < 0; i++)
        if (!isfinite(x[3 * i]) || !isfinite(x[3 * i + 1]) || !isfinite(x[3 * i + 2])) *index = i;
    return PD_OK;
}

pd_status pd_first_guess(pd_context *context, const pd_model *model, int guess, double h, const real *x_t, const real *v,
                         const real *v_previous, int has_previous, const real *load, const real *targets, real *x, real *offset) {
    real dt = (real)h, dt2 = (real)(h * h);
#pragma omp parallel for num_threads(context->threads) schedule(static)
    for (int i = 0; i < model->n_vertices; i++) {
        const real *a = load + 3 * i;
        real along = 0; // of load: the adaptive guess keeps this share of it
        if (guess == PD_GUESS_ADAPTIVE && has_previous && h > 0) {
            real dot = 0, square = 0;
            for (int c = 0; c < 3; c++) {
                dot += (v[3 * i + c] - v_previous[3 * i + c]) / dt * a[c];
                square += a[c] * a[c];
            }
            if (square > 0) along = pd_min(pd_max(dot / square, (real)0), (real)1);
        }
        for (int c = 0; c < 3; c++) {
            int j = 3 * i + c;
            real inertia = dt * v[j], target = dt2 * a[c];
            if (model->fixed[i])
                x[j] = targets[j], offset[j] = 0;
            else if (h <= 0 || guess == PD_GUESS_PREVIOUS)
                x[j] = x_t[j], offset[j] = -(inertia + target);
            else if (guess == PD_GUESS_INERTIA)
                x[j] = x_t[j] + inertia, offset[j] = -target;
            else if (guess == PD_GUESS_INERTIAL_TARGET)
                x[j] = x_t[j] + (inertia + target), offset[j] = 0;
            else
                x[j] = x_t[j] + (inertia + along * target), offset[j] = (along - 1) * target;
        }
    }
    return PD_OK;
}

pd_status pd_update_velocity(pd_context *context, const pd_model *model, double h, const real *x, const real *x_t, const real *load,
                             const real *offset, real *v, real *v_previous) {
    real dt = (real)h, inverse = (real)(h > 0 ? 1.0 / h : 0.0);
#pragma omp parallel for num_threads(context->threads) schedule(static)
    for (int i = 0; i < model->n_vertices; i++)
        for (int j = 3 * i; j < 3 * i + 3; j++) {
            v_previous[j] = h > 0 ? v[j] : 0;
            if (h <= 0)
                v[j] = 0;
            else if (model->fixed[i])
                v[j] = (x[j] - x_t[j]) * inverse;
            else
                v[j] = v[j] + dt * load[j] + offset[j] * inverse;
        }
    return PD_OK;
}

pd_status pd_offset(pd_context *context, const pd_model *model, double h, const real *x, const real *x_t, const real *v, const real *load,
                    real *offset) {
    real dt = (real)h, dt2 = (real)(h * h);
#pragma omp parallel for num_threads(context->threads) schedule(static)
    for (int i = 0; i < model->n_vertices; i++)
        for (int j = 3 * i; j < 3 * i + 3; j++) offset[j] = model->fixed[i] ? 0 : (x[j] - x_t[j]) - (dt * v[j] + dt2 * load[j]);
    return PD_OK;
}

pd_status pd_advance(pd_context *context, const pd_model *model, double alpha, const real *direction, double beta, real *step, real *x,
                     real *offset, double *report) {
    int n = model->n_vertices, blocks = (n + PD_SUM_BLOCK - 1) / PD_SUM_BLOCK;
    double *squares = model->partial_sums, *changes = model->partial_sums + blocks;
    real a = (real)alpha, b = (real)beta;
#pragma omp parallel for num_threads(context->threads) schedule(static)
    for (int block = 0; block < blocks; block++) {
        int end = (block + 1) * PD_SUM_BLOCK < n ? (block + 1) * PD_SUM_BLOCK : n;
        double square = 0.0, changed = 0.0;
        for (int i = block * PD_SUM_BLOCK; i < end; i++) {
            if (model->fixed[i]) continue;
            for (int j = 3 * i; j < 3 * i + 3; j++) {
                real s = a * direction[j] + b * step[j], moved = x[j] + s;
                step[j] = s;
                square += (double)s * (double)s;
                changed += moved != x[j];
                x[j] = moved;
                offset[j] += s;
            }
        }
        squares[block] = square;
        changes[block] = changed;
    }
    report[0] = add_partial_sums(squares, blocks);
    report[1] = add_partial_sums(changes, blocks);
    return PD_OK;
}

pd_status pd_add_scaled(pd_context *context, const pd_model *model, const real *x, double alpha, const real *d, real *y) {
    real a = (real)alpha;
#pragma omp parallel for num_threads(context->threads) schedule(static)
    for (int i = 0; i < model->n_vertices; i++)
        for (int j = 3 * i; j < 3 * i + 3; j++) y[j] = model->fixed[i] ? x[j] : x[j] + a * d[j];
    return PD_OK;
}
