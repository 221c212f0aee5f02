/* Element colouring: elements of one colour share no free vertex, so a Gauss-Seidel sweep may process them in parallel [Macklin et al.
 * 2014, Unified Particle Physics, Sec. 5; Fratarcangeli et al. 2016, Vivace]. */
#ifndef PD_MESH_ELEMENT_COLOURING_H
#define PD_MESH_ELEMENT_COLOURING_H

#include "mesh/corners.h"

/* Greedy: in the order of the sets, each element gets the smallest colour that no earlier element at its free vertices has.
 *   colours [elements of all sets]  out  from 0      n_colours  out  0 without elements
 *   fixed [n_vertices]  1: pinned, causes no conflict      corners  of the same sets
 * Memory: two arrays, freed on return. Order: depends on the input only. Errors: PD_ERROR_MEMORY. */
pd_status pd_element_colouring_create(int *colours, int *n_colours, const pd_element_set *sets, int n_sets, const unsigned char *fixed,
                                      const pd_corners *corners, pd_error *error);

#endif
