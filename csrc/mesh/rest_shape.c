/* Rest gradients of edges, triangles, tets, hinges and joints, and rest states of hinges; see rest_shape.h. */
#include "mesh/rest_shape.h"

#include "elements/hinge.h"
#include "mesh/measure.h"
#include "threads/team.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

void pd_topology_shape(pd_topology topology, int *k, int *d) {
    *k = topology == PD_TOPOLOGY_EDGE ? 2 : topology == PD_TOPOLOGY_TRIANGLE || topology == PD_TOPOLOGY_JOINT ? 3 : 4;
    *d = topology == PD_TOPOLOGY_TRIANGLE ? 2 : topology == PD_TOPOLOGY_TET ? 3 : 1;
}

static void difference(double out[3], const double *x, int from, int to) {
    for (int c = 0; c < 3; c++) out[c] = x[3 * to + c] - x[3 * from + c];
}

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void cross(double out[3], const double a[3], const double b[3]) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/* Dm = [ |e1|  e1.e2/|e1| ; 0  2A/|e1| ] in the triangle's frame; the rows of its inverse. */
static void triangle_gradients(double *gradients, const double *x, double area) {
    double e1[3], e2[3];
    difference(e1, x, 0, 1);
    difference(e2, x, 0, 2);
    double base = sqrt(dot(e1, e1));
    gradients[0] = 1.0 / base;
    gradients[1] = -dot(e1, e2) / (2.0 * area * base);
    gradients[2] = 0.0;
    gradients[3] = base / (2.0 * area);
}

/* Row i of Dm^-1 is the cross product of the other two edges over the determinant. */
static void tet_gradients(double *gradients, const double *x, double volume) {
    double edges[3][3];
    for (int i = 0; i < 3; i++) difference(edges[i], x, 0, i + 1);
    for (int i = 0; i < 3; i++) {
        cross(gradients + 3 * i, edges[(i + 1) % 3], edges[(i + 2) % 3]);
        for (int c = 0; c < 3; c++) gradients[3 * i + c] /= 6.0 * volume;
    }
}

/* Cotangent of the angle at `corner` between the directions to a and b. */
static double cotangent(const double *x, int corner, int a, int b) {
    double u[3], v[3], normal[3];
    difference(u, x, corner, a);
    difference(v, x, corner, b);
    cross(normal, u, v);
    return dot(u, v) / sqrt(dot(normal, normal));
}

static void hinge_gradients(double *gradients, const double *x) {
    double c01 = cotangent(x, 0, 1, 2), c02 = cotangent(x, 0, 1, 3);
    double c03 = cotangent(x, 1, 0, 2), c04 = cotangent(x, 1, 0, 3);
    gradients[0] = c01 + c02;
    gradients[1] = -c01 - c03;
    gradients[2] = -c02 - c04;
}

/* x [k,3] = the corners of an element: rows [n,k] of points; or k points in sequence if rows is NULL. */
static void corners_of(double *x, const double *points, const int *rows, int row, int k) {
    for (int i = 0; i < k; i++) {
        size_t begin = (size_t)row * (size_t)k + (size_t)i;
        memcpy(x + 3 * i, points + 3 * (rows ? (size_t)rows[begin] : begin), 3 * sizeof(double));
    }
}

/* The measure of one simplex of the element. Fails if it is degenerate. */
static pd_status checked_measure(double *measure, const double *x, const int *simplex, int k, int row, pd_error *error) {
    *measure = pd_measure(x, simplex, k);
    if (pd_degenerate(*measure, pd_longest_edge(x, simplex, k), k))
        return pd_fail(error, PD_ERROR_VALUE, "rest: row %d has zero %s (%g)", row, pd_measure_name(k), *measure);
    return PD_OK;
}

/* Gradients and measure of element `row` with corners x. */
static pd_status rest_shape(double *g, double *measure, const double *x, int row, pd_topology topology, int k, pd_error *error) {
    static const int vertices[4] = {0, 1, 2, 3}, other_wing[3] = {0, 1, 3}, other_edge[2] = {0, 2};
    for (int c = 0; c < 3 * k; c++)
        if (!isfinite(x[c]))
            return pd_fail(error, PD_ERROR_NOT_FINITE, "rest: coordinate %g at row %d, vertex %d, column %d is not finite", x[c], row,
                           c / 3, c % 3);
    // for a hinge and a joint the first of its two parts
    int corners = topology == PD_TOPOLOGY_HINGE ? 3 : topology == PD_TOPOLOGY_JOINT ? 2 : k;
    pd_status status = checked_measure(measure, x, vertices, corners, row, error);
    if (status) return status;
    switch (topology) {
    case PD_TOPOLOGY_EDGE: g[0] = 1.0; break;
    case PD_TOPOLOGY_TRIANGLE: triangle_gradients(g, x, *measure); break;
    case PD_TOPOLOGY_TET: tet_gradients(g, x, *measure); break;
    case PD_TOPOLOGY_HINGE: {
        double wing;
        status = checked_measure(&wing, x, other_wing, 3, row, error);
        if (status) return status;
        *measure += wing;
        hinge_gradients(g, x);
        break;
    }
    case PD_TOPOLOGY_JOINT: {
        double other;
        status = checked_measure(&other, x, other_edge, 2, row, error);
        if (status) return status;
        g[0] = 1.0 / *measure, g[1] = 1.0 / other;
        *measure += other;
        break;
    }
    }
    return PD_OK;
}

pd_status pd_rest_shapes(double *gradients, double *measures, const double *points, const int *rows, int n, pd_topology topology,
                         pd_error *error) {
    int k, d, bad = n;
    pd_topology_shape(topology, &k, &d);
    // the error names the first bad element, for any number of threads
#pragma omp parallel for num_threads(pd_team(pd_team_limit(), n, 100)) schedule(static) reduction(min : bad)
    for (int row = 0; row < n; row++) {
        pd_error unused;
        double x[12];
        corners_of(x, points, rows, row, k);
        if (rest_shape(gradients + (size_t)row * (size_t)((k - 1) * d), &measures[row], x, row, topology, k, &unused) && row < bad)
            bad = row;
    }
    if (bad == n) return PD_OK;
    double x[12];
    corners_of(x, points, rows, bad, k);
    return rest_shape(gradients + (size_t)bad * (size_t)((k - 1) * d), &measures[bad], x, bad, topology, k, error);
}

/* rad: smaller angles are 0, so that a flat sheet stays flat */
static const double FLAT = 1e-9;

pd_status pd_hinge_rests(double *angles, double *squares, double *heights, const double *corners, int n, pd_error *error) {
    for (int row = 0; row < n; row++) {
        const double *x = corners + 12 * (size_t)row;
        double F[9];
        for (int i = 0; i < 3; i++)
            for (int a = 0; a < 3; a++) F[3 * a + i] = x[3 * (i + 1) + a] - x[a];
        pd_hinge_rest(F, angles + row, squares + row, heights + row);
        if (!isfinite(angles[row]) || !isfinite(squares[row]) || !(heights[row] > 0.0))
            return pd_fail(error, PD_ERROR_NOT_FINITE, "rest: row %d has a triangle without area, or coordinates that are not finite", row);
        if (fabs(sin(angles[row])) > FLAT) continue;
        if (cos(angles[row]) < 0.0)
            return pd_fail(error, PD_ERROR_VALUE, "rest: row %d has triangles folded onto each other, so that its angle has no sign", row);
        angles[row] = 0.0;
    }
    return PD_OK;
}
