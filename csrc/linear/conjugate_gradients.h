/* One iteration of preconditioned conjugate gradients [Golub and Van Loan 1996, Algorithm 10.3.1] on any symmetric operator. Users are
 * the global step (pcg.c), Newton's inner solves (dynamics/problem/hessian_cg.c) and Lanczos' method (largest_eigenvalue.c). The caller
 * decides when to stop, by reading the scalars or not, and may let iterations end on the device in between. */
#ifndef PD_LINEAR_CONJUGATE_GRADIENTS_H
#define PD_LINEAR_CONJUGATE_GRADIENTS_H

#include "linear/preconditioner.h"

typedef struct pd_conjugate_gradients {
    const pd_operator *A;
    const pd_preconditioned *M;
    int joined;          /* the columns are one system: one alpha and one beta */
    real *r, *p, *q, *z; /* B [n,width]: residual, search direction (pd_pcg_direction_bytes), A p, M^-1 r */
    double *sums;        /* B [6 width] p.q, r.z, r.z of the iteration before, r.r, scratch */
    pd_pcg_end end;      /* of one column */
    double *early;       /* B [4] scratch: the end is tested before M is applied, which synchronises; NULL: after it */
} pd_conjugate_gradients;

/* Allocates r, p, q, and z if M needs it, for given A and M. Destroy them after a failure too. Errors: PD_ERROR_MEMORY. */
pd_status pd_conjugate_gradients_create(pd_conjugate_gradients *self);
void pd_conjugate_gradients_destroy(pd_conjugate_gradients *self, pd_context *context);

/* d = 0; r is the right-hand side. */
pd_status pd_conjugate_gradients_begin(const pd_conjugate_gradients *self, real *d);
/* The next search direction p and q = A p; `first`: it is M^-1 r. Then sums hold p.q and r.z. */
pd_status pd_conjugate_gradients_direct(const pd_conjugate_gradients *self, int first);
/* d += alpha p and r -= alpha q; alpha is 0 unless p.q is positive. Then sums hold r.z and r.r. */
pd_status pd_conjugate_gradients_move(const pd_conjugate_gradients *self, real *d);

#endif
