/* The elements of materials of the caller (base/material_functions.h). These functions call the caller's functions before a loop reads
 * their results (elements/custom.h). A batch is copied from the backend to the host, evaluated, and copied back. */
#ifndef PD_DYNAMICS_PROBLEM_CUSTOM_ELEMENTS_H
#define PD_DYNAMICS_PROBLEM_CUSTOM_ELEMENTS_H

#include "dynamics/problem/problem.h"

typedef struct pd_custom_elements pd_custom_elements;

/* *out = NULL without materials of the caller. Errors: PD_ERROR_MEMORY; PD_ERROR_VALUE for functions that do not match the elements. */
pd_status pd_custom_elements_create(pd_custom_elements **out, const pd_problem *problem);
void pd_custom_elements_destroy(pd_custom_elements *self, pd_context *context); /* NULL is allowed */

/* The requested quantities (PD_REQUEST_...) of all such elements at x B [n,3]; no effect without such elements. Allocates nothing. Errors:
 * those of pd_material_values, in the text of the problem. */
pd_status pd_custom_refresh(const pd_problem *problem, const real *x, int requested);
/* The Hessians at x of the kinds with damping: before pd_damping_prepare. */
pd_status pd_custom_refresh_damping(const pd_problem *problem, const real *x);

/* The same for some elements of set number `set`, `listed` H and B [n] ascending, at positions B [.,stride], with the corners in rows
 * `corners` B [elements,k]. */
pd_status pd_custom_refresh_listed(const pd_problem *problem, int set, int requested, int n, const int *listed,
                                   const int *listed_in_backend, int stride, const real *positions, const int *corners);

#endif
