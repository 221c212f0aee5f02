/* The outer loop of contact by projections; see outer_loop.h. */
#include "dynamics/responses/outer_loop.h"

#include "dynamics/problem/inertia.h"
#include "dynamics/problem/potential.h"
#include "loops/proximity_loops.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* A round that takes less than this fraction of its path has stagnated. */
static const double SLOW = 0.05;

/* A step has settled when the state moves less than this fraction of the activation distance in a round. */
static const double SETTLED = 1e-2;

/* As printed a loop ends when the squared moves of a round sum to at most this, m^2, and a round when an iteration changes the potential
 * by at most this fraction. */
static const double PRINTED_SETTLED = 1e-4, PRINTED_STILL = 1e-2;

/* The minimum number of rounds in a step, if it has as many iterations: a single round that is cut would lose its motion. */
enum { FEWEST_ROUNDS = 4 };

/* Freezes the pairs at the state, and begins the next round. */
static pd_status begin_round(pd_simulation *self) {
    pd_outer *outer = pd_outer_of(self);
    pd_projective *projective = outer->projective;
    pd_linear *linear = self->method->linear(self->method_memory);
    pd_status status = PD_OK;
    PD_TRY(pd_projective_freeze(projective, self->limiter.x, outer->left));
    PD_TRY(pd_linear_set_diagonal(linear, pd_projective_diagonal(projective)));
    outer->inner = 0;
    outer->potential = (double)NAN;
done:
    return status;
}

/* problem->trial = x - previous at free vertices, elsewhere 0, m */
static pd_status find_moves(const pd_simulation *self, const real *x, const real *previous) {
    const pd_problem *problem = self->problem;
    real *moves = problem->trial;
    pd_status status = PD_OK;
    PD_TRY(pd_memory_clear(problem->context, moves, pd_problem_bytes(problem)));
    PD_TRY(pd_add_scaled(problem->context, problem->model, moves, -1.0, previous, moves));
    PD_TRY(pd_add_scaled(problem->context, problem->model, moves, 1.0, x, moves));
done:
    return status;
}

/* sum |x - previous|^2, m^2 */
static pd_status sum_of_moves(const pd_simulation *self, const real *x, const real *previous, double *sum) {
    pd_status status = find_moves(self, x, previous);
    return status ? status : pd_problem_product(self->problem, self->problem->trial, self->problem->trial, sum);
}

/* As printed: x_t + h v + h^2/4 times the acceleration of the last step. */
static pd_status printed_guess(pd_simulation *self) {
    const pd_problem *problem = self->problem;
    pd_context *context = problem->context;
    const pd_model *model = problem->model;
    pd_iterate *iterate = &self->iterate;
    pd_status status = PD_OK;
    double h = problem->h;
    PD_TRY(pd_inertia_first_guess(problem, PD_GUESS_INERTIA, self->v, self->v_previous, self->has_previous, self->targets, iterate->x,
                                  iterate->offset));
    if (self->has_previous) {
        PD_TRY(pd_add_scaled(context, model, iterate->x, 0.25 * h, self->v, iterate->x));
        PD_TRY(pd_add_scaled(context, model, iterate->x, -0.25 * h, self->v_previous, iterate->x));
    }
    PD_TRY(pd_inertia_offset(problem, iterate->x, self->v, iterate->offset));
done:
    return status;
}

/* Resets the iterate to the state. */
static pd_status go_back(pd_simulation *self) {
    const pd_problem *problem = self->problem;
    pd_iterate *iterate = &self->iterate;
    pd_status status = pd_memory_copy(problem->context, iterate->x, self->limiter.x, pd_problem_bytes(problem));
    return status ? status : pd_inertia_offset(problem, iterate->x, self->v, iterate->offset);
}

/* problem->trial and trial_offset: the iterate after this fraction of the translations in problem->trial_gradient. */
static pd_status set_translated(const pd_simulation *self, double fraction) {
    const pd_problem *problem = self->problem;
    const pd_iterate *iterate = &self->iterate;
    pd_status status =
        pd_add_scaled(problem->context, problem->model, iterate->offset, fraction, problem->trial_gradient, problem->trial_offset);
    return status ? status
                  : pd_place_at_offset(problem->context, problem->model, &problem->step, iterate->x, problem->trial_offset, problem->trial);
}

