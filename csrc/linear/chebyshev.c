/* The omega sequence of the Chebyshev semi-iterative method; see chebyshev.h. */
#include "linear/chebyshev.h"

const pd_option pd_chebyshev_options[] = {PD_OPTION(pd_chebyshev, rho, PD_OPTION_NUMBER, 0.0, 1.0 - DBL_EPSILON / 2), // largest below 1
                                          PD_COUNT_FROM(pd_chebyshev, start, 1), PD_NUMBER_FROM(pd_chebyshev, under_relaxation, 0.0),
                                          PD_OPTIONS_END};

double pd_chebyshev_omega(const pd_chebyshev *chebyshev, int k, double last_omega) {
    double square = chebyshev->rho * chebyshev->rho;
    if (!chebyshev->enabled || k < chebyshev->start) return 1.0;
    return k == chebyshev->start ? 2.0 / (2.0 - square) : 4.0 / (4.0 - square * last_omega);
}
