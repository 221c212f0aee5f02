/* The detection and freezing of one pair with a penalty, for the loops of both backends; frozen_pair.h has its gap, energy and
 * derivatives.
 *
 * A pair is kept if its present gap along the normal is below its limit, since it may repel before the next detection, and
 *   - it meets on the path from the begin of the step: weights and normal are those at the first gap below a tenth of the thickness,
 *     until which each was on its own side [Chen et al. 2024, Sec. 3.5, continuous detection];
 *   - or it is nearer than twice the thickness now: present weights and normal, the normal on the pair's side at the begin of the step.
 *     The closed surface of another body has an outside: the normal points there, also from a depth of up to `depth` (discrete detection);
 *   - or a vertex was that far inside a closed surface at the begin of the step: weights and normal are those of that time.
 *
 * A vertex and a mesh are a pair at every local minimum of their distance, once. If the nearest point of a triangle is on its edge or
 * corner and a neighbour is nearer, it is no pair. Of the triangles that share the point the first counts. The side of such a point is
 * that of the sum of its triangles' normals, weighted by their angles there [Bærentzen and Aanæs 2005]. Edges of triangles are pairs if
 * both closest points are interior, since all else is a vertex and a mesh, and if their normal is between those of the adjacent
 * triangles (penalty_cone.h). For spheres and capsules each triangle near their centre or axis counts. */
#ifndef PD_UPDATES_CONTACT_PENALTY_UPDATE_H
#define PD_UPDATES_CONTACT_PENALTY_UPDATE_H

#include "geometry/apart.h"
#include "geometry/collision.h"
#include "updates/contact/frozen_pair.h"
#include "updates/contact/penalty_cone.h"
#include "updates/contact/penalty_field.h"
#include "updates/contact/tet_walk.h"

/* sum_j beta_j x_j of corners [4,3] */
PD_FUNCTION pd_vector pd_penalty_gap_of(const real weights[4], const real at[12]) {
    pd_vector gap = pd_vector_of(0, 0, 0);
    for (int j = 1; j < 4; j++) // differences from the first lose no digits far from the origin
        gap = pd_vector_along(gap, weights[j], pd_vector_subtract(pd_vector_load(at + 3 * j), pd_vector_load(at)));
    return gap;
}

/* Tells whether the gap of a vertex and a triangle or of two edges falls below `hit` on the path from at [4,3] to end. at: those
 * positions, part: that fraction of the path. */
PD_FUNCTION int pd_penalty_meets(int pair, const real end[12], real separation, real hit, real at[12], real *part) {
    pd_closest closest;
    *part = 0;
    for (int advance = 0; advance < PD_PENALTY_MOST_ADVANCES; advance++) {
        pd_pair_closest(pair, at, &closest);
        real gap = closest.distance - separation;
        if (!(gap > 0)) return 0;
        if (advance > 0 && gap <= hit) return 1;
        pd_collision found = pd_pair_collision(pair, PD_CCD_CERTIFIED, at, end, separation, 1);
        if (found.reason == PD_NO_CONTACT) return 0;
        if (!(found.time > 0)) return gap <= hit || found.reason == PD_START_TOO_CLOSE; // not distinguishable by rounding
        for (int i = 0; i < 12; i++) at[i] += found.time * (end[i] - at[i]);
        *part += found.time * ((real)1 - *part);
    }
    return 0;
}

PD_FUNCTION void pd_penalty_take(const pd_nearest *nearest, pd_penalty_pair *out) {
    pd_per_corner_store(nearest->weights, out->weights);
    out->normal = nearest->normal;
}

/* The side of triangle t for a vertex, if its surface has an inside: 1 or -1 as in `outward`, otherwise 0. */
PD_FUNCTION int pd_penalty_side_of(const pd_penalty_search *search, int t, int others) {
    return others || search->tets.behind[t] >= 0 ? search->outward[t] : 0;
}

/* The outward component at y of a direction at the point of triangle t with these weights; side as above. */
PD_FUNCTION real pd_penalty_out_of_triangle(const pd_penalty_search *search, const real *y, int t, int side, const real weights[3],
                                            pd_vector direction) {
    int which[3], n = pd_penalty_corners_in(weights, search->candidates.triangles + 3 * (size_t)t, which);
    pd_vector outward = n == 3 ? pd_penalty_face(search, y, t) : pd_penalty_side(search, y, which[0], n == 2 ? which[1] : -1);
    return (real)side * pd_vector_dot(outward, direction);
}

