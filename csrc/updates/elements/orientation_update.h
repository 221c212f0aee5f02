/* The part of a move on which no tet loses more than nine tenths of its volume, or comes below a smallest one, so that none inverts.
 *
 * Along the straight path x_0 + t (x_1 - x_0) of its corners, the sixfold volume of a tet is a cubic f(t). In the Bernstein basis of an
 * interval its coefficients are determinants of edges at both ends, and mixed ones; no differences of large numbers occur. If all
 * coefficients of f less the volume to keep are positive, so is the polynomial on the interval [Farin 2002, Curves and Surfaces for CAGD,
 * Sec. 6.1]. From the left, intervals that pass are doubled and those that fail halved. So the part ends before the smallest root.
 *
 * A single moving corner makes f affine, and its root is a quotient. All is in double: edges of float coordinates are exact there. An energy
 * that is finite at J = 0 does not stop a tet that shrinks by a factor in every iteration; the smallest J is above the rounding of the moved
 * coordinates. */
#ifndef PD_UPDATES_ELEMENTS_ORIENTATION_UPDATE_H
#define PD_UPDATES_ELEMENTS_ORIENTATION_UPDATE_H

#include "elements/element.h"
#include "loops/backend.h"

/* The part of its volume that a tet keeps in a move, as a gap keeps a tenth of its width. */
#define PD_KEPT_VOLUME 0.1

/* The smallest J that a move may lead to. A tet that begins below keeps PD_KEPT_BELOW of its volume. */
#define PD_SMALLEST_RATIO (sizeof(real) == sizeof(float) ? 1e-4 : 1e-6)
#define PD_KEPT_BELOW     0.999

/* Intervals at most, and the part of the path that the last one is short of the root, at most. */
enum { PD_PATH_INTERVALS = 120 };
#define PD_PATH_PRECISION 0.05

/* a . (b x c) */
PD_FUNCTION double pd_triple_product(const double a[3], const double b[3], const double c[3]) {
    return a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
}

/* edges [3,3] out: x_i - x_0 of the corners x [4,3]. */
PD_FUNCTION void pd_tet_edges(const real *x, double edges[9]) {
    for (int i = 0; i < 3; i++)
        for (int c = 0; c < 3; c++) edges[3 * i + c] = (double)x[3 * (i + 1) + c] - (double)x[c];
}

/* The blossom of the cubic with Bernstein coefficients b on [0,1]. */
PD_FUNCTION double pd_cubic_blossom(const double b[4], double r, double s, double t) {
    double c[3];
    for (int i = 0; i < 3; i++) c[i] = b[i] + r * (b[i + 1] - b[i]);
    for (int i = 0; i < 2; i++) c[i] += s * (c[i + 1] - c[i]);
    return c[0] + t * (c[1] - c[0]);
}

/* Tells whether the cubic is certainly positive on [from, to]. */
PD_FUNCTION int pd_cubic_is_positive(const double b[4], double from, double to) {
    return pd_cubic_blossom(b, from, from, from) > 0 && pd_cubic_blossom(b, from, from, to) > 0 && pd_cubic_blossom(b, from, to, to) > 0 &&
           pd_cubic_blossom(b, to, to, to) > 0;
}

/* The sixfold volume that a tet with the sixfold volume `before` is to keep. rest [3,3]: its rest gradients, 1/m. */
PD_FUNCTION double pd_volume_to_keep(double before, const real *rest) {
    double g[9];
    for (int i = 0; i < 9; i++) g[i] = (double)rest[i];
    double smallest = PD_SMALLEST_RATIO / pd_triple_product(g, g + 3, g + 6);
    return before > smallest ? fmax(PD_KEPT_VOLUME * before, smallest) : PD_KEPT_BELOW * before;
}

/* The part of the path from x_0 to x_1 [4,3], in [0,1]; 0 for a tet that is flat or inverted at x_0, or not finite. */
PD_FUNCTION double pd_tet_path_fraction(const real *x_0, const real *x_1, const real *rest) {
    double e[9], f[9], b[4], fraction = 0.0, width = 1.0;
    pd_tet_edges(x_0, e);
    pd_tet_edges(x_1, f);
    b[0] = pd_triple_product(e, e + 3, e + 6);
    b[3] = pd_triple_product(f, f + 3, f + 6);
    b[1] = (pd_triple_product(f, e + 3, e + 6) + pd_triple_product(e, f + 3, e + 6) + pd_triple_product(e, e + 3, f + 6)) / 3.0;
    b[2] = (pd_triple_product(e, f + 3, f + 6) + pd_triple_product(f, e + 3, f + 6) + pd_triple_product(f, f + 3, e + 6)) / 3.0;
    if (!(b[0] > 0 && b[0] < (double)INFINITY)) return 0.0;
    double kept = pd_volume_to_keep(b[0], rest);
    for (int i = 0; i < 4; i++) b[i] -= kept;
    for (int k = 0; k < PD_PATH_INTERVALS && fraction < 1.0 && width > PD_PATH_PRECISION * fraction; k++) {
        double end = fmin(fraction + width, 1.0);
        int free = pd_cubic_is_positive(b, fraction, end);
        fraction = free ? end : fraction;
        width *= free ? 2.0 : 0.5;
    }
    return fraction;
}

/* The part of a move by -d of corner `a` alone. */
PD_FUNCTION double pd_tet_corner_fraction(const real *x, int a, const real d[3], const real *rest) {
    real moved[12];
    double e[9], f[9];
    for (int i = 0; i < 12; i++) moved[i] = x[i];
    for (int c = 0; c < 3; c++) moved[3 * a + c] = x[3 * a + c] - d[c];
    pd_tet_edges(x, e);
    pd_tet_edges(moved, f);
    double before = pd_triple_product(e, e + 3, e + 6), after = pd_triple_product(f, f + 3, f + 6);
    if (!(before > 0)) return 0.0;
    double kept = pd_volume_to_keep(before, rest);
    return after >= kept ? 1.0 : (before - kept) / (before - after); // NaN stays, and fails the frame's test
}

/* Tells whether det F > 0, in double and in the precision of the energies. */
PD_FUNCTION int pd_tet_is_upright(const real *x, const real *rest) {
    double e[9];
    real F[9];
    pd_tet_edges(x, e);
    pd_element_deformation(4, 3, x, rest, F);
    return pd_triple_product(e, e + 3, e + 6) > 0 && pd_matrix3_determinant(F) > 0;
}

/* The shortfall of element e of g: 1 - its part of the path from x_0 to x_1, or with x_0 NULL 0 where det F > 0 at x_1, else 1. */
PD_FUNCTION double pd_orientation_update(const pd_elements *g, const real *x_0, const real *x_1, int e) {
    real from[12], to[12];
    const int *vertices = g->vertices + 4 * (size_t)e;
    pd_element_gather(4, 3, x_1, vertices, to);
    const real *rest = g->rest + 9 * (size_t)e;
    if (!x_0) return pd_tet_is_upright(to, rest) ? 0.0 : 1.0;
    pd_element_gather(4, 3, x_0, vertices, from);
    return 1.0 - pd_tet_path_fraction(from, to, rest);
}

#endif
