/* The sweep over the vertices of a problem, in backend memory: the order of the vertices, and their data. */
#ifndef PD_DYNAMICS_METHODS_VERTEX_SWEEP_H
#define PD_DYNAMICS_METHODS_VERTEX_SWEEP_H

#include "dynamics/problem/problem.h"

/* colours [n_vertices] from 0, no two free vertices of an element have the same; NULL: all vertices have one update together (Jacobi).
 * Reads the environment variable PDGPU_UPDATE_THREADS, for measurements: see update_threads. `grouped` != 0: corners of families
 * (elements/table.h) get their short forms, with a filter only if these have the same block. `hessian`: the filter of the blocks
 * (filtered_corner.h); AUTO: the sweep's own blocks; ADAPTIVE is an error, since a sweep has no quadratic model of G. The problem must
 * outlive the sweep. Errors: PD_ERROR_MEMORY, PD_ERROR_VALUE for colours that two of them share, an invalid PDGPU_UPDATE_THREADS, or ADAPTIVE. */
pd_status pd_vertex_sweep_create(pd_vertex_sweep *out, const pd_problem *problem, const int *colours, int grouped,
                                 pd_hessian_setting hessian);
void pd_vertex_sweep_destroy(pd_vertex_sweep *sweep, pd_context *context);

#endif