/* The walk at y from s on triangle t of a solid to p, of the vertices v and w of the same solid (tet_walk.h): PD_WALK_... */
PD_FUNCTION int pd_penalty_walk_from(const pd_penalty_search *search, const real *y, int t, pd_vector s, pd_vector p, int v, int w) {
    const int *corners = search->candidates.triangles + 3 * (size_t)t;
    int tet = search->tets.behind[t], entry = 0;
    const int *of = search->tets.corners + 4 * (size_t)tet;
    while (entry < 3 && (of[entry] == corners[0] || of[entry] == corners[1] || of[entry] == corners[2])) entry++;
    return pd_tet_walk(&search->tets, y, tet, entry, s, p, v, w);
}

/* The point b of the second of a pair whose first is p. */
PD_FUNCTION pd_vector pd_penalty_second(const pd_nearest *nearest, pd_vector p) {
    return pd_vector_along(p, -nearest->distance, nearest->normal);
}

/* The search distance of a vertex from triangle t of a mesh. */
PD_FUNCTION real pd_penalty_within(const pd_penalty_search *search, int side, real limit) {
    return side ? pd_max(limit, search->depth) : limit;
}

/* A vertex and triangle t of a mesh at their present positions. */
PD_FUNCTION int pd_penalty_before_triangle(const pd_penalty_search *search, int t, int others, const real from[12],
                                           const pd_nearest *nearest, pd_penalty_pair *out) {
    int side = pd_penalty_side_of(search, t, others);
    real distance = nearest->distance, limit = out->limit;
    if (!(distance < pd_penalty_within(search, side, limit))) return 0;
    pd_penalty_take(nearest, out);
    if (!pd_penalty_is_nearest(search, search->end, out->points[0], t, out->weights + 1, distance)) return 0;
    real along = side ? pd_penalty_out_of_triangle(search, search->end, t, side, out->weights + 1, out->normal) : 0;
    if (side && !others) {
        if (along >= 0) {
            if (distance <= PD_PENALTY_TIE * out->range) out->side = PD_PENALTY_OUTSIDE; // on the surface, for any result of the walk
            return distance < limit;
        }
        pd_vector p = pd_penalty_point(search->end, out->points[0]);
        int walk = pd_penalty_walk_from(search, search->end, t, pd_penalty_second(nearest, p), p, out->points[0], out->points[0]);
        if (walk == PD_WALK_OWN || (walk != PD_WALK_INSIDE && !(distance < limit))) return 0; // its own elements keep these apart
        if (walk != PD_WALK_INSIDE) side = 0;
    }
    if (side)
        out->side = along < 0 ? PD_PENALTY_INSIDE : PD_PENALTY_OUTSIDE;
    else
        along = pd_vector_dot(pd_penalty_gap_of(out->weights, from), out->normal);
    int turned = along < 0 && side; // past the border of an open surface nothing has been penetrated
    if (turned) out->normal = pd_vector_scale(-1, out->normal);
    out->beside = pd_penalty_is_beside(search, 1, out->points[0], t, out->normal);
    if (out->beside && !turned) out->limit = -(real)INFINITY; // never repels
    if (along < 0 && !turned) out->normal = pd_vector_scale(-1, out->normal);
    return 1;
}

/* Tells whether a vertex at `distance` from a triangle with corners at `end` may have been nearer than `within` with corners at `from`.
 * Relative to the vertex, no point of the triangle has moved farther than one of its corners. */
PD_FUNCTION int pd_penalty_may_have_been(real distance, real within, const real from[12], const real end[12]) {
    real square = 0;
    for (int j = 1; j < 4; j++) {
        pd_vector before = pd_vector_subtract(pd_vector_load(from + 3 * j), pd_vector_load(from));
        pd_vector way = pd_vector_subtract(pd_vector_subtract(pd_vector_load(end + 3 * j), pd_vector_load(end)), before);
        square = pd_max(square, pd_vector_dot(way, way));
    }
    real farther = distance - within;
    return !(farther * farther > square);
}

/* A vertex beyond the search distance of triangle t of a closed surface, which was inside at the begin of the step, with t nearest and
 * within that distance. It is pushed out along the shortest path at the begin of the step, for any first guess. */