/* Applies the translations that restore the momentum (momentum.h) at the end of a round. With `settled` or `last`, the iterate is the
 * state, and moves up to the first contact. After a contact, the groups are those of all neighbour pairs, which then do not meet each
 * other. *settled: also, the translations were within the limit of a settled round. */
static pd_status restore_momentum(pd_simulation *self, int last, int *settled) {
    pd_outer *outer = pd_outer_of(self);
    const pd_problem *problem = self->problem;
    pd_context *context = problem->context;
    pd_iterate *iterate = &self->iterate;
    double most = SETTLED * pd_projective_activation(outer->projective), shift = 0.0, fraction = 1.0;
    pd_status status = PD_OK;
    for (int near = 0; near < 2; near++) {
        PD_TRY(pd_momentum_shift(outer->momentum, problem, outer->projective, iterate->x, iterate->offset, near, problem->trial_gradient,
                                 &shift));
        if (!isfinite(shift) || shift == 0.0) return PD_OK; // the frame reports NaN
        *settled = *settled && shift <= most;
        PD_TRY(set_translated(self, 1.0));
        if (!*settled && !last) break; // only the iterate
        PD_TRY(pd_contact_limit(problem->scene, iterate->x, problem->trial, 0, &fraction));
        if (fraction == 1.0) break;
    }
    *settled = *settled && fraction == 1.0;
    if (fraction < 1.0) PD_TRY(set_translated(self, fraction));
    PD_TRY(pd_memory_copy(context, iterate->x, problem->trial, pd_problem_bytes(problem)));
    PD_TRY(pd_memory_copy(context, iterate->offset, problem->trial_offset, pd_problem_bytes(problem)));
done:
    return status;
}

/* A round has settled, or is the last: ends the step, or continues for the momentum. */
static pd_status end_rounds(pd_simulation *self, int settled, int last) {
    pd_outer *outer = pd_outer_of(self);
    pd_step_limiter *limiter = &self->limiter;
    pd_status status = PD_OK;
    if (limiter->fraction < 1.0) PD_TRY(go_back(self));
    if (outer->momentum && (limiter->arrived || !limiter->driving)) PD_TRY(restore_momentum(self, last, &settled));
    if (!settled && !last) return PD_OK;
    limiter->rounds = settled ? PD_ROUNDS_SETTLED : PD_ROUNDS_SPENT;
    limiter->apart = 0;
done:
    return status;
}

pd_status pd_outer_first_guess(pd_simulation *self) {
    pd_outer *outer = pd_outer_of(self);
    const pd_problem *problem = self->problem;
    pd_step_limiter *limiter = &self->limiter;
    pd_status status = PD_OK;
    double fraction;
    PD_TRY(pd_memory_copy(problem->context, limiter->x, problem->x_t, pd_problem_bytes(problem)));
    limiter->apart = 1;
    outer->outer = outer->slow = limiter->stagnations = limiter->arrived = outer->enqueued = 0;
    limiter->kept = limiter->fraction = outer->left = outer->share = 1.0;
    outer->moved = 0.0;
    limiter->rounds = PD_ROUNDS_GO_ON;
    PD_TRY(pd_prescribed_moves(limiter->prescribed, problem, self->targets, problem->x_t, &limiter->driving));
    PD_TRY(pd_projective_begin(outer->projective, problem->x_t, self->v));
    if (pd_projective_settings(outer->projective)->printed) {
        double moves;
        PD_TRY(printed_guess(self));
        PD_TRY(sum_of_moves(self, self->iterate.x, limiter->x, &moves));
        if (moves <= PRINTED_SETTLED) {
            limiter->apart = 0, limiter->rounds = PD_ROUNDS_SETTLED;
            return go_back(self);
        }
    }
    PD_TRY(pd_projective_limit(outer->projective, limiter->x, self->iterate.x, 0.0, &fraction));
    PD_TRY(begin_round(self));
done:
    return status;
}

