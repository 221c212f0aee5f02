/* The backtracking line search of Newton and quasi-Newton; see line_search.h. */
#include "dynamics/line_search.h"

enum { MAX_HALVINGS = 50 };

/* x . y on the host. */
static pd_status product(pd_simulation *self, const real *x, const real *y, double *out) {
    pd_status status = pd_dot(self->context, &self->model, x, y, self->scalars);
    return status ? status : pd_memory_download(self->context, out, self->scalars, sizeof *out);
}

/* Whether the trial point at x - alpha d is better by its gradient. */
static pd_status better_by_gradient(pd_simulation *self, int near, double slope, double gradient_norm, int *better) {
    pd_step_data step = pd_simulation_step_data(self);
    pd_status status = PD_OK;
    double trial;
    PD_TRY(pd_gradient(self->context, &self->model, &step, self->trial, self->trial_offset, self->trial_gradient));
    if (near == PD_NEAR_SLOPE) {
        PD_TRY(product(self, self->trial_gradient, self->direction, &trial));
        *better = trial >= -0.8 * slope;
    } else {
        PD_TRY(pd_simulation_norm(self, self->trial_gradient, &trial));
        *better = trial < 0.9 * gradient_norm;
    }
done:
    return status;
}

pd_status pd_line_search(pd_simulation *self, int near, int *stalled) {
    pd_status status = PD_OK;
    double start, magnitude, slope, gradient_norm, alpha = 1.0;
    PD_TRY(pd_simulation_potential_at(self, self->x, self->offset, &start, &magnitude));
    PD_TRY(pd_simulation_norm(self, self->gradient, &gradient_norm));
    PD_TRY(product(self, self->gradient, self->direction, &slope));
    double rounding = pd_simulation_rounding(self, magnitude);
    *stalled = 1;
    for (int k = 0; k < MAX_HALVINGS; k++, alpha *= 0.5) {
        double trial;
        PD_TRY(pd_add_scaled(self->context, &self->model, self->x, -alpha, self->direction, self->trial));
        PD_TRY(pd_add_scaled(self->context, &self->model, self->offset, -alpha, self->direction, self->trial_offset));
        PD_TRY(pd_simulation_potential_at(self, self->trial, self->trial_offset, &trial, NULL));
        int better = trial <= start - 1e-4 * alpha * slope && start - trial > rounding;
        if (!better && fabs(trial - start) <= rounding) PD_TRY(better_by_gradient(self, near, slope, gradient_norm, &better));
        if (better) {
            *stalled = 0;
            break;
        }
    }
    // the frame subtracts the direction: scale it by alpha
    if (!*stalled && alpha < 1.0) {
        PD_TRY(pd_memory_clear(self->context, self->trial, (size_t)self->model.n_vertices * 3 * sizeof(real)));
        PD_TRY(pd_add_scaled(self->context, &self->model, self->trial, alpha, self->direction, self->direction));
    }
done:
    return status;
}
