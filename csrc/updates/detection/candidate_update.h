/* One candidate or active pair: the bodies of the loops of proximity_loops.h, for both backends. */
#ifndef PD_UPDATES_DETECTION_CANDIDATE_UPDATE_H
#define PD_UPDATES_DETECTION_CANDIDATE_UPDATE_H

#include "geometry/collider.h"
#include "geometry/distance.h"
#include "geometry/nearest_feature.h"
#include "loops/proximity_loops.h"
#include "updates/counted.h"

/* Kind, corners and name of a candidate. */
typedef struct pd_candidate {
    int kind, first, second; /* as in pd_active_pairs.key */
    int points[4];
} pd_candidate;

/* Tells whether this row holds a candidate. */
PD_FUNCTION int pd_candidate_exists(const pd_candidates *candidates, size_t row) {
    size_t n_vt = candidates->n_vertex_triangle;
    if (row < n_vt) return row < pd_counted(n_vt, candidates->count_vertex_triangle);
    row -= n_vt;
    return row >= candidates->n_edge_edge || row < pd_counted(candidates->n_edge_edge, candidates->count_edge_edge);
}

PD_FUNCTION pd_candidate pd_candidate_of(const pd_candidates *candidates, size_t row) {
    pd_candidate out;
    if (row < candidates->n_vertex_triangle) {
        const int *pair = candidates->vertex_triangle + 2 * row, *corners = candidates->triangles + 3 * (size_t)pair[1];
        out.kind = PD_CONTACT_VERTEX_TRIANGLE;
        out.first = out.points[0] = candidates->vertices[pair[0]], out.second = pair[1];
        out.points[1] = corners[0], out.points[2] = corners[1], out.points[3] = corners[2];
        return out;
    }
    row -= candidates->n_vertex_triangle;
    if (row < candidates->n_edge_edge) {
        const int *pair = candidates->edge_edge + 2 * row;
        const int *a = candidates->edges + 2 * (size_t)pair[0], *b = candidates->edges + 2 * (size_t)pair[1];
        out.kind = PD_CONTACT_EDGE_EDGE;
        out.first = pair[0], out.second = pair[1];
        out.points[0] = a[0], out.points[1] = a[1], out.points[2] = b[0], out.points[3] = b[1];
        return out;
    }
    row -= candidates->n_edge_edge;
    out.kind = PD_CONTACT_VERTEX_COLLIDER;
    out.first = (int)(row / (size_t)candidates->n_tested);
    out.second = out.points[0] = candidates->tested[row % (size_t)candidates->n_tested];
    out.points[1] = out.points[2] = out.points[3] = -1;
    return out;
}

/* The radii of both, subtracted from their distance. */
PD_FUNCTION real pd_candidate_radius(const pd_candidates *candidates, const pd_candidate *candidate) {
    const int *points = candidate->points;
    if (!candidates->radii) return 0;
    if (candidate->kind == PD_CONTACT_VERTEX_COLLIDER) return candidates->radii[points[0]];
    return candidates->radii[points[0]] + candidates->radii[points[candidate->kind == PD_CONTACT_EDGE_EDGE ? 2 : 1]];
}

/* The height above plane `which` of the candidates. */
PD_FUNCTION real pd_candidate_height(const pd_candidates *candidates, const real *y, int which, int point) {
    const real *o = y + 3 * (size_t)candidates->planes[which], *x = y + 3 * (size_t)point;
    return (x[0] - o[0]) * o[3] + (x[1] - o[1]) * o[4] + (x[2] - o[2]) * o[5];
}

PD_FUNCTION uint64_t pd_candidate_key(const pd_candidate *candidate) {
    return (uint64_t)candidate->kind << 62 | (uint64_t)candidate->first << 31 | (uint64_t)candidate->second;
}

/* PD_CONTACT_... of an active pair. */
PD_FUNCTION int pd_contact_of_key(uint64_t key) { return (int)(key >> 62); }

/* Corners of the first of a pair. */
PD_FUNCTION int pd_contact_n_first(int kind) { return kind == PD_CONTACT_EDGE_EDGE ? 2 : 1; }

/* The kind of pair of a contact. */
PD_FUNCTION int pd_contact_pair(int kind) {
    if (kind == PD_CONTACT_VERTEX_COLLIDER) return PD_VERTEX_COLLIDER;
    return kind == PD_CONTACT_EDGE_EDGE ? PD_EDGE_EDGE : PD_VERTEX_TRIANGLE;
}

/* x [4,3] of the corners; missing ones are not written. */
PD_FUNCTION void pd_gather_corners(const real *y, const int points[4], real x[12]) {
    for (int j = 0; j < 4; j++)
        if (points[j] >= 0)
            for (int i = 0; i < 3; i++) x[3 * j + i] = y[3 * (size_t)points[j] + (size_t)i];
}

