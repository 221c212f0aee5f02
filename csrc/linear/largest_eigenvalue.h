/* The largest eigenvalue of a preconditioned operator by Lanczos' method. */
#ifndef PD_LINEAR_LARGEST_EIGENVALUE_H
#define PD_LINEAR_LARGEST_EIGENVALUE_H

#include "linear/conjugate_gradients.h"

/* That of M^-1 A from the start vector in cg->r, of one column and with M applied in the passes, after most_steps (1000 at most) or where it
 * grows no more; d B [n] is scratch. In exact arithmetic a lower bound; 0 where the first step finds nothing. *negative: it has met a
 * direction of negative curvature. Waits. Memory: allocates nothing. */
pd_status pd_lanczos_largest(const pd_conjugate_gradients *cg, real *d, int most_steps, double *lambda, int *negative);

#endif
