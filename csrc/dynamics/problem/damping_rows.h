/* The pattern of the damping matrix: vertices that share a damped element. */
#ifndef PD_DYNAMICS_PROBLEM_DAMPING_ROWS_H
#define PD_DYNAMICS_PROBLEM_DAMPING_ROWS_H

#include "dynamics/problem/model.h"

/* Fills `damping` of the model and `damping_blocks` of its kinds, if an element is damped; destroyed with the model.
 * Errors: PD_ERROR_MEMORY; PD_ERROR_VALUE for a damped element of a rigid body, or more entries than an int counts. */
pd_status pd_damping_rows_create(pd_model *model, pd_context *context, const pd_description *description, const pd_corners *corners);

#endif
