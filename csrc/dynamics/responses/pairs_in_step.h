/* Functions shared by the responses with pairs in the scene of the problem (contact/potential/contact.h): begin and end of a step, and
 * queries between steps. All take problem->scene; their meaning is that of the functions of response.h. */
#ifndef PD_DYNAMICS_RESPONSES_PAIRS_IN_STEP_H
#define PD_DYNAMICS_RESPONSES_PAIRS_IN_STEP_H

#include "dynamics/response.h"

/* Creates problem->scene only. */
pd_status pd_pairs_create(pd_problem *problem, const pd_description *description);
void pd_pairs_destroy(pd_problem *problem);

pd_status pd_pairs_begin(struct pd_simulation *simulation);
pd_status pd_pairs_restore(struct pd_simulation *simulation);
/* One pass for each lag of friction. */
pd_status pd_pairs_next_pass(struct pd_simulation *simulation, int passes, int *again);
/* The stiffness of the next step. */
pd_status pd_pairs_close(struct pd_simulation *simulation, struct pd_step_result *result);
void pd_pairs_forget(const pd_problem *problem);
pd_status pd_pairs_question(const pd_problem *problem, int ahead);
void pd_pairs_seconds(const pd_problem *problem, struct pd_contact_seconds *spent);

#endif
