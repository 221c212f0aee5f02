/* K+ of isotropic tets and StVK triangles and its blocks for the damping matrix, and Hessians of these triangles, several elements per
 * vector register. */
#ifndef PD_CPU_ELEMENTS_ISOTROPIC_LANES_H
#define PD_CPU_ELEMENTS_ISOTROPIC_LANES_H

#include "loops/element_loops.h"

/* The kinds of tets, and all kinds, with a function pd_NAME_damp_lanes; the number of their parameters. */
#define PD_ISOTROPIC_TETS(X)                          \
    X(PD_ARAP_TET, arap_tet, 1)                       \
    X(PD_NEO_HOOKEAN_TET, neo_hookean_tet, 2)         \
    X(PD_COROTATED_TET, corotated_tet, 2)             \
    X(PD_LOG_NEO_HOOKEAN_TET, log_neo_hookean_tet, 2) \
    X(PD_FIXED_COROTATED_TET, fixed_corotated_tet, 2)
#define PD_ISOTROPIC_LANES_TABLE(X) PD_ISOTROPIC_TETS(X) X(PD_STVK_TRIANGLE, stvk_triangle, 2)

enum { PD_ISOTROPIC_LANES = 16 };

/* damping_hessian and damping_blocks of elements LANES pack .. LANES (pack + 1) - 1 at x [n,3], by PD_FILTER_CLAMP, if one has damping. */
#define PD_ISOTROPIC_LANES_DECLARE(KIND, name, count) void pd_##name##_damp_lanes(const pd_elements *g, const real *x, int pack);
PD_ISOTROPIC_LANES_TABLE(PD_ISOTROPIC_LANES_DECLARE)
#undef PD_ISOTROPIC_LANES_DECLARE

/* K [count,9,9] of `count` <= LANES triangles from number `first` on, as pd_element_update_hessian_stvk_triangle. */
void pd_stvk_triangle_hessian_lanes(const pd_elements *g, real inverse_h, const real *x, pd_hessian_filter filter, int first, int count,
                                    real *K);

#endif
