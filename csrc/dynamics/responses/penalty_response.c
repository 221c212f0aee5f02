/* Contact by a penalty on pairs that are constant between two detections (contact/penalty/penalty.h): a term of G that limits no move. */
#include "contact/potential/contact.h"
#include "dynamics/responses/pair_term.h"
#include "dynamics/responses/pairs_in_step.h"
#include "dynamics/step/frame.h"

static int wanted(const pd_description *description) { return description->contact && description->contact->penalty.interval >= 0; }

static pd_status begin(pd_simulation *self) {
    pd_contact_allow_async(self->problem->contact, self->limiter.async);
    return pd_pairs_begin(self);
}

static pd_status first_guess(pd_simulation *self, int given) {
    pd_contact *contact = self->problem->contact;
    pd_status status = PD_OK;
    (void)given;
    PD_TRY(pd_contact_find(contact, self->problem->x_t));
    PD_TRY(pd_contact_move_prescribed(contact, 1.0));
    self->limiter.drives = 1;
    PD_TRY(pd_contact_detect(contact, self->iterate.x));
done:
    return status;
}

static pd_status before_iteration(pd_simulation *self, int *moved) {
    int interval = pd_contact_interval(self->problem->contact), number = self->iterate.number;
    (void)moved;
    if (interval <= 0 || number == 0 || number % interval != 0) return PD_OK;
    pd_status status = pd_contact_detect(self->problem->contact, self->iterate.x);
    if (!status) self->limiter.detections++;
    return status;
}

/* After a synchronisation: reads the results of detections. */
static pd_status read_detections(pd_simulation *self) {
    int complete = 1;
    pd_status status = pd_contact_detections_result(self->problem->contact, &complete);
    self->limiter.outgrown = !complete;
    return status;
}

static pd_status read(pd_simulation *self, size_t reported, double *report) {
    const pd_problem *problem = self->problem;
    pd_status status = PD_OK;
    PD_TRY(pd_contact_fetch_detections(problem->contact));
    PD_TRY(pd_memory_download(problem->context, report, problem->scalars, reported * sizeof *report));
    PD_TRY(read_detections(self));
done:
    return status;
}

/* After the last pass: synchronises, if results of detections are unread. */
static pd_status next_pass(pd_simulation *self, int passes, int *again) {
    pd_contact *contact = self->problem->contact;
    pd_status status = PD_OK;
    PD_TRY(pd_pairs_next_pass(self, passes, again));
    if (*again || !pd_contact_is_async(contact)) return PD_OK;
    PD_TRY(pd_contact_fetch_detections(contact));
    PD_TRY(pd_context_synchronise(self->problem->context));
    PD_TRY(read_detections(self));
done:
    return status;
}

static pd_status restore(pd_simulation *self) {
    pd_contact_forget_detections(self->problem->contact);
    return pd_pairs_restore(self);
}

/* G changes with a detection; and a vertex may penetrate a surface without an earlier pair. */
static int keeps_potential(const pd_simulation *self) {
    int interval = pd_contact_interval(self->problem->contact);
    return !(interval > 0 || self->method->keeps_bounds);
}

const pd_contact_response pd_penalty_response = {.name = "penalty",
                                                 .treats = PD_TREATS_CARRIERS | PD_TREATS_INTEGRATORS,
                                                 .wanted = wanted,
                                                 .create = pd_pair_term_create,
                                                 .destroy = pd_pairs_destroy,
                                                 .potential = pd_pair_term_potential,
                                                 .gradient = pd_pair_term_gradient,
                                                 .hessian = pd_pair_term_hessian,
                                                 .keeps_potential = keeps_potential,
                                                 .begin = begin,
                                                 .first_guess = first_guess,
                                                 .before_iteration = before_iteration,
                                                 .advance = pd_pair_term_advance,
                                                 .read = read,
                                                 .next_pass = next_pass,
                                                 .close = pd_pairs_close,
                                                 .restore = restore,
                                                 .forget = pd_pairs_forget,
                                                 .question = pd_pairs_question,
                                                 .row = pd_pair_term_row,
                                                 .seconds = pd_pairs_seconds,
                                                 .waits = 1,
                                                 .keeps_start = 1,
                                                 .unbounded = 1};
