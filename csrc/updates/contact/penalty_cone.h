/* The test whether a pair is a local minimum of the distance of two surfaces: its normal against the triangles next to its points, for
 * penalty_update.h.
 *
 * The closest points p of the first and q of the second are p - q = g n apart. Along a direction u of the second's surface at q the
 * distance changes by -n . u. So it has a minimum at q if n . u <= 0 for all u: n is in the cone spanned by the normals of the triangles at
 * q, on either side of an open surface, and beyond a free edge. The same holds at p with -n. If n . u > 0 into a triangle, the other side
 * is closer to that triangle, and has another pair with it. The normal of the first pair is then no direction of separation.
 *
 * A normal is outside only relative to a triangle with the other side in front of its plane at the begin of the step, and now at most twice
 * the thickness on its back. Surfaces that penetrate deeper in a step keep all of their pairs. */
#ifndef PD_UPDATES_CONTACT_PENALTY_CONE_H
#define PD_UPDATES_CONTACT_PENALTY_CONE_H

#include "updates/contact/penalty_side.h"

/* The slope n . u up to which the normal of two edges is in the cone. Flat surfaces bend under a load, and their cones have no width. */
#define PD_PENALTY_CONE ((real)0.1)

/* The same for a vertex and the triangles around it: a vertex in a concave part of its own surface is also kept out. */
#define PD_PENALTY_BESIDE ((real)0.5)

/* Tells whether two edges are sides of triangles. */
PD_FUNCTION int pd_penalty_are_of_meshes(const pd_penalty_search *search, const int points[4]) {
    int meshes = 1;
    for (int j = 0; j < 4; j++) meshes = meshes && search->ring_start[points[j] + 1] > search->ring_start[points[j]];
    return meshes;
}

/* Point i at a fraction of the path from the begin of the step. */
PD_FUNCTION pd_vector pd_penalty_on_the_way(const pd_penalty_search *search, real part, int i) {
    pd_vector from = pd_penalty_point(search->start, i);
    return pd_vector_along(from, part, pd_vector_subtract(pd_penalty_point(search->end, i), from));
}

/* The smallest and the largest height of n points above the plane of triangle t at y, m. */
PD_FUNCTION void pd_penalty_heights(const pd_penalty_search *search, const real *y, int t, const int *points, int n, real range[2]) {
    pd_vector normal = pd_penalty_unit(pd_penalty_face(search, y, t)), a = pd_penalty_point(y, search->candidates.triangles[3 * (size_t)t]);
    for (int j = 0; j < n; j++) {
        real height = pd_vector_dot(normal, pd_vector_subtract(pd_penalty_point(y, points[j]), a));
        range[0] = j ? pd_min(range[0], height) : height, range[1] = j ? pd_max(range[1], height) : height;
    }
}

/* Tells whether n points were on one side of the plane of triangle t at the begin of the step, and are at most slightly on the other side
 * now. */
PD_FUNCTION int pd_penalty_stays_before(const pd_penalty_search *search, int t, const int *points, int n) {
    const real slack = PD_PENALTY_HIT * search->thickness, far = PD_PENALTY_KEPT * search->thickness;
    real start[2], end[2];
    pd_penalty_heights(search, search->start, t, points, n, start);
    pd_penalty_heights(search, search->end, t, points, n, end);
    return (start[0] > -slack && end[0] > -far) || (start[1] < slack && end[1] < far);
}