PD_FUNCTION int pd_penalty_began_inside(const pd_penalty_search *search, int t, int others, const real from[12], const real end[12],
                                        real distance, pd_penalty_pair *out) {
    int v = out->points[0], side = pd_penalty_side_of(search, t, others);
    real within = pd_penalty_within(search, side, out->limit);
    if (!side || distance < within || !pd_penalty_may_have_been(distance, within, from, end)) return 0;
    pd_nearest nearest = pd_contact_closest(PD_VERTEX_TRIANGLE, from);
    if (!(nearest.distance < within)) return 0;
    pd_penalty_take(&nearest, out);
    real along = pd_penalty_out_of_triangle(search, search->start, t, side, out->weights + 1, out->normal);
    if (!(along < 0 || nearest.distance <= PD_PENALTY_TIE * out->range)) return 0; // the surface counts as inside
    if (!pd_penalty_is_nearest(search, search->start, v, t, out->weights + 1, nearest.distance)) return 0;
    pd_vector p = pd_vector_load(from);
    if (!others && pd_penalty_walk_from(search, search->start, t, pd_penalty_second(&nearest, p), p, v, v) != PD_WALK_INSIDE) return 0;
    if (along < 0) out->normal = pd_vector_scale(-1, out->normal);
    out->side = PD_PENALTY_BEGAN, out->began = nearest.distance;
    return 1;
}

/* The outward component of the direction from the second of two edges of closed surfaces to the first, by the sides of both at y; 0 if
 * one of the surfaces has no outside. */
PD_FUNCTION real pd_penalty_out_of_edges(const pd_penalty_search *search, const real *y, int others, const int points[4],
                                         pd_vector direction) {
    int rings[2];
    for (int k = 0; k < 2; k++) {
        if (search->ring_start[points[2 * k] + 1] == search->ring_start[points[2 * k]]) return 0;
        rings[k] = search->rings[search->ring_start[points[2 * k]]];
    }
    int first = pd_penalty_side_of(search, rings[0], others), second = pd_penalty_side_of(search, rings[1], others);
    if (!first || !second) return 0;
    pd_vector a = pd_vector_scale((real)first, pd_penalty_side(search, y, points[0], points[1]));
    pd_vector b = pd_vector_scale((real)second, pd_penalty_side(search, y, points[2], points[3]));
    return pd_vector_dot(pd_vector_subtract(b, a), direction);
}

/* Tells whether the closest point of the first of two edges of one solid is in the solid, on the inner side of the second. */
PD_FUNCTION int pd_penalty_is_inside(const pd_penalty_search *search, const int points[4], const pd_nearest *nearest) {
    real weights[4];
    pd_per_corner_store(nearest->weights, weights);
    pd_vector a = pd_penalty_point(search->end, points[0]);
    pd_vector p = pd_vector_along(a, weights[1], pd_vector_subtract(pd_penalty_point(search->end, points[1]), a));
    for (int r = search->ring_start[points[2]]; r < search->ring_start[points[2] + 1]; r++) {
        int t = search->rings[r];
        const int *corners = search->candidates.triangles + 3 * (size_t)t;
        if (corners[0] != points[3] && corners[1] != points[3] && corners[2] != points[3]) continue;
        if (pd_penalty_walk_from(search, search->end, t, pd_penalty_second(nearest, p), p, points[0], points[1]) == PD_WALK_INSIDE)
            return 1;
    }
    return 0;
}

/* Two edges at their present positions. */
PD_FUNCTION int pd_penalty_of_edges(const pd_penalty_search *search, int others, const real from[12], const pd_nearest *nearest,
                                    pd_penalty_pair *out) {
    const int *points = out->points;
    if (!(nearest->distance < out->limit)) return 0;
    pd_penalty_take(nearest, out);
    if (!pd_penalty_are_of_meshes(search, points)) return 1; // a rod has the same thickness on all sides
    for (int j = 0; j < 4; j++)
        if (!(pd_fabs(out->weights[j]) > PD_PENALTY_TIE)) return 0;
    real along = pd_penalty_out_of_edges(search, search->end, others, points, out->normal);
    if (!others && along < 0 && !pd_penalty_is_inside(search, points, nearest)) return 0; // back to back in one solid
    if (along == 0) along = pd_vector_dot(pd_penalty_gap_of(out->weights, from), out->normal);
    if (along < 0) out->normal = pd_vector_scale(-1, out->normal);
    return pd_penalty_edges_in_cone(search, 1, points, out->normal);
}

