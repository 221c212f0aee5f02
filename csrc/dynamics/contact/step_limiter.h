/* The step limiter of the frame: limits the iterate and the prescribed points to a contact-free path. Responses whose pairs are a term
 * of G call it (dynamics/response.h). The frame stores the start of an iteration through it, and reads the target lag.
 *
 *     x_t -> first guess            up to the first contact, with the prescribed points; or x_t (pd_settings.lower_guess)
 *     after each iteration          x_kept + fraction (x - x_kept), unless the method has limited itself (pd_iterate.limit)
 *
 * So a path of straight, contact-free pieces leads from x_t to every iterate (contact/potential/ccd_limiter.h). */
#ifndef PD_DYNAMICS_CONTACT_STEP_LIMITER_H
#define PD_DYNAMICS_CONTACT_STEP_LIMITER_H

#include "dynamics/step/frame.h"

/* Allocates the buffers, if a step needs them. */
pd_status pd_step_limiter_create(pd_simulation *self);
void pd_step_limiter_destroy(pd_simulation *self);

/* Begins a step, without any move. */
void pd_step_limiter_begin(pd_simulation *self);

/* Limits the first guess, in the iterate, and the prescribed points to the first contact. */
pd_status pd_step_limiter_limit_first_guess(pd_simulation *self);
/* A first guess that is cut at the time of impact may have a larger G than x_t. If pins and obstacles have arrived, the free vertices
 * then return to x_t, provided that the step limiter allows the motion of pins and obstacles with all else at rest. */
pd_status pd_step_limiter_choose_first_guess(pd_simulation *self);
/* Makes the present iterate the start of its next move. */
pd_status pd_step_limiter_keep(pd_simulation *self);
/* Returns the iterate to x_kept + fraction (iterate - x_kept). */
pd_status pd_step_limiter_return(pd_simulation *self, double fraction);
/* The same at the end of an iteration, whose step becomes this fraction of it. */
pd_status pd_step_limiter_shorten(pd_simulation *self, double fraction);
/* Limits the move of an iteration by contact. Afterwards the iterate's step is the accepted fraction. */
pd_status pd_step_limiter_limit(pd_simulation *self);
/* The largest displacement of a vertex in the iteration, m. */
pd_status pd_step_limiter_largest_move(pd_simulation *self, double *move);
/* The largest shortening of a vertex's step by displacement bounds in the last iteration, m. 0 for methods with one length. */
pd_status pd_step_limiter_held_back(pd_simulation *self, double *held);
/* Tells whether that is small enough for a converged step. */
pd_status pd_step_limiter_is_free(pd_simulation *self, int *is_free);
/* trial of the problem = x B [n_vertices,3] with the pins at their targets; *away: the largest distance of a pin from there, m. */
pd_status pd_step_limiter_try_targets(const pd_simulation *self, const real *x, double *away);
/* The target lag of prescribed motions, m; 0 on arrival. */
pd_status pd_step_limiter_target_lag(pd_simulation *self, double *target_lag);

/* Fails if prescribed motions of the step met each other (contact/potential/prescribed_pairs.h). */
pd_status pd_step_limiter_check_prescribed(pd_simulation *self);

#endif