/* Measures of a move, pairs of pd_largest_move and a product: relative to the iterate before the iteration; to the state; of the path
 * from the state, problem->trial, along that of the previous round. In the scalars of the problem after the report. */
enum { FOUND_ITERATION = 0, FOUND_ROUND = 2, FOUND_ALONG = 4, FOUND_COUNT = 5, REPORTED = 3 };

/* Tells whether the round must end with this iteration, for any move. */
static int must_end(const pd_simulation *self) {
    pd_outer *outer = pd_outer_of(self);
    int most = self->settings.iterations / FEWEST_ROUNDS, inner = pd_projective_settings(outer->projective)->inner;
    return outer->inner + 1 >= (inner < most ? inner : most) || self->iterate.number + 1 == self->settings.iterations;
}

static pd_status measure_iteration(const pd_simulation *self) {
    pd_outer *outer = pd_outer_of(self);
    const pd_problem *problem = self->problem;
    return pd_largest_move(problem->context, problem->model->n_vertices, NULL, self->iterate.x, outer->before,
                           problem->scalars + REPORTED + FOUND_ITERATION);
}

static pd_status measure_round(const pd_simulation *self) {
    pd_outer *outer = pd_outer_of(self);
    const pd_problem *problem = self->problem;
    double *found = problem->scalars + REPORTED;
    pd_status status = PD_OK;
    PD_TRY(pd_largest_move(problem->context, problem->model->n_vertices, NULL, self->iterate.x, self->limiter.x, found + FOUND_ROUND));
    PD_TRY(find_moves(self, self->iterate.x, self->limiter.x));
    if (outer->moved > 0.0) PD_TRY(pd_dot(problem->context, problem->model, problem->trial, self->limiter.offset, found + FOUND_ALONG));
done:
    return status;
}

static pd_status fetch_found(pd_simulation *self, int first, int end) {
    pd_outer *outer = pd_outer_of(self);
    return pd_memory_fetch(self->problem->context, outer->found + first, self->problem->scalars + REPORTED + first,
                           (size_t)(end - first) * sizeof(double));
}

/* Moves the state towards the iterate, and the prescribed points with it, by the rules of pd_projective_update_round. A share below 1
 * applies only to contact-free paths, not in the last round, and not before prescribed points have arrived, since these move as far as
 * the state. */
static pd_status move_async(pd_simulation *self) {
    pd_outer *outer = pd_outer_of(self);
    const pd_projective_description *settings = pd_projective_settings(outer->projective);
    pd_step_limiter *limiter = &self->limiter;
    const double *found = self->problem->scalars + REPORTED;
    int last = self->iterate.number + 1 == self->settings.iterations || outer->outer + 1 >= settings->outer;
    const pd_round_rules rules = {.share = outer->share,
                                  .before = outer->moved,
                                  .slack = last ? (double)INFINITY : SETTLED * pd_projective_activation(outer->projective),
                                  .least = outer->slow >= 1 && !settings->cut_back ? SLOW : 0.0, // otherwise displacement bounds apply
                                  .free = limiter->arrived && !settings->cut_back};
    return pd_projective_move_async(outer->projective, &rules, found + FOUND_ROUND, found + FOUND_ALONG, self->iterate.x, limiter->x,
                                    &outer->round);
}

/* Enqueues all work at the end of a round, for one synchronisation: its measures, the step limit, the move, and the search for neighbour
 * pairs after it. */
static pd_status end_async(pd_simulation *self) {
    pd_outer *outer = pd_outer_of(self);
    pd_projective *projective = outer->projective;
    pd_step_limiter *limiter = &self->limiter;
    pd_status status = PD_OK;
    PD_TRY(pd_projective_press(projective, self->iterate.x));
    PD_TRY(measure_round(self));
    PD_TRY(fetch_found(self, FOUND_ROUND, FOUND_COUNT));
    PD_TRY(pd_projective_limit_async(projective, limiter->x, self->iterate.x));
    PD_TRY(move_async(self));
    outer->enqueued = 1;
done:
    return status;
}