/* The nearest feature of an active pair. */
PD_FUNCTION int pd_feature_of_pair(int kind, unsigned support) {
    int corner, other;
    if (kind == PD_CONTACT_VERTEX_COLLIDER) return PD_NEAREST_COLLIDER;
    return pd_nearest_feature(pd_contact_n_first(kind), support, &corner, &other);
}

/* The name of the nearest features of an active pair: 0 if no other pair can share them. Otherwise the number of a vertex plus one,
 * above that of another vertex or, after all points, of an edge. */
PD_FUNCTION uint64_t pd_nearest_name(const pd_side_names *names, uint64_t key, unsigned support, const int points[4]) {
    int kind = pd_contact_of_key(key), corner, other, first = (int)(key >> 31 & 0x7fffffff), second = (int)(key & 0x7fffffff);
    if (kind == PD_CONTACT_VERTEX_COLLIDER) return 0;
    int feature = pd_nearest_feature(pd_contact_n_first(kind), support, &corner, &other);
    if (feature == PD_NEAREST_VERTICES) {
        int a = points[corner], b = points[other];
        return (uint64_t)((a < b ? a : b) + 1) << 32 | (uint64_t)(a < b ? b : a);
    }
    if (feature != PD_NEAREST_VERTEX_EDGE) return 0;
    int edge = kind == PD_CONTACT_EDGE_EDGE ? names->of_edges[other ? second : first] : names->of_sides[3 * (size_t)second + (size_t)other];
    return (uint64_t)((int64_t)points[corner] + 1) << 32 | ((uint64_t)names->n_points + (uint64_t)edge);
}

/* The part of a name that a key holds above a place. */
PD_FUNCTION uint64_t pd_nearest_part(uint64_t name, int part, int low_bits) {
    uint64_t high = name >> 32, low = name & 0xffffffffu;
    return part == PD_NAME_LOW ? low : part == PD_NAME_HIGH ? high : high << low_bits | low;
}

/* The closest points of one pair, without kind, feature, distance and owners. */
typedef struct pd_contact_point {
    real weights[4], normal[3], closest[6];
} pd_contact_point;

PD_FUNCTION void pd_contact_point_of_pair(int n_first, const real x[12], const pd_closest *closest, pd_contact_point *out) {
    for (int j = 0; j < 4; j++) out->weights[j] = closest->weights[j];
    for (int i = 0; i < 3; i++) {
        // the points from the weights; their difference is the gap to rounding
        real first = closest->weights[0] * x[i];
        if (n_first == 2) first += closest->weights[1] * x[3 + i];
        out->normal[i] = closest->normal[i];
        out->closest[i] = first, out->closest[3 + i] = first - closest->gap[i];
    }
}

PD_FUNCTION void pd_contact_point_of_collider(const real x[3], const pd_surface_point *surface, pd_contact_point *out) {
    for (int j = 0; j < 4; j++) out->weights[j] = (real)(j == 0);
    for (int i = 0; i < 3; i++) {
        out->normal[i] = surface->normal[i];
        out->closest[i] = x[i], out->closest[3 + i] = surface->closest[i];
    }
}

/* Writes row `to` of the measures: pair `from` of the active ones. */
PD_FUNCTION void pd_contact_write(const pd_contact_measures *out, size_t to, const pd_active_pairs *active, size_t from, unsigned support,
                                  real distance, const pd_contact_point *point, const int owners[2]) {
    const int *points = active->points + 4 * from;
    int kind = pd_contact_of_key(active->key[from]);
    out->kind[to] = (unsigned char)kind;
    out->feature[to] = (unsigned char)pd_feature_of_pair(kind, support);
    out->distance[to] = distance;
    for (size_t j = 0; j < 4; j++) out->points[4 * to + j] = points[j], out->weights[4 * to + j] = point->weights[j];
    for (size_t i = 0; i < 3; i++) out->normal[3 * to + i] = point->normal[i];
    for (size_t i = 0; i < 6; i++) out->closest[6 * to + i] = point->closest[i];
    for (size_t i = 0; i < 2; i++) out->bodies[2 * to + i] = owners[i];
}

/* The point of a row of W x. */
PD_FUNCTION void pd_embedded_point(const int rows[4], const real weights[4], const real *x, real y[3]) {
    y[0] = y[1] = y[2] = 0;
    for (int j = 0; j < 4; j++)
        if (rows[j] >= 0)
            for (int i = 0; i < 3; i++) y[i] += weights[j] * x[3 * (size_t)rows[j] + (size_t)i];
}

/* The squared displacement of a point, in double. */
PD_FUNCTION double pd_move_square(const real *x, const real *previous) {
    double square = 0.0;
    for (int i = 0; i < 3; i++) square += ((double)x[i] - (double)previous[i]) * ((double)x[i] - (double)previous[i]);
    return square;
}

#endif
