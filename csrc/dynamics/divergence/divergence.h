/* Detection of divergence in a step, and the vertex to name. */
#ifndef PD_DYNAMICS_DIVERGENCE_DIVERGENCE_H
#define PD_DYNAMICS_DIVERGENCE_DIVERGENCE_H

#include "dynamics/step/frame.h"

/* Values at the first guess and at the last check; 0 without a check. */
typedef struct pd_growth {
    double first_potential, first_magnitude, first_norm, first_moves; /* J, J, N, m */
    double potential, norm, moves;
} pd_growth;

/* Each returns PD_OK, PD_DIVERGED with the text, the iteration and a vertex in the simulation's error, or the failure of a loop. */

/* An iterate that is not finite, or whose moves or gradient grew by 1e8. `squared_moves`: |step|^2 of the last move. For a method with
 * its own safeguard only positions and moves are tested, for being finite. */
pd_status pd_divergence_of_iterate(pd_simulation *self, const pd_growth *growth, double squared_moves, int iteration);
/* A recorded step of a method that minimises G, which ends with a larger G than at its begin. */
pd_status pd_divergence_of_descent(pd_simulation *self, const pd_growth *growth, int iteration);
/* A state with more energy than load and pins explain (energy.h). */
pd_status pd_divergence_of_run(pd_simulation *self, const real *targets, int iteration);

/* PD_DIVERGED with that reason, and the first vertex that is not finite, or that with the largest gradient. */
pd_status pd_diverged(pd_simulation *self, int iteration, const char *why);

#endif
