/* The metric of one vertex in a backward step of the two-way interior point method, for both backends. Symmetric 3x3 matrices here are six
 * numbers: xx yy zz yz zx xy. */
#ifndef PD_UPDATES_CONTACT_TWO_WAY_METRIC_H
#define PD_UPDATES_CONTACT_TWO_WAY_METRIC_H

#include "elements/contact/volume_constraint.h"
#include "loops/two_way_loops.h"
#include "updates/contact/contact_update.h"

/* 1/m of point i; 0 for a fixed, prescribed or missing one. */
PD_FUNCTION real pd_two_way_inverse_mass(const pd_model *model, int i) {
    return i >= 0 && i < model->n_vertices && !model->fixed[i] ? (real)1 / model->masses[i] : (real)0;
}

/* The address of the three numbers of corner j of row p. */
PD_FUNCTION real *pd_two_way_corner(real *const halves[2], size_t p, int j) { return halves[j / 2] + 6 * p + 3 * (size_t)(j % 2); }

PD_FUNCTION pd_vector pd_two_way_at_corner(real *const halves[2], size_t p, int j) {
    return pd_vector_load(pd_two_way_corner(halves, p, j));
}

/* S g. */
PD_FUNCTION pd_vector pd_two_way_multiply(const real S[6], pd_vector g) {
    return pd_vector_of(S[0] * g.x + S[5] * g.y + S[4] * g.z, S[5] * g.x + S[1] * g.y + S[3] * g.z, S[4] * g.x + S[3] * g.y + S[2] * g.z);
}

/* W g of point i; zero for an immovable one. */
PD_FUNCTION pd_vector pd_two_way_yield(const real *inverse, int i, pd_vector g) { return pd_two_way_multiply(inverse + 6 * (size_t)i, g); }

PD_FUNCTION int pd_two_way_moves(const real *inverse, int i) {
    const real *W = inverse + 6 * (size_t)i;
    return i >= 0 && W[0] + W[1] + W[2] > 0;
}

/* Adds a I + b n n^T to S. */
PD_FUNCTION void pd_two_way_lay(double a, double b, pd_vector n, double S[6]) {
    double x = (double)n.x, y = (double)n.y, z = (double)n.z;
    S[0] += a + b * x * x, S[1] += a + b * y * y, S[2] += a + b * z * z;
    S[3] += b * y * z, S[4] += b * z * x, S[5] += b * x * y;
}

/* P S P, P [3,3] the projector on the line or plane of a vertex; NULL: S. */
PD_FUNCTION void pd_two_way_hold(const real *P, double S[6]) {
    double A[9] = {S[0], S[5], S[4], S[5], S[1], S[3], S[4], S[3], S[2]}, B[9];
    if (!P) return;
    for (int i = 0; i < 9; i++) {
        int r = i - i % 3, c = i % 3;
        B[i] = A[r] * (double)P[c] + A[r + 1] * (double)P[3 + c] + A[r + 2] * (double)P[6 + c];
    }
    for (int i = 0; i < 9; i++) {
        int r = i / 3, c = i % 3;
        A[i] = (double)P[3 * r] * B[c] + (double)P[3 * r + 1] * B[3 + c] + (double)P[3 * r + 2] * B[6 + c];
    }
    S[0] = A[0], S[1] = A[4], S[2] = A[8], S[3] = A[5], S[4] = A[2], S[5] = A[1];
}

/* The inverse of a positive definite S, in double: the added metric may be a million times the mass. */
PD_FUNCTION void pd_two_way_invert(double S[6]) {
    double a = S[0], b = S[1], c = S[2], d = S[3], e = S[4], f = S[5];
    double xx = b * c - d * d, xy = d * e - f * c, zx = f * d - b * e, per = 1.0 / (a * xx + f * xy + e * zx);
    S[0] = per * xx, S[1] = per * (a * c - e * e), S[2] = per * (a * b - f * f);
    S[3] = per * (f * e - a * d), S[4] = per * zx, S[5] = per * xy;
}

/* The squared length of the shortest side of the edge or face of corner `corner` of row p, m^2; 0 for a single vertex. */
PD_FUNCTION double pd_two_way_side(const pd_two_way_rows *pairs, const real *x, size_t p, int corner) {
    const int *points = pairs->points + 4 * p;
    int kind = pairs->kind[p], edges = kind == PD_EDGE_EDGE, begin = edges ? 2 * (corner / 2) : 1;
    int end = edges ? begin + 2 : kind == PD_VERTEX_PLANE ? 0 : pd_contact_corners(kind);
    double least = 0.0;
    for (int j = begin; (edges || corner > 0) && j < end; j++)
        for (int k = j + 1; k < end; k++) {
            double side = pd_move_square(x + 3 * (size_t)points[j], x + 3 * (size_t)points[k]);
            least = least > 0.0 && least < side ? least : side;
        }
    return least;
}

/* Adds to the mass of point i the curvature of its taut edges: 2 lambda/(l |x|) across each, an upper bound of the curvature of its
 * length. */
