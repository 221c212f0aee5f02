/* The largest eigenvalue of a preconditioned operator by Lanczos' method. */
#ifndef PD_LINEAR_LARGEST_EIGENVALUE_H
#define PD_LINEAR_LARGEST_EIGENVALUE_H

#include "linear/conjugate_gradients.h"

/* The largest eigenvalue of M^-1 A from the start vector in cg->r, of one column and with M applied in the passes. Ends after most_steps
 * (<= 1000), or when the value stops growing; d B [n] is scratch. In exact arithmetic a lower bound; 0 if the first step finds nothing.
 * *negative: 1 after a direction of negative curvature. Synchronises. Memory: allocates nothing. */
pd_status pd_lanczos_largest(const pd_conjugate_gradients *cg, real *d, int most_steps, double *lambda, int *negative);

#endif
