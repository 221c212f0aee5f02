/* Which element corners a vertex is. */
#ifndef PD_MESH_CORNERS_H
#define PD_MESH_CORNERS_H

#include "base/status.h"
#include "mesh/element_set.h"

/* For every vertex, the element corners that touch it, in the order of the sets: what a gather per vertex needs.
 * Corner ids count through all sets: corner = first_corner(set) + k * element + position. */
typedef struct pd_corners {
    int n_corners;
    int *start;   /* [n_vertices+1] */
    int *corners; /* [n_corners], ascending for each vertex */
} pd_corners;

pd_status pd_corners_create(pd_corners *out, int n_vertices, const pd_element_set *sets, int n_sets, pd_error *error);
void pd_corners_destroy(pd_corners *corners);

/* The set, element and position in it of a corner; sets are few, so they are looked at in turn. */
const pd_element_set *pd_corner_set(const pd_element_set *sets, int corner, int *element, int *position);

#endif
