/* The limit of the frame for tets that must not invert (dynamics/orientation/orientation.h), with contact or without. A response of contact that
 * limits moves by itself moves the pins, and takes the first guess, by pd_path_limit. All functions return at once without such tets. */
#ifndef PD_DYNAMICS_CONTACT_ORIENTED_MOVE_H
#define PD_DYNAMICS_CONTACT_ORIENTED_MOVE_H

#include "dynamics/step/frame.h"

/* Fails if a tet is inverted at x_t. */
pd_status pd_oriented_begin(pd_simulation *self);

/* Limits the first guess, in the iterate. If all of its path is not free, pins stay behind, and limiter.arrived = 0. A `given` guess is
 * tested. */
pd_status pd_oriented_first_guess(pd_simulation *self, int given);

/* Moves the pins towards their targets before an iteration, as far as no tet inverts. Sets *moved if they have moved. */
pd_status pd_oriented_advance(pd_simulation *self, int *moved);

/* Limits the move of an iteration, from limiter.x to the iterate. *fraction: the accepted fraction. */
pd_status pd_oriented_limit(pd_simulation *self, double *fraction);

#endif
