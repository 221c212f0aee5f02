/* Contact by proxies (contact/proxies/proxies.h) as a response: a term of G, and of the matrix of a global step. */
#ifndef PD_DYNAMICS_RESPONSES_PROXIES_RESPONSE_H
#define PD_DYNAMICS_RESPONSES_PROXIES_RESPONSE_H

#include "contact/proxies/proxies.h"
#include "dynamics/step/simulation.h"

/* NULL: none. */
pd_proxies *pd_simulation_proxies(pd_simulation *simulation);

#endif
