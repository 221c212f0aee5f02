/* The Hessian of the incremental potential on the host in the six numbers of each rigid body (rigid/rigid.h).
 *
 * The functions are those of assembled_hessian.h without `reduced` in their names, with the same errors. The curvature of rotations is
 * included with PD_FILTER_NONE only. Without rigid bodies the reduced Hessian is problem->assembled. */
#ifndef PD_DYNAMICS_PROBLEM_REDUCED_HESSIAN_H
#define PD_DYNAMICS_PROBLEM_REDUCED_HESSIAN_H

#include "dynamics/problem/assembled_hessian.h"

/* All H, NULL and 0 before the first use. */
struct pd_reduced_hessian {
    pd_csr elements;                /* the pattern of the elements' blocks, with the rows of a body replaced by its first two carriers */
    real *vertex_blocks;            /* those of problem->hessian */
    pd_assembled_hessian assembled; /* elements and pairs */
};

void pd_reduced_hessian_destroy(pd_reduced_hessian *self);

const pd_assembled_hessian *pd_problem_reduced(const pd_problem *problem);
pd_status pd_problem_need_reduced(const pd_problem *problem);
pd_status pd_problem_reduced_hessian(const pd_problem *problem, const real *x, pd_hessian_filter filter, int filled, int rebuild);
pd_status pd_problem_reduced_assemble(const pd_problem *problem, const real *x, pd_hessian_filter filter, int filled, int rebuild);
pd_status pd_problem_reduced_hessian_on(const pd_problem *problem, const real *base, const real *x, int rebuild);

#endif
