/* The constraints of the two-way interior point method, linearised at the state [Wang et al. 2023, A Two-Way Interior Point Method for
 * Collision Handling in Deformable Body Simulation, Sec. 4.1].
 *
 *     c(x) = s det(e1, e2, e3)(x) / (delta |N|) - 1 >= 0,     N = e2 x e3, s the sign of the determinant, both constant from the state
 *
 * for a vertex above a triangle (e1 = v - t0, e2 = t1 - t0, e3 = t2 - t0) and for two edges with interior closest points (e1 = b0 - a0,
 * e2 = a1 - a0, e3 = b1 - b0). It compares six times the volume of their tetrahedron with that of the pair moved apart along N to the
 * distance delta. Eqs. 14 and 15 are missing in the paper's text. This is derived from their description: moving a pair apart along N
 * without a change of shape gives the volume delta |N|/6, a constant. If the determinant is a poor measure of the distance (a vertex
 * nearest to an edge or a vertex, nearly parallel edges), the constraint is
 *
 *     c(x) = |gap|/delta - 1,     gap = sum beta_j x_j,     the gradient with constant beta and normal n = gap/|gap|     [Eq. 16]
 *
 * The volume of a pair without interior closest points is a poor measure, and its sign may be wrong. The thickness is part of delta. If
 * delta is not small compared with the triangle or the edges, the gradient of the volume mainly deforms the sides, and a cloth on a ball
 * oscillates without end. Then the second constraint is used too. The length of an edge:
 *
 *     c(x) = sigma - |x_i - x_j|/l >= 0,     l at rest      [Eq. 17]
 *
 * The printed l is the length at the begin of each update, so that its errors accumulate. */
#ifndef PD_ELEMENTS_CONTACT_VOLUME_CONSTRAINT_H
#define PD_ELEMENTS_CONTACT_VOLUME_CONSTRAINT_H

#include "elements/contact/pair.h"
#include "geometry/nearest_feature.h"

/* In addition to the kinds of pairs: an edge with a limit of its stretch. */
enum { PD_EDGE_LENGTH = PD_CONTACT_PAIR_COUNT };

/* Edges with a sine below these have almost no volume, and are nearly parallel. */
#define PD_VOLUME_SINE   ((real)1e-3)
#define PD_PARALLEL_SINE ((real)0.2)

/* The largest required distance for a volume constraint, relative to the smallest altitude of the parallelogram of two sides. */
#define PD_VOLUME_DISTANCE ((real)0.25)

/* c at x, and its gradient, 1/m, zero for missing corners. */
typedef struct pd_constraint {
    real value;
    pd_vector gradient[4];
} pd_constraint;

PD_FUNCTION int pd_constraint_corners(int kind) { return kind == PD_EDGE_LENGTH ? 2 : pd_contact_corners(kind); }

/* The nearest features of a pair as a pair of their own. Returns its kind; its corner j is corner order[j] of the pair. The order is the
 * same for all pairs with these features, except for that of the points of an edge. */
PD_FUNCTION int pd_constraint_feature(int kind, unsigned support, int order[4]) {
    int first = kind == PD_EDGE_EDGE ? 2 : 1, corner = 0, n = 1;
    for (int j = 0; j < 4; j++) order[j] = j;
    if (kind == PD_VERTEX_PLANE || kind == PD_VERTEX_VERTEX) return kind;
    support &= (1u << pd_contact_corners(kind)) - 1u;
    unsigned ends = support & ((1u << first) - 1u), others = support & ~((1u << first) - 1u);
    if (pd_support_count(ends) == 2 && pd_support_count(others) == 2) return kind;
    if (pd_support_count(others) == 3) return kind;
    if (pd_support_count(ends) == 2) { // an edge and a vertex of the other: the vertex first
        unsigned swap = ends;
        ends = others, others = swap;
    }
    corner = pd_only_corner(ends);
    order[0] = corner;
    for (int j = 0; j < 4; j++)
        if (others >> j & 1) order[n++] = j;
    return n == 3 ? PD_VERTEX_EDGE : PD_VERTEX_VERTEX;
}

