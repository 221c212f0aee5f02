/* The inertial target of a step and the velocity after it, of vertices and of rigid bodies; see inertia.h. */
#include "dynamics/problem/inertia.h"

#include "dynamics/integrator/integrator.h"
#include "dynamics/rigid/rigid.h"

static int turns(const pd_problem *self) { return self->rigid && self->h > 0; }

pd_status pd_inertia_first_guess(const pd_problem *self, int guess, const real *v, const real *v_previous, int has_previous,
                                 const real *targets, real *x, real *offset) {
    const pd_inertial inertial = pd_integrator_inertial(self, v);
    pd_status status = pd_first_guess(self->context, self->model, guess, &inertial, self->x_t, v, v_previous, has_previous,
                                      self->external_acceleration, targets, x, offset, self->step.predicted_displacement);
    return status || !turns(self) ? status : pd_rigid_first_guess(self, guess, v, x, offset, self->step.predicted_displacement);
}

pd_status pd_inertia_offset(const pd_problem *self, const real *x, const real *v, real *offset) {
    const pd_inertial inertial = pd_integrator_inertial(self, v);
    pd_status status = pd_offset(self->context, self->model, &inertial, x, self->x_t, self->external_acceleration, offset);
    return status || !turns(self) ? status : pd_rigid_offset(self, x, v, offset);
}

pd_status pd_inertia_velocity(const pd_problem *self, const real *x, const real *offset, real *v, real *v_previous) {
    const pd_inertial inertial = pd_integrator_inertial(self, v);
    pd_status status =
        pd_vertex_update_velocity(self->context, self->model, &inertial, x, self->x_t, self->external_acceleration, offset, v, v_previous);
    return status || !turns(self) ? status : pd_rigid_velocity(self, x, offset, v_previous, v);
}
