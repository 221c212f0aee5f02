/* The barrier that keeps primitives apart: infinite in contact, zero from the activation distance on, with two continuous derivatives.
 *
 *     b(D, D^) = -(D - D^)^2 ln(D / D^)   for 0 < D < D^   [Li et al. 2020, Incremental Potential Contact, Eq. 6, squared distances]
 *
 * With the separation xi of thick surfaces [Li et al. 2021, Codimensional IPC] D = d^2 - xi^2 and D^ = s = dhat (2 xi + dhat), as in
 * ipctk. b = s^2 B(u) with, u = D/s and v = 1 - u,
 *
 *     B = -v^2 ln u,      B' = v (2 ln u - v/u),      B'' = v (1 + u)/u^2 + 2 v/u - 2 ln u
 *
 * All terms of a sum have the same sign. So towards u = 1, where B falls as v^3, the only error is that of v. (The usual B'' = (1/u +
 * 2)/u - 2 ln u - 3 cancels there.) B'' overflows in float32 below u = 1e-19, a gap of 3e-10 dhat (float64: below 1e-154).
 *
 * Two forms, as in ipctk 1.6 (`BarrierPotential(dhat, stiffness, use_physical_barrier)`):
 *     plain      kappa b            kappa in J/m^4
 *     physical   kappa dhat b/s^2   kappa in Pa for pairs with an area as weight, m^2 [Li et al. 2023, convergent IPC] */
#ifndef PD_ELEMENTS_CONTACT_BARRIER_H
#define PD_ELEMENTS_CONTACT_BARRIER_H

#include "base/logarithm.h"
#include "elements/contact/table.h"

/* ln u, from v = 1 - u if u alone would lose a digit; also for subnormal u. */
PD_LANE_FUNCTION real pd_barrier_log(real u, real v) {
    real least = sizeof(real) == sizeof(float) ? (real)1e-30 : (real)1e-290;
    int tiny = u < least;
    return pd_logarithm(tiny ? (real)18446744073709551616.0 * u : u, -v) - (tiny ? (real)44.36141955583649980257 : (real)0); /* 2^64 */
}

PD_LANE_FUNCTION real pd_barrier_value(real u, real v) { return -v * v * pd_barrier_log(u, v); }

PD_LANE_FUNCTION pd_pair_potential_slopes pd_barrier_slopes(real u, real v) {
    pd_pair_potential_slopes out;
    real log_u = pd_barrier_log(u, v), ratio = v / u;
    out.first = v * ((real)2 * log_u - ratio);
    out.second = ratio * (((real)1 + u) / u + (real)2) - (real)2 * log_u;
    return out;
}

PD_LANE_FUNCTION real pd_barrier_scale(real stiffness, int physical, real activation, real s) {
    return physical ? stiffness * activation : stiffness * s * s;
}

#endif
