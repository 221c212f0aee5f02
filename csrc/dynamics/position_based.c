/* Position-based dynamics in Jacobi form [Müller et al. 2007; Macklin et al. 2014; Wang 2015, Sec. 5.3, Eq. 22].
 *
 *     q_i^{k+1} = q_i^k + alpha sum_c dq_{i,c},    q^0 = y,
 *
 * with dq_{i,c} the moves of elements/position_based.h, which put constraint c where it belongs. Wang's sum, not the average of
 * Macklin et al.: a vertex of few constraints is then moved no further than its share, and linear momentum is preserved.
 *
 * No potential is minimised and no stiffness occurs: how stiff a body looks follows from the number of iterations. Inertia enters
 * only through the first guess y, so there is no quasistatic form. The iteration is I - alpha sum_c P_c near its limit, with P_c
 * the mass-weighted projections, so alpha must stay below 2 / lambda, lambda their sum's largest eigenvalue: at most the number of
 * constraints that meet in a vertex, which is why tets want so much less than springs. */
#include "dynamics/method.h"

static pd_status prepare(pd_simulation *self) {
    if (self->settings.h > 0) return PD_OK;
    return pd_fail(&self->error, PD_ERROR_VALUE,
                   "dt: None (quasistatic), but PBD needs a time step: inertia and loads enter only through its first guess");
}

static pd_status direction(pd_simulation *self, int *stalled) {
    *stalled = 0;
    // the frame subtracts the direction
    return pd_constraint_moves(self->context, &self->model, -self->settings.relaxation, self->x, self->direction);
}

const pd_method pd_position_based_method = {
    .name = "PBD", .prepare = prepare, .direction = direction, .ignores_material = 1, .capturable = pd_always_capturable};
