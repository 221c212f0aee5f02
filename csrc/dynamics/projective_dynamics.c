/* Projective Dynamics [Bouaziz et al. 2014, Algorithm 1; Wang 2015, Sec. 4; Lan et al. 2022, Eqs. 1-3].
 *
 * One iteration projects every element (local step) and solves one linear system with the constant matrix
 * A = M/h^2 + sum w S^T S (global step):
 *
 *     A x^{k+1} = M/h^2 y + sum w S^T T^k,   T^k = projection of S x^k.
 *
 * Written for the correction d = x^{k+1} - x^k this is A d = M/h^2 (y - x^k) + sum w S^T (T^k - S x^k) = -dG/dx, so the right-hand
 * side is the gradient of the incremental potential, and float32 loses nothing to the size of the coordinates. Since every
 * element's Hessian is at most w S^T S, A is an upper bound of the Hessian of G and an exact global step never raises G. */
#include "dynamics/method.h"

static pd_status prepare(pd_simulation *self) {
    pd_linear *linear;
    pd_status status = pd_simulation_linear(self, &linear);
    return status ? status : pd_linear_prepare(linear);
}

static pd_status direction(pd_simulation *self, int *stalled) {
    pd_step_data step = pd_simulation_step_data(self);
    pd_status status = PD_OK;
    *stalled = 0;

    // local step and right-hand side
    PD_TRY(pd_gradient(self->context, &self->model, &step, self->x, self->offset, self->gradient));

    // global step: A d = gradient, used with a minus sign by the frame
    pd_linear_result result;
    PD_TRY(pd_linear_solve(self->linear, self->gradient, self->direction, NULL, &result));

done:
    return status;
}

static int capturable(const pd_simulation *self) { return self->linear && pd_linear_capturable(self->linear); }

const pd_method pd_projective_dynamics_method = {.name = "ProjectiveDynamics",
                                                 .prepare = prepare,
                                                 .direction = direction,
                                                 .uses_linear = 1,
                                                 .minimises_potential = 1,
                                                 .fills_gradient = 1,
                                                 .capturable = capturable};
