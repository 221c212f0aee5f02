/* Energy and gradient of ARAP tets, several tets per vector register. */
#ifndef PD_CPU_ELEMENTS_ARAP_LANES_H
#define PD_CPU_ELEMENTS_ARAP_LANES_H

#include "loops/backend.h"

/* The sum of the energies of tets begin .. end, as pd_arap_tet_energy, in their order. */
double pd_arap_tet_energy_lanes(const pd_elements *g, const real *x, int begin, int end);

/* f [n,4,3] = dE/dx of the corners of tets begin .. end: w (F - R) g_i, as pd_arap_tet_gradient. It is also the local step of Projective
 * Dynamics. */
void pd_arap_tet_gradient_lanes(const pd_elements *g, const real *x, int begin, int end, real *f);

#endif
