/* Contact by a contact potential: a term of G that the step limiter (step_limiter.h) keeps finite at every iterate. */
#include "contact/potential/contact.h"
#include "dynamics/contact/step_limiter.h"
#include "dynamics/problem/potential.h"
#include "dynamics/responses/pair_term.h"
#include "dynamics/responses/pairs_in_step.h"

/* Tells whether this is the contact of a description. */
static int wanted(const pd_description *description) {
    const pd_contact_description *contact = description->contact;
    return contact && contact->penalty.interval < 0 && !(contact->projective.stiffness > 0) && contact->two_way.steps == 0;
}

static pd_status first_guess(pd_simulation *self, int given) {
    const pd_problem *problem = self->problem;
    pd_step_limiter *limiter = &self->limiter;
    pd_status status = PD_OK;
    // size and rounding of the scene are those of x_t, also in a resumed run
    PD_TRY(pd_contact_find_acting(problem->contact, problem->x_t));
    if (!given) PD_TRY(pd_step_limiter_limit_first_guess(self));
    if (limiter->arrived) PD_TRY(pd_contact_move_prescribed(problem->contact, 1.0));
    limiter->drives = 1;
    // a guess that makes way for an obstructed motion is kept
    if (self->settings.lower_guess && !given && problem->h > 0 && (limiter->arrived || !limiter->driving))
        PD_TRY(pd_step_limiter_choose_first_guess(self));
done:
    return status;
}

static pd_status before_iteration(pd_simulation *self, int *moved) {
    pd_step_limiter *limiter = &self->limiter;
    double last = self->iterate.number > 0 ? limiter->fraction : 1.0;
    if (limiter->arrived) return PD_OK;
    pd_status status =
        pd_prescribed_advance(limiter->prescribed, self->problem, self->targets, last, self->iterate.x, moved, &limiter->arrived);
    limiter->drives += *moved;
    return status;
}

static pd_status held_back(const pd_simulation *self, double *held) {
    return self->method->keeps_bounds ? pd_contact_held(self->problem->contact, held) : PD_OK;
}

const pd_contact_response pd_barrier_response = {.name = "contact",
                                                 .treats = PD_TREATS_RIGID | PD_TREATS_CARRIERS | PD_TREATS_INTEGRATORS,
                                                 .wanted = wanted,
                                                 .create = pd_pair_term_create,
                                                 .destroy = pd_pairs_destroy,
                                                 .potential = pd_pair_term_potential,
                                                 .gradient = pd_pair_term_gradient,
                                                 .hessian = pd_pair_term_hessian,
                                                 .begin = pd_pairs_begin,
                                                 .first_guess = first_guess,
                                                 .before_iteration = before_iteration,
                                                 .advance = pd_pair_term_advance,
                                                 .after_iteration = pd_step_limiter_limit,
                                                 .next_pass = pd_pairs_next_pass,
                                                 .close = pd_pairs_close,
                                                 .restore = pd_pairs_restore,
                                                 .forget = pd_pairs_forget,
                                                 .question = pd_pairs_question,
                                                 .held_back = held_back,
                                                 .row = pd_pair_term_row,
                                                 .seconds = pd_pairs_seconds,
                                                 .waits = 1,
                                                 .keeps_start = 1,
                                                 .limits = 1,
                                                 .unbounded = 1,
                                                 .lengthens = 1};
