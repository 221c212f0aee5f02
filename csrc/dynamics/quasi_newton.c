/* Quasi-Newton on the incremental potential, started from the matrix of Projective Dynamics [Liu et al. 2017, Quasi-Newton Methods for
 * Real-Time Simulation of Hyperelastic Materials, Sec. 4 and 5].
 *
 *     d = B dG/dx(x),    x <- x - alpha d,
 *
 * with alpha from a backtracking line search and B the inverse that L-BFGS builds out of A^-1, A = M/h^2 + sum w S^T S, and the last
 * `history` pairs s = x_{k+1} - x_k, y = g_{k+1} - g_k, by the two-loop recursion [Nocedal and Wright 2006, Algorithm 7.4]. A, the first
 * guess of the Hessian, is constant and factorised once; for a material without a projection its w is that of the Laplacian which
 * Liu et al. take, 2 mu volume for the solids here, and the line search makes up for what it leaves out.
 *
 * A pair whose curvature s.y is not positive, to rounding, is left out: B stays positive definite and d a descent direction. Pairs of
 * another step belong to another potential, so the history starts empty in each. Without history and line search this is
 * Projective Dynamics to the bit.
 *
 * Signs: the frame subtracts the direction d. */
#include "dynamics/line_search.h"

#include <stdlib.h>

struct pd_quasi_newton {
    pd_context *context;
    int size, count, next; /* capacity, pairs held, place of the next one */
    real *last_gradient;   /* B [n,3] of the iterate before */
    real **s, **y;         /* [size] of B [n,3] */
    double *curvature;     /* [size] s.y */
    double *factor;        /* [size] scratch of the recursion */
};

void pd_quasi_newton_destroy(pd_quasi_newton *own) {
    if (!own) return;
    for (int i = 0; i < own->size; i++) {
        if (own->s) pd_memory_destroy(own->context, own->s[i]);
        if (own->y) pd_memory_destroy(own->context, own->y[i]);
    }
    pd_memory_destroy(own->context, own->last_gradient);
    free(own->s);
    free(own->y);
    free(own->curvature);
    free(own->factor);
    free(own);
}

static pd_status prepare(pd_simulation *self) {
    pd_status status = PD_OK;
    pd_linear *linear;
    size_t size = (size_t)self->settings.history, bytes = (size_t)self->model.n_vertices * 3 * sizeof(real);
    pd_quasi_newton *own = self->quasi_newton;
    if (!own) own = self->quasi_newton = calloc(1, sizeof *own);
    if (!own) return pd_fail(&self->error, PD_ERROR_MEMORY, "out of memory");
    own->context = self->context;
    own->size = (int)size;
    if (!own->s) own->s = calloc(size + 1, sizeof *own->s);
    if (!own->y) own->y = calloc(size + 1, sizeof *own->y);
    if (!own->curvature) own->curvature = calloc(size + 1, sizeof *own->curvature);
    if (!own->factor) own->factor = calloc(size + 1, sizeof *own->factor);
    if (!own->s || !own->y || !own->curvature || !own->factor)
        return pd_fail(&self->error, PD_ERROR_MEMORY, "out of memory for a history of %d", own->size);
    for (size_t i = 0; i < size; i++) {
        if (!own->s[i]) PD_TRY(pd_memory_create(self->context, (void **)&own->s[i], bytes));
        if (!own->y[i]) PD_TRY(pd_memory_create(self->context, (void **)&own->y[i], bytes));
    }
    if (size && !own->last_gradient) PD_TRY(pd_memory_create(self->context, (void **)&own->last_gradient, bytes));
    PD_TRY(pd_simulation_linear(self, &linear));
    PD_TRY(pd_linear_prepare(linear));
done:
    return status;
}

static pd_status product(pd_simulation *self, const real *x, const real *y, double *out) {
    pd_status status = pd_dot(self->context, &self->model, x, y, self->scalars);
    return status ? status : pd_memory_download(self->context, out, self->scalars, sizeof *out);
}

