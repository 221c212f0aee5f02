/* The scalars of nonlinear conjugate gradients, formed from sums wherever these lie: on a GPU the host never sees them.
 *
 * sums [4]: z.r, p.r of the direction before, p.A p, z.r of the iteration before (0: there is none). */
#ifndef PD_UPDATES_CONJUGATE_STEP_H
#define PD_UPDATES_CONJUGATE_STEP_H

#include "base/real.h"

enum { PD_CONJUGATE_ZR, PD_CONJUGATE_PR, PD_CONJUGATE_PAP, PD_CONJUGATE_LAST, PD_CONJUGATE_COUNT };

/* beta of p <- z + beta p; 0, a restart, where p would not be a direction of descent. NaN goes through. */
PD_FUNCTION double pd_conjugate_beta(const double *sums) {
    double beta = sums[PD_CONJUGATE_LAST] > 0 ? sums[PD_CONJUGATE_ZR] / sums[PD_CONJUGATE_LAST] : 0.0;
    return sums[PD_CONJUGATE_ZR] + beta * sums[PD_CONJUGATE_PR] <= 0 ? 0.0 : beta;
}

/* alpha = p.r / p.A p of the new p, whose p.r follows from the old one's; 0 where the gradient is 0. */
PD_FUNCTION double pd_conjugate_alpha(const double *sums) {
    double slope = sums[PD_CONJUGATE_ZR] + pd_conjugate_beta(sums) * sums[PD_CONJUGATE_PR];
    return slope == 0.0 ? 0.0 : slope / sums[PD_CONJUGATE_PAP];
}

#endif
