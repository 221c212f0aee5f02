/* Makes a simulation, and what its method needs before the first step; see simulation.h. */
#include "dynamics/step/simulation.h"

#include "base/clock.h"
#include "contact/potential/contact.h"
#include "dynamics/contact/contact_record.h"
#include "dynamics/contact/safe_move.h"
#include "dynamics/problem/global_step.h"
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
                          self->iterate.direction,
                          self->iterate.gradient,
                          self->iterate.step,
                          self->begun_at};
        self->method->destroy(self->method_memory, self->problem);
        pd_chunks_destroy(self->chunks, context);
        pd_safe_destroy(self);
        pd_two_way_load_destroy(&self->load, self->problem);
        pd_outbox_destroy(context, &self->sent);
        pd_contact_recorder_destroy(self->recorder);
        for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) pd_memory_destroy(context, memory[i]);
        pd_problem_destroy(self->problem);
    }
    free((void *)self->settings.method_settings);
    free(self);
}

/* What a method does not look for it would leave out in silence, or read where nothing has been made. */
static pd_status check_parts(const pd_method *method, const pd_description *description, pd_error *error) {
    const pd_contact_description *contact = description->contact;
    int projective = contact && contact->projective.stiffness > 0, two_way = contact && contact->two_way.steps > 0;
    int penalty = contact && contact->penalty.interval >= 0, embedded = contact && contact->n_embedded > 0;
    const struct {
        int there, needs;
        const char *name;
    } parts[] = {{description->n_rigid > 0, PD_TAKES_RIGID, "rigid"},
                 {projective, PD_TAKES_PROJECTIVE, "projective"},
                 {description->proxies != NULL, PD_TAKES_PROXIES, "proxies"}};
    const struct {
        int both;
        const char *one, *other;
    } pairs[] = {{contact && description->proxies, "contact", "proxies"},
                 {projective && two_way, "projective", "two_way"},
                 {penalty && projective, "penalty", "projective"},
                 {penalty && two_way, "penalty", "two_way"},
                 {embedded && projective, "carriers", "projective"},
                 {embedded && two_way, "carriers", "two_way"},
                 {description->n_rigid > 0 && (projective || two_way || penalty), "rigid", "contact that is no law"}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].there && !(method->takes & parts[i].needs))
            return pd_fail(error, PD_ERROR_TYPE, "%s: %s does not take it", parts[i].name, method->name);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i].both) return pd_fail(error, PD_ERROR_VALUE, "%s: a simulation has it or %s, not both", pairs[i].one, pairs[i].other);
    return PD_OK;
}

pd_status pd_simulation_create(pd_simulation **out, const pd_description *description, const pd_settings *settings,
                               const pd_cholesky_functions *cholesky, pd_place place, pd_error *error) {
    pd_status status = PD_OK;
    pd_simulation *self = calloc(1, sizeof *self);
    size_t settings_bytes = settings->method->settings_size;
    void *method_settings = malloc(settings_bytes + 1);
    *out = NULL;
    if (!self || !method_settings) {
        free(self);
        free(method_settings);
        return pd_fail(error, PD_ERROR_MEMORY, "out of memory");
    }
    if (settings_bytes) memcpy(method_settings, settings->method_settings, settings_bytes);
    self->settings = *settings;
    self->settings.method_settings = method_settings;
    self->method = settings->method;
    PD_TRY(check_parts(settings->method, description, error));
    PD_TRY(pd_problem_create(&self->problem, description, settings->h, cholesky, place, error));
    PD_TRY(pd_chunks_create(&self->chunks, error));
    real **vectors[] = {&self->v,
                        &self->v_previous,
                        &self->targets,
                        &self->iterate.x,
                        &self->iterate.offset,
                        &self->iterate.direction,
                        &self->iterate.gradient,
                        &self->iterate.step};
    for (size_t i = 0; !status && i < sizeof vectors / sizeof *vectors; i++)
        status = pd_memory_create(self->problem->context, (void **)vectors[i], pd_problem_bytes(self->problem));
    if (!status && self->problem->contact)
        status = pd_memory_create(self->problem->context, (void **)&self->begun_at, pd_problem_bytes(self->problem));
    if (!status) status = pd_safe_create(self);
    if (!status) status = pd_two_way_load_create(&self->load, self->problem);
    if (status && error) *error = *pd_context_error(self->problem->context);

done:
    if (status)
        pd_simulation_destroy(self);
    else
        *out = self;
    return status;
}

/* What the method needs but for its factorisations. */
static pd_status need_method(pd_simulation *self) {
    return self->method_memory ? PD_OK : self->method->create(&self->method_memory, self->problem, self->settings.method_settings);
}

pd_status pd_simulation_prepare(pd_simulation *self, double *seconds) {
    double start = pd_seconds();
    if (seconds) *seconds = 0.0;
    if (self->prepared) return PD_OK;
    pd_status status = need_method(self);
    if (!status && self->method->refresh) status = self->method->refresh(self->method_memory, self->problem);
    if (!status && seconds) status = pd_context_wait(self->problem->context); // the clock is the host's
    if (status) return pd_problem_keep_error(self->problem, status);
    self->prepared = 1;
    if (seconds) *seconds = pd_seconds() - start;
    return PD_OK;
}

pd_status pd_simulation_linear(pd_simulation *self, pd_linear **out) {
    *out = NULL;
    if (!self->method->linear) return PD_OK;
    pd_status status = need_method(self);
    if (!status) *out = self->method->linear(self->method_memory);
    return pd_problem_keep_error(self->problem, status);
}

void pd_simulation_set_chebyshev(pd_simulation *self, const pd_chebyshev *chebyshev) {
    self->settings.chebyshev = *chebyshev;
    pd_chunks_forget(self->chunks, self->problem->context); // those of the old weights will not come again
}

pd_status pd_simulation_system_matrix(pd_simulation *self, const pd_csr **out) { return pd_problem_system_matrix(self->problem, out); }

int pd_simulation_constraint_colours(const pd_simulation *self) {
    return self->method_memory && self->method->colours ? self->method->colours(self->method_memory) : 0;
}

pd_contact *pd_simulation_contact(pd_simulation *self) {
    return self->problem->two_way ? pd_two_way_contact(self->problem->two_way) : self->problem->contact;
}

pd_projective *pd_simulation_projective(pd_simulation *self) { return self->problem->projective; }
pd_proxies *pd_simulation_proxies(pd_simulation *self) { return self->problem->proxies; }

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
pd_status pd_simulation_wait(pd_simulation *self) { return pd_problem_keep_error(self->problem, pd_context_wait(self->problem->context)); }
