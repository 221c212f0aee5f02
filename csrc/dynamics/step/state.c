/* The state of a simulation: set, read, shared, and taken as the start of a step; see simulation.h. */
#include "dynamics/divergence/energy.h"
#include "dynamics/integrator/integrator.h"
#include "dynamics/problem/custom_elements.h"
#include "dynamics/problem/rounding.h"
#include "dynamics/response.h"
#include "dynamics/step/frame.h"

#include <stdlib.h>

pd_status pd_simulation_set_state(pd_simulation *self, const real *positions, const real *velocities, const real *previous_velocities) {
    pd_context *context = self->problem->context;
    pd_status status = PD_OK;
    size_t bytes = pd_problem_bytes(self->problem);
    self->has_ended = 0;
    if (positions && self->problem->response->forget) self->problem->response->forget(self->problem);
    if (positions) PD_TRY(pd_memory_upload(context, self->iterate.x, positions, bytes));
    if (velocities) PD_TRY(pd_memory_upload(context, self->v, velocities, bytes));
    self->has_previous = previous_velocities != NULL;
    if (self->problem->integrator) self->problem->integrator->has_history = 0;
    if (previous_velocities) PD_TRY(pd_memory_upload(context, self->v_previous, previous_velocities, bytes));
    PD_TRY(pd_energy_start(self));
done:
    return pd_problem_keep_error(self->problem, status);
}

pd_status pd_simulation_get_state(pd_simulation *self, real *positions, real *velocities, real *previous_velocities) {
    pd_context *context = self->problem->context;
    pd_status status = PD_OK;
    size_t bytes = pd_problem_bytes(self->problem);
    // in a step whose iterate may have penetrated something: the positions of an end now
    if (positions) PD_TRY(pd_memory_download(context, positions, self->limiter.apart ? self->limiter.x : self->iterate.x, bytes));
    if (velocities) PD_TRY(pd_memory_download(context, velocities, self->v, bytes));
    if (previous_velocities) PD_TRY(pd_memory_download(context, previous_velocities, self->v_previous, bytes));
done:
    return pd_problem_keep_error(self->problem, status);
}

int pd_simulation_has_previous(const pd_simulation *self) { return self->has_previous; }

int pd_simulation_history(const pd_simulation *self) {
    const pd_integrator *integrator = self->problem->integrator;
    return !integrator || !integrator->has_history ? 0 : integrator->slopes ? 2 : 1;
}

pd_status pd_simulation_set_history(pd_simulation *self, const real *slopes, const real *rates) {
    const pd_problem *problem = self->problem;
    pd_integrator *integrator = problem->integrator;
    pd_status status = PD_OK;
    if (!integrator || !rates || !integrator->slopes != !slopes)
        return pd_fail(problem->error, PD_ERROR_VALUE, "history: %d arrays, and the integrator has %d", (slopes != NULL) + (rates != NULL),
                       !integrator           ? 0
                       : !integrator->slopes ? 1
                                             : 2);
    if (slopes) PD_TRY(pd_memory_upload(problem->context, integrator->slopes, slopes, pd_problem_bytes(problem)));
    PD_TRY(pd_memory_upload(problem->context, integrator->rates, rates, pd_problem_bytes(problem)));
    integrator->has_history = 1;
done:
    return pd_problem_keep_error(problem, status);
}

pd_status pd_simulation_get_history(pd_simulation *self, real *slopes, real *rates) {
    const pd_problem *problem = self->problem;
    const pd_integrator *integrator = problem->integrator;
    pd_status status = PD_OK;
    if (slopes) PD_TRY(pd_memory_download(problem->context, slopes, integrator->slopes, pd_problem_bytes(problem)));
    if (rates) PD_TRY(pd_memory_download(problem->context, rates, integrator->rates, pd_problem_bytes(problem)));
done:
    return pd_problem_keep_error(problem, status);
}

void pd_simulation_share(pd_simulation *self, real **positions, real **velocities) {
    self->shared = 1;
    *positions = self->iterate.x;
    *velocities = self->v;
}

pd_context *pd_simulation_context(const pd_simulation *self) { return self->problem->context; }

const real *pd_simulation_positions(const pd_simulation *self) { return self->iterate.x; }

