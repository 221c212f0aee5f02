/* The step limiter: how far the iterate may go, and with it what is driven, so that nothing touches. Responses whose pairs are a term of G
 * call it (dynamics/response.h); the frame keeps the start of an iteration by it, and reads how far things are.
 *
 *     x_t -> first guess            as far as nothing touches on the way, driven points along with it; or x_t (pd_settings.lower_guess)
 *     after each iteration          x_safe + part (x - x_safe), where the method has not kept to that by itself (pd_iterate.limit)
 *
 * So every iterate can be reached from x_t on a path of straight pieces without any touch (contact/potential/guard.h). */
#ifndef PD_DYNAMICS_CONTACT_SAFE_MOVE_H
#define PD_DYNAMICS_CONTACT_SAFE_MOVE_H

#include "dynamics/step/frame.h"

/* The buffers, where a step needs them. */
pd_status pd_safe_create(pd_simulation *self);
void pd_safe_destroy(pd_simulation *self);

/* A step begins: nothing has moved. */
void pd_safe_begin(pd_simulation *self);

/* The first guess, in the iterate, goes as far as nothing touches, and what is driven with it. */
pd_status pd_safe_limit_first_guess(pd_simulation *self);
/* A first guess that is cut at the time of impact may have a larger G than x_t. Where pins and obstacles have arrived, the free vertices
 * then go back to x_t, if the step limiter allows the motion of pins and obstacles with all else at rest. */
pd_status pd_safe_choose_first_guess(pd_simulation *self);
/* Where the iterate is now is where its next move begins. */
pd_status pd_safe_keep(pd_simulation *self);
/* After an iteration; pruned, the iterate's step is the part that was gone. */
pd_status pd_safe_limit(pd_simulation *self);
/* The largest move of a vertex in the iteration, m. */
pd_status pd_safe_largest_move(pd_simulation *self, double *move);
/* By how much displacement bounds have shortened the steps of vertices in the last iteration, at most, m. 0 for methods that go one
 * length. */
pd_status pd_safe_held_back(pd_simulation *self, double *held);
/* Whether that is little enough for a converged step. */
pd_status pd_safe_is_free(pd_simulation *self, int *is_free);
/* How far from its target what is driven is, m; 0 once it has arrived. */
pd_status pd_safe_behind(pd_simulation *self, double *behind);

/* Refuses a step in which prescribed motions met each other (contact/potential/prescribed_pairs.h). */
pd_status pd_safe_check_prescribed(pd_simulation *self);

#endif
