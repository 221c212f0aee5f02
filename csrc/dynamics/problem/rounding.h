/* The rounding errors of a potential and of its gradient, with which the stopping rules compare; see rounding.c. */
#ifndef PD_DYNAMICS_PROBLEM_ROUNDING_H
#define PD_DYNAMICS_PROBLEM_ROUNDING_H

#include "dynamics/problem/problem.h"

struct pd_rounding {
    double stiffness_sums[2];  /* sum of PD weights: of dimensionless F, and of F in metres */
    double inertia_sum;        /* sum of m/h^2 */
    double matrix_trace;       /* of the system matrix: inertia_sum + sum of w |g|^2, N/m */
    double *stiffness_rows;    /* H [n] bound of the Hessian's row sums at rest, N/m */
    double stiffness_norm;     /* of those of free vertices, N/m */
    double stiffness_by_mass;  /* sqrt(sum of their squares over the masses), N/m/sqrt(kg) */
    double largest_coordinate; /* of x_t, m; negative: unknown */
};

/* Sums up the stiffness of the description. Errors: PD_ERROR_MEMORY. */
pd_status pd_rounding_create(pd_rounding *out, const pd_problem *problem);
void pd_rounding_destroy(pd_rounding *self);

/* Announces another x_t. */
void pd_rounding_begin(const pd_problem *problem);
/* The largest |coordinate| of x_t, m. Read back on the first call of a step, so that it depends only on the state. */
double pd_rounding_size(const pd_problem *problem);
/* The rounding error of a potential whose parts sum to `magnitude`, J. */
double pd_rounding_of_potential(const pd_problem *problem, double magnitude);
/* The norm of the gradient by rounding of x (B [n,3]) and x_t, N, which no solver can undercut. */
double pd_rounding_of_gradient(const pd_problem *problem, const real *x);
/* Tells whether the points of rigid bodies only move by rounding, at a gradient norm [N] by rounding: poses that change in the last bit
 * never stop moving points. square: of the moves of a step, m^2. False without rigid bodies. */
int pd_rounding_holds_poses(const pd_problem *problem, const real *x, double square, double norm);
/* sqrt(sum of m |a|^2) of the accelerations by forces of that size, from the rounding of x_t, sqrt(J)/s. */
double pd_rounding_of_acceleration(const pd_problem *problem);

#endif
