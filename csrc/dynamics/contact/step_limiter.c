/* The step limiter; see step_limiter.h. */
#include "dynamics/contact/step_limiter.h"

#include "contact/potential/prescribed_pairs.h"
#include "dynamics/contact/common_motion.h"
#include "dynamics/orientation/orientation.h"
#include "dynamics/problem/inertia.h"
#include "dynamics/problem/path.h"
#include "dynamics/problem/potential.h"
#include "dynamics/response.h"
#include "loops/proximity_loops.h"

#include <math.h>

/* The step limiter keeps a tenth of a gap; a first guess after this fraction of its contact-free path keeps half. */
static const double HALF_A_GAP = 5.0 / 9.0;

/* A step has not converged if displacement bounds shortened a vertex's move by more than this fraction of the activation distance. */
static const double HELD_BACK = 1e-2;

pd_status pd_step_limiter_create(pd_simulation *self) {
    pd_step_limiter *limiter = &self->limiter;
    size_t bytes = pd_problem_bytes(self->problem);
    pd_status status = PD_OK;
    const pd_contact_response *response = self->problem->response;
    if (!response->keeps_start && !(self->settings.step_tolerance > 0) && !self->problem->model->is_oriented) return PD_OK;
    PD_TRY(pd_memory_create(self->problem->context, (void **)&limiter->x, bytes));
    PD_TRY(pd_memory_create(self->problem->context, (void **)&limiter->offset, bytes));
    if (response->limits) status = pd_prescribed_create(&limiter->prescribed, self->problem);
    // with guard="reach" displacement bounds limit the translations, too
    if (!status && response->limits && self->method->keeps_bounds && !pd_contact_uses_bounds(self->problem->scene))
        status = pd_common_motion_create(&limiter->common, self->problem);
done:
    return status;
}

void pd_step_limiter_destroy(pd_simulation *self) {
    PD_MEMORIES_DESTROY(self->problem->context, self->limiter.x, self->limiter.offset);
    pd_prescribed_destroy(self->limiter.prescribed, self->problem);
    pd_common_motion_destroy(self->limiter.common);
}

void pd_step_limiter_begin(pd_simulation *self) {
    self->limiter.fraction = 1.0;
    self->limiter.drives = self->limiter.detections = self->limiter.outgrown = 0;
    self->limiter.arrived = 1;
    pd_prescribed_begin(self->limiter.prescribed);
}

pd_status pd_step_limiter_keep(pd_simulation *self) {
    pd_context *context = self->problem->context;
    size_t bytes = pd_problem_bytes(self->problem);
    pd_status status = pd_memory_copy(context, self->limiter.x, self->iterate.x, bytes);
    return status ? status : pd_memory_copy(context, self->limiter.offset, self->iterate.offset, bytes);
}

pd_status pd_step_limiter_return(pd_simulation *self, double fraction) {
    pd_context *context = self->problem->context;
    pd_iterate *iterate = &self->iterate;
    size_t bytes = pd_problem_bytes(self->problem);
    pd_status status = PD_OK;
    PD_TRY(pd_path_go(self->problem, fraction, iterate->x, iterate->offset, self->limiter.x, self->limiter.offset));
    PD_TRY(pd_memory_copy(context, iterate->x, self->limiter.x, bytes));
    PD_TRY(pd_memory_copy(context, iterate->offset, self->limiter.offset, bytes));
done:
    return status;
}

pd_status pd_step_limiter_shorten(pd_simulation *self, double fraction) {
    const pd_problem *problem = self->problem;
    pd_iterate *iterate = &self->iterate;
    size_t bytes = pd_problem_bytes(problem);
    pd_status status = PD_OK;
    // an accelerator goes by the step that was taken, and restarts
    PD_TRY(pd_memory_clear(problem->context, problem->trial, bytes));
    PD_TRY(pd_add_scaled(problem->context, problem->model, problem->trial, fraction, iterate->increment, problem->trial));
    PD_TRY(pd_memory_copy(problem->context, iterate->increment, problem->trial, bytes));
    iterate->replaced = 1;
    self->limiter.kept *= fraction;
    PD_TRY(pd_step_limiter_return(self, fraction));
done:
    return status;
}

