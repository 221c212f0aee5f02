/* The outer loop of contact by projections (contact/projective/projective.h) in the common frame: rounds of iterations with frozen
 * projections, each followed by a detection [Lan et al. 2022, Algorithm 1, corrected: a loop that tests at its end, by moves relative to
 * the activation distance].
 *
 *     x = x_t, the iterate = first guess; the pairs are those that it would bring into contact
 *     rounds: freeze the pairs at x; iterations of the solver, until one moves no vertex farther than the tolerance or the round is full
 *             t = contact-free fraction from x to the iterate; x += t (iterate - x), and prescribed points by the same fraction
 *     until t = 1 and x has not moved, or the iterations or the rounds are used up
 *
 * The iterate is not cut back, so that the result of a round is kept. The state of the step is x, which is never in contact. A round
 * that takes less than a twentieth of its path makes the pairs that limited it twice as stiff; after a second one displacement bounds
 * apply. The frame calls projective_response.c. */
#ifndef PD_DYNAMICS_RESPONSES_OUTER_LOOP_H
#define PD_DYNAMICS_RESPONSES_OUTER_LOOP_H

#include "contact/potential/contact.h"
#include "contact/projective/projective.h"
#include "dynamics/responses/momentum.h"
#include "dynamics/step/frame.h"

/* The memory of the response; the frame reads the rounds from pd_step_limiter. */
typedef struct pd_outer {
    pd_projective *projective;
    pd_momentum *momentum; /* NULL: no free body, or a variant without its correction */
    real *before;          /* B [n,3] the iterate before the last iteration */
    int outer;             /* completed rounds of the step */
    int inner;             /* iterations of this round */
    int slow;              /* successive rounds that took a small fraction of their path */
    double share;          /* of its path that the state takes in a round */
    double moved;          /* by the previous round, m; 0 if it was limited, otherwise pd_step_limiter.offset is its end */
    double left;           /* the remaining fraction of the step, if the rounds so far are parts of it */
    int measured;          /* `found` belongs to the last iteration */
    double found[5];       /* pd_outer_read */
    int enqueued;          /* the end of the round is enqueued */
    pd_round round;        /* its result */
    double potential;      /* G after the last iteration, if it ends a round; otherwise NaN */
} pd_outer;

static inline pd_outer *pd_outer_of(const pd_simulation *simulation) { return simulation->problem->response_memory; }

/* Called with the first guess in the iterate. */
pd_status pd_outer_first_guess(pd_simulation *self);
/* Replaces the frame's device read after an iteration: the first `reported` scalars of the problem, and the measures for pd_outer_advance,
 * in one synchronisation. */
pd_status pd_outer_read(pd_simulation *self, size_t reported, double *report);
/* After it: continues, or ends the round; limiter.rounds tells whether another follows. */
pd_status pd_outer_advance(pd_simulation *self);

#endif
