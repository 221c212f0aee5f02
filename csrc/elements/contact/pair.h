/* The chain rule of every contact potential: from the distance of a pair to the energy, the gradient in its corners, and the terms of a
 * single corner. pair_hessian.h has the Hessian.
 *
 * Kinds of pairs are those of geometry/pair.h and, for planes,
 *
 *     PD_VERTEX_PLANE  k=3  rows p; o, N: a vertex, a point of the plane, its unit normal; the distance is signed, N . (p - o)
 *
 * The caller decides which corners are unknowns. A prescribed one (of an obstacle, the centre of a sphere, the axis of a capsule, o of a
 * plane) has a row like any other. A sphere is a prescribed vertex and a capsule a prescribed edge; their radius is part of the
 * separation of the pair. The row of N is no position and gets zeros.
 *
 *     E(x) = weight m(x) phi(d(x)),     phi = scale B(u)   (table.h),     m the mollifier of two edges (geometry/mollifier.h), else 1
 *
 * Rounding: the distance has an error of some PD_EPSILON times the size of the pair. So u and v have that error relative to the gap, or
 * to the difference from the activation distance. In float32 a pair of size L has a relative error r if both are above 1e-7 L/r.
 * Energies near the activation distance are tiny with a larger relative error, but never negative. */
#ifndef PD_ELEMENTS_CONTACT_PAIR_H
#define PD_ELEMENTS_CONTACT_PAIR_H

#include "elements/contact/barrier.h"
#include "elements/contact/table.h"
#include "geometry/distance.h"
#include "geometry/mollifier.h"

enum { PD_VERTEX_PLANE = PD_PAIR_COUNT, PD_CONTACT_PAIR_COUNT };

/* The parameters of a pair. */
typedef struct pd_contact_limits {
    real activation; /* dhat > 0, measured from the separation, m */
    real separation; /* xi >= 0, m */
    real weight;     /* > 0; an area, m^2, in the physical form */
    real threshold;  /* eps of the mollifier, m^4; 0: none */
} pd_contact_limits;

/* phi of a pair and its derivatives by the distance, with the weight. */
typedef struct pd_contact_terms {
    real acts;   /* 0 beyond the activation distance, where all is zero; -1 for a closed gap; else 1 */
    real energy; /* J */
    real slope;  /* phi', N; NaN for a closed gap */
    real q, p;   /* phi'' and -phi'/d, N/m */
} pd_contact_terms;

/* dhat of a pair of one body with a known rest distance: below that distance, so that a mesh finer than dhat has no energy at rest. Not
 * positive if the rest distance is below the separation. */
#define PD_CONTACT_REST_FRACTION ((real)0.9)

PD_LANE_FUNCTION real pd_contact_activation(real activation, real separation, real rest_distance) {
    return pd_min(activation, PD_CONTACT_REST_FRACTION * (rest_distance - separation));
}

PD_FUNCTION int pd_contact_corners(int kind) { return kind == PD_VERTEX_PLANE ? 3 : pd_pair_corners(kind); }

/* Closest points of a pair for which pd_points4_plain holds, and of any vertex and plane. */
PD_LANE_FUNCTION pd_nearest pd_contact_nearest(int kind, pd_points4 x) {
    if (kind != PD_VERTEX_PLANE) return pd_pair_nearest(kind, x);
    pd_nearest out;
    real height = pd_vector_dot(pd_vector_subtract(x.a, x.b), x.c);
    out.weights = pd_per_corner_of(1, -1, 0, 0);
    out.first = out.second = pd_per_corner_of(0, 0, 0, 0);
    out.n_free = 2; /* the closest point of the plane follows the vertex */
    out.feature = 0;
    out.distance = height;
    out.normal = out.along = out.perpendicular = x.c;
    out.gap = pd_vector_scale(height, x.c);
    out.found = out.trusted = 1;
    return out;
}

/* Tells whether the result of pd_contact_nearest is valid. */
PD_LANE_FUNCTION int pd_contact_is_plain(int kind, pd_points4 x, pd_nearest nearest) {
    return kind == PD_VERTEX_PLANE ? 1 : pd_points4_plain(x) & nearest.found;
}

/* Closest points of any pair [4,3]; missing corners repeat the first. */
PD_FUNCTION pd_nearest pd_contact_closest(int kind, const real *x) {
    if (kind == PD_VERTEX_PLANE) return pd_contact_nearest(kind, pd_points4_load(x));
    pd_closest closest;
    pd_pair_closest(kind, x, &closest);
    return pd_nearest_read(&closest);
}