/* iterate->correction = limiter.x - first guess, each vertex in its displacement bound; *cut: the most by which that shortens a move, m. */
static pd_status bound_first_guess(pd_simulation *self, double *cut) {
    const pd_problem *problem = self->problem;
    pd_context *context = problem->context;
    pd_iterate *iterate = &self->iterate;
    pd_contact_sweep bounds;
    pd_status status = PD_OK;
    PD_TRY(pd_contact_bound_displacements(problem->contact, self->limiter.x, &bounds));
    if (!pd_contact_uses_bounds(problem->contact))
        bounds.bounds.outer = (double)INFINITY; // the time of impact of the whole path is computed first
    PD_TRY(pd_memory_clear(context, iterate->correction, pd_problem_bytes(problem)));
    PD_TRY(pd_add_scaled(context, problem->model, iterate->correction, 1.0, self->limiter.x, iterate->correction));
    PD_TRY(pd_add_scaled(context, problem->model, iterate->correction, -1.0, iterate->x, iterate->correction));
    PD_TRY(pd_contact_bound_moves(context, problem->model, &bounds, iterate->correction));
    PD_TRY(pd_contact_held(problem->contact, cut));
done:
    return status;
}

/* Moves limiter.x by the common motions of bodies that are longer than the activation distance, up to the first contact. */
static pd_status translate_start(pd_simulation *self, int *translated) {
    const pd_problem *problem = self->problem;
    pd_context *context = problem->context;
    pd_step_limiter *limiter = &self->limiter;
    const pd_contact_scene *scene = pd_contact_scene_of(problem->scene);
    const double least = (double)scene->activation;
    real *shift = problem->trial_gradient;
    pd_status status = PD_OK;
    double fraction, move[2];
    *translated = 0;
    PD_TRY(pd_largest_move(context, problem->model->n_vertices, NULL, self->iterate.x, limiter->x, problem->scalars));
    PD_TRY(pd_memory_download(context, move, problem->scalars, sizeof move));
    if (!(sqrt(move[0]) > least)) return PD_OK;
    PD_TRY(pd_common_motion_find(limiter->common, problem, limiter->x, self->iterate.x, least + (double)scene->separation, least, shift,
                                 translated));
    if (!*translated) return PD_OK;
    PD_TRY(pd_add_scaled(context, problem->model, limiter->x, 1.0, shift, problem->trial));
    PD_TRY(pd_path_limit(problem, limiter->x, problem->trial, 0, &fraction));
    if (fraction < 1.0) fraction *= HALF_A_GAP;
    PD_TRY(pd_add_scaled(context, problem->model, limiter->x, fraction, shift, limiter->x));
    PD_TRY(pd_add_scaled(context, problem->model, limiter->offset, fraction, shift, limiter->offset));
done:
    return status;
}

/* Tells whether a vertex exceeds its displacement bound. Then the time of impact of the whole path is computed first: usually there is
 * none, and the bounds are not needed. Touching vertices, which an accelerator needs, are found with the bounds. */
static pd_status is_far(pd_simulation *self, int *far) {
    const pd_problem *problem = self->problem;
    double move[2] = {0.0};
    pd_status status = PD_OK;
    *far = 0;
    if (self->accelerator || pd_contact_uses_bounds(problem->contact)) return PD_OK;
    PD_TRY(pd_contact_largest_move(problem->contact, self->iterate.x, self->limiter.x, problem->scalars));
    PD_TRY(pd_memory_download(problem->context, move, problem->scalars, sizeof move));
    *far = sqrt(move[0]) > pd_contact_certain_bound(problem->contact);
done:
    return status;
}

/* Tells whether an unshortened first guess needs no time of impact: no prescribed motion, and no vertex leaves the neighbour list. */
static pd_status is_certain(pd_simulation *self, int *certain) {
    const pd_problem *problem = self->problem;
    double move[2] = {0.0};
    int moves;
    pd_status status = PD_OK;
    *certain = 0;
    PD_TRY(pd_prescribed_moves(self->limiter.prescribed, problem, self->targets, problem->x_t, &moves));
    if (moves) return PD_OK;
    PD_TRY(pd_contact_largest_move(problem->contact, self->iterate.x, self->limiter.x, problem->scalars));
    PD_TRY(pd_memory_download(problem->context, move, problem->scalars, sizeof move));
    *certain = sqrt(move[0]) <= pd_contact_certain_bound(problem->contact);
done:
    return status;
}

/* The first guess of a method with displacement bounds: each vertex moves from limiter.x up to its own bound. One length for all would shorten
 * the moves of vertices far from contact, and a vertex-wise method needs many iterations to make up for that. */