/* Tells whether pins or obstacles still move, by their own rule: as printed they move as far as the state. */
static int is_driving(const pd_simulation *self) {
    pd_outer *outer = pd_outer_of(self);
    const pd_projective_description *settings = pd_projective_settings(outer->projective);
    return self->limiter.driving && !self->limiter.arrived && !settings->printed && !settings->cut_back;
}

pd_status pd_outer_read(pd_simulation *self, size_t reported, double *report) {
    pd_outer *outer = pd_outer_of(self);
    pd_context *context = self->problem->context;
    pd_status status = PD_OK;
    PD_TRY(measure_iteration(self));
    PD_TRY(pd_memory_fetch(context, report, self->problem->scalars, reported * sizeof *report));
    PD_TRY(fetch_found(self, FOUND_ITERATION, FOUND_ROUND));
    // as printed the end of a round is measured differently before any move
    if (must_end(self) && !pd_projective_settings(outer->projective)->printed && !is_driving(self)) PD_TRY(end_async(self));
    PD_TRY(pd_context_synchronise(context));
    outer->measured = 1;
done:
    return status;
}

/* Tells whether an iteration has moved no vertex farther than the tolerance. */
static pd_status is_still(pd_simulation *self, int *still) {
    pd_outer *outer = pd_outer_of(self);
    pd_status status = PD_OK;
    double distance = pd_projective_activation(outer->projective);
    if (!outer->measured) {
        PD_TRY(measure_iteration(self));
        PD_TRY(fetch_found(self, FOUND_ITERATION, FOUND_ROUND));
        PD_TRY(pd_context_synchronise(self->problem->context));
    }
    *still = sqrt(outer->found[FOUND_ITERATION]) <= pd_projective_settings(outer->projective)->tolerance * distance;
done:
    return status;
}

/* The same while pins or obstacles move. Without contact, the state and they move all of their paths. Otherwise the free vertices move
 * first, and pins and obstacles follow by prescribed_motion.h. */
static pd_status move_prescribed_state(pd_simulation *self, double *moved) {
    pd_outer *outer = pd_outer_of(self);
    const pd_problem *problem = self->problem;
    pd_context *context = problem->context;
    pd_projective *projective = outer->projective;
    pd_step_limiter *limiter = &self->limiter;
    const unsigned char *fixed = problem->model->fixed;
    int n = problem->model->n_vertices, goes;
    double fraction, alone;
    pd_status status = PD_OK;
    PD_TRY(pd_projective_press(projective, self->iterate.x));
    PD_TRY(measure_round(self));
    PD_TRY(fetch_found(self, FOUND_ROUND, FOUND_COUNT));
    PD_TRY(pd_context_synchronise(context));
    *moved = sqrt(outer->found[FOUND_ROUND]);
    if (!isfinite(*moved)) return PD_OK; // the frame reports it
    PD_TRY(pd_projective_limit(projective, limiter->x, self->iterate.x, SLOW, &fraction));
    limiter->fraction = fraction, outer->moved = 0.0, outer->slow = 0;
    if (fraction == 1.0) {
        PD_TRY(pd_memory_copy(context, limiter->x, self->iterate.x, pd_problem_bytes(problem)));
        PD_TRY(pd_contact_move_prescribed(problem->scene, 1.0));
        limiter->arrived = 1;
    } else {
        PD_TRY(pd_memory_copy(context, problem->trial_offset, self->iterate.x, pd_problem_bytes(problem)));
        PD_TRY(pd_move_towards(context, n, fixed, 1.0, limiter->x, problem->trial_offset));
        PD_TRY(pd_contact_limit(problem->scene, limiter->x, problem->trial_offset, 0, &alone));
        limiter->stagnations += alone < SLOW;
        if (alone < SLOW)
            PD_TRY(pd_projective_move_free(projective, problem->trial_offset, limiter->x));
        else
            PD_TRY(pd_move_towards(context, n, NULL, alone, problem->trial_offset, limiter->x));
        PD_TRY(pd_prescribed_advance(limiter->prescribed, problem, self->targets, 1.0, limiter->x, &goes, &limiter->arrived));
        limiter->fraction = fmin(alone, 1.0 - DBL_EPSILON); // the state is not at the iterate
    }
    *moved *= limiter->fraction;
    outer->left *= 1.0 - limiter->fraction;
    limiter->drives = ++outer->outer;
done:
    return status;
}