/* Tells whether two edges x [4,3] are so nearly parallel that a small rotation makes them touch in more than a point. */
PD_FUNCTION int pd_constraint_is_parallel(const real *x) {
    pd_points4 p = pd_points4_load(x);
    pd_vector a = pd_vector_subtract(p.b, p.a), b = pd_vector_subtract(p.d, p.c), n = pd_vector_cross(a, b);
    return pd_vector_dot(n, n) <= PD_PARALLEL_SINE * PD_PARALLEL_SINE * pd_vector_dot(a, a) * pd_vector_dot(b, b);
}

/* A pair with the required distance `distance`, m, with constant weights and normal. */
PD_FUNCTION pd_constraint pd_constraint_of_distance(int kind, pd_nearest nearest, real distance) {
    pd_constraint out;
    real weights[4], per = (real)1 / distance;
    pd_per_corner_store(nearest.weights, weights);
    out.value = nearest.distance * per - (real)1;
    for (int j = 0; j < 4; j++)
        out.gradient[j] = pd_vector_scale(j < pd_contact_corners(kind) ? weights[j] * per : (real)0, nearest.normal);
    if (kind == PD_VERTEX_PLANE) out.gradient[2] = pd_vector_of(0, 0, 0); // the row of the normal
    return out;
}

/* A pair with its closest points at x [4,3] in the features of its kind, and the required distance `distance`, m. */
PD_FUNCTION pd_constraint pd_constraint_of_pair(int kind, const real *x, pd_nearest nearest, real distance) {
    pd_constraint out = pd_constraint_of_distance(kind, nearest, distance);
    if (kind != PD_VERTEX_TRIANGLE && kind != PD_EDGE_EDGE) return out;
    pd_points4 p = pd_points4_load(x);
    int edges = kind == PD_EDGE_EDGE;
    pd_vector e1 = pd_vector_subtract(edges ? p.c : p.a, edges ? p.a : p.b), e2 = pd_vector_subtract(edges ? p.b : p.c, edges ? p.a : p.b);
    pd_vector e3 = pd_vector_subtract(p.d, edges ? p.c : p.b), g1 = pd_vector_cross(e2, e3);
    real area = pd_sqrt(pd_vector_dot(g1, g1)), sides = pd_sqrt(pd_vector_dot(e2, e2)) * pd_sqrt(pd_vector_dot(e3, e3));
    real longest = pd_max(pd_vector_dot(e2, e2), pd_vector_dot(e3, e3));
    if (!(area > PD_VOLUME_SINE * sides) || distance * pd_sqrt(longest) > PD_VOLUME_DISTANCE * area) return out;
    real volume = pd_vector_dot(e1, g1), K = (volume < 0 ? (real)-1 : (real)1) / (distance * area);
    pd_vector g2 = pd_vector_cross(e3, e1), g3 = pd_vector_cross(e1, e2);
    g1 = pd_vector_scale(K, g1), g2 = pd_vector_scale(K, g2), g3 = pd_vector_scale(K, g3);
    out.value = K * volume - (real)1;
    if (edges) {
        out.gradient[0] = pd_vector_scale((real)-1, pd_vector_add(g1, g2));
        out.gradient[1] = g2;
        out.gradient[2] = pd_vector_subtract(g1, g3);
        out.gradient[3] = g3;
    } else {
        out.gradient[0] = g1;
        out.gradient[1] = pd_vector_scale((real)-1, pd_vector_add(g1, pd_vector_add(g2, g3)));
        out.gradient[2] = g2;
        out.gradient[3] = g3;
    }
    return out;
}

/* Edge x [2,3] of rest length `rest`, at most `limit` times as long. */
PD_FUNCTION pd_constraint pd_constraint_of_edge(const real *x, real rest, real limit) {
    pd_constraint out;
    pd_vector edge = pd_vector_subtract(pd_vector_load(x), pd_vector_load(x + 3));
    real length = pd_sqrt(pd_vector_dot(edge, edge));
    out.value = limit - length / rest;
    out.gradient[0] = pd_vector_scale(length > 0 ? (real)-1 / (length * rest) : (real)0, edge);
    out.gradient[1] = pd_vector_scale((real)-1, out.gradient[0]);
    out.gradient[2] = out.gradient[3] = pd_vector_of(0, 0, 0);
    return out;
}

#endif
