/* Diagnostics of the next step, at any point. They change nothing; see simulation.h. */
#include "dynamics/integrator/integrator.h"
#include "dynamics/problem/block_hessian.h"
#include "dynamics/problem/inertia.h"
#include "dynamics/problem/potential.h"
#include "dynamics/problem/reduced_hessian.h"
#include "dynamics/problem/rounding.h"
#include "dynamics/response.h"
#include "dynamics/rigid/rigid.h"
#include "dynamics/step/frame.h"
#include "dynamics/step/step_target.h"

/* trial, trial_offset = the point of a diagnostic, with prescribed points at their targets. */
static pd_status place_trial(pd_simulation *self, const real *x, int ahead) {
    const pd_problem *problem = self->problem;
    pd_status status = PD_OK;
    // the rates of a first step need the pairs at x_t
    if (problem->response->question && problem->integrator && !problem->integrator->has_history)
        PD_TRY(problem->response->question(problem, 0));
    PD_TRY(pd_step_target_begin(problem, self->v));
    if (problem->response->question) PD_TRY(problem->response->question(problem, ahead));
    if (x)
        PD_TRY(pd_memory_upload(problem->context, problem->trial, x, pd_problem_bytes(problem)));
    else
        PD_TRY(pd_memory_copy(problem->context, problem->trial, self->iterate.x, pd_problem_bytes(problem)));
    PD_TRY(pd_inertia_offset(problem, problem->trial, self->v, problem->trial_offset));
done:
    return status;
}

pd_status pd_simulation_energies(pd_simulation *self, const real *x, int ahead, double *energies) {
    const pd_problem *problem = self->problem;
    pd_status status = place_trial(self, x, ahead);
    if (!status) status = pd_problem_energies(problem, problem->trial, problem->trial_offset, energies);
    return pd_problem_keep_error(problem, status);
}

pd_status pd_simulation_gradient(pd_simulation *self, const real *x, real *gradient) {
    const pd_problem *problem = self->problem;
    pd_status status = place_trial(self, x, 1);
    if (!status) status = pd_problem_gradient(problem, problem->trial, problem->trial_offset, problem->trial_gradient);
    if (!status) status = pd_memory_download(problem->context, gradient, problem->trial_gradient, pd_problem_bytes(problem));
    return pd_problem_keep_error(problem, status);
}

double pd_simulation_gradient_rounding(pd_simulation *self) { return pd_rounding_of_gradient(self->problem, self->iterate.x); }

double pd_simulation_potential_rounding(pd_simulation *self, double magnitude) {
    return pd_rounding_of_potential(self->problem, magnitude);
}

pd_status pd_simulation_hessian(pd_simulation *self, const real *x, pd_hessian_filter filter, int of_bodies, const pd_csr **pattern,
                                const real **blocks) {
    const pd_problem *problem = self->problem;
    int rigid = of_bodies && problem->rigid;
    pd_status status = PD_OK;
    PD_TRY(pd_problem_need_hessian(problem));
    PD_TRY(place_trial(self, x, 1));
    // the curvature of rotations is computed by the last gradient
    if (rigid) PD_TRY(pd_problem_gradient(problem, problem->trial, problem->trial_offset, problem->trial_gradient));
    if (rigid)
        PD_TRY(pd_problem_reduced_hessian(problem, problem->trial, filter, 0, 0));
    else
        PD_TRY(pd_problem_assembled_hessian(problem, problem->trial, filter, 0, 0));
    const pd_assembled_hessian *hessian = rigid ? pd_problem_reduced(problem) : problem->assembled;
    *pattern = &hessian->pattern;
    *blocks = hessian->blocks;
done:
    return pd_problem_keep_error(problem, status);
}