/* Moves the state towards the iterate, up to the first contact. */
static pd_status move_state(pd_simulation *self, double *moved) {
    pd_outer *outer = pd_outer_of(self);
    const pd_problem *problem = self->problem;
    pd_context *context = problem->context;
    pd_step_limiter *limiter = &self->limiter;
    int cut_back = pd_projective_settings(outer->projective)->cut_back, complete;
    pd_status status = PD_OK;
    if (is_driving(self)) return move_prescribed_state(self, moved);
    if (!outer->enqueued) {
        PD_TRY(end_async(self));
        PD_TRY(pd_context_synchronise(context));
    }
    outer->enqueued = 0;
    *moved = sqrt(outer->found[FOUND_ROUND]);
    if (!isfinite(*moved)) return PD_OK; // the frame reports it
    PD_TRY(pd_projective_limit_result(outer->projective, SLOW, &limiter->fraction, &complete));
    if (!complete) PD_TRY(pd_projective_limit(outer->projective, limiter->x, self->iterate.x, SLOW, &limiter->fraction));
    *moved *= limiter->fraction;
    outer->slow = limiter->fraction < SLOW ? outer->slow + 1 : 0;
    limiter->stagnations += outer->slow > 0;
    outer->left *= 1.0 - limiter->fraction;
    if (outer->slow >= 2 && !cut_back) { // prescribed points wait
        PD_TRY(pd_projective_truncate(outer->projective, self->iterate.x, limiter->x));
    } else {
        if (!complete) { // it has not moved
            PD_TRY(move_async(self));
            PD_TRY(pd_context_synchronise(context));
        }
        PD_TRY(pd_projective_move_result(outer->projective));
    }
    int free = limiter->fraction == 1.0 && limiter->arrived && !cut_back;
    if (free) PD_TRY(pd_memory_copy(context, limiter->offset, problem->trial, pd_problem_bytes(problem)));
    if (free) outer->share = outer->round.share;
    outer->moved = free ? *moved : 0.0;
    if (limiter->fraction == 1.0) limiter->arrived = 1;
    limiter->drives = ++outer->outer;
done:
    return status;
}

pd_status pd_outer_advance(pd_simulation *self) {
    pd_outer *outer = pd_outer_of(self);
    const pd_problem *problem = self->problem;
    const pd_projective_description *settings = pd_projective_settings(outer->projective);
    pd_step_limiter *limiter = &self->limiter;
    double distance = pd_projective_activation(outer->projective), moved, squares = 0.0;
    int last = self->iterate.number + 1 == self->settings.iterations, must = must_end(self), still, settled;
    pd_status status = PD_OK;
    outer->inner++;
    limiter->kept = limiter->fraction = 1.0;
    if (settings->printed) {
        double before = outer->potential;
        PD_TRY(pd_problem_potential(problem, self->iterate.x, self->iterate.offset, &outer->potential, NULL));
        still = fabs(outer->potential - before) <= PRINTED_STILL * fabs(outer->potential);
    } else {
        if (!must && outer->inner % self->settings.check_every != 0) return PD_OK;
        still = must;
        if (!must) PD_TRY(is_still(self, &still));
    }
    if (!must && !still) return PD_OK;
    if (settings->printed) PD_TRY(sum_of_moves(self, self->iterate.x, limiter->x, &squares));
    PD_TRY(move_state(self, &moved));
    if (!isfinite(moved)) return PD_OK;
    if (settings->printed)
        settled = limiter->fraction * limiter->fraction * squares <= PRINTED_SETTLED;
    else
        settled = limiter->fraction == 1.0 && moved <= SETTLED * distance;
    last = last || outer->outer >= settings->outer;
    if (settled || last) PD_TRY(end_rounds(self, settled, last));
    if (limiter->rounds != PD_ROUNDS_GO_ON) return PD_OK;
    if (settings->cut_back && limiter->fraction < 1.0) PD_TRY(go_back(self));
    PD_TRY(begin_round(self));
    self->iterate.replaced = 1;
done:
    return status;
}
