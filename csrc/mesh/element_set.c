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

/* The largest sum of a row of normal stiffnesses [d (d+1)/2], or twice a shear modulus [d (d-1)/2]: no eigenvalue is greater. */
static double orthotropic_bound(int d, const double *normal, const double *shear) {
    double rows[3] = {0.0, 0.0, 0.0}, largest = 0.0;
    for (int i = 0; i < d; i++)
        for (int j = i; j < d; j++, normal++) {
            rows[i] += fabs(*normal);
            if (j > i) rows[j] += fabs(*normal);
        }
    for (int i = 0; i < d; i++) largest = fmax(largest, rows[i]);
    for (int i = 0; i < d * (d - 1) / 2; i++) largest = fmax(largest, 2.0 * fabs(shear[i]));
    return largest;
}

double pd_largest_stiffness(int kind, const double *parameters) {
    switch (kind) {
        // {2 mu, lam}: 2 mu + d lam for a change of size, StVK and co-rotated; neo-Hookean 3 lam - mu or 2 mu
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: return fabs(parameters[0]) + (d) * fabs(parameters[1]);
        PD_HYPERELASTIC_TABLE(PD_CASE)
#undef PD_CASE
    case PD_ORTHOTROPIC_TET: return orthotropic_bound(3, parameters + 1, parameters + 7);
    case PD_ORTHOTROPIC_TRIANGLE: return orthotropic_bound(2, parameters + 1, parameters + 4);
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
    case PD_ORTHOTROPIC_TET: return fmax(parameters[1], fmax(parameters[4], parameters[6]));
    case PD_ORTHOTROPIC_TRIANGLE: return fmax(parameters[1], parameters[3]);
    default: return parameters[0];
    }
}
