/* Creates a simulation, and the data of its method before the first step; see simulation.h. */
#include "dynamics/step/simulation.h"

#include "base/clock.h"
#include "contact/potential/contact.h"
#include "dynamics/contact/contact_record.h"
#include "dynamics/contact/step_limiter.h"
#include "dynamics/integrator/integrator.h"
#include "dynamics/problem/global_step.h"
#include "dynamics/responses.h"
#include "dynamics/step/chunk.h"
#include "dynamics/step/frame.h"

#include <stdlib.h>
#include <string.h>

void pd_simulation_destroy(pd_simulation *self) {
    if (!self) return;
    if (self->problem) {
        pd_context *context = self->problem->context;
        void *memory[] = {self->v,
                          self->v_previous,
                          self->targets,
                          self->iterate.x,
                          self->iterate.offset,
                          self->iterate.correction,
                          self->iterate.gradient,
                          self->iterate.increment,
                          self->begun_at};
        self->method->destroy(self->method_memory, self->problem);
        if (self->accelerator) self->accelerator->destroy(self->accelerator_memory, self->problem);
        pd_chunks_destroy(self->chunks, context);
        pd_step_limiter_destroy(self);
        pd_outbox_destroy(context, &self->sent);
        pd_contact_recorder_destroy(self->recorder);
        for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) pd_memory_destroy(context, memory[i]);
        pd_problem_destroy(self->problem);
    }
    free((void *)self->settings.method_settings);
    free(self);
}

pd_status pd_simulation_create(pd_simulation **out, const pd_description *description, const pd_settings *settings,
                               const pd_cholesky_functions *cholesky, pd_place place, pd_error *error) {
    pd_status status = PD_OK;
    pd_simulation *self = calloc(1, sizeof *self);
    size_t settings_bytes = settings->method->settings_size;
    void *method_settings = malloc(settings_bytes + 1);
    const pd_contact_response *response;
    *out = NULL;
    if (!self || !method_settings) {
        free(self);
        free(method_settings);
        return pd_fail(error, PD_ERROR_MEMORY, "out of memory");
    }
    if (settings_bytes) memcpy(method_settings, settings->method_settings, settings_bytes);
    self->settings = *settings;
    self->settings.method_settings = method_settings;
    self->settings.acceleration = (pd_acceleration){NULL, NULL}; // of the caller
    self->method = settings->method;
    if (description->n_rigid > 0 && !settings->method->takes_rigid)
        PD_TRY(pd_fail(error, PD_ERROR_TYPE, "rigid: %s does not take it", settings->method->name));
    for (int s = 0; s < description->n_sets; s++)
        if (pd_kind_is_custom(description->sets[s].kind) && !settings->method->takes_custom)
            PD_TRY(pd_fail(error, PD_ERROR_TYPE, "material: %s does not take functions of the caller; Newton and VertexBlockDescent do",
                           settings->method->name));
    for (int s = 0; s < description->n_sets; s++)
        if (pd_kind_is_oriented(description->sets[s].kind) && !settings->method->takes_oriented)
            PD_TRY(pd_fail(error, PD_ERROR_TYPE,
                           "material: %s does not take tets that must not invert (%s); Newton and VertexBlockDescent do",
                           settings->method->name, pd_kind_shape_of(description->sets[s].kind).name));
    PD_TRY(pd_response_find(&response, description, settings->method, error));
    PD_TRY(pd_integrator_check(settings->integrator, settings->h, description, settings->method, response, error));
    PD_TRY(pd_problem_create(&self->problem, description, response, settings->h, settings->integrator, cholesky, place, error));
    PD_TRY(pd_chunks_create(&self->chunks, error));
    real **vectors[] = {&self->v,
                        &self->v_previous,
                        &self->targets,
                        &self->iterate.x,
                        &self->iterate.offset,
                        &self->iterate.correction,
                        &self->iterate.gradient,
                        &self->iterate.increment};
    for (size_t i = 0; !status && i < sizeof vectors / sizeof *vectors; i++)
        status = pd_memory_create(self->problem->context, (void **)vectors[i], pd_problem_bytes(self->problem));
    if (!status && self->problem->response->gradient)
        status = pd_memory_create(self->problem->context, (void **)&self->begun_at, pd_problem_bytes(self->problem));
    if (!status) status = pd_step_limiter_create(self);
    if (status && error) *error = *pd_context_error(self->problem->context);
    if (!status) {
        status = pd_simulation_set_acceleration(self, &settings->acceleration);
        if (status && error) *error = *self->problem->error;
    }

done:
    if (status)
        pd_simulation_destroy(self);
    else
        *out = self;
    return status;
}

/* Begins to count work for the report of the next step: the tally so far. */
static pd_tally begin_set_up(const pd_simulation *self) {
    pd_tally *tally = pd_context_tally(self->problem->context), before = *tally;
    *tally = self->set_up;
    return before;
}

