/* Volume integrals of a closed surface; see mass_properties.h. */
#include "mesh/mass_properties.h"

#include "mesh/measure.h"

#include <math.h>
#include <stddef.h>

static double determinant(const double a[3], const double b[3], const double c[3]) {
    return a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
}

pd_status pd_mass_properties_of(pd_mass_properties *out, const double *points, const int *triangles, int n, pd_error *error) {
    double from[3] = {0}, extent = 0.0, first[3] = {0}, second[9] = {0}, volume = 0.0;
    for (size_t i = 0; i < 3 * (size_t)n; i++)
        for (int k = 0; k < 3; k++) from[k] += points[3 * (size_t)triangles[i] + (size_t)k] / (3.0 * n);
    for (size_t t = 0; t < (size_t)n; t++) {
        double corners[3][3], sum[3];
        for (int k = 0; k < 3; k++) {
            for (int a = 0; a < 3; a++) {
                corners[a][k] = points[3 * (size_t)triangles[3 * t + (size_t)a] + (size_t)k] - from[k];
                extent = fmax(extent, fabs(corners[a][k]));
            }
            sum[k] = corners[0][k] + corners[1][k] + corners[2][k];
        }
        double V = determinant(corners[0], corners[1], corners[2]) / 6.0;
        volume += V;
        for (int k = 0; k < 3; k++) {
            first[k] += V * sum[k] / 4.0;
            for (int l = 0; l < 3; l++) {
                double products = sum[k] * sum[l];
                for (int a = 0; a < 3; a++) products += corners[a][k] * corners[a][l];
                second[3 * k + l] += V * products / 20.0;
            }
        }
    }
    if (!(volume > PD_DEGENERATE * extent * extent * extent)) // also true for NaN
        return pd_fail(error, PD_ERROR_VALUE, "triangles: they enclose the volume %g m^3, which is not positive%s", volume,
                       volume < 0.0 ? ": the normals point inwards" : "");
    out->volume = volume;
    for (int k = 0; k < 3; k++) out->centre[k] = from[k] + first[k] / volume;
    for (int k = 0; k < 3; k++)
        for (int l = 0; l < 3; l++) out->moments[3 * k + l] = second[3 * k + l] - first[k] * first[l] / volume;
    return PD_OK;
}
