/* The end of conjugate gradients of one system, from sums in backend memory: on a GPU the host need not read every iteration, and gets
 * the same end. */
#ifndef PD_UPDATES_LINEAR_CONJUGATE_END_H
#define PD_UPDATES_LINEAR_CONJUGATE_END_H

#include "loops/matrix_loops.h"

#include <math.h>

/* end.why after an iteration with this p.q and r.r; `why` before it. NaN is an end, too. */
PD_FUNCTION double pd_conjugate_end(double why, double pq, double rr, double norm) {
    if (why != PD_PCG_GOES_ON) return why;
    if (!(pq > 0.0)) return PD_PCG_NOT_CONVEX;
    return sqrt(rr) <= norm ? PD_PCG_CONVERGED : PD_PCG_GOES_ON;
}

/* Renews end.why [2] after an iteration; start != 0: before the first. */
PD_FUNCTION void pd_conjugate_renew(double *why, int start, double pq, double rr, double norm) {
    why[1] = start ? 0.0 : why[1] + (why[0] == PD_PCG_GOES_ON ? 1.0 : 0.0);
    why[0] = start ? (double)PD_PCG_GOES_ON : pd_conjugate_end(why[0], pq, rr, norm);
}

/* The same for a preconditioner that is an operator, which rounding or a wrong bound can leave with r.z <= 0, or NaN. */
PD_FUNCTION double pd_preconditioned_end(double why, double rz, double rr) {
    if (why == PD_PCG_GOES_ON && !(rz > 0.0) && rr != 0.0) return PD_PCG_NOT_CONVEX;
    return why;
}

#endif
