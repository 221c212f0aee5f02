/* The list of all responses of contact, one line each. No other file except the response's own names it. */
#ifndef PD_DYNAMICS_RESPONSES_H
#define PD_DYNAMICS_RESPONSES_H

#include "dynamics/method.h"
#include "dynamics/response.h"

#define PD_RESPONSE_TABLE(RESPONSE)  \
    RESPONSE(pd_barrier_response)    \
    RESPONSE(pd_penalty_response)    \
    RESPONSE(pd_projective_response) \
    RESPONSE(pd_two_way_response)    \
    RESPONSE(pd_proxies_response)

/* The response of a description; without contact one without functions.
 * Errors: PD_ERROR_VALUE for two responses, or for parts of a scene that the response does not support; PD_ERROR_TYPE if the method does
 * not support it. */
pd_status pd_response_find(const pd_contact_response **out, const pd_description *description, const pd_method *method, pd_error *error);

#endif
