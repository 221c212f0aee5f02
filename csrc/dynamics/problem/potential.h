/* The incremental potential G and its gradient at a point, as numbers on the host, for methods, stopping rules and records. */
#ifndef PD_DYNAMICS_PROBLEM_POTENTIAL_H
#define PD_DYNAMICS_PROBLEM_POTENTIAL_H

#include "dynamics/problem/problem.h"

/* All vectors B [n,3]; offset = x - y. Each function synchronises, except pd_problem_gradient, and overwrites `scalars`. */

/* The parts of G, J: energies [PD_ENERGY_COUNT] H. */
pd_status pd_problem_energies(const pd_problem *self, const real *x, const real *offset, double *energies);
/* The same for inertia and elements only; energies of contact are 0. */
pd_status pd_problem_element_energies(const pd_problem *self, const real *x, const real *offset, double *energies);
/* The sum of all. `magnitude`, may be NULL: the sum of their absolute values. */
pd_status pd_problem_potential(const pd_problem *self, const real *x, const real *offset, double *potential, double *magnitude);
/* gradient = dG/dx, N; for rigid bodies see rigid.h. */
pd_status pd_problem_gradient(const pd_problem *self, const real *x, const real *offset, real *gradient);
/* The same as a local step: every element is projected, and dG/dx = A x - b is the right-hand side of the global step. Counted as a
 * projection. */
pd_status pd_problem_local_step(const pd_problem *self, const real *x, const real *offset, real *gradient);
/* x . y over all vertices. */
pd_status pd_problem_product(const pd_problem *self, const real *x, const real *y, double *product);
pd_status pd_problem_norm(const pd_problem *self, const real *vector, double *norm);

#endif
