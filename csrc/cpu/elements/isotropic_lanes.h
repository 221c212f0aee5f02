/* K+ of isotropic tets and its blocks for the damping matrix, several tets per vector register. */
#ifndef PD_CPU_ELEMENTS_ISOTROPIC_LANES_H
#define PD_CPU_ELEMENTS_ISOTROPIC_LANES_H

#include "loops/element_loops.h"

/* The kinds with a function below. */
#define PD_ISOTROPIC_LANES_TABLE(X)                   \
    X(PD_ARAP_TET, arap_tet, 1)                       \
    X(PD_NEO_HOOKEAN_TET, neo_hookean_tet, 2)         \
    X(PD_COROTATED_TET, corotated_tet, 2)             \
    X(PD_LOG_NEO_HOOKEAN_TET, log_neo_hookean_tet, 2) \
    X(PD_FIXED_COROTATED_TET, fixed_corotated_tet, 2)

enum { PD_ISOTROPIC_LANES = 16 };

/* damping_hessian and damping_blocks of tets LANES pack .. LANES (pack + 1) - 1 at x [n,3], by PD_FILTER_CLAMP, if one has damping. */
#define PD_ISOTROPIC_LANES_DECLARE(KIND, name, count) void pd_##name##_damp_lanes(const pd_elements *g, const real *x, int pack);
PD_ISOTROPIC_LANES_TABLE(PD_ISOTROPIC_LANES_DECLARE)
#undef PD_ISOTROPIC_LANES_DECLARE

#endif
