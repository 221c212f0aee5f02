/* The two-way interior point method (contact/two_way/two_way.h) in the common frame. The solver has no contact, and its result is the
 * target of an update, at the end of the step or every few iterations, from which the solver continues [Wang et al. 2023, Sec. 3.2,
 * 6.1]. */
#ifndef PD_DYNAMICS_RESPONSES_TWO_WAY_STEP_H
#define PD_DYNAMICS_RESPONSES_TWO_WAY_STEP_H

#include "dynamics/responses/two_way_load.h"
#include "dynamics/step/frame.h"

static inline pd_two_way_load *pd_two_way_load_of(const pd_simulation *simulation) { return simulation->problem->response_memory; }

/* Moves the state towards the iterate, and sets the iterate to the result. result->update and result->target_lag. *again: whether the solver
 * continues from there, under the new load of contact (two_way_load.h). */
pd_status pd_two_way_step_update(pd_simulation *self, const pd_observer *observer, pd_step_result *result, int *again);
/* The end of a step with a converged solver: converged if also its last update has, prescribed motions have arrived, and no unexplained
 * energy was gained. Otherwise PD_STOP_STALLED if nothing moved, else PD_STOP_ITERATION_CAP. */
pd_stop pd_two_way_step_stop(const pd_step_result *result);

#endif
