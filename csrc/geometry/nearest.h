/* The closest points of a pair by value, for functions that also process several pairs in one vector register (cpu/contact/contact.c).
 * They use numbers only, no arrays and no branches, so that loops vectorise. Conditions are numbers too, 1 or 0. pd_closest (pair.h) is
 * written from the result. */
#ifndef PD_GEOMETRY_NEAREST_H
#define PD_GEOMETRY_NEAREST_H

#include "geometry/pair.h"
#include "geometry/vector.h"

/* One number per corner of a pair, 0 for missing corners. */
typedef struct pd_per_corner {
    real a, b, c, d;
} pd_per_corner;

typedef struct pd_nearest {
    pd_per_corner weights;       /* beta */
    pd_per_corner first, second; /* d beta / d (free parameter), 0 for a missing one */
    pd_vector gap, normal;       /* m; unit, along the gap */
    real distance;               /* m */
    real feature, n_free;        /* as in pd_closest */
    int found;                   /* 0: the squared gap has underflowed, and distance and normal are undefined */
    pd_vector along;             /* for a zero gap the normal is perpendicular to this, */
    pd_vector perpendicular;     /* and parallel to this */
    int trusted;                 /* the second is not rounding noise */
} pd_nearest;

PD_LANE_FUNCTION pd_per_corner pd_per_corner_of(real a, real b, real c, real d) {
    pd_per_corner out;
    out.a = a, out.b = b, out.c = c, out.d = d;
    return out;
}

PD_FUNCTION void pd_per_corner_store(pd_per_corner a, real out[4]) { out[0] = a.a, out[1] = a.b, out[2] = a.c, out[3] = a.d; }

PD_LANE_FUNCTION pd_per_corner pd_per_corner_choose(int yes, pd_per_corner a, pd_per_corner b) {
    return pd_per_corner_of(yes ? a.a : b.a, yes ? a.b : b.b, yes ? a.c : b.c, yes ? a.d : b.d);
}

PD_LANE_FUNCTION pd_per_corner pd_per_corner_scale(real s, pd_per_corner a) { return pd_per_corner_of(s * a.a, s * a.b, s * a.c, s * a.d); }

/* a + t b */
PD_LANE_FUNCTION pd_per_corner pd_per_corner_along(pd_per_corner a, real t, pd_per_corner b) {
    return pd_per_corner_of(a.a + t * b.a, a.b + t * b.b, a.c + t * b.c, a.d + t * b.d);
}

PD_LANE_FUNCTION real pd_per_corner_dot(pd_per_corner a, pd_per_corner b) { return a.a * b.a + a.b * b.b + a.c * b.c + a.d * b.d; }

/* The sum of slopes times corners: the derivative of the gap by a free parameter. The slopes sum to zero, so differences from the first
 * corner lose no digits far from the origin. */
PD_LANE_FUNCTION pd_vector pd_gap_slope(pd_per_corner slopes, pd_points4 x) {
    pd_vector b = pd_vector_subtract(x.b, x.a), c = pd_vector_subtract(x.c, x.a), d = pd_vector_subtract(x.d, x.a);
    return pd_vector_along(pd_vector_along(pd_vector_scale(slopes.b, b), slopes.c, c), slopes.d, d);
}

/* Tells whether two slopes of the gap are linearly independent: `cross` the square of their cross product, a and b their own. */
PD_LANE_FUNCTION int pd_slopes_are_two(real a, real b, real cross) { return cross > PD_PARALLEL * PD_PARALLEL * a * b; }

/* The point of a segment nearest to a point. */
typedef struct pd_on_segment {
    real place;    /* 0 .. 1; 0 for a segment without length */
    real inside;   /* 1 if it is at neither end, else 0 */
    pd_vector gap; /* from it to the point; exact at an end */
    real square;   /* of the gap */
} pd_on_segment;

/* q = point - start, r = point - end, e = end - start, square = e . e */
PD_LANE_FUNCTION pd_on_segment pd_nearest_on_segment(pd_vector q, pd_vector r, pd_vector e, real square) {
    pd_on_segment out;
    real place = pd_min(pd_max(pd_vector_dot(q, e) / square, 0), 1);
    out.place = square > 0 ? place : (real)0;
    out.inside = ((out.place > 0) & (out.place < 1)) ? (real)1 : (real)0;
    int late = out.place > (real)0.5;
    out.gap = pd_vector_along(pd_vector_choose(late, r, q), late ? (real)1 - out.place : -out.place, e);
    out.square = pd_vector_dot(out.gap, out.gap);
    return out;
}

/* Gap, distance and normal from the gap and its square. With `met`, for interior closest points of both primitives: the gap is exactly
 * along the common perpendicular n, and height = gap . n. */
PD_LANE_FUNCTION void pd_nearest_set_gap(pd_nearest *out, pd_vector gap, real square, int met, pd_vector n, real normal_square,
                                         real height) {
    real smallest = sizeof(real) == sizeof(float) ? (real)1e-30 : (real)1e-290;
    real length = pd_sqrt(met ? normal_square : square);
    out->distance = met ? pd_fabs(height) / length : length;
    out->normal = pd_vector_scale(((met & (height < 0)) ? (real)-1 : (real)1) / length, pd_vector_choose(met, n, gap));
    out->gap = pd_vector_choose(met, pd_vector_scale(out->distance, out->normal), gap);
    out->found = met | (square > smallest);
}

/* The same for one pair with any gap. */
PD_FUNCTION void pd_nearest_write(const pd_nearest *nearest, pd_closest *out) {
    out->feature = (int)nearest->feature, out->n_free = (int)nearest->n_free;
    pd_per_corner_store(nearest->weights, out->weights);
    pd_per_corner_store(nearest->first, out->slopes[0]), pd_per_corner_store(nearest->second, out->slopes[1]);
    pd_vector_store(nearest->gap, out->gap), pd_vector_store(nearest->normal, out->normal);
    out->distance = nearest->distance;
    if (nearest->found) return;
    real gap[3], along[3], n[3];
    pd_vector_store(nearest->gap, gap), pd_vector_store(nearest->along, along);
    pd_closest_set_gap(out, gap, along);
    if (out->distance > 0 || !nearest->trusted) return;
    pd_vector_store(nearest->perpendicular, n);
    real length = pd_norm3(n);
    for (int i = 0; i < 3; i++) out->normal[i] = n[i] / length;
}

/* The inverse of pd_nearest_write, without the members that only that function needs. */
PD_FUNCTION pd_nearest pd_nearest_read(const pd_closest *closest) {
    pd_nearest out;
    const real *w = closest->weights, *first = closest->slopes[0], *second = closest->slopes[1];
    out.weights = pd_per_corner_of(w[0], w[1], w[2], w[3]);
    out.first = pd_per_corner_of(first[0], first[1], first[2], first[3]);
    out.second = pd_per_corner_of(second[0], second[1], second[2], second[3]);
    out.gap = pd_vector_load(closest->gap), out.normal = pd_vector_load(closest->normal);
    out.distance = closest->distance;
    out.feature = (real)closest->feature, out.n_free = (real)closest->n_free;
    out.along = out.perpendicular = out.normal;
    out.found = out.trusted = 1;
    return out;
}

#endif
