/* The calls of the response of contact in a step (dynamics/response.h), with the work around each call that is common to all responses.
 * A function without a comment here is that of the same name there. */
#ifndef PD_DYNAMICS_STEP_CONTACT_STEP_H
#define PD_DYNAMICS_STEP_CONTACT_STEP_H

#include "contact/potential/contact.h"
#include "dynamics/step/frame.h"

pd_status pd_contact_step_begin(pd_simulation *self);
pd_status pd_contact_step_first_guess(pd_simulation *self, int given);
/* Called before the iterations of a chunk. *moved: whether pins or obstacles have moved. */
pd_status pd_contact_step_before(pd_simulation *self, int *moved);
pd_status pd_contact_step_read(pd_simulation *self, size_t reported, double *report);
pd_status pd_contact_step_after(pd_simulation *self);
pd_status pd_contact_step_next_pass(pd_simulation *self, int passes, int *again);
/* Tells whether there is an update after so many iterations, which are not the last ones. */
int pd_contact_step_is_due(const pd_simulation *self, int iterations);
pd_status pd_contact_step_update(pd_simulation *self, const pd_observer *observer, pd_step_result *result, int *again);
/* Closes a solved step; fails if prescribed motions met each other. */
pd_status pd_contact_step_close(pd_simulation *self, pd_step_result *result);
/* Restores x_t. */
pd_status pd_contact_step_restore(pd_simulation *self);
/* Seconds spent by contact so far. */
pd_contact_seconds pd_contact_step_seconds(const pd_simulation *self);

#endif