/* Tells whether a pair that meets on the path is inside a closed surface at the begin and at the end of the step: it moves outwards. */
PD_FUNCTION int pd_penalty_comes_out(const pd_penalty_search *search, int others, uint64_t key, const pd_penalty_pair *pair) {
    const real *ends[2] = {search->start, search->end};
    for (int k = 0; k < 2; k++) {
        real along = 0;
        if (pair->kind == PD_VERTEX_TRIANGLE) {
            int t = (int)(key & 0x7fffffff), side = pd_penalty_side_of(search, t, others);
            if (side) along = pd_penalty_out_of_triangle(search, ends[k], t, side, pair->weights + 1, pair->normal);
        } else if (pair->kind == PD_EDGE_EDGE) {
            along = pd_penalty_out_of_edges(search, ends[k], others, pair->points, pair->normal);
        }
        if (!(along < 0)) return 0;
    }
    return 1;
}

/* For a vertex that met triangle t next to another pair of its surface: the present pair with t counts instead, unless that is next to
 * another one too. */
PD_FUNCTION void pd_penalty_instead(const pd_penalty_search *search, int t, int others, const real from[12], const real at[12],
                                    pd_penalty_pair *met) {
    pd_nearest nearest = pd_contact_closest(PD_VERTEX_TRIANGLE, at);
    pd_penalty_pair now = *met;
    now.side = PD_PENALTY_NO_SIDE;
    if (pd_penalty_before_triangle(search, t, others, from, &nearest, &now) && !now.beside) *met = now;
}

/* Tells whether the normal of a pair that meets at a fraction of the path is in the cones of its surfaces; a vertex has its own test. */
PD_FUNCTION int pd_penalty_met_in_cone(const pd_penalty_search *search, real part, int t, const pd_penalty_pair *pair) {
    if (pair->kind == PD_VERTEX_TRIANGLE)
        return pd_penalty_triangle_in_cone(search, part, pair->points[0], t, pair->weights + 1, pair->normal);
    if (pair->kind != PD_EDGE_EDGE || !pd_penalty_are_of_meshes(search, pair->points)) return 1;
    for (int j = 0; j < 4; j++)
        if (!(pd_fabs(pair->weights[j]) > (real)16 * PD_EPSILON)) return 0; // an end has met the triangles
    return pd_penalty_edges_in_cone(search, part, pair->points, pair->normal);
}

/* Tells whether a vertex and triangle t of a mesh are certainly no pair, with corners at `from` at the begin of the step and at `end`
 * now, and no contact on the path. */
PD_FUNCTION int pd_penalty_is_plainly_none(const pd_penalty_search *search, int t, int others, real limit, const real from[12],
                                           const real end[12]) {
    int which[3], side = pd_penalty_side_of(search, t, others);
    real weights[4], within = pd_penalty_within(search, side, limit);
    pd_nearest nearest = pd_contact_closest(PD_VERTEX_TRIANGLE, end);
    if (!(nearest.distance < within)) return !(side && pd_penalty_may_have_been(nearest.distance, within, from, end));
    pd_per_corner_store(nearest.weights, weights);
    int n = pd_penalty_corners_in(weights + 1, search->candidates.triangles + 3 * (size_t)t, which), exact = 0;
    for (int j = 1; j < 4; j++) exact += weights[j] != 0;
    if (n == 3 || exact != n) return 0; // inside, or nearly: then the point is on no adjacent triangle
    pd_vector p = pd_vector_load(end);
    return pd_penalty_goes_nearer(search, p, pd_vector_along(p, -nearest.distance, nearest.normal), which);
}

