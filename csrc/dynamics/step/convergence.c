/* Convergence of a step; see convergence.h. */
#include "dynamics/step/convergence.h"

#include "dynamics/contact/balance.h"
#include "dynamics/contact/step_limiter.h"
#include "dynamics/problem/potential.h"
#include "dynamics/response.h"

pd_status pd_convergence_evaluate(pd_simulation *self, double *potential, double *norm) {
    const pd_problem *problem = self->problem;
    pd_iterate *iterate = &self->iterate;
    real *gradient = self->method->takes_gradient ? iterate->gradient : problem->trial_gradient;
    const pd_tally before = pd_tally_pause(problem->context);
    pd_status status = PD_OK;
    iterate->evaluated = 0;
    PD_TRY(pd_problem_potential(problem, iterate->x, iterate->offset, &iterate->potential, &iterate->magnitude));
    PD_TRY(pd_problem_gradient(problem, iterate->x, iterate->offset, gradient));
    PD_TRY(pd_problem_norm(problem, gradient, norm));
    *potential = iterate->potential;
    // rigid->curvature must stay that of this gradient
    iterate->evaluated = self->method->takes_gradient && !problem->rigid;
    iterate->drives = self->limiter.drives, iterate->detections = self->limiter.detections; // of this G
done:
    pd_tally_resume(problem->context, &before);
    return status;
}

pd_status pd_convergence_within(pd_simulation *self, pd_reference *reference, double norm, int *within) {
    const pd_problem *problem = self->problem;
    double tolerance = self->settings.tolerance, elastic;
    pd_status status = PD_OK;
    *within = tolerance > 0 && norm <= tolerance * reference->first_norm;
    if (!*within || !problem->response->gradient) return PD_OK;
    if (reference->load < 0.0) PD_TRY(pd_balance_load(self, &reference->load));
    if (norm <= tolerance * reference->load) return PD_OK; // without computing elastic forces
    PD_TRY(pd_balance_elastic(problem, self->iterate.x, problem->trial, problem->trial_gradient));
    PD_TRY(pd_problem_norm(problem, problem->trial_gradient, &elastic));
    *within = norm <= tolerance * (reference->load + elastic);
done:
    return status;
}

pd_status pd_convergence_of_step(pd_simulation *self, int *within) {
    double move, fraction = self->iterate.fraction * self->limiter.kept, h = self->settings.h;
    pd_status status = PD_OK;
    *within = 0;
    if (!(self->settings.step_tolerance > 0)) return PD_OK;
    PD_TRY(pd_step_limiter_largest_move(self, &move));
    *within = move <= fraction * self->settings.step_tolerance * (h > 0 ? h : 1.0);
done:
    return status;
}
