/* Closest points of two edges.
 *
 * Either both are met inside, or an end of one is nearest: five candidates, the nearest wins. Parallel edges, edges without length and
 * edges that lie in one another are therefore no cases of their own. x [4,3]: a0, a1, b0, b1, m. */
#ifndef PD_GEOMETRY_EDGE_EDGE_H
#define PD_GEOMETRY_EDGE_EDGE_H

#include "geometry/pair.h"

/* gap = (a0 + s e) - (b0 + t f) with q = b0 - a0; from the ends where s or t is at one, so that an end point's gap is exact. */
PD_FUNCTION void pd_edge_edge_gap(const real x[12], real s, real t, real gap[3]) {
    const real *a = s > (real)0.5 ? x + 3 : x, *b = t > (real)0.5 ? x + 9 : x + 6;
    real sa = s > (real)0.5 ? s - (real)1 : s, tb = t > (real)0.5 ? t - (real)1 : t;
    for (int i = 0; i < 3; i++) gap[i] = (a[i] - b[i]) + (sa * (x[3 + i] - x[i]) - tb * (x[9 + i] - x[6 + i]));
}

/* Feature, weights and their slopes of the places s, t. */
PD_FUNCTION void pd_edge_edge_set_places(pd_closest *out, real s, real t) {
    int end_a = s <= 0 ? 0 : s >= 1 ? 1 : -1, end_b = t <= 0 ? 0 : t >= 1 ? 1 : -1;
    pd_closest_clear(out);
    out->weights[0] = (real)1 - s, out->weights[1] = s, out->weights[2] = t - (real)1, out->weights[3] = -t;
    if (end_a < 0) {
        out->slopes[0][0] = -1, out->slopes[0][1] = 1;
        out->n_free = 1;
    }
    if (end_b < 0) {
        out->slopes[out->n_free][2] = 1, out->slopes[out->n_free][3] = -1;
        out->n_free++;
    }
    if (end_a >= 0 && end_b >= 0)
        out->feature = 2 * end_a + end_b;
    else if (end_b >= 0)
        out->feature = 4 + end_b;
    else if (end_a >= 0)
        out->feature = 6 + end_a;
    else
        out->feature = 8;
}

PD_FUNCTION void pd_edge_edge_closest(const real x[12], pd_closest *out) {
    real e[3], f[3], q[3], n[3], c[3], gap[3], r[3];
    pd_subtract3(x + 3, x, e);
    pd_subtract3(x + 9, x + 6, f);
    pd_subtract3(x + 6, x, q);
    pd_cross3(e, f, n);
    real square = pd_dot3(n, n), sizes = pd_dot3(e, e) * pd_dot3(f, f);
    pd_cross3(q, f, c);
    real s = pd_dot3(c, n);
    pd_cross3(q, e, c);
    real t = pd_dot3(c, n);
    int inside = square > PD_PARALLEL * PD_PARALLEL * sizes && s > 0 && t > 0 && s < square && t < square;
    int trusted = square > PD_TRUSTED_SINE * PD_TRUSTED_SINE * sizes;
    if (inside && trusted) {
        pd_edge_edge_set_places(out, s / square, t / square);
        if (out->feature == 8) { // else a place was rounded to an end
            pd_closest_set_plane(out, n, -pd_dot3(q, n));
            return;
        }
    }

    // the ends: each against the other edge
    real best_s = 0, best_t = 0, best = -1;
    for (int end = 0; end < 4; end++) {
        real place_s = (real)(end & 1), place_t = (real)(end & 1);
        if (end < 2) { // a0, a1 against B
            pd_subtract3(x + 3 * end, x + 6, r);
            place_t = pd_segment_place(r, f);
        } else {
            pd_subtract3(x + 3 * end, x, r);
            place_s = pd_segment_place(r, e);
        }
        pd_edge_edge_gap(x, place_s, place_t, gap);
        real d = pd_dot3(gap, gap);
        if (best < 0 || d < best) best = d, best_s = place_s, best_t = place_t;
    }
    if (inside) {
        // Nearly parallel: the places are noise times 1 / sine^2. Each put to the best place for the other makes the error of the
        // distance quadratic.
        s /= square;
        for (int i = 0; i < 3; i++) r[i] = s * e[i] - q[i];
        t = pd_segment_place(r, f);
        for (int i = 0; i < 3; i++) r[i] = t * f[i] + q[i];
        s = pd_segment_place(r, e);
        pd_edge_edge_gap(x, s, t, gap);
        if (pd_dot3(gap, gap) < best) best_s = s, best_t = t;
    }
    pd_edge_edge_set_places(out, best_s, best_t);
    pd_edge_edge_gap(x, best_s, best_t, gap);
    pd_closest_set_gap(out, gap, pd_dot3(e, e) >= pd_dot3(f, f) ? e : f);
    if (!(out->distance > 0) && trusted) {
        real length = pd_norm3(n);
        for (int i = 0; i < 3; i++) out->normal[i] = n[i] / length;
    }
}

#endif
