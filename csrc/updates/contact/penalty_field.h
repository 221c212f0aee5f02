/* A vertex and a signed distance field, for a detection under a penalty.
 *
 * A field is four prescribed points: the node (0,0,0) of its grid, and the points at the distance `side` from there along each of its
 * axes. In its own frame a vertex moves straight from its place at the begin of the step to its present place. It meets the field where
 * the distance first falls below a tenth of the thickness. The path up to there is marched in steps of the distance over sqrt(3), the
 * largest slope of an interpolated distance (geometry/distance_grid.h). Otherwise a vertex nearer than twice the thickness, or inside,
 * is a pair, with the present normal of the field.
 *
 * The point b of the field in a pair moves and rotates with the field. A pair has three places for points of the field, which would need
 * four: b = o + sum_k p_k a_k, with axes a_k. The axis r of the field's rotation from the begin of the step is the same at both ends. So
 * b and b' = b - s r have the same displacement, and some s makes one p_k zero. The gap at b' differs from that at b by n . s r, which
 * is part of `range` (`offset`). A field that makes half a turn in a step is not supported: its axis does not follow from a difference. */
#ifndef PD_UPDATES_CONTACT_PENALTY_FIELD_H
#define PD_UPDATES_CONTACT_PENALTY_FIELD_H

#include "updates/contact/penalty_pair.h"

typedef struct pd_field_frame {
    pd_vector origin, x, y, z; /* axes: unit */
} pd_field_frame;

/* The frame of the field in a plane's row at y. */
PD_FUNCTION pd_field_frame pd_field_frame_of(const real *y, int row, real side) {
    pd_field_frame out;
    real inverse = (real)1 / side;
    out.origin = pd_penalty_point(y, row);
    out.x = pd_vector_scale(inverse, pd_vector_subtract(pd_penalty_point(y, row + 1), out.origin));
    out.y = pd_vector_scale(inverse, pd_vector_subtract(pd_penalty_point(y, row + 2), out.origin));
    out.z = pd_vector_scale(inverse, pd_vector_subtract(pd_penalty_point(y, row + 3), out.origin));
    return out;
}

/* A direction of the field in space. */
PD_FUNCTION pd_vector pd_field_turned(const pd_field_frame *frame, pd_vector p) {
    return pd_vector_along(pd_vector_along(pd_vector_scale(p.x, frame->x), p.y, frame->y), p.z, frame->z);
}

/* A point of space in the frame of the field. */
PD_FUNCTION void pd_field_local(const pd_field_frame *frame, pd_vector x, real p[3]) {
    pd_vector away = pd_vector_subtract(x, frame->origin);
    p[0] = pd_vector_dot(frame->x, away), p[1] = pd_vector_dot(frame->y, away), p[2] = pd_vector_dot(frame->z, away);
}

/* Twice the sine of the rotation angle between two frames, times the axis of the rotation, in the frame's own directions. */
PD_FUNCTION void pd_field_axis(const pd_field_frame *from, const pd_field_frame *to, real axis[3]) {
    axis[0] = pd_vector_dot(from->z, to->y) - pd_vector_dot(from->y, to->z);
    axis[1] = pd_vector_dot(from->x, to->z) - pd_vector_dot(from->z, to->x);
    axis[2] = pd_vector_dot(from->y, to->x) - pd_vector_dot(from->x, to->y);
}

/* Tells whether the path from p to end comes nearer than `hit`. p becomes that point, or the end; out: the surface point there. */
PD_FUNCTION int pd_field_meets(const pd_distance_grid *grid, real p[3], const real end[3], real hit, pd_surface_point *out) {
    const real slope = (real)1.7320509; // at least sqrt(3)
    real way[3] = {end[0] - p[0], end[1] - p[1], end[2] - p[2]}, length = pd_norm3(way), gone = 0;
    const real start[3] = {p[0], p[1], p[2]};
    pd_distance_grid_query(p, grid, out);
    int inside = !(out->distance > 0);
    for (int advance = 0; advance < PD_PENALTY_MOST_ADVANCES && !inside; advance++) {
        if (advance > 0 && out->distance <= hit) return 1;
        gone += out->distance / slope;
        if (!(gone < length)) break;
        for (int i = 0; i < 3; i++) p[i] = start[i] + gone / length * way[i];
        pd_distance_grid_query(p, grid, out);
    }
    for (int i = 0; i < 3; i++) p[i] = end[i];
    pd_distance_grid_query(p, grid, out);
    return 0;
}

/* pair: range, limit and points[0] in; all of it out. row: of the field's first point. */
PD_FUNCTION void pd_penalty_before_field(const pd_penalty_search *search, const pd_collider *field, int row, real thickness,
                                         pd_penalty_pair *pair) {
    real side = field->size[0], p[3], end[3], axis[3], local[3];
    pd_field_frame before = pd_field_frame_of(search->start, row, side), now = pd_field_frame_of(search->end, row, side);
    pd_vector x = pd_penalty_point(search->end, pair->points[0]);
    pd_surface_point surface;
    pd_field_local(&before, pd_penalty_point(search->start, pair->points[0]), p);
    pd_field_local(&now, x, end);
    pair->keeps = pd_field_meets(&field->grid, p, end, PD_PENALTY_HIT * thickness, &surface) || surface.distance < pair->limit;
    if (!pair->keeps) return;
    for (int i = 0; i < 3; i++) local[i] = surface.closest[i];
    pair->normal = pd_field_turned(&now, pd_vector_load(surface.normal));
    pd_vector closest = pd_vector_add(now.origin, pd_field_turned(&now, pd_vector_load(local)));
    pair->gap = pd_vector_dot(pd_vector_subtract(x, closest), pair->normal);

    // along the axis of the rotation to the zero of one coordinate; without a rotation along the coordinate's own axis
    pd_field_axis(&before, &now, axis);
    int turns = pd_largest(axis, 3) > (real)16 * PD_EPSILON, least = 0;
    for (int i = 0; i < 3 && !turns; i++) axis[i] = (real)(i == 0);
    for (int i = 1; i < 3; i++) least = pd_fabs(axis[i]) > pd_fabs(axis[least]) ? i : least;
    real along = local[least] / axis[least];
    for (int i = 0; i < 3; i++) local[i] -= along * axis[i];
    pair->offset = pd_vector_dot(pair->normal, pd_field_turned(&now, pd_vector_scale(along, pd_vector_load(axis))));
    pair->range += pair->offset;

    int first = least == 0, second = least == 2 ? 1 : 2;
    pair->kind = PD_VERTEX_TRIANGLE; // the same number of corners
    pair->points[1] = row, pair->points[2] = row + 1 + first, pair->points[3] = row + 1 + second;
    pair->weights[0] = 1;
    pair->weights[2] = -local[first] / side, pair->weights[3] = -local[second] / side;
    pair->weights[1] = -((real)1 + pair->weights[2] + pair->weights[3]);
}

#endif
