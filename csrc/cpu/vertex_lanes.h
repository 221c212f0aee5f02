/* What a block of vertices of one colour touches, over arrays of lanes: roles of one kind of pair, several per vector register, whatever vertices
 * they are of. What each vertex gets is added up role by role in the order of its list. */
#ifndef PD_CPU_VERTEX_LANES_H
#define PD_CPU_VERTEX_LANES_H

#include "loops/friction_loops.h"

/* Vertices of a block; those where vertices[v] < 0 take no part. */
enum { PD_BLOCK_VERTICES = 32 };

typedef struct pd_vertex_block {
    const pd_model *model;
    const pd_vertex_sweep *sweep;
    const pd_contact_sweep *contact;
    int n, vertices[PD_BLOCK_VERTICES];
} pd_vertex_block;

/* sums [n,9], energies [n] out: what pd_vertex_update_contact says of each vertex. */
void pd_vertex_lanes_contact(const pd_vertex_block *block, real (*sums)[9], double *energies);

/* energies [n] out: what pd_vertex_update_contact_energy says where each goes by -d [n,3]. */
void pd_vertex_lanes_energies(const pd_vertex_block *block, const real (*d)[3], double *energies);

#endif
