/* Time integrators other than implicit Euler; see integrator.h. */
#include "dynamics/integrator/integrator.h"

#include "dynamics/method.h"
#include "dynamics/response.h"
#include "linear/upload.h"

#include <stdlib.h>

static const char *const NAMES[PD_INTEGRATOR_COUNT] = {"implicit_euler", "bdf2", "trapezoidal", "newmark"};

pd_status pd_integrator_check(int kind, double h, const pd_description *description, const struct pd_method *method,
                              const pd_contact_response *response, pd_error *error) {
    if (kind == PD_IMPLICIT_EULER) return PD_OK;
    if (!(h > 0.0)) return pd_fail(error, PD_ERROR_VALUE, "integrator: %s needs a time step, and h is 0 (quasistatic)", NAMES[kind]);
    if (method->implicit_euler_only)
        return pd_fail(error, PD_ERROR_TYPE, "integrator: %s does not take %s: it minimises no potential with an inertial target",
                       method->name, NAMES[kind]);
    if (description->n_rigid > 0)
        return pd_fail(error, PD_ERROR_TYPE, "integrator: %s does not take rigid bodies, whose target is a free rotation", NAMES[kind]);
    if (response->create && !(response->treats & PD_TREATS_INTEGRATORS))
        return pd_fail(error, PD_ERROR_TYPE, "integrator: %s does not take this contact (%s); a barrier, a penalty and proxies do",
                       NAMES[kind], response->name);
    return PD_OK;
}

double pd_integrator_effective_step(int kind, double h) {
    if (kind == PD_IMPLICIT_EULER) return h;
    return kind == PD_BDF2 ? 2.0 * h / 3.0 : 0.5 * h;
}

void pd_integrator_destroy(pd_integrator *self, pd_context *context) {
    if (!self) return;
    if (context) PD_MEMORIES_DESTROY(context, self->slopes, self->rates, self->shift, self->velocity);
    for (int s = 0; self->damping && s < self->n_damping; s++) free(self->damping[s]);
    free(self->damping);
    free(self);
}

pd_status pd_integrator_create(pd_integrator **out, int kind, double factor, pd_element_set *sets, int n_sets, pd_error *error) {
    pd_integrator *self = *out = calloc(1, sizeof *self);
    if (!self || !(self->damping = calloc((size_t)n_sets + 1, sizeof *self->damping))) goto memory;
    self->kind = kind == PD_NEWMARK ? PD_TRAPEZOIDAL : kind;
    self->n_damping = n_sets;
    for (int s = 0; s < n_sets; s++) {
        if (!sets[s].damping) continue;
        if (!(self->damping[s] = malloc((size_t)sets[s].n * sizeof(double) + 1))) goto memory;
        for (int e = 0; e < sets[s].n; e++) self->damping[s][e] = sets[s].damping[e] * factor;
        sets[s].damping = self->damping[s];
    }
    return PD_OK;
memory:
    return pd_fail(error, PD_ERROR_MEMORY, "out of memory for the time integrator");
}

pd_status pd_integrator_allocate(pd_integrator *self, const pd_problem *problem) {
    real **vectors[] = {&self->rates, &self->shift, &self->velocity, self->kind == PD_BDF2 ? &self->slopes : NULL};
    pd_status status = PD_OK;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors && !status; i++)
        if (vectors[i]) status = pd_memory_create(problem->context, (void **)vectors[i], pd_problem_bytes(problem));
    return status;
}

pd_inertial pd_integrator_inertial(const pd_problem *problem, const real *v) {
    const pd_integrator *self = problem->integrator;
    return (pd_inertial){problem->h, problem->dt, self ? self->velocity : v, self ? self->shift : NULL};
}

pd_status pd_integrator_predict(const pd_problem *problem, const real *v) {
    const pd_integrator *self = problem->integrator;
    return pd_predict(problem->context, problem->model, problem->dt - problem->h, v, self->has_history ? self->slopes : NULL, self->rates,
                      problem->external_acceleration, self->shift, self->velocity);
}

pd_status pd_integrator_end(const pd_problem *problem, const real *offset, const real *v, const real *v_previous) {
    pd_integrator *self = problem->integrator;
    if (!self) return PD_OK;
    const pd_inertial inertial = pd_integrator_inertial(problem, v);
    pd_status status = pd_keep_history(problem->context, problem->model, &inertial, problem->step.predicted_displacement, offset, v,
                                       v_previous, self->slopes, self->rates);
    self->has_history = !status;
    return status;
}
