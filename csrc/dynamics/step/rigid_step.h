/* What the frame does in a step for rigid bodies: the choice of the first guess, and what it reports of the step. */
#ifndef PD_DYNAMICS_STEP_RIGID_STEP_H
#define PD_DYNAMICS_STEP_RIGID_STEP_H

#include "dynamics/step/frame.h"

/* The iterate, which is at the inertial target, goes to inertia alone or to x_t where G without contact is less than a tenth there: where
 * elements such as joints hold bodies, an external force on one of them leads the target far from the answer. Waits three times. */
pd_status pd_rigid_choose_first_guess(pd_simulation *self);

/* G at the end of a step that ran all of its iterations, where that at the first guess is known; before the velocity is updated. */
pd_status pd_rigid_report_cap(pd_simulation *self, pd_step_result *result);

/* The largest turns; and the energy before and after a step that has not converged, where elements hold bodies and there is no contact.
 * After the velocity is updated. Uses trial and trial_offset. */
pd_status pd_rigid_report(pd_simulation *self, pd_step_result *result);

#endif
