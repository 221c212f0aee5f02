/* The Chebyshev semi-iterative method [Wang 2015], as parameters and a sequence of omegas. */
#ifndef PD_LINEAR_CHEBYSHEV_H
#define PD_LINEAR_CHEBYSHEV_H

#include "base/option.h"

typedef struct pd_chebyshev {
    int enabled;
    double rho;              /* spectral radius of the extrapolated iteration, 0 <= rho < 1 */
    int start;               /* S >= 1: iterations before the extrapolation begins */
    double under_relaxation; /* gamma: x^ is moved back towards x_k by 1 - gamma */
} pd_chebyshev;

/* All members except `enabled`. */
extern const pd_option pd_chebyshev_options[];

/* omega of iteration k = 0, 1, ..: 1 before the start, then 2/(2 - rho^2), then 4/(4 - rho^2 omega_{k-1}) [Wang 2015, Eq. 13, with the
 * start value of Algorithm 1: the recurrence alone would give 4/(4 - rho^2) at k = start]. */
double pd_chebyshev_omega(const pd_chebyshev *chebyshev, int k, double last_omega);

#endif
