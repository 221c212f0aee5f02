/* Functions shared by the responses with pairs in a scene; see pairs_in_step.h. */
#include "dynamics/responses/pairs_in_step.h"

#include "contact/potential/contact.h"
#include "dynamics/step/frame.h"

pd_status pd_pairs_create(pd_problem *problem, const pd_description *description) {
    return pd_contact_create(&problem->scene, problem->context, description->contact, description->n_vertices);
}

void pd_pairs_destroy(pd_problem *problem) {
    pd_contact_destroy(problem->scene);
    problem->scene = problem->contact = NULL;
}

pd_status pd_pairs_begin(pd_simulation *self) {
    pd_contact *scene = self->problem->scene;
    pd_contact_begin_stiffness(scene);
    pd_contact_set_ahead(scene, 0);
    // from the state only, so that a resumed run has the same result
    pd_status status = pd_contact_begin(scene, self->problem->x_t, PD_LAG_OF_STEP);
    if (!status) status = pd_contact_begin_touching(scene);
    return status ? status : pd_contact_keep_prescribed(scene);
}

pd_status pd_pairs_restore(pd_simulation *self) {
    pd_contact_restore_stiffness(self->problem->scene);
    return pd_contact_restore_prescribed(self->problem->scene);
}

pd_status pd_pairs_next_pass(pd_simulation *self, int passes, int *again) {
    pd_contact *scene = self->problem->scene;
    *again = passes < pd_contact_lags(scene);
    return *again ? pd_contact_lag_again(scene, self->iterate.x) : PD_OK;
}

pd_status pd_pairs_close(pd_simulation *self, pd_step_result *result) {
    (void)result;
    return pd_contact_adapt_stiffness(self->problem->scene, self->iterate.x);
}

void pd_pairs_forget(const pd_problem *problem) {
    pd_contact_forget_step(problem->scene);
    pd_contact_set_doublings(problem->scene, (pd_contact_doublings){0, 0});
}

pd_status pd_pairs_question(const pd_problem *problem, int ahead) {
    pd_status status = pd_contact_begin(problem->scene, problem->x_t, PD_LAG_OF_QUESTION);
    if (!status) pd_contact_set_ahead(problem->scene, ahead);
    return status;
}

void pd_pairs_seconds(const pd_problem *problem, pd_contact_seconds *spent) { *spent = pd_contact_seconds_of(problem->scene); }
