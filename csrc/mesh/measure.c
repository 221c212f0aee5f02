/* Lengths, areas and volumes, from differences of positions, so that a mesh far from the origin loses no digits. */
#include "mesh/measure.h"

#include <math.h>
#include <stddef.h>

static void difference(double out[3], const double *points, int from, int to) {
    const double *a = points + 3 * (size_t)from, *b = points + 3 * (size_t)to;
    for (int c = 0; c < 3; c++) out[c] = b[c] - a[c];
}

static double length(const double v[3]) { return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

static void cross(double out[3], const double a[3], const double b[3]) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

double pd_measure(const double *points, const int *element, int k) {
    double e1[3], e2[3], e3[3], normal[3];
    difference(e1, points, element[0], element[1]);
    if (k == 2) return length(e1);

    difference(e2, points, element[0], element[2]);
    cross(normal, e1, e2);
    if (k == 3) return length(normal) / 2.0;

    difference(e3, points, element[0], element[3]);
    return (normal[0] * e3[0] + normal[1] * e3[1] + normal[2] * e3[2]) / 6.0;
}

double pd_longest_edge(const double *points, const int *element, int k) {
    double longest = 0.0;
    for (int a = 0; a < k; a++)
        for (int b = a + 1; b < k; b++) {
            double edge[3];
            difference(edge, points, element[a], element[b]);
            longest = fmax(longest, length(edge));
        }
    return longest;
}

int pd_degenerate(double measure, double longest_edge, int k) {
    double size = k == 2 ? 0.0 : k == 3 ? longest_edge * longest_edge : longest_edge * longest_edge * longest_edge;
    return !(fabs(measure) > PD_DEGENERATE * size); /* also true for NaN */
}

const char *pd_measure_name(int k) { return k == 2 ? "length" : k == 3 ? "area" : "volume"; }

void pd_measures(double *measures, const double *points, const int *elements, int n_elements, int k) {
    for (size_t e = 0; e < (size_t)n_elements; e++) measures[e] = pd_measure(points, elements + e * (size_t)k, k);
}
