/* An order of the vertices in which neighbours lie close together. */
#ifndef PD_SPARSE_ORDERING_H
#define PD_SPARSE_ORDERING_H

#include "sparse/system_matrix.h"

/* order [n] out: every vertex once, breadth first from an end of each component, neighbours in ascending id
 * [Cuthill and McKee 1969, without the sort by degree; the end as George and Liu 1979]. What a loop over such an order gathers
 * stays within a few levels of the front, whatever numbers the mesh came with.
 * Neighbours share an element, and are found through the corners: the pattern of a very large mesh would have too many entries.
 * Memory: one array of n, freed on return. Order: depends on who meets whom only. Errors: PD_ERROR_MEMORY. */
pd_status pd_breadth_first_order(int *order, int n, const pd_element_set *sets, const pd_corners *corners, pd_error *error);

#endif
