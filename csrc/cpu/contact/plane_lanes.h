/* Separating planes of the pairs of a vertex, several per vector register. */
#ifndef PD_CPU_CONTACT_PLANE_LANES_H
#define PD_CPU_CONTACT_PLANE_LANES_H

#include "cpu/contact/contact_lanes.h"
#include "updates/contact/vertex_bound.h"

/* *planes: those of a vertex (pd_bound_meet_point), in `kept` [PD_BOUND_KEPT]. They are computed on demand instead if they are too many,
 * or if the vertex has embedded points. */
void pd_plane_lanes(const pd_contact_sweep *contact, int vertex, pd_separating_plane *kept, pd_bound_planes *planes);

#endif
