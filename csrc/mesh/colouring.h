/* Vertex colouring: vertices of one colour share no element, so they may be moved in parallel [Chen et al. 2024, VBD, Sec. 3.9;
 * Fratarcangeli et al. 2016, Vivace]. */
#ifndef PD_MESH_COLOURING_H
#define PD_MESH_COLOURING_H

#include "base/status.h"

typedef enum pd_colouring {
    PD_COLOURING_GREEDY,  /* ascending vertices, the smallest colour that no neighbour has */
    PD_COLOURING_BALANCED /* greedy, then vertices leave large colours: the same number of colours, of nearly equal size */
} pd_colouring;

/* Colours the vertices so that no two of one element have the same colour.
 *   colours [n_points]  out  from 0; every colour up to the largest occurs     n_colours  out
 *   elements [n_elements,k]  in  (k = 1 to 4)
 * Vertices without an element count as free: greedy gives them colour 0. For several kinds of element, pass the union of their edges (k
 * = 2): the graph is the same. Balancing moves a vertex to the smallest colour that its neighbours leave free, while that reduces the
 * difference [Lu et al. 2017, Algorithms for Balanced Graph Colorings, unscheduled moves].
 * Memory: allocates one incidence list, freed on return.
 * Order: ascending vertex; depends on the input only.
 * Errors: PD_ERROR_VALUE as in validation.h, PD_ERROR_MEMORY. */
pd_status pd_colouring_create(int *colours, int *n_colours, const int *elements, int n_elements, int k, int n_points, pd_colouring method,
                              pd_error *error);

#endif
