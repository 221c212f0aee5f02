/* Lumped masses; see mass.h. */
#include "mesh/mass.h"

#include "mesh/measure.h"

#include <math.h>
#include <stddef.h>

pd_status pd_lumped_masses(double *masses, const double *points, const int *elements, const double *density, int n_points, int n_elements,
                           int k, pd_error *error) {
    for (size_t i = 0; i < (size_t)n_points; i++) masses[i] = 0.0;

    for (size_t e = 0; e < (size_t)n_elements; e++) {
        const int *element = elements + e * (size_t)k;
        double measure = pd_measure(points, element, k);
        if (!isfinite(density[e])) return pd_fail(error, PD_ERROR_NOT_FINITE, "density: value %g at row %zu is not finite", density[e], e);
        if (density[e] < 0.0) return pd_fail(error, PD_ERROR_VALUE, "density: value %g at row %zu is negative", density[e], e);
        if (measure < 0.0) return pd_fail(error, PD_ERROR_VALUE, "elements: row %zu has negative volume (%g)", e, measure);

        double share = density[e] * measure / k;
        for (int a = 0; a < k; a++) masses[element[a]] += share;
    }
    return PD_OK;
}
