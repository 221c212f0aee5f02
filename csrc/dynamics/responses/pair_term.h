/* Pairs as a term of G, of a contact potential or of a penalty, for methods that read problem->contact: the functions of response.h that
 * both have. */
#ifndef PD_DYNAMICS_RESPONSES_PAIR_TERM_H
#define PD_DYNAMICS_RESPONSES_PAIR_TERM_H

#include "dynamics/response.h"

/* Creates problem->scene; problem->contact is the same. */
pd_status pd_pair_term_create(pd_problem *problem, const pd_description *description);

pd_status pd_pair_term_potential(const pd_problem *problem, const real *x, double *energies);
pd_status pd_pair_term_gradient(const pd_problem *problem, const real *x, real *gradient);
pd_status pd_pair_term_hessian(const pd_problem *problem, const real *x, pd_hessian_filter filter);

/* Vertices in contact are not extrapolated until the end of the step, since their forces change between iterations. If the method gives
 * each vertex a displacement bound, extrapolation stays within it. */
pd_status pd_pair_term_advance(struct pd_simulation *simulation, const double *weights, int report);
pd_status pd_pair_term_row(struct pd_simulation *simulation, struct pd_contact_recorder *recorder, const real *x,
                           struct pd_contact_row *row);

#endif
