/* What a block of vertices of one colour touches, over arrays of lanes. */
#ifndef PD_CPU_VERTEX_LANES_H
#define PD_CPU_VERTEX_LANES_H

#include "cpu/vertex_block.h"

/* sums [n,9], energies [n] out: what pd_vertex_update_contact says of each vertex. */
void pd_vertex_lanes_contact(pd_vertex_block *block, real (*sums)[9], double *energies);

/* energies [n] out: what pd_vertex_update_contact_energy says where each goes by -d [n,3]; after the former, of some of the same vertices. */
void pd_vertex_lanes_energies(pd_vertex_block *block, const real (*d)[3], double *energies);

#endif