static pd_status take_bounded_guess(pd_simulation *self) {
    const pd_problem *problem = self->problem;
    pd_context *context = problem->context;
    pd_iterate *iterate = &self->iterate;
    const unsigned char *fixed = problem->model->fixed;
    int n = problem->model->n_vertices;
    size_t bytes = pd_problem_bytes(problem);
    pd_status status = PD_OK;
    PD_TRY(pd_memory_copy(context, problem->trial, self->limiter.x, bytes));
    PD_TRY(pd_memory_copy(context, problem->trial_offset, self->limiter.offset, bytes));
    PD_TRY(pd_advance_touching(context, problem->model, -1.0, iterate->correction, 0.0, pd_contact_touching(problem->contact), NULL,
                               iterate->increment, problem->trial, problem->trial_offset, NULL));
    PD_TRY(pd_memory_clear(context, iterate->increment, bytes));
    // pinned vertices stay at their targets
    PD_TRY(pd_move_towards(context, n, fixed, 1.0, iterate->x, problem->trial));
    PD_TRY(pd_move_towards(context, n, fixed, 1.0, iterate->offset, problem->trial_offset));
    PD_TRY(pd_memory_copy(context, iterate->x, problem->trial, bytes));
    PD_TRY(pd_memory_copy(context, iterate->offset, problem->trial_offset, bytes));
done:
    return status;
}

/* The first guess of the free vertices only, if contact limits it: pins and obstacles follow before the first iteration. bounded: each
 * vertex is already within its displacement bound. */
static pd_status limit_free_first_guess(pd_simulation *self, int bounded) {
    const pd_problem *problem = self->problem;
    pd_context *context = problem->context;
    int n = problem->model->n_vertices;
    pd_status status = PD_OK;
    PD_TRY(pd_prescribed_moves(self->limiter.prescribed, problem, self->targets, problem->x_t, &self->limiter.driving));
    self->limiter.fraction = 1.0, self->limiter.arrived = 0;
    PD_TRY(pd_move_towards(context, n, problem->model->fixed, 1.0, self->limiter.x, self->iterate.x));
    PD_TRY(pd_move_towards(context, n, problem->model->fixed, 1.0, self->limiter.offset, self->iterate.offset));
    if (!bounded || !pd_contact_uses_bounds(problem->contact)) {
        PD_TRY(pd_path_limit(problem, self->limiter.x, self->iterate.x, 0, &self->limiter.fraction));
        if (self->limiter.fraction < 1.0 && !bounded) self->limiter.fraction *= HALF_A_GAP;
        if (self->limiter.fraction < 1.0) PD_TRY(pd_step_limiter_return(self, self->limiter.fraction));
    }
done:
    return status;
}

pd_status pd_step_limiter_limit_first_guess(pd_simulation *self) {
    const pd_problem *problem = self->problem;
    pd_step_limiter *limiter = &self->limiter;
    pd_status status = PD_OK;
    PD_TRY(pd_memory_copy(problem->context, limiter->x, problem->x_t, pd_problem_bytes(problem)));
    PD_TRY(pd_inertia_offset(problem, limiter->x, self->v, limiter->offset));
    // bodies go as one, and rigid ones and tets that must not invert have no length for each of their vertices
    int bounded = self->method->keeps_bounds && !problem->rigid && !problem->model->is_oriented;
    double cut = 0.0;
    int far = 0, certain = 0, translated = 0;
    if (bounded) PD_TRY(is_far(self, &far));
    if (bounded && !far) PD_TRY(bound_first_guess(self, &cut));
    if (bounded && !far && cut == 0.0) PD_TRY(is_certain(self, &certain));
    if (certain) return PD_OK;
    PD_TRY(pd_path_limit(problem, limiter->x, self->iterate.x, 1, &limiter->fraction));
    if (limiter->fraction == 1.0) return PD_OK; // also if close parts move together
    if (limiter->common) PD_TRY(translate_start(self, &translated));
    if (far || (translated && bounded)) PD_TRY(bound_first_guess(self, &cut));
    if (cut > 0.0) PD_TRY(take_bounded_guess(self));
    if (cut > 0.0) PD_TRY(pd_path_limit(problem, limiter->x, self->iterate.x, 1, &limiter->fraction));
    if (limiter->fraction < 1.0) return limit_free_first_guess(self, bounded);
done:
    return status;
}

pd_status pd_step_limiter_choose_first_guess(pd_simulation *self) {
    const pd_problem *problem = self->problem;
    pd_context *context = problem->context;
    const unsigned char *fixed = problem->model->fixed;
    pd_step_limiter *limiter = &self->limiter;
    pd_iterate *iterate = &self->iterate;
    int n = problem->model->n_vertices;
    size_t bytes = pd_problem_bytes(problem);
    double guess, start, fraction, oriented;
    pd_status status = PD_OK;
    PD_TRY(pd_problem_potential(problem, iterate->x, iterate->offset, &guess, NULL));
    PD_TRY(pd_memory_copy(context, limiter->x, problem->x_t, bytes));
    PD_TRY(pd_move_towards(context, n, fixed, 1.0, iterate->x, limiter->x));
    PD_TRY(pd_inertia_offset(problem, limiter->x, self->v, limiter->offset));
    PD_TRY(pd_problem_potential(problem, limiter->x, limiter->offset, &start, NULL));
    if (!isfinite(start) || guess < start) return PD_OK;
    // pins and obstacles moved together with the guess; from here on they move separately
    if (limiter->arrived) {
        PD_TRY(pd_orientation_limit(problem, problem->x_t, limiter->x, &oriented));
        if (oriented < 1.0) return PD_OK;
        PD_TRY(pd_contact_restore_prescribed(problem->contact));
        PD_TRY(pd_contact_limit(problem->contact, problem->x_t, limiter->x, 1, &fraction));
        PD_TRY(pd_contact_move_prescribed(problem->contact, 1.0));
        if (fraction < 1.0) return PD_OK;
    }
    PD_TRY(pd_memory_copy(context, iterate->x, limiter->x, bytes));
    PD_TRY(pd_memory_copy(context, iterate->offset, limiter->offset, bytes));
done:
    return status;
}

