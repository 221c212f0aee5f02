/* When an iterate is the answer of a step.
 *
 * The gradient norm is compared with `tolerance` times a reference norm. Without contact that is the gradient norm at the first guess. In
 * contact the first guess may press into a barrier, and its gradient norm is then larger than any load. The reference norm is therefore the
 * smaller of it and
 *     |M (y - x_t)|/h^2 + |elastic forces at x|,
 * quasistatic |load| + |elastic forces at x|: the forces that contact has to balance. */
#ifndef PD_DYNAMICS_STEP_CONVERGENCE_H
#define PD_DYNAMICS_STEP_CONVERGENCE_H

#include "dynamics/step/frame.h"

/* What a step measures once. */
typedef struct pd_reference {
    double first_norm; /* of the gradient at the first guess, N; 0: not evaluated yet */
    double load;       /* |M (y - x_t)|/h^2, or the load, N; evaluated on the first use, negative before */
} pd_reference;

static const pd_reference PD_REFERENCE_EMPTY = {0.0, -1.0};

/* Whether a gradient norm is within the tolerance at the iterate. A norm that is not finite is not. Leaves the scratch of the problem
 * changed. */
pd_status pd_convergence_within(pd_simulation *self, pd_reference *reference, double norm, int *within);
/* Whether the last full step of Newton's method is within the step tolerance: without the shortening by a line search or a step limit. */
pd_status pd_convergence_of_step(pd_simulation *self, int *within);

#endif
