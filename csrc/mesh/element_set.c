/* The sizes of every element kind, from elements/table.h. */
#include "mesh/element_set.h"

#include <math.h>

pd_kind_shape pd_kind_shape_of(int kind) {
    static const pd_kind_shape shapes[] = {
#define PD_SHAPE(KIND, name, k, d, count, constraints, corners) {k, d, (k) > 1 ? ((k) - 1) * (d) : 3, count, constraints, corners, #name},
        PD_ELEMENT_TABLE(PD_SHAPE)
#undef PD_SHAPE
    };
    static const pd_kind_shape unknown = {0, 0, 0, 0, 0, PD_CORNERS_SINGLE, "unknown"};
    return kind >= 0 && kind < PD_KIND_COUNT ? shapes[kind] : unknown;
}

int pd_kind_has_projection(int kind) {
#define PD_IS_KIND(KIND, ...) || kind == KIND
    return 0 PD_PROJECTIVE_TABLE(PD_IS_KIND);
#undef PD_IS_KIND
}

int pd_kind_is_custom(int kind) {
#define PD_IS_KIND(KIND, ...) || kind == KIND
    return 0 PD_CUSTOM_TABLE(PD_IS_KIND);
#undef PD_IS_KIND
}

int pd_kind_is_oriented(int kind) {
#define PD_IS_KIND(KIND, ...) || kind == KIND
    return 0 PD_ORIENTED_TABLE(PD_IS_KIND);
#undef PD_IS_KIND
}

double pd_largest_stiffness(int kind, const double *parameters) {
    switch (kind) {
        // {2 mu, lam}: 2 mu + d lam for a change of size, StVK and co-rotated; neo-Hookean 3 lam - mu or 2 mu
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: return fabs(parameters[0]) + (d) * fabs(parameters[1]);
        PD_HYPERELASTIC_TABLE(PD_CASE)
#undef PD_CASE
    case PD_SLIDE:
    case PD_WORLD_SLIDE: return fmax(fabs(parameters[0]), fabs(parameters[1]));
    case PD_CUSTOM_TET:
    case PD_CUSTOM_TRIANGLE: return fabs(parameters[1]);
    default: return fabs(parameters[0]);
    }
}

double pd_admm_weight(int kind, const double *parameters) {
    switch (kind) {
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: return parameters[0] + parameters[1];
        PD_HYPERELASTIC_TABLE(PD_CASE)
#undef PD_CASE
    default: return parameters[0];
    }
}
