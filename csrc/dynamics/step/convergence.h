/* Convergence of a step.
 *
 * The gradient norm is compared with `tolerance` times a reference norm. Without contact that is the gradient norm at the first guess.
 * In contact the first guess may press into a barrier, with a gradient norm above any load. So the reference norm is the smaller of it
 * and
 *     |M (y - x_t)|/h^2 + |elastic forces at x|,
 * quasistatic |load| + |elastic forces at x|: the forces that contact has to balance. */
#ifndef PD_DYNAMICS_STEP_CONVERGENCE_H
#define PD_DYNAMICS_STEP_CONVERGENCE_H

#include "dynamics/step/frame.h"

/* Reference norms of a step, each evaluated once. */
typedef struct pd_reference {
    double first_norm; /* of the gradient at the first guess, N; 0: not evaluated yet */
    double load;       /* |M (y - x_t)|/h^2, or the load, N; evaluated on the first use, negative before */
} pd_reference;

static const pd_reference PD_REFERENCE_EMPTY = {0.0, -1.0};

/* G, J, and its gradient norm, N, at the iterate, for records and stopping rules. They stay in the iterate for its next correction. */
pd_status pd_convergence_evaluate(pd_simulation *self, double *potential, double *norm);
/* Tells whether a gradient norm is within the tolerance at the iterate; false for a norm that is not finite. Changes the scratch of the
 * problem. */
pd_status pd_convergence_within(pd_simulation *self, pd_reference *reference, double norm, int *within);
/* Tells whether the last full step of Newton's method is within the step tolerance, without the shortening by a line search or a step
 * limit. */
pd_status pd_convergence_of_step(pd_simulation *self, int *within);

#endif
