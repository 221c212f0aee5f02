/* Contact by the two-way interior point method: an update of the solver's result (two_way_step.h), which gives it a load
 * (two_way_load.h). */
#include "contact/potential/contact.h"
#include "dynamics/responses/pairs_in_step.h"
#include "dynamics/responses/two_way_energy.h"
#include "dynamics/responses/two_way_step.h"

#include <stdlib.h>

static int wanted(const pd_description *description) { return description->contact && description->contact->two_way.steps > 0; }

static pd_status create(pd_problem *problem, const pd_description *description) {
    pd_status status = PD_OK;
    pd_two_way_load *load = problem->response_memory = calloc(1, sizeof *load);
    if (!load) return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for contact");
    PD_TRY(pd_pairs_create(problem, description));
    pd_contact *scene = problem->scene; // the next call takes ownership, also on failure
    problem->scene = NULL;
    PD_TRY(pd_two_way_create(&load->two_way, problem->context, scene, problem->model, description->contact));
    problem->scene = scene;
    status = pd_two_way_load_create(load, problem);
done:
    return status;
}

static void destroy(pd_problem *problem) {
    pd_two_way_load *load = problem->response_memory;
    if (!load) return;
    if (load->two_way) // otherwise the problem owns the scene
        pd_two_way_destroy(load->two_way), problem->scene = NULL;
    pd_pairs_destroy(problem);
    pd_two_way_load_destroy(load, problem);
    free(load);
}

static pd_status begin(pd_simulation *self) { return pd_two_way_begin(pd_two_way_load_of(self)->two_way, self->problem->x_t); }

static pd_status first_guess(pd_simulation *self, int given) {
    (void)given;
    return pd_two_way_load_begin(pd_two_way_load_of(self), self->problem);
}

static int every(const pd_problem *problem) { return pd_two_way_every(((const pd_two_way_load *)problem->response_memory)->two_way); }

static pd_status close(pd_simulation *self, pd_step_result *result) {
    pd_status status = pd_two_way_energy(self, &result->update, &result->update.gain, &result->update.explained);
    if (!status && result->stop == PD_STOP_CONVERGED) result->stop = pd_two_way_step_stop(result);
    return status;
}

static pd_status restore(pd_simulation *self) { return pd_two_way_restore(pd_two_way_load_of(self)->two_way); }

/* An update in between moves the iterate. */
static int keeps_potential(const pd_simulation *self) { return every(self->problem) == 0; }

const pd_contact_response pd_two_way_response = {.name = "two_way",
                                                 .wanted = wanted,
                                                 .create = create,
                                                 .destroy = destroy,
                                                 .keeps_potential = keeps_potential,
                                                 .begin = begin,
                                                 .first_guess = first_guess,
                                                 .every = every,
                                                 .update = pd_two_way_step_update,
                                                 .close = close,
                                                 .restore = restore};