/* The same, with the fast path for a pair that allows it. */
PD_FUNCTION pd_nearest pd_contact_nearest_of(int kind, const real *x) {
    pd_points4 at = pd_points4_load(x);
    pd_nearest nearest = pd_contact_nearest(kind, at);
    return pd_contact_is_plain(kind, at, nearest) ? nearest : pd_contact_closest(kind, x);
}

/* The contact potential at u and v = 1 - u, and its factor. */
typedef struct pd_pair_potential_terms {
    real value, scale;
    pd_pair_potential_slopes slopes;
} pd_pair_potential_terms;

PD_LANE_FUNCTION pd_pair_potential_terms pd_pair_potential_terms_of(pd_pair_potential potential, real u, real v, real activation, real s) {
    pd_pair_potential_terms out;
    switch (potential.kind) {
#define PD_PAIR_POTENTIAL_CASE(KIND, name)                                                     \
    case KIND:                                                                                 \
        out.value = pd_##name##_value(u, v);                                                   \
        out.slopes = pd_##name##_slopes(u, v);                                                 \
        out.scale = pd_##name##_scale(potential.stiffness, potential.physical, activation, s); \
        break;
        PD_PAIR_POTENTIAL_TABLE(PD_PAIR_POTENTIAL_CASE)
#undef PD_PAIR_POTENTIAL_CASE
    default: out.value = out.scale = out.slopes.first = out.slopes.second = 0;
    }
    return out;
}

/* phi at distance d. Products of two lengths are formed from differences, so that no more digits cancel than in the differences. */
PD_LANE_FUNCTION pd_contact_terms pd_contact_terms_of(pd_pair_potential potential, pd_contact_limits limits, real d) {
    pd_contact_terms out;
    real xi = limits.separation, range = xi + limits.activation;
    real s = limits.activation * ((real)2 * xi + limits.activation), per = (real)1 / s;
    real u = (d - xi) * ((d + xi) * per), v = (range - d) * ((range + d) * per);
    pd_pair_potential_terms terms = pd_pair_potential_terms_of(potential, u, v, limits.activation, s);
    int near = d < range, apart = (d > xi) & ((u > 0) | !near), acts = near & apart; /* u may underflow */
    real scale = limits.weight * terms.scale, rate = (real)2 * d * per;              /* du/dd */
    real p = (real)-2 * scale * terms.slopes.first * per;
    out.acts = acts ? (real)1 : apart ? (real)0 : (real)-1;
    out.energy = acts ? scale * terms.value : apart ? (real)0 : (real)INFINITY;
    out.slope = acts ? scale * terms.slopes.first * rate : apart ? (real)0 : (real)NAN;
    out.p = acts ? p : (real)0;
    out.q = acts ? scale * terms.slopes.second * rate * rate - p : (real)0;
    return out;
}

/* The mollifier of a pair and its derivatives by c. */
PD_LANE_FUNCTION pd_mollifier_terms pd_contact_mollifier(int kind, pd_points4 x, real threshold) {
    pd_vector n = pd_vector_cross(pd_vector_subtract(x.b, x.a), pd_vector_subtract(x.d, x.c));
    return pd_mollifier_terms_of(kind == PD_EDGE_EDGE ? pd_vector_dot(n, n) : (real)0, kind == PD_EDGE_EDGE ? threshold : (real)0);
}

/* J; infinite for a closed gap. */
PD_LANE_FUNCTION real pd_contact_energy(pd_pair_potential potential, pd_contact_limits limits, int kind, pd_points4 x, pd_nearest nearest) {
    pd_contact_terms terms = pd_contact_terms_of(potential, limits, nearest.distance);
    real value = pd_contact_mollifier(kind, x, limits.threshold).value;
    return terms.acts > 0 ? value * terms.energy : terms.energy;
}

