/* Weighted Jacobi, optionally with Chebyshev extrapolation [Wang 2015, Sec. 4.1, Eq. 20].
 *
 * Undamped Jacobi diverges on real tet meshes. It converges only for weight < 2/lambda, with lambda the largest eigenvalue of D^-1 A,
 * which exceeds 2 there.
 *
 * D has one number per vertex, which commutes with the projection on its line or plane. So projecting the iterate after every sweep, and
 * with it the extrapolated one, is Jacobi on P A P. */
#include "linear/linear_method.h"

static pd_status prepare(pd_linear *self) { return pd_linear_need_iterates(self, &self->matrix, 2); }

/* gamma (x^ - x_k) + x_k is a Jacobi step with weight gamma times as large: under-relaxation needs no extra pass. */
static pd_status iterate(pd_linear *self, int k, int n, const double *omegas, double gamma) {
    real *buffers[2] = {self->current, self->previous};
    double weight = gamma * self->settings.weight;
    size_t bytes = pd_linear_bytes(self);
    pd_status status = PD_OK;
    int at_once = self->projectors ? 1 : n;
    pd_context_tally(self->context)->sweeps += n;
    for (int j = 0; j < n && !status; j += at_once) {
        if (j == 1 && k == 0) status = pd_memory_clear(self->context, buffers[1], bytes); // the previous iterate, which was zero
        int begins = k + j == 0 ? PD_SWEEPS_FROM_ZERO : 0, ends = k + j + at_once == self->settings.iterations ? PD_SWEEPS_TO_THE_END : 0;
        if (!status)
            status = pd_jacobi_sweeps(self->context, &self->matrix, self->width, self->residual, weight, omegas + j, at_once, begins | ends,
                                      (pd_sweep_ends){begins ? self->ends.gather : NULL, ends ? self->ends.move : NULL}, buffers);
        if (!status && self->projectors) status = pd_project(self->context, self->A.n, self->projectors, buffers[0]);
    }
    self->current = buffers[0];
    self->previous = buffers[1];
    // the last sweep of this call leaves no iterate for an extrapolation in the next one
    if (!status && k == 0 && n == 1 && self->settings.iterations > 1 && self->settings.chebyshev.enabled)
        status = pd_memory_clear(self->context, self->previous, bytes);
    return status;
}

static int folds(const pd_linear *self) { return !self->projectors; } // lines and planes need a projection after every sweep

const pd_linear_method pd_jacobi_method = {
    .name = "Jacobi", .prepare = prepare, .iterate = iterate, .folds = folds, .exchanges = 1, .weighted = 1, .coupled = 1};
