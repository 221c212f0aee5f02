/* An order of the vertices that keeps neighbours close together. */
#ifndef PD_SPARSE_ORDERING_H
#define PD_SPARSE_ORDERING_H

#include "sparse/system_matrix.h"

/* order [n] out: every vertex once, breadth first from an end of each component, neighbours in ascending id [Cuthill and McKee 1969,
 * without the sort by degree; the end as George and Liu 1979]. A gather in this order stays within a few levels, for any numbering of
 * the mesh. Neighbours share an element, and are found through the corners: the pattern of a very large mesh would have too many
 * entries.
 * Memory: one array of n, freed on return.
 * Order: depends on the graph only. Errors: PD_ERROR_MEMORY. */
pd_status pd_breadth_first_order(int *order, int n, const pd_element_set *sets, const pd_corners *corners, pd_error *error);

#endif
