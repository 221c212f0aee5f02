/* The outer loop of contact by projections (contact/projective/projective.h) in the common frame: rounds of iterations with frozen
 * projections, each ended by a detection [Lan et al. 2022, Algorithm 1, corrected: a loop that tests at its end, by moves in parts of the
 * activation distance].
 *
 *     x = x_t, the iterate = first guess; the pairs are those that it would bring together
 *     rounds: freeze the pairs at x; iterations of the solver, until one moves no vertex farther than the tolerance or the round is full
 *             t = what nothing touches on, from x to the iterate; x += t (iterate - x), and what is driven by the same part of its way
 *     until t = 1 and x is where it was, or the iterations or the rounds are spent
 *
 * The iterate is not cut back, so that what a round has found is not lost; the state of the step is x, which never touches anything. A
 * round that goes less than a twentieth of its way makes the pairs that stopped it twice as stiff; after a second one each vertex goes by
 * its own reach. projective_response.c is what the frame calls. */
#ifndef PD_DYNAMICS_RESPONSES_OUTER_LOOP_H
#define PD_DYNAMICS_RESPONSES_OUTER_LOOP_H

#include "contact/potential/contact.h"
#include "contact/projective/projective.h"
#include "dynamics/responses/momentum.h"
#include "dynamics/step/frame.h"

/* The memory of the response; pd_safe has what the frame reads of the rounds. */
typedef struct pd_outer {
    pd_projective *projective;
    pd_momentum *momentum; /* NULL: no body is free, or the variant does not correct its momentum */
    real *before;          /* B [n,3] the iterate before the last iteration */
    int outer;             /* rounds that have ended in the step */
    int inner;             /* iterations of this round */
    int slow;              /* rounds in a row that got no farther than a small part of their way */
    double share;          /* of its way that the state goes in a round */
    double moved;          /* by the round before, m; 0 where something stopped it, else pd_safe.offset says where to */
    double left;           /* the part of the step that is to come, if the rounds so far are parts of it */
    int measured;          /* whether `found` is of the last iteration */
    double found[5];       /* pd_outer_read */
    int asked;             /* whether the end of the round has been asked for */
    pd_round round;        /* what came of that */
    double potential;      /* G after the last iteration, where a round ends by it; else not a number */
} pd_outer;

static inline pd_outer *pd_outer_of(const pd_simulation *simulation) { return simulation->problem->response_memory; }

/* The first guess is in the iterate. */
pd_status pd_outer_first_guess(pd_simulation *self);
/* After an iteration, instead of the frame's own readback: the first `reported` numbers of the scalars of the problem, and with them
 * what pd_outer_advance asks of the move, so that the host waits once for both. */
pd_status pd_outer_read(pd_simulation *self, size_t reported, double *report);
/* After it: goes on, or ends the round, and safe.rounds says whether there is another. */
pd_status pd_outer_advance(pd_simulation *self);

#endif
