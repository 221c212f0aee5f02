/* The Hessian of the incremental potential in blocks of 3x3: its pattern, where every element's block goes, and its memory. */
#ifndef PD_DYNAMICS_BLOCK_HESSIAN_H
#define PD_DYNAMICS_BLOCK_HESSIAN_H

#include "dynamics/problem.h"

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

/* hessian->blocks = d2G/dx2 at x (B [n,3]), psd as in backend.h; pd_problem_need_hessian has been called. Memory: allocates nothing. */
pd_status pd_problem_hessian(const pd_problem *problem, const real *x, int psd);
/* The same, and brings it to the host, blocks [nnz,3,3] H, restricted to the lines and planes that vertices are held in: block (i,j) becomes
 * P_i B P_j. With `filled` the diagonal gets t (I - P_i), t of the block's own size, so that the matrix keeps its inverse. */
pd_status pd_problem_restricted_hessian(const pd_problem *problem, const real *x, int psd, int filled, real *blocks);

#endif
