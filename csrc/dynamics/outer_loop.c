/* The outer loop of contact by projections; see outer_loop.h. */
#include "dynamics/outer_loop.h"

#include "contact/projective.h"
#include "proximity_loops.h"

/* A round that goes less than this part of its way has stagnated. */
static const double SLOW = 0.05;

/* A step has settled where the state moves less than this part of the activation distance in a round. */
static const double SETTLED = 1e-2;

/* So many rounds there are in a step at the least, if it has as many iterations: a single one that is cut would lose its motion. */
enum { FEWEST_ROUNDS = 4 };

/* Freezes the pairs where the state is, and the next round begins. */
static pd_status begin_round(pd_simulation *self) {
    pd_projective *projective = self->problem->projective;
    pd_linear *linear = self->method->linear(self->own);
    pd_status status = PD_OK;
    PD_TRY(pd_projective_freeze(projective, self->safe.x));
    PD_TRY(pd_linear_set_diagonal(linear, pd_projective_diagonal(projective)));
    self->safe.inner = 0;
done:
    return status;
}

pd_status pd_outer_first_guess(pd_simulation *self) {
    const pd_problem *problem = self->problem;
    pd_safe *safe = &self->safe;
    pd_status status = PD_OK;
    double part;
    PD_TRY(pd_memory_copy(problem->context, safe->x, problem->x_t, pd_problem_bytes(problem)));
    safe->apart = 1;
    safe->outer = safe->slow = safe->arrived = 0;
    safe->kept = safe->part = 1.0;
    safe->rounds = PD_ROUNDS_GO_ON;
    PD_TRY(pd_projective_begin(problem->projective, problem->x_t));
    PD_TRY(pd_projective_limit(problem->projective, safe->x, self->iterate.x, 0.0, &part));
    PD_TRY(begin_round(self));
done:
    return status;
}

pd_status pd_outer_keep(pd_simulation *self) {
    return pd_memory_copy(self->problem->context, self->safe.before, self->iterate.x, pd_problem_bytes(self->problem));
}

/* m, of any vertex from one to the other. */
static pd_status largest_move(const pd_simulation *self, const real *x, const real *previous, double *move) {
    const pd_problem *problem = self->problem;
    double found[2];
    pd_status status = pd_largest_move(problem->context, problem->model->n_vertices, x, previous, problem->scalars);
    if (!status) status = pd_memory_download(problem->context, found, problem->scalars, sizeof found);
    *move = sqrt(found[0]);
    return status;
}

/* The state goes towards the iterate as far as nothing touches. */
static pd_status move_state(pd_simulation *self, double *moved) {
    const pd_problem *problem = self->problem;
    pd_safe *safe = &self->safe;
    int n = problem->model->n_vertices;
    pd_status status = PD_OK;
    PD_TRY(largest_move(self, self->iterate.x, safe->x, moved));
    if (!isfinite(*moved)) return PD_OK; // the frame says so
    PD_TRY(pd_projective_limit(problem->projective, safe->x, self->iterate.x, SLOW, &safe->part));
    *moved *= safe->part;
    safe->slow = safe->part < SLOW ? safe->slow + 1 : 0;
    if (safe->slow >= 2) { // what is driven waits
        PD_TRY(pd_projective_truncate(problem->projective, self->iterate.x, safe->x));
    } else {
        PD_TRY(pd_move_towards(problem->context, n, NULL, safe->part, self->iterate.x, safe->x));
        PD_TRY(pd_contact_drive(problem->contact, safe->part));
        if (safe->part == 1.0) safe->arrived = 1;
    }
    safe->drives = ++safe->outer;
done:
    return status;
}

/* The iterate is where the state is, and the step ends. */
static pd_status end_rounds(pd_simulation *self, int settled) {
    const pd_problem *problem = self->problem;
    pd_iterate *iterate = &self->iterate;
    pd_safe *safe = &self->safe;
    pd_status status = PD_OK;
    safe->rounds = settled ? PD_ROUNDS_SETTLED : PD_ROUNDS_SPENT;
    safe->apart = 0;
    if (safe->part == 1.0) return PD_OK;
    PD_TRY(pd_memory_copy(problem->context, iterate->x, safe->x, pd_problem_bytes(problem)));
    PD_TRY(pd_offset(problem->context, problem->model, problem->h, safe->x, problem->x_t, self->v, problem->load, iterate->offset));
done:
    return status;
}

pd_status pd_outer_look(pd_simulation *self) {
    const pd_problem *problem = self->problem;
    const pd_projective_description *settings = pd_projective_settings(problem->projective);
    pd_safe *safe = &self->safe;
    double distance = pd_projective_activation(problem->projective), move = 0.0, moved;
    int most = self->settings.iterations / FEWEST_ROUNDS, inner = settings->inner < most ? settings->inner : most;
    int last = self->iterate.number + 1 == self->settings.iterations, full = ++safe->inner >= inner, still;
    pd_status status = PD_OK;
    safe->kept = safe->part = 1.0;
    if (!last && !full && safe->inner % self->settings.check_every != 0) return PD_OK;
    PD_TRY(largest_move(self, self->iterate.x, safe->before, &move));
    still = move <= settings->tolerance * distance;
    if (!last && !full && !still) return PD_OK;
    PD_TRY(pd_projective_press(problem->projective, self->iterate.x));
    PD_TRY(move_state(self, &moved));
    if (!isfinite(moved)) return PD_OK;
    int settled = safe->part == 1.0 && moved <= SETTLED * distance;
    if (settled || last || safe->outer >= settings->outer) return end_rounds(self, settled);
    PD_TRY(begin_round(self));
    self->iterate.restarted = self->iterate.number + 1;
done:
    return status;
}

pd_status pd_outer_finish(pd_simulation *self) {
    pd_projective *projective = self->problem->projective;
    pd_status status = pd_projective_rebound(projective, self->iterate.x, self->iterate.offset, self->v);
    pd_projective_end(projective);
    return status;
}

void pd_outer_give_up(pd_simulation *self) {
    self->safe.apart = 0;
    pd_projective_end(self->problem->projective);
}
