/* What contact has to say in a step: how far the iterate may go, and when pins and obstacles move. frame.c asks at every iteration; without contact
 * nothing here does anything.
 *
 *     x_t -> first guess            as far as nothing touches on the way, driven points along with it; or x_t (pd_settings.lower_guess)
 *     before each iteration         what is driven and has not arrived goes on towards its target, as far as what it pushes lets it
 *     after each iteration          x_safe + part (x - x_safe), where the method has not kept to that by itself (pd_iterate.limit)
 *
 * So every iterate can be reached from x_t on a path of straight pieces without any touch (contact/potential/guard.h). */
#ifndef PD_DYNAMICS_CONTACT_SAFE_MOVE_H
#define PD_DYNAMICS_CONTACT_SAFE_MOVE_H

#include "dynamics/step/frame.h"

/* The buffers, where a step needs them. */
pd_status pd_safe_create(pd_simulation *self);
void pd_safe_destroy(pd_simulation *self);

/* x_t is the state that a failure comes back to, driven points included; and back to it. */
pd_status pd_safe_begin(pd_simulation *self);
pd_status pd_safe_restore(pd_simulation *self);

/* What detections have found that nobody waited for: to be called before the host waits for something else, and after, which may set safe.outgrown. The
 * third waits by itself, where there is something to be told. */
pd_status pd_safe_fetch(pd_simulation *self);
pd_status pd_safe_told(pd_simulation *self);
pd_status pd_safe_settle(pd_simulation *self);

/* The first guess is in the iterate. given: another run of this step came there under the same barrier, with everything driven at its
 * target. */
pd_status pd_safe_first_guess(pd_simulation *self, int given);
/* Where the iterate is now is where its next move begins. */
pd_status pd_safe_keep(pd_simulation *self);
/* Before an iteration. *moved: whether something driven has moved. */
pd_status pd_safe_drive(pd_simulation *self, int *moved);
/* After it; pruned, the iterate's step is the part that was gone. */
pd_status pd_safe_limit(pd_simulation *self);
/* The largest move of a vertex in the iteration, m. */
pd_status pd_safe_largest_move(pd_simulation *self, double *move);
/* By how much displacement bounds have shortened the steps of vertices in the last iteration, at most, m. 0 for methods that go one length. */
pd_status pd_safe_held_back(pd_simulation *self, double *held);
/* Whether that is little enough for a converged step. */
pd_status pd_safe_is_free(pd_simulation *self, int *is_free);
/* How far from its target what is driven is, m; 0 once it has arrived. */
pd_status pd_safe_behind(pd_simulation *self, double *behind);

/* Refuses a step in which prescribed motions met each other (contact/potential/prescribed_pairs.h). */
pd_status pd_safe_check_prescribed(pd_simulation *self);

#endif
