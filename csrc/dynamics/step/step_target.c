/* The inertial target of a step and its history; see step_target.h. */
#include "dynamics/step/step_target.h"

#include "dynamics/contact/balance.h"
#include "dynamics/integrator/integrator.h"
#include "dynamics/problem/inertia.h"
#include "dynamics/problem/potential.h"
#include "dynamics/response.h"

/* The acceleration at x_t. Proxies have no springs before the first guess of a step: they are left out. */
static pd_status find_rates(const pd_problem *problem) {
    pd_status status = PD_OK;
    if (problem->response->gradient && !problem->contact) {
        PD_TRY(pd_balance_elastic(problem, problem->x_t, problem->trial_offset, problem->trial_gradient));
    } else {
        PD_TRY(pd_memory_clear(problem->context, problem->trial_offset, pd_problem_bytes(problem)));
        PD_TRY(pd_problem_gradient(problem, problem->x_t, problem->trial_offset, problem->trial_gradient));
    }
    PD_TRY(pd_find_rates(problem->context, problem->model, problem->trial_gradient, problem->integrator->rates));
done:
    return status;
}

pd_status pd_step_target_begin(const pd_problem *problem, const real *v) {
    pd_status status = PD_OK;
    if (!problem->integrator) return PD_OK;
    if (!problem->integrator->has_history) PD_TRY(find_rates(problem));
    PD_TRY(pd_integrator_predict(problem, v));
done:
    return status;
}

pd_status pd_step_target_end(const pd_problem *problem, const real *x, const real *offset, real *v, real *v_previous) {
    pd_status status = pd_inertia_velocity(problem, x, offset, v, v_previous);
    return status ? status : pd_integrator_end(problem, offset, v, v_previous);
}
