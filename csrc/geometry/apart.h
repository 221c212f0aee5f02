/* Whether two edges, or a vertex and a triangle, that move along straight lines stay farther apart than a limit: where that is plain. */
#ifndef PD_GEOMETRY_APART_H
#define PD_GEOMETRY_APART_H

#include "geometry/vector.h"

/* Of the size of a pair: what a distance is off by, with a wide margin. */
#define PD_APART_ROUNDING ((real)1024 * PD_EPSILON)

/* Whether the corners [4,3], n_first of them the first's, are farther apart than `limit` along a direction both where they begin and where they
 * end, by more than rounding. Along a fixed direction the gap is concave in time: so they are all the way. */
PD_FUNCTION int pd_pair_is_apart(int n_first, const real from[12], const real to[12], pd_vector direction, real limit) {
    real length = pd_sqrt(pd_vector_dot(direction, direction));
    for (int k = 0; k < 2; k++) {
        const real *at = k ? to : from;
        real first = 0, second = 0, size = 0; // the farthest of the first, the nearest of the second
        for (int j = 1; j < 4; j++) {
            pd_vector way = pd_vector_subtract(pd_vector_load(at + 3 * j), pd_vector_load(at));
            real along = pd_vector_dot(way, direction);
            size = pd_max(size, pd_vector_largest(way));
            if (j < n_first)
                first = pd_max(first, along);
            else
                second = j == n_first ? along : pd_min(second, along);
        }
        if (!(second - first > length * ((real)1.001 * limit + PD_APART_ROUNDING * size))) return 0;
    }
    return 1;
}

/* The same along the way between their middles, or across both; 0 where neither tells. */
PD_FUNCTION int pd_pair_is_far(int n_first, const real from[12], const real to[12], real limit) {
    pd_vector a = pd_vector_load(to), b = pd_vector_load(to + 3), c = pd_vector_load(to + 6), d = pd_vector_load(to + 9);
    pd_vector ab = pd_vector_subtract(b, a), sum = pd_vector_add(pd_vector_subtract(c, a), pd_vector_subtract(d, a));
    pd_vector third = pd_vector_scale((real)1 / 3, pd_vector_add(sum, ab));
    pd_vector between = n_first == 2 ? pd_vector_scale((real)0.5, pd_vector_subtract(sum, ab)) : third;
    if (pd_pair_is_apart(n_first, from, to, between, limit)) return 1;
    pd_vector across = pd_vector_cross(n_first == 2 ? ab : pd_vector_subtract(c, b), pd_vector_subtract(d, n_first == 2 ? c : b));
    if (pd_vector_dot(across, between) < 0) across = pd_vector_scale(-1, across);
    return pd_pair_is_apart(n_first, from, to, across, limit);
}

#endif
