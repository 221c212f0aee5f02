/* One iteration of preconditioned conjugate gradients [Golub and Van Loan 1996, Algorithm 10.3.1] on any symmetric operator, for everybody
 * who runs them: the global step (pcg.c), Newton's inner solves (dynamics/problem/hessian_cg.c), Lanczos' method (largest_eigenvalue.c).
 * When to stop is for the caller, who reads the scalars back or does not, and may have them end by themselves in between. */
#ifndef PD_LINEAR_CONJUGATE_GRADIENTS_H
#define PD_LINEAR_CONJUGATE_GRADIENTS_H

#include "loops/matrix_loops.h"

/* q = A p [n,width] and the p.q of every column into sums: rows of a sparse matrix, blocks of a Hessian, and what contact adds to them. */
typedef pd_status (*pd_operator_product)(void *owner, const real *p, real *q, double *sums);

typedef struct pd_conjugate_gradients {
    pd_context *context;
    const pd_matrix *rows; /* how many, and the scratch of their reductions */
    int width;
    int joined; /* the columns are one system: one alpha and one beta */
    const pd_preconditioner *M;
    pd_operator_product product;
    void *owner;
    real *r, *p, *q; /* B [n,width]: residual, search direction (pd_pcg_direction_bytes), A p */
    double *sums;    /* B [4 width] p.q, r.z, r.z of the iteration before, r.r */
    pd_pcg_end end;  /* of one column */
} pd_conjugate_gradients;

/* d = 0; r holds the right-hand side. */
pd_status pd_conjugate_gradients_begin(const pd_conjugate_gradients *self, real *d);
/* The next search direction p and q = A p; `first`: it is M^-1 r. Then sums hold p.q and r.z. */
pd_status pd_conjugate_gradients_direct(const pd_conjugate_gradients *self, int first);
/* d += alpha p and r -= alpha q; where p.q is not positive alpha is 0. Then sums hold r.z and r.r. */
pd_status pd_conjugate_gradients_move(const pd_conjugate_gradients *self, real *d);

#endif
