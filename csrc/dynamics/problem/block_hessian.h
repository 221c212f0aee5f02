/* The Hessian of the incremental potential in blocks of 3x3: its pattern, where every element's block goes, and its memory. */
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

/* Makes the pattern. Errors: PD_ERROR_MEMORY; PD_ERROR_VALUE where it is too large. */
pd_status pd_problem_need_pattern(const pd_problem *problem);
/* Makes it, the slots and the memory of the blocks. */
pd_status pd_problem_need_hessian(const pd_problem *problem);

/* hessian->blocks = d2G/dx2 at x (B [n,3]), `filter` as in backend.h; pd_problem_need_hessian has been called. Of pairs in contact only the
 * diagonal blocks are here: the others have no place in the pattern of the elements and stay with the pairs (contact/potential/contact.h),
 * for products there and for whole_hessian.h. Memory: allocates nothing but for growth of the list of pairs. */
pd_status pd_problem_hessian(const pd_problem *problem, const real *x, pd_hessian_filter filter);

/* The same with B [nnz,3,3] `base` instead of inertia and elements, and the projected Hessians of pairs. */
pd_status pd_problem_hessian_upon(const pd_problem *problem, const real *base, const real *x);

#endif
