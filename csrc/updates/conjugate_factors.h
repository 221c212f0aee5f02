/* The scalars of nonlinear conjugate gradients, from sums in backend memory: on a GPU without a readback.
 *
 * sums [4]: z.r, p.r of the previous direction, p.A p, the previous z.r (0: none). */
#ifndef PD_UPDATES_CONJUGATE_FACTORS_H
#define PD_UPDATES_CONJUGATE_FACTORS_H

#include "base/real.h"

enum { PD_CONJUGATE_ZR, PD_CONJUGATE_PR, PD_CONJUGATE_PAP, PD_CONJUGATE_LAST, PD_CONJUGATE_COUNT };

/* beta of p <- z + beta p; 0, a restart, if p would be no descent direction. NaN is passed on. */
PD_FUNCTION double pd_conjugate_beta(const double *sums) {
    double beta = sums[PD_CONJUGATE_LAST] > 0 ? sums[PD_CONJUGATE_ZR] / sums[PD_CONJUGATE_LAST] : 0.0;
    return sums[PD_CONJUGATE_ZR] + beta * sums[PD_CONJUGATE_PR] <= 0 ? 0.0 : beta;
}

/* alpha = p.r / p.A p of the new p, whose p.r follows from the old one's; 0 for a zero gradient. */
PD_FUNCTION double pd_conjugate_alpha(const double *sums) {
    double slope = sums[PD_CONJUGATE_ZR] + pd_conjugate_beta(sums) * sums[PD_CONJUGATE_PR];
    return slope == 0.0 ? 0.0 : slope / sums[PD_CONJUGATE_PAP];
}

#endif