/* Tells whether n points from inside edge i j into one of its triangles, towards the m points of the other side. */
PD_FUNCTION int pd_penalty_leads_from_edge(const pd_penalty_search *search, real part, int i, int j, pd_vector n, const int *points,
                                           int m) {
    pd_vector a = pd_penalty_on_the_way(search, part, i), edge = pd_vector_subtract(pd_penalty_on_the_way(search, part, j), a);
    real square = pd_vector_dot(edge, edge);
    for (int r = search->ring_start[i]; r < search->ring_start[i + 1]; r++) {
        const int *corners = search->candidates.triangles + 3 * (size_t)search->rings[r];
        if (corners[0] != j && corners[1] != j && corners[2] != j) continue;
        int k = 0;
        while (k < 2 && (corners[k] == i || corners[k] == j)) k++;
        pd_vector side = pd_vector_subtract(pd_penalty_on_the_way(search, part, corners[k]), a);
        pd_vector u = pd_penalty_unit(pd_vector_along(side, -pd_vector_dot(side, edge) / square, edge));
        if (pd_vector_dot(n, u) > PD_PENALTY_CONE && pd_penalty_stays_before(search, search->rings[r], points, m)) return 1;
    }
    return 0;
}

/* The same from corner i into a triangle around it, with a slope above `steep`. */
PD_FUNCTION int pd_penalty_leads_from_corner(const pd_penalty_search *search, real part, int i, pd_vector n, real steep, const int *points,
                                             int m) {
    pd_vector here = pd_penalty_on_the_way(search, part, i);
    for (int r = search->ring_start[i]; r < search->ring_start[i + 1]; r++) {
        const int *corners = search->candidates.triangles + 3 * (size_t)search->rings[r];
        int at = corners[0] == i ? 0 : corners[1] == i ? 1 : 2;
        pd_vector a = pd_penalty_unit(pd_vector_subtract(pd_penalty_on_the_way(search, part, corners[(at + 1) % 3]), here));
        pd_vector b = pd_penalty_unit(pd_vector_subtract(pd_penalty_on_the_way(search, part, corners[(at + 2) % 3]), here));
        real along_a = pd_vector_dot(n, a), along_b = pd_vector_dot(n, b), cosine = pd_vector_dot(a, b);
        real slope = pd_max(along_a, along_b);
        // the steepest direction in the plane of both is between them if both of its coordinates along a and b are positive
        real first = along_a - cosine * along_b, second = along_b - cosine * along_a, rest = 1 - cosine * cosine;
        if (first > 0 && second > 0 && rest > 0) slope = pd_max(slope, pd_sqrt((first * along_a + second * along_b) / rest));
        if (slope > steep && pd_penalty_stays_before(search, search->rings[r], points, m)) return 1;
    }
    return 0;
}

/* Tells whether the normal of two edges of meshes is in the cones of both. */
PD_FUNCTION int pd_penalty_edges_in_cone(const pd_penalty_search *search, real part, const int points[4], pd_vector normal) {
    return !pd_penalty_leads_from_edge(search, part, points[2], points[3], normal, points, 2) &&
           !pd_penalty_leads_from_edge(search, part, points[0], points[1], pd_vector_scale(-1, normal), points + 2, 2);
}

/* Tells whether the normal of vertex v and triangle t is in the cone of the triangles around the point with these weights of t. */
PD_FUNCTION int pd_penalty_triangle_in_cone(const pd_penalty_search *search, real part, int v, int t, const real weights[3],
                                            pd_vector normal) {
    int which[3], n = pd_penalty_corners_in(weights, search->candidates.triangles + 3 * (size_t)t, which);
    if (n == 3) return 1;
    if (n == 2) return !pd_penalty_leads_from_edge(search, part, which[0], which[1], normal, &v, 1);
    return !pd_penalty_leads_from_corner(search, part, which[0], normal, PD_PENALTY_CONE, &v, 1);
}

/* Tells whether a vertex is certainly not closest to triangle t, in the direction -normal, of its own surface: another pair of it is. */
PD_FUNCTION int pd_penalty_is_beside(const pd_penalty_search *search, real part, int v, int t, pd_vector normal) {
    return pd_penalty_leads_from_corner(search, part, v, pd_vector_scale(-1, normal), PD_PENALTY_BESIDE,
                                        search->candidates.triangles + 3 * (size_t)t, 3);
}

#endif
