/* Elements of materials of the caller, by the colours of a sweep. Before the vertices of a colour move, the functions are evaluated for the
 * elements of these vertices at the present positions. */
#ifndef PD_DYNAMICS_METHODS_CUSTOM_COLOURS_H
#define PD_DYNAMICS_METHODS_CUSTOM_COLOURS_H

#include "dynamics/problem/problem.h"
#include "loops/sweep_loops.h"

typedef struct pd_custom_colours pd_custom_colours;

/* *out = NULL without materials of the caller. `colours` [n_vertices] are those of the sweep. Errors: PD_ERROR_MEMORY. */
pd_status pd_custom_colours_create(pd_custom_colours **out, const pd_problem *problem, const pd_vertex_sweep *sweep, const int *colours);
void pd_custom_colours_destroy(pd_custom_colours *self, pd_context *context); /* NULL is allowed */

/* Stresses and Hessians of the elements of a colour at the positions of the sweep, B [n_vertices,4]. */
pd_status pd_custom_colours_refresh(const pd_custom_colours *self, const pd_problem *problem, const pd_vertex_sweep *sweep, int colour,
                                    const real *positions);

#endif
