/* The Hessian of the incremental potential in blocks of 3x3: its pattern, the places of every element's blocks, and its memory. */
#ifndef PD_DYNAMICS_PROBLEM_BLOCK_HESSIAN_H
#define PD_DYNAMICS_PROBLEM_BLOCK_HESSIAN_H

#include "dynamics/problem/problem.h"

struct pd_block_hessian {
    pd_csr pattern;            /* H, without values; row_start NULL until first used */
    int *slots[PD_KIND_COUNT]; /* B, on first use */
    int *diagonal_slots;       /* B [n], on first use */
    real *blocks;              /* B [nnz,3,3], on first use */
};

void pd_block_hessian_destroy(pd_block_hessian *self, pd_context *context);

/* Creates the pattern. Errors: PD_ERROR_MEMORY; PD_ERROR_VALUE for too many blocks. */
pd_status pd_problem_need_pattern(const pd_problem *problem);
/* Creates the pattern, the slots and the memory of the blocks. */
pd_status pd_problem_need_hessian(const pd_problem *problem);

/* hessian->blocks = d2G/dx2 at x (B [n,3]), `filter` as in backend.h; requires pd_problem_need_hessian. Of contact pairs it contains the
 * diagonal blocks only. The others are not in the pattern of the elements and stay with the pairs (contact/potential/contact.h), for
 * products there and for assembled_hessian.h. Memory: allocates only for growth of the list of pairs. */
pd_status pd_problem_hessian(const pd_problem *problem, const real *x, pd_hessian_filter filter);

/* The same with B [nnz,3,3] `base` replacing inertia and elements, and the projected Hessians of pairs. */
pd_status pd_problem_hessian_on(const pd_problem *problem, const real *base, const real *x);

#endif