pd_status pd_simulation_set_load(pd_simulation *self, const real *external_acceleration) {
    const pd_problem *problem = self->problem;
    pd_status status = PD_OK;
    double h = problem->dt;
    pd_energy_set_load(self, external_acceleration);
    // the adaptive guess needs the acceleration by elasticity in the last step, as if the new load had acted in it
    if (self->has_previous)
        PD_TRY(pd_add_scaled(problem->context, problem->model, self->v_previous, h, problem->external_acceleration, self->v_previous));
    PD_TRY(pd_memory_upload(problem->context, problem->external_acceleration, external_acceleration, pd_problem_bytes(problem)));
    if (self->has_previous)
        PD_TRY(pd_add_scaled(problem->context, problem->model, self->v_previous, -h, problem->external_acceleration, self->v_previous));
done:
    return pd_problem_keep_error(problem, status);
}

/* The elements of a kind with rows first .. first + n - 1; NULL without such rows. */
static pd_status find_rows(const pd_problem *problem, int kind, int first, int n, const pd_element_set **set,
                           const pd_elements **elements) {
    *set = NULL, *elements = NULL;
    for (int s = 0; s < problem->n_sets; s++)
        if (problem->sets[s].kind == kind) *set = &problem->sets[s], *elements = &problem->model->kinds[s];
    int known = *set ? (*set)->n : 0;
    if (first < 0 || n < 0 || first > known - n)
        return pd_fail(problem->error, PD_ERROR_VALUE, "targets: rows %d to %d, and there are %d elements with a target", first, first + n,
                       known);
    return PD_OK;
}

pd_status pd_simulation_set_attachments(pd_simulation *self, int first, int n, const real *targets) {
    const pd_problem *problem = self->problem;
    const pd_element_set *set;
    const pd_elements *elements;
    double before;
    pd_status status = PD_OK;
    PD_TRY(find_rows(problem, PD_ATTACHMENT, first, n, &set, &elements));
    if (n == 0) return PD_OK;
    PD_TRY(pd_energy_elastic(self, &before));
    PD_TRY(pd_memory_upload(problem->context, elements->rest + 3 * (size_t)first, targets, 3 * (size_t)n * sizeof(real)));
    status = pd_energy_give(self, before);
done:
    return pd_problem_keep_error(problem, status);
}

pd_status pd_simulation_set_targets(pd_simulation *self, int first, int n, const real *stretches) {
    const pd_problem *problem = self->problem;
    const pd_element_set *set;
    const pd_elements *elements;
    size_t count = (size_t)pd_kind_shape_of(PD_SHAPE_TARGET).parameters; // of a row: the weight, and S
    double before;
    real *rows = NULL;
    pd_status status = PD_OK;
    PD_TRY(find_rows(problem, PD_SHAPE_TARGET, first, n, &set, &elements));
    if (n == 0) return PD_OK;
    if (!(rows = malloc(((size_t)n * count + 1) * sizeof *rows)))
        return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for %d targets", n);
    for (size_t e = 0; e < (size_t)n; e++) {
        rows[count * e] = (real)set->parameters[count * ((size_t)first + e)];
        for (size_t i = 1; i < count; i++) rows[count * e + i] = stretches[(count - 1) * e + i - 1];
    }
    PD_TRY(pd_energy_elastic(self, &before));
    PD_TRY(pd_memory_upload(problem->context, elements->parameters + count * (size_t)first, rows, (size_t)n * count * sizeof(real)));
    if (self->method_memory && self->method->set_targets) PD_TRY(self->method->set_targets(self->method_memory, problem, first, n, rows));
    PD_TRY(pd_energy_give(self, before));
done:
    free(rows);
    return pd_problem_keep_error(problem, status);
}

pd_status pd_simulation_begin(pd_simulation *self) {
    const pd_problem *problem = self->problem;
    pd_rounding_begin(problem);
    pd_status status = pd_memory_copy(problem->context, problem->x_t, self->iterate.x, pd_problem_bytes(problem));
    if (!status) status = pd_custom_refresh_damping(problem, problem->x_t);
    if (!status) status = pd_damping_prepare(problem->context, problem->model, problem->x_t);
    return pd_problem_keep_error(problem, status);
}
