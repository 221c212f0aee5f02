/* The rules of a step for rigid bodies: the choice of the first guess, and the reports. */
#ifndef PD_DYNAMICS_STEP_RIGID_STEP_H
#define PD_DYNAMICS_STEP_RIGID_STEP_H

#include "dynamics/step/frame.h"

/* Moves the iterate from the inertial target to the guess by inertia only, or to x_t, if G without contact is less than a tenth there: if
 * elements such as joints hold bodies, an external force on one of them moves the target far from the solution. Synchronises three
 * times. */
pd_status pd_rigid_choose_first_guess(pd_simulation *self);

/* G at the end of a step that ran all of its iterations, if G at the first guess is known; before the velocity update. */
pd_status pd_rigid_report_cap(pd_simulation *self, pd_step_result *result);

/* The largest rotations; and the energy before and after a step that has not converged, if elements hold bodies and there is no contact.
 * After the velocity update. Uses trial and trial_offset. */
pd_status pd_rigid_report(pd_simulation *self, pd_step_result *result);

#endif