/* Takes the pair of the iteration before into the history; the oldest makes room. */
static pd_status remember(pd_simulation *self) {
    pd_quasi_newton *own = self->quasi_newton;
    pd_status status = PD_OK;
    size_t bytes = (size_t)self->model.n_vertices * 3 * sizeof(real);
    real *s = own->s[own->next], *y = own->y[own->next];
    double s_y, s_s, y_y;
    int full = own->count == own->size;
    PD_TRY(pd_memory_copy(self->context, s, self->step, bytes));
    PD_TRY(pd_memory_copy(self->context, y, self->gradient, bytes));
    PD_TRY(pd_add_scaled(self->context, &self->model, y, -1.0, own->last_gradient, y));
    PD_TRY(product(self, s, y, &s_y));
    PD_TRY(product(self, s, s, &s_s));
    PD_TRY(product(self, y, y, &y_y));
    if (s_y > (double)PD_EPSILON * sqrt(s_s) * sqrt(y_y)) {
        own->curvature[own->next] = s_y;
        own->next = (own->next + 1) % own->size;
        if (!full) own->count++;
    } else if (full)
        own->count--; // the place holds a pair that is none
done:
    return status;
}

/* direction = B gradient: the two loops, newest pair first and oldest pair first. */
static pd_status two_loops(pd_simulation *self) {
    pd_quasi_newton *own = self->quasi_newton;
    pd_status status = PD_OK;
    real *q = self->trial, *r = self->direction;
    pd_linear_result result;
    PD_TRY(pd_memory_copy(self->context, q, self->gradient, (size_t)self->model.n_vertices * 3 * sizeof(real)));
    for (int k = 1; k <= own->count; k++) {
        int i = (own->next - k + own->size) % own->size;
        PD_TRY(product(self, own->s[i], q, &own->factor[i]));
        own->factor[i] /= own->curvature[i];
        PD_TRY(pd_add_scaled(self->context, &self->model, q, -own->factor[i], own->y[i], q));
    }
    PD_TRY(pd_linear_solve(self->linear, q, r, NULL, &result));
    for (int k = own->count; k >= 1; k--) {
        int i = (own->next - k + own->size) % own->size;
        double y_r;
        PD_TRY(product(self, own->y[i], r, &y_r));
        PD_TRY(pd_add_scaled(self->context, &self->model, r, own->factor[i] - y_r / own->curvature[i], own->s[i], r));
    }
done:
    return status;
}

static pd_status direction(pd_simulation *self, int *stalled) {
    pd_quasi_newton *own = self->quasi_newton;
    pd_step_data step = pd_simulation_step_data(self);
    pd_status status = PD_OK;
    double slope = 1.0;
    *stalled = 0;
    PD_TRY(pd_gradient(self->context, &self->model, &step, self->x, self->offset, self->gradient));
    if (self->iteration == 0)
        own->count = own->next = 0;
    else if (own->size)
        PD_TRY(remember(self));
    PD_TRY(two_loops(self));
    if (own->count) PD_TRY(product(self, self->gradient, self->direction, &slope));
    if (!(slope > 0)) { // only rounding can do that; the matrix alone cannot
        own->count = 0;
        PD_TRY(two_loops(self));
    }
    if (own->size) {
        size_t bytes = (size_t)self->model.n_vertices * 3 * sizeof(real);
        PD_TRY(pd_memory_copy(self->context, own->last_gradient, self->gradient, bytes));
    }
    if (self->settings.line_search) PD_TRY(pd_line_search(self, PD_NEAR_SLOPE, stalled));
done:
    return status;
}

const pd_method pd_quasi_newton_method = {
    .name = "QuasiNewton", .prepare = prepare, .direction = direction, .uses_linear = 1, .minimises_potential = 1, .fills_gradient = 1};
