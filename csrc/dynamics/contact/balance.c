/* The unbalanced forces of a step with contact; see balance.h. */
#include "dynamics/contact/balance.h"

#include "dynamics/problem/custom_elements.h"
#include "dynamics/problem/inertia.h"
#include "dynamics/problem/potential.h"
#include "dynamics/rigid/rigid.h"

static pd_status find_forces(const pd_problem *problem, const pd_step_data *step, const real *x, const real *offset, real *forces) {
    pd_status status = pd_custom_refresh(problem, x, PD_REQUEST_STRESS);
    if (!status) status = pd_gradient(problem->context, problem->model, step, x, offset, forces);
    return status || !problem->rigid ? status : pd_rigid_gather(problem, x, forces);
}

pd_status pd_balance_elastic(const pd_problem *problem, const real *x, real *zeros, real *forces) {
    pd_step_data step = problem->step;
    step.external_acceleration = zeros;
    pd_status status = pd_memory_clear(problem->context, zeros, pd_problem_bytes(problem));
    return status ? status : find_forces(problem, &step, x, zeros, forces);
}

pd_status pd_balance_load(pd_simulation *self, double *load) {
    const pd_problem *problem = self->problem;
    pd_context *context = problem->context;
    pd_status status = PD_OK;
    // the difference of two gradients at x_t, with and without inertia and load
    PD_TRY(pd_balance_elastic(problem, problem->x_t, problem->trial_offset, problem->trial));
    PD_TRY(pd_inertia_offset(problem, problem->x_t, self->v, problem->trial_offset));
    PD_TRY(find_forces(problem, &problem->step, problem->x_t, problem->trial_offset, problem->trial_gradient));
    PD_TRY(pd_memory_clear(context, problem->trial_offset, pd_problem_bytes(problem)));
    PD_TRY(pd_add_scaled(context, problem->model, problem->trial_gradient, -1.0, problem->trial, problem->trial_offset));
    PD_TRY(pd_problem_norm(problem, problem->trial_offset, load));
done:
    return status;
}

pd_status pd_balance_begin(pd_simulation *self) {
    const pd_problem *problem = self->problem;
    self->has_ended = 0;
    return self->begun_at ? pd_memory_copy(problem->context, self->begun_at, problem->x_t, pd_problem_bytes(problem)) : PD_OK;
}

void pd_balance_end(pd_simulation *self) { self->has_ended = self->begun_at != NULL; }

pd_status pd_simulation_unbalanced(pd_simulation *self, real *forces, int *known) {
    const pd_problem *problem = self->problem;
    size_t bytes = pd_problem_bytes(problem);
    pd_status status = PD_OK;
    *known = self->has_ended;
    if (!*known) return PD_OK;
    // damping refers to the start of the step; the next query begins at the present positions again
    PD_TRY(pd_memory_copy(problem->context, problem->x_t, self->begun_at, bytes));
    PD_TRY(pd_custom_refresh_damping(problem, problem->x_t));
    PD_TRY(pd_damping_prepare(problem->context, problem->model, problem->x_t));
    PD_TRY(pd_custom_refresh(problem, self->iterate.x, PD_REQUEST_STRESS));
    PD_TRY(pd_gradient(problem->context, problem->model, &problem->step, self->iterate.x, self->iterate.offset, problem->trial_gradient));
    PD_TRY(pd_memory_download(problem->context, forces, problem->trial_gradient, bytes));
done:
    return pd_problem_keep_error(problem, status);
}
