/* The pairs of each point, with the point's corner in each. */
#ifndef PD_CONTACT_DETECTION_INCIDENCE_H
#define PD_CONTACT_DETECTION_INCIDENCE_H

#include "loops/collision_loops.h"
#include "loops/proximity_loops.h"

/* The number of bits of a key with n values, at least 1. */
int pd_key_bits(uint64_t n);

/* out: the roles of each of n_points points, ascending, from the points of n pairs. keys, scratch B [pd_role_keys(n)];
 * work for as many keys. */
pd_status pd_incidence_list(pd_context *context, size_t n, const pd_active_pairs *pairs, int n_points, uint64_t *keys, uint64_t *scratch,
                            const pd_work *work, pd_incidence *out);

#endif
