/* The paths of rigid bodies from one state to another; see rigid.h. */
#include "dynamics/rigid/rigid.h"

pd_status pd_rigid_go(const pd_problem *problem, const real *x_1, double fraction, real *x, real *offset) {
    return pd_rigid_result(problem, pd_bodies_go(problem->context, &problem->rigid->set, x_1, fraction, x, offset));
}

pd_status pd_rigid_bend(const pd_problem *problem, const real *x_0, const real *x_1) {
    pd_rigid *self = problem->rigid;
    size_t bytes = (size_t)problem->model->n_vertices * sizeof(real);
    pd_status status = pd_rigid_result(problem, pd_bodies_bend(problem->context, &self->set, x_0, x_1, self->slack));
    return status ? status : pd_memory_download(problem->context, self->host_slack, self->slack, bytes);
}

pd_status pd_rigid_stretch(const pd_problem *problem, const real *x_0, const real *x_1, real *ends) {
    pd_status status = pd_memory_copy(problem->context, ends, x_1, pd_problem_bytes(problem));
    if (status) return status;
    return pd_rigid_result(problem, pd_bodies_stretch(problem->context, &problem->rigid->set, x_0, x_1, ends));
}

pd_status pd_rigid_largest_turn(const pd_problem *problem, const real *correction, double *turn) {
    const pd_rigid *self = problem->rigid;
    pd_status status = PD_OK;
    *turn = 0.0;
    PD_TRY(pd_bodies_turn(problem->context, &self->set, correction, self->angles));
    PD_TRY(pd_memory_download(problem->context, self->host_angles, self->angles, (size_t)self->n * sizeof *self->host_angles));
    for (int b = 0; b < self->n; b++) *turn = fmax(*turn, self->host_angles[b]);
done:
    return status;
}
