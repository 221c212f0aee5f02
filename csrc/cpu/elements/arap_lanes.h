/* Energy and gradient of ARAP tets, several tets per vector register. */
#ifndef PD_CPU_ELEMENTS_ARAP_LANES_H
#define PD_CPU_ELEMENTS_ARAP_LANES_H

#include "loops/backend.h"

/* Adds the energies of tets begin .. end, as pd_arap_tet_energy and pd_element_damping_energy, in their order. */
void pd_arap_tet_energy_lanes(const pd_elements *g, const pd_step_data *step, const real *x, int begin, int end, double *elastic,
                              double *damped);

/* f [n,4,3] = dE/dx of the corners of tets begin .. end: (w (F - R) + damping) g_i, as pd_arap_tet_gradient. It is also the local step of
 * Projective Dynamics. */
void pd_arap_tet_gradient_lanes(const pd_elements *g, const pd_step_data *step, const real *x, int begin, int end, real *f);

#endif
