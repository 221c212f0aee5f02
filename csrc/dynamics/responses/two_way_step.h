/* The two-way interior point method (contact/two_way/two_way.h) in the common frame: the solver knows of no contact, and what it comes to
 * is the target of an update, at the end of the step or every few iterations, from which the solver then goes on [Wang et al. 2023, Sec.
 * 3.2, 6.1]. */
#ifndef PD_DYNAMICS_RESPONSES_TWO_WAY_STEP_H
#define PD_DYNAMICS_RESPONSES_TWO_WAY_STEP_H

#include "dynamics/responses/two_way_load.h"
#include "dynamics/step/frame.h"

static inline pd_two_way_load *pd_two_way_load_of(const pd_simulation *simulation) { return simulation->problem->response_memory; }

/* The state goes towards the iterate, and the iterate is then where it came to. result->update and result->behind. *again: whether the
 * solver is to go on from there, under the load that contact has now (two_way_load.h). */
pd_status pd_two_way_step_update(pd_simulation *self, const pd_observer *observer, pd_step_result *result, int *again);
/* How a step ends whose solver has converged: also its last update has, what is driven has arrived, and no energy was gained that nothing
 * explains; else PD_STOP_STALLED where nothing moved any more, and PD_STOP_ITERATION_CAP. */
pd_stop pd_two_way_step_stop(const pd_step_result *result);

#endif
