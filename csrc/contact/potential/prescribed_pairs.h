/* Whether pins and scripted obstacles pass through each other in a step. Pairs of which both sides are prescribed are in no list of
 * contact, since no force can part them. Where their motions meet, the step is refused.
 *
 * The check is one certified time of impact (guard.h) of the way that they went, over their primitives alone. Obstacles are not checked
 * against each other, nor what does not move against what does not. */
#ifndef PD_CONTACT_POTENTIAL_PRESCRIBED_PAIRS_H
#define PD_CONTACT_POTENTIAL_PRESCRIBED_PAIRS_H

#include "contact/potential/contact.h"

typedef struct pd_prescribed_pairs pd_prescribed_pairs;

/* NULL where the description has none. Errors: PD_ERROR_MEMORY. */
pd_status pd_prescribed_pairs_create(pd_prescribed_pairs **out, pd_context *context, const pd_contact_description *description);
void pd_prescribed_pairs_destroy(pd_prescribed_pairs *self); /* NULL is allowed */

/* From x_t and where driven points were kept to x and where they are; both B [n_vertices,3]. NULL is allowed. Waits.
 * Errors: PD_ERROR_VALUE, with the names of both where two meet; PD_ERROR_MEMORY. */
pd_status pd_prescribed_pairs_check(pd_prescribed_pairs *self, pd_contact *contact, const real *x_t, const real *x);

#endif