PD_FUNCTION void pd_two_way_lay_edges(const pd_two_way_rows *edges, const pd_incidence *of_edges, const real *x, int i, double K[6]) {
    for (int r = of_edges->start[i]; r < of_edges->start[i + 1]; r++) {
        size_t e = (size_t)(of_edges->roles[r] / 4);
        const int *ends = edges->points + 4 * e;
        if (!(edges->multiplier[e] > 0)) continue;
        pd_vector along = pd_vector_subtract(pd_vector_load(x + 3 * (size_t)ends[0]), pd_vector_load(x + 3 * (size_t)ends[1]));
        double square = pd_move_square(x + 3 * (size_t)ends[0], x + 3 * (size_t)ends[1]);
        if (!(square > 0.0)) continue;
        double more = 2.0 * (double)edges->multiplier[e] / ((double)edges->length[e] * sqrt(square));
        pd_two_way_lay(more, -more / square, along, K);
    }
}

/* Adds the curvature of repelling pairs, at the corners of an edge or a face with the shortest side s; n is the direction of the impulse
 * on the corner. For a constraint on the distance d of a pair, with weights that its Hessian does not contain, the closest point slides
 * along the side:
 *
 *     d'' >= - 2 (n . t) (e . u) - d (n . t)^2
 *
 * with the tilt t, the difference of the displacements of the ends over s, the side e and the slip u. The normal of a pair with a volume
 * also rotates with t. With the force lambda/delta of a row this adds half of lambda/(delta s) in all directions, for the first term;
 * and, if d is not small compared with s, 2 lambda/s^2 along n, twice the second. */
PD_FUNCTION void pd_two_way_lay_pairs(const pd_two_way_rows *pairs, const pd_incidence *of_pairs, const real *x, int i, double K[6]) {
    for (int r = of_pairs->start[i]; r < of_pairs->start[i + 1]; r++) {
        size_t role = (size_t)of_pairs->roles[r], p = role / 4;
        if (!(pairs->multiplier[p] > 0)) continue;
        double square = pd_two_way_side(pairs, x, p, (int)(role % 4)), far = 0.0;
        double multiplier = (double)pairs->multiplier[p], length = (double)pairs->length[p];
        pd_vector push = pd_two_way_at_corner(pairs->jacobian, p, (int)(role % 4));
        double size = (double)pd_vector_dot(push, push);
        if (!(square > 0.0)) continue;
        if (length * length > (double)PD_VOLUME_DISTANCE * (double)PD_VOLUME_DISTANCE * square && size > 0.0)
            far = 2.0 * multiplier / (square * size);
        pd_two_way_lay(0.5 * multiplier / (length * sqrt(square)), far, push, K);
    }
}

/* Point i of pd_two_way_metric: W = P (m + P K P)^-1 P, the curvature P K P, K the scaled addition, and goal = x + m W (y_0 - x). K is 0
 * for bilateral multipliers. The rows of such a system contradict each other, and multipliers of both signs grow. With the curvature of
 * one sign only, the target of a knot diverged, and without it stays within centimetres. */
PD_FUNCTION void pd_two_way_update_metric(const pd_model *model, const pd_two_way_rows *edges, const pd_incidence *of_edges,
                                          const pd_two_way_rows *pairs, const pd_incidence *of_pairs, double share, const real *x,
                                          const real *y_0, int i, real *inverse, real *curvature, real *goal) {
    size_t row = 3 * (size_t)i;
    const real *P = model->subspace && i < model->n_vertices ? model->subspace + 3 * row : NULL;
    real weight = pd_two_way_inverse_mass(model, i);
    double K[6] = {0, 0, 0, 0, 0, 0}, W[6] = {0, 0, 0, 0, 0, 0};
    if (weight > 0 && edges->n && !(edges->least < 0)) pd_two_way_lay_edges(edges, of_edges, x, i, K);
    if (weight > 0 && pairs->n && !(pairs->least < 0)) pd_two_way_lay_pairs(pairs, of_pairs, x, i, K);
    int some = K[0] + K[1] + K[2] > 0.0;
    if (some) pd_two_way_hold(P, K);
    for (int a = 0; a < 6; a++) K[a] *= share;
    for (int a = 0; a < 3; a++) W[a] = some ? 1.0 / (double)weight + K[a] : (double)weight, W[3 + a] = K[3 + a];
    if (some) pd_two_way_invert(W);
    pd_two_way_hold(P, W);
    for (int a = 0; a < 6; a++) inverse[2 * row + (size_t)a] = (real)W[a], curvature[2 * row + (size_t)a] = (real)K[a];
    pd_vector at = pd_vector_load(x + row), aim = pd_vector_load(y_0 + row);
    if (some) aim = pd_vector_along(at, (real)1 / weight, pd_two_way_yield(inverse, i, pd_vector_subtract(aim, at)));
    pd_vector_store(aim, goal + row);
}

/* The position of point i in the metric of its mass only: y + K (y - x)/m. */
PD_FUNCTION void pd_two_way_update_undamped(const pd_model *model, const real *curvature, const real *x, const real *y, int i, real *out) {
    size_t row = 3 * (size_t)i;
    pd_vector aim = pd_vector_load(y + row), way = pd_vector_subtract(aim, pd_vector_load(x + row));
    aim = pd_vector_along(aim, pd_two_way_inverse_mass(model, i), pd_two_way_multiply(curvature + 2 * row, way));
    pd_vector_store(aim, out + row);
}

#endif