/* The detection of a pair from its corners (as a candidate has them) and its name. */
PD_FUNCTION pd_penalty_pair pd_penalty_detect_pair(const pd_penalty_search *search, int pair, const int corners[4], uint64_t key) {
    pd_penalty_pair out;
    real activation, separation, weight, threshold, part, at[12], from[12], way[12], end[12], apart = -1;
    int kind = pair, n_first = pair == PD_EDGE_EDGE ? 2 : 1, others = 0, fat = 0, t = (int)(key & 0x7fffffff), // the second: a triangle
        points[4] = {corners[0], corners[1], corners[2], corners[3]};
    pd_active_pairs active;
    pd_contact_columns columns = {&out.kind, out.points, NULL, &activation, &separation, &weight, &threshold};
    out.kind = pair, out.keeps = out.beside = 0, out.side = PD_PENALTY_NO_SIDE, out.gap = out.offset = out.began = 0;
    if (pair == PD_VERTEX_TRIANGLE || pair == PD_EDGE_EDGE) { // a cheap test rejects most
        real radius = search->scene.radii[corners[0]] + search->scene.radii[corners[n_first]];
        real nearest = search->scene.separation + radius, limit = nearest + PD_PENALTY_KEPT * search->thickness;
        others = search->scene.bodies[corners[0]] != search->scene.bodies[corners[n_first]];
        fat = radius > 0;
        pd_contact_update_corners(search->start, corners, 4, way);
        pd_contact_update_corners(search->end, corners, 4, end);
        apart = pd_pair_apart(n_first, pd_points4_load(way), pd_points4_load(end));
        if (apart > pd_penalty_within(search, pair == PD_VERTEX_TRIANGLE, limit)) return out;
        if (pair == PD_VERTEX_TRIANGLE && !fat && apart > nearest + PD_PENALTY_HIT * search->thickness &&
            pd_penalty_is_plainly_none(search, t, others, limit, way, end))
            return out;
    }
    active.kind = &kind, active.points = points, active.key = &key, active.count = NULL, active.capacity = 1;
    pd_contact_update_describe(&search->scene, &active, 0, &columns);
    out.range = activation + separation;
    out.limit = PD_PENALTY_KEPT * activation + separation;
    pd_contact_update_corners(search->end, out.points, pd_contact_corners(out.kind), at);
    pd_contact_update_corners(search->start, out.points, pd_contact_corners(out.kind), from);
    int field = out.kind == PD_VERTEX_PLANE ? search->fields_of_planes[key >> 31 & 0x7fffffff] : -1;
    if (field >= 0) {
        pd_penalty_before_field(search, search->fields + field, out.points[1], activation, &out);
        return out;
    }
    if (out.kind == PD_VERTEX_PLANE) {
        pd_nearest nearest = pd_contact_closest(out.kind, at);
        pd_penalty_take(&nearest, &out);
        out.points[2] = -1; // the row of the normal is no position
        out.gap = nearest.distance;
        out.keeps = out.gap < out.limit;
        return out;
    }
    if (!(out.range > separation)) return out; // of one body, with a rest distance below the thickness
    real hit = PD_PENALTY_HIT * (out.range - separation);
    if (!(apart > separation + hit) && pd_penalty_meets(pair, end, separation, hit, way, &part)) {
        // the corners of its kind when it met
        real met[12];
        for (int j = 0; j < 4; j++) {
            int k = 0;
            while (k < 3 && corners[k] != out.points[j < pd_contact_corners(out.kind) ? j : 0]) k++;
            for (int i = 0; i < 3; i++) met[3 * j + i] = way[3 * k + i];
        }
        pd_nearest nearest = pd_contact_closest(out.kind, met);
        pd_penalty_take(&nearest, &out);
        out.keeps = !pd_penalty_comes_out(search, others, key, &out);
        if (out.keeps && !fat) out.keeps = pd_penalty_met_in_cone(search, part, t, &out);
        if (out.keeps && out.kind == PD_VERTEX_TRIANGLE) {
            out.side = pd_penalty_side_of(search, t, others) ? PD_PENALTY_MET : PD_PENALTY_NO_SIDE;
            if (!fat && pd_penalty_is_beside(search, part, out.points[0], t, out.normal)) {
                out.side = PD_PENALTY_MET_BESIDE;
                pd_penalty_instead(search, t, others, from, at, &out);
            }
        }
    }
    if (!out.keeps) {
        pd_nearest nearest = pd_contact_closest(out.kind, at);
        if (fat || (out.kind != PD_VERTEX_TRIANGLE && out.kind != PD_EDGE_EDGE)) {
            out.keeps = nearest.distance < out.limit;
            pd_penalty_take(&nearest, &out);
        } else if (out.kind == PD_VERTEX_TRIANGLE) {
            out.keeps = pd_penalty_before_triangle(search, t, others, from, &nearest, &out) ||
                        pd_penalty_began_inside(search, t, others, from, at, nearest.distance, &out);
        } else {
            out.keeps = pd_penalty_of_edges(search, others, from, &nearest, &out);
        }
    }
    if (!out.keeps) return out;
    for (int j = pd_contact_corners(out.kind); j < 4; j++) out.weights[j] = 0;
    out.gap = pd_vector_dot(pd_penalty_gap_of(out.weights, at), out.normal);
    out.keeps = out.side == PD_PENALTY_OUTSIDE || out.side == PD_PENALTY_BEGAN || out.gap < out.limit; // they hold for all of the body
    return out;
}

