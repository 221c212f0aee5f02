/* Rigid bodies at the start and the end of a step; see rigid.h. */
#include "dynamics/rigid/rigid.h"

pd_status pd_rigid_first_guess(const pd_problem *problem, int guess, const real *v, real *x, real *offset, real *predicted_displacement) {
    return pd_rigid_result(problem, pd_bodies_first_guess(problem->context, &problem->rigid->set, guess, problem->h, problem->x_t, v,
                                                          problem->external_acceleration, x, offset, predicted_displacement));
}

pd_status pd_rigid_offset(const pd_problem *problem, const real *x, const real *v, real *offset) {
    return pd_rigid_result(problem, pd_bodies_offset(problem->context, &problem->rigid->set, problem->h, x, problem->x_t, v,
                                                     problem->external_acceleration, offset));
}

pd_status pd_rigid_velocity(const pd_problem *problem, const real *x, const real *offset, const real *v_t, real *v) {
    pd_rigid *self = problem->rigid;
    return pd_rigid_result(problem, pd_bodies_velocity(problem->context, &self->set, problem->h, x, problem->x_t,
                                                       problem->external_acceleration, offset, v_t, v, self->angles));
}
