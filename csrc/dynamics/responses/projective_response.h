/* Contact by projections (contact/projective/projective.h) as a response: a term of G on the matrix of a global step, with its own rounds
 * (outer_loop.h). */
#ifndef PD_DYNAMICS_RESPONSES_PROJECTIVE_RESPONSE_H
#define PD_DYNAMICS_RESPONSES_PROJECTIVE_RESPONSE_H

#include "contact/projective/projective.h"
#include "dynamics/step/simulation.h"

/* NULL: no contact by projections. */
pd_projective *pd_simulation_projective(pd_simulation *simulation);

#endif
