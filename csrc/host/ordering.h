/* An order of the vertices in which neighbours lie close together. */
#ifndef PD_HOST_ORDERING_H
#define PD_HOST_ORDERING_H

#include "host/system_matrix.h"

/* order [pattern->n] out: every vertex once, breadth first from an end of each component, neighbours in ascending id
 * [Cuthill and McKee 1969, without the sort by degree; the end as George and Liu 1979]. What a loop over such an order gathers
 * stays within a few levels of the front, whatever numbers the mesh came with.
 * Memory: one array of n, freed on return. Order: depends on the pattern only. Errors: PD_ERROR_MEMORY. */
pd_status pd_breadth_first_order(int *order, const pd_csr *pattern, pd_error *error);

#endif
