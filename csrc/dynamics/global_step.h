/* The matrix of the Projective Dynamics global step, and linear solvers over it. */
#ifndef PD_DYNAMICS_GLOBAL_STEP_H
#define PD_DYNAMICS_GLOBAL_STEP_H

#include "dynamics/problem.h"
#include "linear/linear_solver.h"

/* A = M/h^2 + sum w S^T S over all vertices, N/m; made on first use, owned by the problem. Errors: PD_ERROR_MEMORY, PD_ERROR_VALUE. */
pd_status pd_problem_system_matrix(const pd_problem *problem, const pd_csr **out);
/* A linear solver over its free rows, for three columns, not prepared yet; the caller destroys it. */
pd_status pd_problem_linear_create(pd_linear **out, const pd_problem *problem, const pd_linear_settings *settings);
/* The same over another matrix on the pattern of A: that with the parameters of `sets` [n_sets] in place of the problem's. */
pd_status pd_problem_weighed_linear_create(pd_linear **out, const pd_problem *problem, const pd_linear_settings *settings,
                                           const pd_element_set *sets);

#endif
