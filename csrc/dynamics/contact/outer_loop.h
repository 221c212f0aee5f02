/* The outer loop of contact by projections (contact/projective/projective.h) in the common frame: rounds of iterations with frozen projections, each ended by a
 * detection [Lan et al. 2022, Algorithm 1, corrected: a loop that tests at its end, by moves in parts of the activation distance].
 *
 *     x = x_t, the iterate = first guess; the pairs are those that it would bring together
 *     rounds: freeze the pairs at x; iterations of the solver, until one moves no vertex farther than the tolerance or the round is full
 *             t = what nothing touches on, from x to the iterate; x += t (iterate - x), and what is driven by the same part of its way
 *     until t = 1 and x is where it was, or the iterations or the rounds are spent
 *
 * The iterate is not cut back, so that what a round has found is not lost; the state of the step is x, which never touches anything. A round that
 * goes less than a twentieth of its way makes the pairs that stopped it twice as stiff; after a second one each vertex goes by its own reach.
 * safe_move.c and frame.c call these in the place of their own rules. */
#ifndef PD_DYNAMICS_CONTACT_OUTER_LOOP_H
#define PD_DYNAMICS_CONTACT_OUTER_LOOP_H

#include "dynamics/step/frame.h"

/* The first guess is in the iterate. */
pd_status pd_outer_first_guess(pd_simulation *self);
/* Before an iteration. */
pd_status pd_outer_keep(pd_simulation *self);
/* After it, in the place of the frame's own readback: the first `reported` numbers of the scalars of the problem, and with them what
 * pd_outer_advance asks of the move, so that the host waits once for both. */
pd_status pd_outer_read(pd_simulation *self, size_t reported, double *report);
/* After it: goes on, or ends the round, and safe.rounds says whether there is another. */
pd_status pd_outer_advance(pd_simulation *self);
/* The step is over and its velocity known: restitution. */
pd_status pd_outer_finish(pd_simulation *self);
/* It has failed. */
void pd_outer_give_up(pd_simulation *self);

#endif
