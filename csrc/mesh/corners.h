/* The element corners of each vertex. */
#ifndef PD_MESH_CORNERS_H
#define PD_MESH_CORNERS_H

#include "base/status.h"
#include "mesh/element_set.h"

/* For every vertex its element corners, in the order of the sets, for a gather per vertex. Corner ids count through all sets: corner =
 * first_corner(set) + k * element + position. */
typedef struct pd_corners {
    int n_corners;
    int *start;   /* [n_vertices+1] */
    int *corners; /* [n_corners], ascending for each vertex */
} pd_corners;

pd_status pd_corners_create(pd_corners *out, int n_vertices, const pd_element_set *sets, int n_sets, pd_error *error);
void pd_corners_destroy(pd_corners *corners);

/* The set, element and position of a corner, by a linear search of the few sets. */
const pd_element_set *pd_corner_set(const pd_element_set *sets, int corner, int *element, int *position);

#endif
