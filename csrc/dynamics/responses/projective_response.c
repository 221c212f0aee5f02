/* Contact by projections as a response; see projective_response.h. */
#include "dynamics/responses/projective_response.h"

#include "dynamics/contact/contact_record.h"
#include "dynamics/response.h"
#include "dynamics/responses/outer_loop.h"
#include "dynamics/responses/pairs_in_step.h"

#include <stdlib.h>

static pd_projective *projective_of(const pd_problem *problem) { return ((const pd_outer *)problem->response_memory)->projective; }

static int wanted(const pd_description *description) { return description->contact && description->contact->projective.stiffness > 0; }

static pd_status create(pd_problem *problem, const pd_description *description) {
    pd_status status = PD_OK;
    pd_outer *outer = problem->response_memory = calloc(1, sizeof *outer);
    if (!outer) return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for contact");
    PD_TRY(pd_pairs_create(problem, description));
    PD_TRY(pd_projective_create(&outer->projective, problem->context, problem->scene, problem->model, description->contact, problem->h));
    PD_TRY(pd_memory_create(problem->context, (void **)&outer->before, pd_problem_bytes(problem)));
    const pd_projective_description *settings = pd_projective_settings(outer->projective);
    // the printed variants do not restore their momentum
    if (!settings->printed && !settings->cut_back) status = pd_momentum_create(&outer->momentum, problem);
done:
    return status;
}

static void destroy(pd_problem *problem) {
    pd_outer *outer = problem->response_memory;
    if (!outer) return;
    pd_momentum_destroy(outer->momentum);
    pd_memory_destroy(problem->context, outer->before);
    pd_projective_destroy(outer->projective);
    pd_pairs_destroy(problem);
    free(outer);
}

static pd_status potential(const pd_problem *problem, const real *x, double *energies) {
    return pd_projective_potential(projective_of(problem), x, &energies[PD_ENERGY_CONTACT]);
}

static pd_status gradient(const pd_problem *problem, const real *x, real *out) {
    return pd_projective_add_gradient(projective_of(problem), x, out);
}

/* Each freeze changes G. */
static int keeps_potential(const pd_simulation *self) {
    (void)self;
    return 0;
}

static const real *coupling(const pd_problem *problem) { return pd_projective_coupling(projective_of(problem)); }

static pd_status first_guess(pd_simulation *self, int given) {
    (void)given;
    return pd_outer_first_guess(self);
}

static pd_status before_iteration(pd_simulation *self, int *moved) {
    pd_outer *outer = pd_outer_of(self);
    (void)moved;
    outer->measured = 0;
    return pd_memory_copy(self->problem->context, outer->before, self->iterate.x, pd_problem_bytes(self->problem));
}

static pd_status advance(pd_simulation *self, const double *weights, int report) {
    const pd_problem *problem = self->problem;
    pd_iterate *iterate = &self->iterate;
    if (!self->accelerator) return pd_iterate_advance(problem, iterate, NULL, weights, report);
    // vertices in contact are not extrapolated
    return pd_advance_touching(problem->context, problem->model, weights[0], iterate->correction, weights[1],
                               pd_projective_touching(projective_of(problem)), NULL, iterate->increment, iterate->x, iterate->offset,
                               report ? problem->scalars : NULL);
}

/* Restitution. */
static pd_status finish(pd_simulation *self) {
    pd_projective *projective = projective_of(self->problem);
    pd_status status = pd_projective_rebound(projective, self->iterate.x, self->iterate.offset, self->v);
    pd_projective_end(projective);
    return status;
}

static pd_status restore(pd_simulation *self) {
    pd_outer *outer = pd_outer_of(self);
    self->limiter.apart = outer->enqueued = 0;
    pd_projective_end(outer->projective);
    pd_contact_forget_neighbours(self->problem->scene); // a NaN state has not moved
    pd_projective_forget(outer->projective);
    return pd_pairs_restore(self);
}

static void forget(const pd_problem *problem) {
    pd_pairs_forget(problem);
    pd_projective_forget(projective_of(problem));
}

static void seconds(const pd_problem *problem, pd_contact_seconds *spent) {
    pd_pairs_seconds(problem, spent);
    spent->projection = pd_projective_seconds(projective_of(problem));
}

/* In a step: the pairs so far, and their distances at the state. */
static pd_status row(pd_simulation *self, pd_contact_recorder *r, const real *x, pd_contact_row *out) {
    const pd_problem *problem = self->problem;
    pd_projective *projective = projective_of(problem);
    const real *state = x ? problem->trial : self->limiter.apart ? self->limiter.x : self->iterate.x;
    const uint64_t *keys;
    pd_status status = PD_OK;
    if (x) PD_TRY(pd_memory_upload(problem->context, problem->trial, x, pd_problem_bytes(problem)));
    PD_TRY(pd_projective_potential(projective, self->iterate.x, &out->potential));
    size_t n_pairs = (size_t)pd_projective_pairs(projective, &keys);
    PD_TRY(pd_contact_find(problem->scene, state));
    size_t n = (size_t)pd_contact_pairs_of(problem->scene).n;
    PD_TRY(pd_contact_recorder_next(r, n > n_pairs ? n : n_pairs, problem->error));
    pd_contact_columns columns = {.separation = r->separation};
    PD_TRY(pd_contact_read_columns(problem->scene, &columns, NULL));
    PD_TRY(pd_contact_read(problem->scene, PD_CONTACT_DISTANCE, r->distance));
    out->smallest_distance = pd_contact_recorder_least(r, n, (double)pd_contact_thickness(problem->scene));
    PD_TRY(pd_memory_download(problem->context, r->keys, keys, n_pairs * sizeof *r->keys));
    r->n = n_pairs;
done:
    return status;
}

const pd_contact_response pd_projective_response = {.name = "projective",
                                                    .needs = PD_TAKES_PROJECTIVE,
                                                    .wanted = wanted,
                                                    .create = create,
                                                    .destroy = destroy,
                                                    .potential = potential,
                                                    .gradient = gradient,
                                                    .keeps_potential = keeps_potential,
                                                    .coupling = coupling,
                                                    .begin = pd_pairs_begin,
                                                    .first_guess = first_guess,
                                                    .before_iteration = before_iteration,
                                                    .advance = advance,
                                                    .read = pd_outer_read,
                                                    .after_iteration = pd_outer_advance,
                                                    .next_pass = pd_pairs_next_pass,
                                                    .close = pd_pairs_close,
                                                    .finish = finish,
                                                    .restore = restore,
                                                    .forget = forget,
                                                    .question = pd_pairs_question,
                                                    .row = row,
                                                    .seconds = seconds,
                                                    .waits = 1,
                                                    .keeps_start = 1,
                                                    .limits = 1,
                                                    .rounds = 1,
                                                    .unbounded = 1};

pd_projective *pd_simulation_projective(pd_simulation *self) {
    return self->problem->response == &pd_projective_response ? projective_of(self->problem) : NULL;
}