static void end_set_up(pd_simulation *self, const pd_tally *before) {
    pd_tally *tally = pd_context_tally(self->problem->context);
    self->set_up = *tally;
    *tally = *before;
}

/* The data of the method except its factorisations. */
static pd_status need_method(pd_simulation *self) {
    if (self->method_memory) return PD_OK;
    pd_status status = self->method->create(&self->method_memory, self->problem, self->settings.method_settings);
    if (status) {
        self->method->destroy(self->method_memory, self->problem);
        self->method_memory = NULL;
    }
    return status;
}

pd_status pd_simulation_prepare(pd_simulation *self, double *seconds) {
    double start = pd_seconds();
    if (seconds) *seconds = 0.0;
    if (self->prepared) return PD_OK;
    const pd_tally before = begin_set_up(self);
    pd_status status = need_method(self);
    if (!status && self->method->refresh) status = self->method->refresh(self->method_memory, self->problem);
    end_set_up(self, &before);
    if (!status && seconds) status = pd_context_synchronise(self->problem->context); // the timing is the host's
    if (status) return pd_problem_keep_error(self->problem, status);
    self->prepared = 1;
    if (seconds) *seconds = pd_seconds() - start;
    return PD_OK;
}

void pd_simulation_count_set_up(pd_simulation *self) {
    pd_tally_add(&self->set_up, &self->said);
    self->said = (pd_tally){0};
}

pd_status pd_simulation_linear(pd_simulation *self, pd_linear **out) {
    *out = NULL;
    if (!self->method->linear) return PD_OK;
    pd_status status = need_method(self);
    if (!status) *out = self->method->linear(self->method_memory);
    return pd_problem_keep_error(self->problem, status);
}

pd_status pd_simulation_set_callback(pd_simulation *self, const pd_callback *callback) {
    if (callback && !self->method->commits)
        return pd_fail(self->problem->error, PD_ERROR_TYPE, "functions: %s calls none; CustomSolver does", self->method->name);
    self->iterate.callback = callback;
    return PD_OK;
}

pd_status pd_simulation_set_acceleration(pd_simulation *self, const pd_acceleration *acceleration) {
    const pd_accelerator *accelerator = acceleration->accelerator;
    void *memory = NULL;
    if (accelerator && self->method->commits)
        return pd_fail(self->problem->error, PD_ERROR_TYPE, "acceleration: %s moves by itself and takes none", self->method->name);
    pd_accelerated iteration = {self->method->minimises_potential, {NULL, 0, 0, NULL, 1.0}, 0, {{0}}};
    pd_status status = PD_OK;
    if (accelerator && accelerator->apply && self->method->carries) { // its arrays are in the memory of the method
        status = need_method(self);
        if (!status)
            status = self->method->carries(self->method_memory, self->problem, &iteration.x, iteration.carried, &iteration.n_carried);
    }
    if (!status && accelerator) status = accelerator->create(&memory, self->problem, &iteration, acceleration->settings);
    if (status) {
        if (accelerator) accelerator->destroy(memory, self->problem);
        return pd_problem_keep_error(self->problem, status);
    }
    if (self->accelerator) self->accelerator->destroy(self->accelerator_memory, self->problem);
    self->accelerator = accelerator;
    self->accelerator_memory = memory;
    pd_chunks_forget(self->chunks, self->problem->context); // graphs of the old weights are not used again
    return PD_OK;
}

pd_status pd_simulation_system_matrix(pd_simulation *self, const pd_csr **out) { return pd_problem_system_matrix(self->problem, out); }

int pd_simulation_constraint_colours(const pd_simulation *self) {
    return self->method_memory && self->method->colours ? self->method->colours(self->method_memory) : 0;
}

pd_contact *pd_simulation_contact(pd_simulation *self) { return self->problem->scene; }

pd_status pd_simulation_keep_error(pd_simulation *self, pd_status status) { return pd_problem_keep_error(self->problem, status); }

pd_error *pd_simulation_error(pd_simulation *self) { return self->problem->error; }
int pd_simulation_n_vertices(const pd_simulation *self) { return self->problem->model->n_vertices; }
int pd_simulation_n_points(pd_simulation *self) {
    pd_contact *contact = pd_simulation_contact(self);
    return contact ? pd_contact_n_points(contact) : pd_simulation_n_vertices(self);
}
pd_location pd_simulation_location(const pd_simulation *self) { return pd_context_location(self->problem->context); }
pd_counts pd_simulation_counts(const pd_simulation *self) { return pd_context_counts(self->problem->context); }
const char *pd_simulation_refusal(const pd_simulation *self) { return pd_chunks_refusal(self->chunks); }
pd_status pd_simulation_synchronise(pd_simulation *self) {
    return pd_problem_keep_error(self->problem, pd_context_synchronise(self->problem->context));
}
