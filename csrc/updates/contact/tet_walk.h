/* The straight path from a point of a body's surface through its tets to a vertex or a point of an edge. It tells whether the path stays
 * in the body, and whether it ends in one of the target's own tets [Chen et al. 2023, Shortest Path to Boundary for Self-Intersecting
 * Meshes, Sec. 4: a point of the surface bounds a vertex inside if the line between them is a path inside the mesh].
 *
 * The barycentric coordinates of both ends in a tet are linear along the line. So the line leaves through the face whose coordinate
 * becomes negative first. A path through an inverted tet is not valid. */
#ifndef PD_UPDATES_CONTACT_TET_WALK_H
#define PD_UPDATES_CONTACT_TET_WALK_H

#include "geometry/vector.h"
#include "loops/penalty_loops.h"

enum { PD_WALK_MOST_TETS = 512 };

enum {
    PD_WALK_LEAVES, /* leaves the body before its end */
    PD_WALK_OWN,    /* ends in the tets of the vertex or the edge */
    PD_WALK_INSIDE, /* ends in another tet */
    PD_WALK_FAILS   /* a tet on the path is inverted or flat */
};

/* Barycentric coordinates of a point, given corners [4] relative to it; returns six times the volume. */
PD_FUNCTION real pd_walk_coordinates(const pd_vector corners[4], real out[4]) {
    pd_vector a = corners[0], b = corners[1], c = corners[2], d = corners[3];
    out[0] = pd_vector_dot(b, pd_vector_cross(c, d));
    out[1] = -pd_vector_dot(a, pd_vector_cross(c, d));
    out[2] = pd_vector_dot(a, pd_vector_cross(b, d));
    out[3] = -pd_vector_dot(a, pd_vector_cross(b, c));
    real volume = out[0] + out[1] + out[2] + out[3];
    for (int j = 0; j < 4 && volume > 0; j++) out[j] /= volume;
    return volume;
}

PD_FUNCTION int pd_walk_has(const int corners[4], int v) {
    return corners[0] == v || corners[1] == v || corners[2] == v || corners[3] == v;
}

/* PD_WALK_... from s, on the face of `tet` opposite its corner `entry`, to p, which is vertex v = w or a point between the vertices v
 * and w of a surface; y [.,3] m. */
PD_FUNCTION int pd_tet_walk(const pd_penalty_tets *bodies, const real *y, int tet, int entry, pd_vector s, pd_vector p, int v, int w) {
    const real tie = (real)32 * PD_EPSILON;
    for (int visited = 0; visited < PD_WALK_MOST_TETS; visited++) {
        const int *corners = bodies->corners + 4 * (size_t)tet, *neighbours = bodies->neighbours + 4 * (size_t)tet;
        pd_vector from_p[4], from_s[4];
        real at_p[4], at_s[4], first = 2;
        int leaves = -1, inside = 1;
        for (int j = 0; j < 4; j++) {
            pd_vector x = pd_vector_load(y + 3 * (size_t)corners[j]);
            from_p[j] = pd_vector_subtract(x, p), from_s[j] = pd_vector_subtract(x, s);
        }
        if (!(pd_walk_coordinates(from_p, at_p) > 0) || !(pd_walk_coordinates(from_s, at_s) > 0)) return PD_WALK_FAILS;
        for (int j = 0; j < 4; j++) {
            if (at_p[j] >= -tie) continue;
            inside = 0;
            if (j == entry) continue;
            real part = at_s[j] > 0 ? at_s[j] / (at_s[j] - at_p[j]) : (real)0;
            if (part < first) first = part, leaves = j;
        }
        if (inside) return pd_walk_has(corners, v) && pd_walk_has(corners, w) ? PD_WALK_OWN : PD_WALK_INSIDE;
        if (leaves < 0) return PD_WALK_FAILS;
        int next = neighbours[leaves];
        if (next < 0) return PD_WALK_LEAVES;
        for (entry = 0; entry < 3 && bodies->neighbours[4 * (size_t)next + (size_t)entry] != tet;) entry++;
        tet = next;
    }
    return PD_WALK_FAILS;
}

#endif