pd_status pd_step_limiter_limit(pd_simulation *self) {
    const pd_problem *problem = self->problem;
    pd_step_limiter *limiter = &self->limiter;
    pd_iterate *iterate = &self->iterate;
    pd_status status = PD_OK;
    if (iterate->limit > 0.0 && !self->accelerator) { // an accelerated iterate leaves the limited correction
        limiter->fraction = iterate->limit;
        return PD_OK;
    }
    if (self->method->keeps_bounds && !iterate->beyond) { // only vertices without neighbours may exceed the certified bounds
        double move[2] = {0.0};
        int by_bounds = pd_contact_uses_bounds(problem->contact);
        if (!by_bounds) PD_TRY(pd_contact_largest_move(problem->contact, iterate->x, limiter->x, problem->scalars));
        if (!by_bounds) PD_TRY(pd_memory_download(problem->context, move, problem->scalars, sizeof move));
        if (by_bounds || sqrt(move[0]) <= pd_contact_certain_bound(problem->contact)) return PD_OK;
    }
    PD_TRY(pd_path_limit_by_contact(problem, limiter->x, iterate->x, 0, &limiter->fraction));
    if (limiter->fraction < 1.0) PD_TRY(pd_step_limiter_shorten(self, limiter->fraction));
done:
    return status;
}

pd_status pd_step_limiter_largest_move(pd_simulation *self, double *move) {
    const pd_problem *problem = self->problem;
    double found[2];
    pd_status status = PD_OK;
    PD_TRY(pd_largest_move(problem->context, problem->model->n_vertices, NULL, self->iterate.x, self->limiter.x, problem->scalars));
    PD_TRY(pd_memory_download(problem->context, found, problem->scalars, sizeof found));
    *move = sqrt(found[0]);
done:
    return status;
}

pd_status pd_step_limiter_held_back(pd_simulation *self, double *held) {
    const pd_contact_response *response = self->problem->response;
    *held = 0.0;
    return response->held_back ? response->held_back(self, held) : PD_OK;
}

pd_status pd_step_limiter_is_free(pd_simulation *self, int *is_free) {
    double held;
    pd_status status = pd_step_limiter_held_back(self, &held);
    *is_free = !status && (held == 0.0 || held <= HELD_BACK * (double)pd_contact_scene_of(self->problem->scene)->activation);
    return status;
}

pd_status pd_step_limiter_try_targets(const pd_simulation *self, const real *x, double *away) {
    const pd_problem *problem = self->problem;
    pd_status status = PD_OK;
    double found[2];
    PD_TRY(pd_memory_copy(problem->context, problem->trial, x, pd_problem_bytes(problem)));
    PD_TRY(pd_move_towards(problem->context, problem->model->n_vertices, problem->model->fixed, 1.0, self->targets, problem->trial));
    PD_TRY(pd_largest_move(problem->context, problem->model->n_vertices, NULL, problem->trial, x, problem->scalars));
    PD_TRY(pd_memory_download(problem->context, found, problem->scalars, sizeof found));
    *away = sqrt(found[0]);
done:
    return status;
}

pd_status pd_step_limiter_target_lag(pd_simulation *self, double *target_lag) {
    pd_status status = PD_OK;
    double away, prescribed = 0.0;
    *target_lag = 0.0;
    if (self->limiter.arrived) return PD_OK;
    if (self->problem->scene) PD_TRY(pd_contact_target_lag(self->problem->scene, &prescribed));
    PD_TRY(pd_step_limiter_try_targets(self, self->iterate.x, &away));
    *target_lag = fmax(prescribed, away);
done:
    return status;
}

pd_status pd_step_limiter_check_prescribed(pd_simulation *self) {
    const pd_problem *problem = self->problem;
    return problem->scene ? pd_prescribed_pairs_check(problem->prescribed_pairs, problem->scene, problem->x_t, self->iterate.x) : PD_OK;
}
