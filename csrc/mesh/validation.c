/* Checks of points and elements; see validation.h. */
#include "mesh/validation.h"

#include "mesh/measure.h"
#include "threads/team.h"

#include <math.h>
#include <stddef.h>

pd_status pd_points_check(const double *points, int n_points, const char *name, pd_error *error) {
    size_t n = 3 * (size_t)n_points;
    for (size_t i = 0; i < n; i++)
        if (!isfinite(points[i]))
            return pd_fail(error, PD_ERROR_NOT_FINITE, "%s: coordinate %g at row %zu, column %zu is not finite", name, points[i], i / 3,
                           i % 3);
    return PD_OK;
}

pd_status pd_elements_check(const int *elements, int n_elements, int k, int n_points, const char *name, pd_error *error) {
    for (size_t e = 0; e < (size_t)n_elements; e++) {
        const int *element = elements + e * (size_t)k;
        for (int a = 0; a < k; a++)
            if (element[a] < 0 || element[a] >= n_points)
                return pd_fail(error, PD_ERROR_VALUE, "%s: index %d at row %zu is out of range for %d points", name, element[a], e,
                               n_points);
        for (int a = 0; a < k; a++)
            for (int b = a + 1; b < k; b++)
                if (element[a] == element[b]) return pd_fail(error, PD_ERROR_VALUE, "%s: row %zu repeats vertex %d", name, e, element[a]);
    }
    return PD_OK;
}

pd_status pd_tets_orient(int *tets, int *n_flipped, const double *points, int n_tets, pd_error *error) {
    int flat = n_tets, flipped = 0; // the first flat tet
#pragma omp parallel for num_threads(pd_team(pd_team_limit(), n_tets, 20)) schedule(static) reduction(min : flat) reduction(+ : flipped)
    for (int t = 0; t < n_tets; t++) {
        int *tet = tets + 4 * (size_t)t;
        double volume = pd_measure(points, tet, 4);
        if (pd_degenerate(volume, pd_longest_edge(points, tet, 4), 4)) {
            if (t < flat) flat = t;
        } else if (volume < 0.0) {
            int last = tet[3];
            tet[3] = tet[2];
            tet[2] = last;
            flipped++;
        }
    }
    *n_flipped = flipped;
    if (flat == n_tets) return PD_OK;
    double volume = pd_measure(points, tets + 4 * (size_t)flat, 4);
    return pd_fail(error, PD_ERROR_VALUE, "tets: row %d has zero volume (%g)", flat, volume);
}
