/* The nearest features of a pair, from the weights of its closest points.
 *
 * Several vertex-triangle or edge-edge pairs have the same nearest features: a vertex over an edge is nearest to it in both of its
 * triangles. The selection of these pairs must not depend on the last bit of a weight. So weights that are zero to rounding count as
 * zero. */
#ifndef PD_GEOMETRY_NEAREST_FEATURE_H
#define PD_GEOMETRY_NEAREST_FEATURE_H

#include "geometry/pair.h"

/* The numbers are visible in Python (FEATURES of python/pdgpu/simulation/contacts.py). */
enum { PD_NEAREST_VERTICES, PD_NEAREST_VERTEX_EDGE, PD_NEAREST_FACE, PD_NEAREST_EDGES, PD_NEAREST_COLLIDER };

/* The rounding error of a zero weight. */
#define PD_ZERO_WEIGHT ((real)64 * PD_EPSILON)

/* Bit j: corner j takes part in the closest points. */
PD_FUNCTION unsigned pd_support_of_weights(const real weights[4]) {
    unsigned support = 0;
    for (int j = 0; j < 4; j++) support |= (unsigned)(pd_fabs(weights[j]) > PD_ZERO_WEIGHT) << j;
    return support;
}

PD_FUNCTION int pd_support_count(unsigned support) {
    return (int)(support & 1) + (int)(support >> 1 & 1) + (int)(support >> 2 & 1) + (int)(support >> 3 & 1);
}

/* The number of the single corner in a set. */
PD_FUNCTION int pd_only_corner(unsigned corners) { return corners & 1 ? 0 : corners & 2 ? 1 : corners & 4 ? 2 : 3; }

/* The nearest feature of a vertex-triangle (n_first = 1) or edge-edge pair (n_first = 2), and its corners, which other pairs may share:
 *     two vertices       corner and other: their corners
 *     a vertex, an edge  corner: of the vertex; other: the side of the triangle, 0 t0t1, 1 t1t2, 2 t2t0, or the edge, 0 or 1 */
PD_FUNCTION int pd_nearest_feature(int n_first, unsigned support, int *corner, int *other) {
    unsigned first = support & ((1u << n_first) - 1u), second = support & ~first;
    int of_first = pd_support_count(first), of_second = pd_support_count(second);
    *corner = *other = 0;
    if (of_first == 2 && of_second == 2) return PD_NEAREST_EDGES;
    if (of_second == 3) return PD_NEAREST_FACE;
    if (of_first == 2) {
        *corner = pd_only_corner(second);
        return PD_NEAREST_VERTEX_EDGE;
    }
    *corner = pd_only_corner(first);
    if (of_second == 2) {
        *other = n_first == 2 ? 1 : second == 6u ? 0 : second == 12u ? 1 : 2;
        return PD_NEAREST_VERTEX_EDGE;
    }
    *other = pd_only_corner(second);
    return PD_NEAREST_VERTICES;
}

#endif
