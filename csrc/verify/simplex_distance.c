/* Distances of two simplices; see simplex_distance.h. */
#include "verify/simplex_distance.h"

#include <math.h>
#include <string.h>

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void difference(double out[3], const double a[3], const double b[3]) {
    for (int k = 0; k < 3; k++) out[k] = a[k] - b[k];
}

static double clamp(double x) { return x < 0.0 ? 0.0 : x > 1.0 ? 1.0 : x; }

double pd_point_segment_squared(double gap[3], const double p[3], const double a[3], const double b[3]) {
    double side[3];
    difference(side, b, a);
    difference(gap, p, a);
    double square = dot(side, side), s = square > 0.0 ? clamp(dot(side, gap) / square) : 0.0;
    for (int k = 0; k < 3; k++) gap[k] -= s * side[k];
    return dot(gap, gap);
}

/* Keeps the nearer of two results. */
static void keep_nearer(double *best, double gap[3], double squared, const double other[3], double sign) {
    if (!(squared < *best)) return;
    *best = squared;
    for (int k = 0; k < 3; k++) gap[k] = sign * other[k];
}

/* The smallest distance to the sides and, if the foot of the perpendicular is inside, to the foot. The latter is measured between
 * points: the height over a plane has no meaning if its normal is rounding noise, as for three collinear corners. */
double pd_point_triangle_squared(double gap[3], const double p[3], const double a[3], const double b[3], const double c[3]) {
    const double *corner[3] = {a, b, c};
    double best = INFINITY, e[3], f[3], to[3], normal[3], weight[3];
    memset(gap, 0, sizeof to);
    for (int i = 0; i < 3; i++) {
        double squared = pd_point_segment_squared(to, p, corner[i], corner[(i + 1) % 3]);
        keep_nearer(&best, gap, squared, to, 1.0);
    }
    difference(e, b, a);
    difference(f, c, a);
    for (int k = 0; k < 3; k++) normal[k] = e[(k + 1) % 3] * f[(k + 2) % 3] - e[(k + 2) % 3] * f[(k + 1) % 3];
    if (!(dot(normal, normal) > 0.0)) return best;
    for (int i = 0; i < 3; i++) {
        double side[3];
        difference(side, corner[(i + 1) % 3], corner[i]);
        difference(to, p, corner[i]);
        double turn = 0.0;
        for (int k = 0; k < 3; k++) turn += normal[k] * (side[(k + 1) % 3] * to[(k + 2) % 3] - side[(k + 2) % 3] * to[(k + 1) % 3]);
        if (turn < 0.0) return best;
        weight[(i + 2) % 3] = turn;
    }
    double sum = weight[0] + weight[1] + weight[2];
    if (!(sum > 0.0)) return best;
    difference(to, p, a);
    for (int k = 0; k < 3; k++) to[k] -= (weight[1] * e[k] + weight[2] * f[k]) / sum;
    keep_nearer(&best, gap, dot(to, to), to, 1.0);
    return best;
}

/* The smallest distance of the ends and, if both feet are inside, of the feet. Measured between points, since the normal of nearly
 * parallel edges is rounding noise. */
double pd_segment_segment_squared(double gap[3], const double p[3], const double q[3], const double a[3], const double b[3]) {
    double best = INFINITY, e[3], f[3], to[3], normal[3];
    memset(gap, 0, sizeof to);
    for (int i = 0; i < 2; i++) {
        double squared = pd_point_segment_squared(to, i ? q : p, a, b);
        keep_nearer(&best, gap, squared, to, 1.0);
    }
    for (int i = 0; i < 2; i++) {
        double squared = pd_point_segment_squared(to, i ? b : a, p, q);
        keep_nearer(&best, gap, squared, to, -1.0);
    }
    difference(e, q, p);
    difference(f, b, a);
    difference(to, a, p);
    for (int k = 0; k < 3; k++) normal[k] = e[(k + 1) % 3] * f[(k + 2) % 3] - e[(k + 2) % 3] * f[(k + 1) % 3];
    double square = dot(normal, normal);
    if (!(square > 0.0)) return best;
    double s = 0.0, r = 0.0;
    for (int k = 0; k < 3; k++) {
        s += normal[k] * (to[(k + 1) % 3] * f[(k + 2) % 3] - to[(k + 2) % 3] * f[(k + 1) % 3]);
        r += normal[k] * (to[(k + 1) % 3] * e[(k + 2) % 3] - to[(k + 2) % 3] * e[(k + 1) % 3]);
    }
    if (s < 0.0 || s > square || r < 0.0 || r > square) return best;
    for (int k = 0; k < 3; k++) to[k] += (r * f[k] - s * e[k]) / square;
    keep_nearer(&best, gap, dot(to, to), to, -1.0);
    return best;
}
