/* The contact of a block of vertices of one colour, over arrays of lanes. */
#ifndef PD_CPU_SWEEPS_VERTEX_LANES_H
#define PD_CPU_SWEEPS_VERTEX_LANES_H

#include "cpu/sweeps/vertex_block.h"

/* Prefetches, for row v of a block, the list of its roles; then, once that is loaded, the records of their pairs. */
void pd_vertex_lanes_fetch_roles(const pd_vertex_block *block, int v);
void pd_vertex_lanes_fetch_records(const pd_vertex_block *block, int v);

/* sums [n,9], energies [n] out: pd_vertex_update_contact for each vertex. */
void pd_vertex_lanes_contact(pd_vertex_block *block, real (*sums)[9], double *energies);

/* energies [n] out: pd_vertex_update_contact_energy for displacements -d [n,3]; after pd_vertex_lanes_contact, for some of the same
 * vertices. */
void pd_vertex_lanes_energies(pd_vertex_block *block, const real (*d)[3], double *energies);

#endif