PD_FUNCTION unsigned char pd_penalty_update_find(const pd_penalty_search *search, size_t row) {
    if (!pd_candidate_exists(&search->candidates, row)) return 0;
    pd_candidate candidate = pd_candidate_of(&search->candidates, row);
    return (unsigned char)pd_penalty_detect_pair(search, pd_contact_pair(candidate.kind), candidate.points, pd_candidate_key(&candidate))
        .keeps;
}

PD_FUNCTION void pd_penalty_update_freeze(const pd_penalty_search *search, const pd_active_pairs *active, int p,
                                          const pd_frozen_pairs *out) {
    size_t slot = (size_t)p;
    pd_penalty_pair pair = pd_penalty_detect_pair(search, active->kind[slot], active->points + 4 * slot, active->key[slot]);
    for (size_t j = 0; j < 4; j++) {
        out->at.points[4 * slot + j] = (int)j < pd_contact_corners(pair.kind) ? pair.points[j] : -1;
        out->at.weights[4 * slot + j] = pair.weights[j];
    }
    pd_vector_store(pair.normal, out->at.normals + 3 * slot);
    out->range[slot] = pair.gap < pair.limit ? pair.range : -(real)INFINITY;
    out->offset[slot] = pair.offset;
    // a depth, or a negative distance, until the next loop has read it; the depth at the begin of the step exceeds any present
    // one
    out->at.strength[slot] = pair.side == PD_PENALTY_NO_SIDE      ? -(real)INFINITY
                             : pair.side == PD_PENALTY_MET_BESIDE ? (real)INFINITY
                             : pair.side == PD_PENALTY_INSIDE     ? -pair.gap + (pair.beside ? search->thickness : 0)
                             : pair.side == PD_PENALTY_BEGAN      ? pd_penalty_within(search, 1, pair.limit) + pair.began
                                                                  : -pd_fabs(pair.gap);
}

/* The depth of pair q for the vertex of pair p of the same body: a pair next to another counts as a thickness deeper. */
PD_FUNCTION real pd_penalty_depth_there(const pd_penalty_search *search, const pd_frozen_pairs *pairs, int q) {
    return pd_fabs(pd_penalty_update_gap(pairs, search->end, q)) + (pairs->at.strength[q] > 0 ? search->thickness : (real)0);
}

/* Tells whether pair p has a vertex inside a body, but is not its closest pair with that body: the vertex is inside relative to the
 * closest, or outside. A pair that met next to another one yields to a closer one that is not. strength as after
 * pd_penalty_update_freeze. */
PD_FUNCTION int pd_penalty_update_is_farther(const pd_penalty_search *search, const pd_active_pairs *active, int n, int p,
                                             const pd_frozen_pairs *pairs) {
    const real unbounded = (real)INFINITY;
    real depth = pairs->at.strength[p];
    if (!(depth > 0)) return 0;
    int v = active->points[4 * (size_t)p], met_beside = depth == unbounded;
    if (met_beside) depth = pd_penalty_depth_there(search, pairs, p);
    uint64_t vertex = active->key[p] >> 31;
    int body = search->scene.bodies[active->points[4 * (size_t)p + 1]];
    for (int way = -1; way <= 1; way += 2)
        for (int q = p + way; q >= 0 && q < n && active->key[q] >> 31 == vertex; q += way) {
            real other = pairs->at.strength[q];
            int t = (int)(active->key[q] & 0x7fffffff);
            if (search->scene.bodies[active->points[4 * (size_t)q + 1]] != body || (met_beside && other == unbounded)) continue;
            if (other == unbounded || (met_beside && other == -unbounded)) other = pd_penalty_depth_there(search, pairs, q);
            if (!(pd_fabs(other) < depth || (other == depth && !met_beside && q < p))) continue;
            if (!met_beside || !pd_penalty_is_beside(search, 1, v, t, pd_vector_load(pairs->at.normals + 3 * (size_t)q))) return 1;
        }
    return 0;
}

#endif
