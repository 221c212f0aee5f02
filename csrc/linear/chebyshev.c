/* The omega sequence of the Chebyshev semi-iterative method; see chebyshev.h. */
#include "linear/chebyshev.h"

double pd_chebyshev_omega(const pd_chebyshev *chebyshev, int k, double last_omega) {
    double square = chebyshev->rho * chebyshev->rho;
    if (!chebyshev->enabled || k < chebyshev->start) return 1.0;
    return k == chebyshev->start ? 2.0 / (2.0 - square) : 4.0 / (4.0 - square * last_omega);
}
