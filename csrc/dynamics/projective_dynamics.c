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
    const pd_csr *A;
    pd_status status = pd_simulation_system_matrix(self, &A);
    if (status) return status;
    if (self->settings.linear.kind == PD_LINEAR_JACOBI)
        return pd_jacobi_create(&self->jacobi, self->context, &self->model, &self->settings.linear, A, self->fixed);
    return pd_direct_create(&self->direct, self->context, self->cholesky, A, self->fixed);
}

static pd_status direction(pd_simulation *self, int *stalled) {
    pd_step_data step = pd_simulation_step_data(self);
    pd_status status = PD_OK;
    *stalled = 0;

    // local step and right-hand side
    PD_TRY(pd_gradient(self->context, &self->model, &step, self->x, self->offset, self->gradient));

    // global step: A d = gradient, used with a minus sign by the frame
    if (self->jacobi)
        PD_TRY(pd_jacobi_solve(self->jacobi, self->gradient, self->direction));
    else
        PD_TRY(pd_direct_solve(self->direct, self->gradient, self->direction));

done:
    return status;
}

const pd_method pd_projective_dynamics_method = {"ProjectiveDynamics", prepare, direction, 1};
