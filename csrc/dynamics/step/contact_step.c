/* The response of contact in a step; see contact_step.h. */
#include "dynamics/step/contact_step.h"

#include "dynamics/contact/oriented_move.h"
#include "dynamics/contact/step_limiter.h"
#include "dynamics/response.h"

static const pd_contact_response *response_of(const pd_simulation *self) { return self->problem->response; }

/* Stores the begin of an iteration, if needed. */
static pd_status keep_start(pd_simulation *self) {
    return self->limiter.x && !response_of(self)->rounds ? pd_step_limiter_keep(self) : PD_OK;
}

pd_status pd_contact_step_begin(pd_simulation *self) {
    const pd_contact_response *response = response_of(self);
    pd_step_limiter_begin(self);
    pd_status status = pd_oriented_begin(self);
    return status || !response->begin ? status : response->begin(self);
}

pd_status pd_contact_step_first_guess(pd_simulation *self, int given) {
    const pd_contact_response *response = response_of(self);
    pd_status status = pd_oriented_first_guess(self, given);
    if (!status && response->first_guess) status = response->first_guess(self, given);
    return status ? status : keep_start(self);
}

pd_status pd_contact_step_before(pd_simulation *self, int *moved) {
    const pd_contact_response *response = response_of(self);
    pd_iterate *iterate = &self->iterate;
    pd_status status = PD_OK;
    *moved = 0;
    iterate->limit = 0.0;
    iterate->beyond = 0;
    if (response->before_iteration) PD_TRY(response->before_iteration(self, moved));
    PD_TRY(pd_oriented_advance(self, moved));
    if (*moved || iterate->drives != self->limiter.drives || iterate->detections != self->limiter.detections) iterate->evaluated = 0;
    iterate->drives = self->limiter.drives;
    iterate->detections = self->limiter.detections;
    PD_TRY(keep_start(self));
done:
    return status;
}

pd_status pd_contact_step_read(pd_simulation *self, size_t reported, double *report) {
    const pd_contact_response *response = response_of(self);
    const pd_problem *problem = self->problem;
    if (response->read) return response->read(self, reported, report);
    return pd_memory_download(problem->context, report, problem->scalars, reported * sizeof *report);
}

pd_status pd_contact_step_after(pd_simulation *self) {
    const pd_contact_response *response = response_of(self);
    double fraction;
    self->limiter.fraction = self->limiter.kept = 1.0;
    pd_status status = pd_oriented_limit(self, &fraction);
    if (!status && response->after_iteration) status = response->after_iteration(self);
    self->limiter.fraction *= fraction;
    return status;
}

pd_status pd_contact_step_next_pass(pd_simulation *self, int passes, int *again) {
    const pd_contact_response *response = response_of(self);
    *again = 0;
    return response->next_pass ? response->next_pass(self, passes, again) : PD_OK;
}

int pd_contact_step_is_due(const pd_simulation *self, int iterations) {
    const pd_contact_response *response = response_of(self);
    int every = response->every ? response->every(self->problem) : 0;
    return every > 0 && iterations % every == 0 && iterations < self->settings.iterations;
}

pd_status pd_contact_step_update(pd_simulation *self, const pd_observer *observer, pd_step_result *result, int *again) {
    const pd_contact_response *response = response_of(self);
    *again = 0;
    return response->update ? response->update(self, observer, result, again) : PD_OK;
}

pd_status pd_contact_step_close(pd_simulation *self, pd_step_result *result) {
    const pd_contact_response *response = response_of(self);
    pd_status status = pd_step_limiter_check_prescribed(self);
    return status || !response->close ? status : response->close(self, result);
}

pd_status pd_contact_step_restore(pd_simulation *self) {
    const pd_contact_response *response = response_of(self);
    const pd_problem *problem = self->problem;
    pd_status restored = response->restore ? response->restore(self) : PD_OK;
    pd_status copied = pd_memory_copy(problem->context, self->iterate.x, problem->x_t, pd_problem_bytes(problem));
    return copied ? copied : restored;
}

pd_contact_seconds pd_contact_step_seconds(const pd_simulation *self) {
    const pd_contact_response *response = response_of(self);
    pd_contact_seconds spent = {0};
    if (response->seconds) response->seconds(self->problem, &spent);
    return spent;
}