/* N, the derivative of the energy by the corners; NaN for a closed gap. */
PD_LANE_FUNCTION pd_points4 pd_contact_gradient(pd_pair_potential potential, pd_contact_limits limits, int kind, pd_points4 x,
                                                pd_nearest nearest) {
    pd_contact_terms terms = pd_contact_terms_of(potential, limits, nearest.distance);
    pd_mollifier_terms mollifier = pd_contact_mollifier(kind, x, limits.threshold);
    pd_vector slope = pd_vector_scale(mollifier.value * terms.slope, nearest.normal);
    pd_per_corner beta = nearest.weights;
    pd_points4 out = pd_points4_of(pd_vector_scale(beta.a, slope), pd_vector_scale(beta.b, slope), pd_vector_scale(beta.c, slope),
                                   pd_vector_scale(beta.d, slope));
    if (kind != PD_EDGE_EDGE) return out;
    pd_vector e = pd_vector_subtract(x.b, x.a), f = pd_vector_subtract(x.d, x.c);
    real rate = terms.acts > 0 ? terms.energy * mollifier.first : (real)0; /* corners 0, 1 move e by -1, +1; corners 2, 3 move f */
    pd_vector of_e = pd_vector_scale(rate, pd_mollifier_slope(e, f)), of_f = pd_vector_scale(rate, pd_mollifier_slope(f, e));
    return pd_points4_of(pd_vector_subtract(out.a, of_e), pd_vector_add(out.b, of_e), pd_vector_subtract(out.c, of_f),
                         pd_vector_add(out.d, of_f));
}

/* The terms of one corner while the others rest, for its own step. */
typedef struct pd_contact_corner {
    real energy;      /* the corner's share of the energy, 1/`partners` of it, J; infinite for a closed gap */
    pd_vector slope;  /* its rows of the gradient, N; this and the following are NaN for a closed gap */
    pd_vector normal; /* n */
    /* `partners` m q beta^2, N/m: along n, the block without the rotation of the normal. It is positive semidefinite, and differs from
     * the clamped block by terms of the order of (distance / size of the pair)^2. */
    real stiffness;
} pd_contact_corner;

/* For corner number `corner`, 0..3, of a pair that acts. */
PD_LANE_FUNCTION pd_contact_corner pd_contact_corner_of(pd_pair_potential potential, pd_contact_limits limits, int kind, pd_points4 x,
                                                        pd_nearest nearest, int corner, real partners) {
    pd_contact_corner out;
    pd_contact_terms terms = pd_contact_terms_of(potential, limits, nearest.distance);
    pd_mollifier_terms mollifier = pd_contact_mollifier(kind, x, limits.threshold);
    pd_per_corner weights = nearest.weights;
    real low = corner == 0 ? weights.a : weights.b, high = corner == 2 ? weights.c : weights.d, beta = corner < 2 ? low : high;
    out.normal = nearest.normal;
    out.slope = pd_vector_scale(beta, pd_vector_scale(mollifier.value * terms.slope, nearest.normal));
    out.stiffness = partners * mollifier.value * terms.q * beta * beta;
    out.energy = (terms.acts > 0 ? mollifier.value * terms.energy : terms.energy) / partners;
    if (kind != PD_EDGE_EDGE) return out;
    pd_vector e = pd_vector_subtract(x.b, x.a), f = pd_vector_subtract(x.d, x.c);
    int second = corner > 1;
    real rate = terms.acts > 0 ? terms.energy * mollifier.first : (real)0; /* as in pd_contact_gradient */
    pd_vector own = pd_mollifier_slope(pd_vector_choose(second, f, e), pd_vector_choose(second, e, f));
    out.slope = pd_vector_along(out.slope, ((corner == 1) | (corner == 3)) ? rate : -rate, own);
    return out;
}

/* sum [9] += slope and the upper triangle of the block. */
PD_FUNCTION void pd_contact_corner_add(pd_contact_corner corner, real sum[9]) {
    pd_vector n = corner.normal, stiff = pd_vector_scale(corner.stiffness, n);
    sum[0] += corner.slope.x, sum[1] += corner.slope.y, sum[2] += corner.slope.z;
    sum[3] += stiff.x * n.x, sum[4] += stiff.x * n.y, sum[5] += stiff.x * n.z;
    sum[6] += stiff.y * n.y, sum[7] += stiff.y * n.z, sum[8] += stiff.z * n.z;
}

/* The same for a pair with unknown closest points; returns the share of the energy. */
PD_FUNCTION real pd_contact_add_corner(const pd_pair_potential *potential, const pd_contact_limits *limits, int kind, const real *x,
                                       int corner, real partners, real sum[9]) {
    pd_points4 at = pd_points4_load(x);
    pd_nearest nearest = pd_contact_nearest_of(kind, x);
    if (nearest.distance >= limits->separation + limits->activation) return 0;
    pd_contact_corner out = pd_contact_corner_of(*potential, *limits, kind, at, nearest, corner, partners);
    pd_contact_corner_add(out, sum);
    return out.energy;
}

#endif
