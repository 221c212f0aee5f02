/* The local step of ARAP tets, several tets per vector register. */
#ifndef PD_CPU_ARAP_LANES_H
#define PD_CPU_ARAP_LANES_H

#include "backend.h"

/* f [n,4,3] = dE/dx of the corners of tets begin .. end: w (F - R) g_i, as pd_arap_tet_gradient. */
void pd_arap_tet_lanes(const pd_elements *g, const real *x, int begin, int end, real *f);

#endif
