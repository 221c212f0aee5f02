/* Closest points of a vertex and a vertex, an edge, a triangle.
 *
 * A triangle is three segments and, where the vertex projects into it, a plane; the nearest of them wins. So a triangle without area
 * needs no case of its own. x [k,3] in m as in pair.h, moved so that rounding is that of the pair's own size. */
#ifndef PD_GEOMETRY_VERTEX_TRIANGLE_H
#define PD_GEOMETRY_VERTEX_TRIANGLE_H

#include "geometry/pair.h"

PD_FUNCTION void pd_vertex_vertex_closest(const real x[6], pd_closest *out) {
    real gap[3], none[3] = {0, 0, 0};
    pd_closest_clear(out);
    out->weights[0] = 1, out->weights[1] = -1;
    pd_subtract3(x, x + 3, gap);
    pd_closest_set_gap(out, gap, none);
}

PD_FUNCTION void pd_vertex_edge_closest(const real x[9], pd_closest *out) {
    real q[3], e[3], gap[3];
    pd_closest_clear(out);
    pd_subtract3(x, x + 3, q);
    pd_subtract3(x + 6, x + 3, e);
    real t = pd_segment_place(q, e);
    out->feature = t <= 0 ? 0 : t >= 1 ? 1 : 2;
    out->weights[0] = 1, out->weights[1] = t - (real)1, out->weights[2] = -t;
    if (out->feature == 2) out->n_free = 1, out->slopes[0][1] = 1, out->slopes[0][2] = -1;
    if (t >= 1)
        pd_subtract3(x, x + 6, gap);
    else
        for (int i = 0; i < 3; i++) gap[i] = q[i] - t * e[i];
    pd_closest_set_gap(out, gap, e);
}

PD_FUNCTION void pd_vertex_triangle_closest(const real x[12], pd_closest *out) {
    real q[3], e[3], f[3], n[3], c[3];
    pd_subtract3(x, x + 3, q);
    pd_subtract3(x + 6, x + 3, e);
    pd_subtract3(x + 9, x + 3, f);
    pd_cross3(e, f, n);
    real square = pd_dot3(n, n), sizes = pd_dot3(e, e) * pd_dot3(f, f);
    pd_cross3(q, f, c);
    real w1 = pd_dot3(c, n);
    pd_cross3(e, q, c);
    real w2 = pd_dot3(c, n);
    int inside = square > PD_PARALLEL * PD_PARALLEL * sizes && w1 > 0 && w2 > 0 && w1 + w2 < square;
    int trusted = square > PD_TRUSTED_SINE * PD_TRUSTED_SINE * sizes;

    pd_closest face;
    pd_closest_clear(&face);
    if (inside) {
        real gap[3];
        w1 /= square, w2 /= square;
        face.feature = 6, face.n_free = 2;
        face.weights[0] = 1, face.weights[1] = -((real)1 - w1 - w2), face.weights[2] = -w1, face.weights[3] = -w2;
        face.slopes[0][1] = 1, face.slopes[0][2] = -1;
        face.slopes[1][1] = 1, face.slopes[1][3] = -1;
        if (trusted) {
            pd_closest_set_plane(&face, n, pd_dot3(q, n));
            *out = face;
            return;
        }
        for (int i = 0; i < 3; i++) gap[i] = q[i] - w1 * e[i] - w2 * f[i];
        pd_closest_set_gap(&face, gap, e);
    }

    // the nearest of the three sides
    for (int side = 0; side < 3; side++) {
        int a = 1 + side, b = 1 + (side + 1) % 3;
        real corners[9];
        pd_closest edge;
        for (int i = 0; i < 3; i++) corners[i] = x[i], corners[3 + i] = x[3 * a + i], corners[6 + i] = x[3 * b + i];
        pd_vertex_edge_closest(corners, &edge);
        if (side > 0 && !(edge.distance < out->distance)) continue;
        pd_closest_clear(out);
        out->feature = edge.feature == 2 ? 3 + side : edge.feature == 0 ? a - 1 : b - 1;
        out->n_free = edge.n_free;
        out->weights[0] = 1, out->weights[a] = edge.weights[1], out->weights[b] = edge.weights[2];
        out->slopes[0][a] = edge.slopes[0][1], out->slopes[0][b] = edge.slopes[0][2];
        for (int i = 0; i < 3; i++) out->gap[i] = edge.gap[i], out->normal[i] = edge.normal[i];
        out->distance = edge.distance;
    }
    // In a sliver the weights of the face are rounding noise, but still those of a point of it: it may win only by being nearer.
    if (inside && face.distance < out->distance) *out = face;
    // a vertex that touches: the face's perpendicular is the better normal
    if (!(out->distance > 0) && trusted) {
        real length = pd_norm3(n);
        for (int i = 0; i < 3; i++) out->normal[i] = n[i] / length;
    }
}

#endif
