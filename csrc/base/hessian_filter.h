/* Filters of the eigenvalues of a Hessian.
 *
 * A minimiser needs a positive semidefinite matrix. The Hessians of elements and of contact pairs are indefinite at some positions
 * [Teran et al. 2005, Robust Quasistatic Finite Elements and Flesh Simulation].
 *
 * A new filter is one value and one case in this file. An algorithm for one filter only compares with its value. Every other filter
 * takes the general algorithm. */
#ifndef PD_BASE_HESSIAN_FILTER_H
#define PD_BASE_HESSIAN_FILTER_H

#include "base/real.h"

typedef enum pd_hessian_filter {
    PD_FILTER_NONE,    /* the Hessian as it is */
    PD_FILTER_CLAMP,   /* negative eigenvalues become zero: the nearest positive semidefinite matrix in the Frobenius norm [Higham 1988] */
    PD_FILTER_ABSOLUTE /* they become their absolute values [Chen, Liu, Levin, Zheng, Jacobson 2024, Stabler Neo-Hookean] */
} pd_hessian_filter;

/* The setting `hessian` of a solver. AUTO: the solver's own rule. ADAPTIVE: one of two filters in each iteration. EXACT: none. */
typedef enum pd_hessian_setting {
    PD_HESSIAN_AUTO,
    PD_HESSIAN_CLAMP,
    PD_HESSIAN_ABSOLUTE,
    PD_HESSIAN_ADAPTIVE,
    PD_HESSIAN_EXACT,
    PD_HESSIAN_SETTING_COUNT
} pd_hessian_setting;

/* The filtered eigenvalue; >= 0 for every filter but PD_FILTER_NONE. */
PD_LANE_FUNCTION real pd_filter_eigenvalue(pd_hessian_filter filter, real eigenvalue) {
    switch (filter) {
    case PD_FILTER_CLAMP: return pd_max(eigenvalue, 0);
    case PD_FILTER_ABSOLUTE: return pd_fabs(eigenvalue);
    case PD_FILTER_NONE: break;
    }
    return eigenvalue;
}

#endif
