/* Detects penetrations between pins and scripted obstacles in a step. Pairs with two prescribed sides are in no contact list, since no
 * force can separate them. If their motions meet, the step is refused.
 *
 * The check is one certified time of impact (ccd_limiter.h) of the step's motion, over these primitives only. Pairs of obstacles are not
 * checked, nor pairs at rest. */
#ifndef PD_CONTACT_POTENTIAL_PRESCRIBED_PAIRS_H
#define PD_CONTACT_POTENTIAL_PRESCRIBED_PAIRS_H

#include "contact/potential/contact.h"

typedef struct pd_prescribed_pairs pd_prescribed_pairs;

/* NULL if the description has no such pairs. Errors: PD_ERROR_MEMORY. */
pd_status pd_prescribed_pairs_create(pd_prescribed_pairs **out, pd_context *context, const pd_contact_description *description);
void pd_prescribed_pairs_destroy(pd_prescribed_pairs *self); /* NULL is allowed */

/* Checks the motion from x_t and the stored positions of the prescribed points to x and their present positions; both B [n_vertices,3].
 * self may be NULL. Synchronises.
 * Errors: PD_ERROR_VALUE with the names of two sides that meet; PD_ERROR_MEMORY. */
pd_status pd_prescribed_pairs_check(pd_prescribed_pairs *self, pd_contact *contact, const real *x_t, const real *x);

#endif
