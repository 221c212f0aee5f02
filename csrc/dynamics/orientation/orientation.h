/* Tets that must not invert: PD_ORIENTED_TABLE. Every iterate of a step has det F > 0 in all of them. */
#ifndef PD_DYNAMICS_ORIENTATION_ORIENTATION_H
#define PD_DYNAMICS_ORIENTATION_ORIENTATION_H

#include "dynamics/problem/problem.h"

/* The part of the straight path from x_0 to x_1 on which each keeps a tenth of its volume, rounded down, and at whose end det F > 0 in the
 * precision of the energies; 1 without such tets. Synchronises, and uses trial_offset and scalars of the problem. x_0, x_1 B [n,3]; x_1 may
 * be problem->trial. */
pd_status pd_orientation_limit(const pd_problem *problem, const real *x_0, const real *x_1, double *fraction);

/* Tells whether det F > 0 in all of them at x B [n,3]. Synchronises, and uses scalars. */
pd_status pd_orientation_holds(const pd_problem *problem, const real *x, int *holds);

/* PD_ERROR_VALUE with the first such tet and its det F if one is flat or inverted at x B [n,3]; `what` names x. Uses staging. */
pd_status pd_orientation_check(const pd_problem *problem, const char *what, const real *x);

#endif
