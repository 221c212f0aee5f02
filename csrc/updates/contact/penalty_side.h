/* The nearest place on a surface, and its outer side there, for penalty_update.h. */
#ifndef PD_UPDATES_CONTACT_PENALTY_SIDE_H
#define PD_UPDATES_CONTACT_PENALTY_SIDE_H

#include "updates/contact/penalty_pair.h"

/* The normal of triangle t times twice its area. */
PD_FUNCTION pd_vector pd_penalty_face(const pd_penalty_search *search, const real *y, int t) {
    const int *corners = search->candidates.triangles + 3 * (size_t)t;
    pd_vector a = pd_penalty_point(y, corners[0]);
    return pd_vector_cross(pd_vector_subtract(pd_penalty_point(y, corners[1]), a), pd_vector_subtract(pd_penalty_point(y, corners[2]), a));
}

/* The sum of the unit normals of the triangles at the corners i and, unless -1, j of a surface; at a corner weighted by angles. */
PD_FUNCTION pd_vector pd_penalty_side(const pd_penalty_search *search, const real *y, int i, int j) {
    pd_vector sum = pd_vector_of(0, 0, 0);
    for (int r = search->ring_start[i]; r < search->ring_start[i + 1]; r++) {
        const int *corners = search->candidates.triangles + 3 * (size_t)search->rings[r];
        int at = corners[0] == i ? 0 : corners[1] == i ? 1 : 2;
        real angle = 1;
        if (j >= 0) {
            if (corners[0] != j && corners[1] != j && corners[2] != j) continue;
        } else {
            pd_vector here = pd_penalty_point(y, i);
            pd_vector a = pd_vector_subtract(pd_penalty_point(y, corners[(at + 1) % 3]), here);
            pd_vector b = pd_vector_subtract(pd_penalty_point(y, corners[(at + 2) % 3]), here);
            pd_vector across = pd_vector_cross(a, b);
            angle = (real)atan2((double)pd_sqrt(pd_vector_dot(across, across)), (double)pd_vector_dot(a, b));
        }
        sum = pd_vector_along(sum, angle, pd_penalty_unit(pd_penalty_face(search, y, search->rings[r])));
    }
    return sum;
}

/* The corners of a triangle that carry its point with these weights: which [3], the smallest first, -1 for none; returns their number. */
PD_FUNCTION int pd_penalty_corners_in(const real weights[3], const int corners[3], int which[3]) {
    int n = 0;
    which[0] = which[1] = which[2] = -1;
    for (int j = 0; j < 3; j++) {
        if (!(pd_fabs(weights[j]) > PD_PENALTY_TIE)) continue;
        int k = n++;
        for (; k > 0 && which[k - 1] > corners[j]; k--) which[k] = which[k - 1];
        which[k] = corners[j];
    }
    return n;
}

/* Tells whether the distance to p certainly decreases from q, the nearest point on an edge or corner `which` of a triangle, towards a
 * corner of another triangle with q. It is cheaper than the nearest point of that triangle. Along a side e the distance decreases up to
 * (e . (p - q)) / |e|^2. If the weights of the nearest point were within the tie, e . (p - q) would be below twice the tie times the
 * square of the longest side. */
PD_FUNCTION int pd_penalty_goes_nearer(const pd_penalty_search *search, pd_vector p, pd_vector q, const int which[3]) {
    const real plainly = (real)0.05 * (real)0.05, comparable = (real)1e-4;
    pd_vector away = pd_vector_subtract(p, q);
    real square = pd_vector_dot(away, away);
    for (int r = search->ring_start[which[0]]; r < search->ring_start[which[0] + 1]; r++) {
        const int *corners = search->candidates.triangles + 3 * (size_t)search->rings[r];
        real along[3], length[3], tie;
        if (which[1] >= 0 && corners[0] != which[1] && corners[1] != which[1] && corners[2] != which[1]) continue;
        for (int j = 0; j < 3; j++) {
            pd_vector side = pd_vector_subtract(pd_penalty_point(search->end, corners[j]), q);
            along[j] = pd_vector_dot(side, away), length[j] = pd_vector_dot(side, side);
        }
        tie = 4 * PD_PENALTY_TIE * pd_max(length[0], pd_max(length[1], length[2]));
        for (int j = 0; j < 3; j++)
            if (along[j] > tie && along[j] * along[j] > plainly * square * length[j] && length[j] > comparable * square &&
                square > comparable * length[j])
                return 1;
    }
    return 0;
}

/* The relative difference of distances up to which two triangles count as equally close. If one has the point inside and the other on the
 * common edge, the direction of the other has an error of the root of twice that, a thousandth. */
#define PD_PENALTY_AS_NEAR ((real)5e-7)

/* Tells whether the nearest point of triangle t at y, with weights [3] of its corners and `distance` from vertex v, is nearest for all
 * triangles around it, and t is the first that has it: those with the same corner or edge at an equal distance. Another triangle
 * computes the same bits for itself, so exactly one of equal ones remains. */
PD_FUNCTION int pd_penalty_is_nearest(const pd_penalty_search *search, const real *y, int v, int t, const real weights[3], real distance) {
    int which[3];
    real least = distance;
    if (pd_penalty_corners_in(weights, search->candidates.triangles + 3 * (size_t)t, which) == 3) return 1; // inside
    for (int pass = 0; pass < 2; pass++) { // first the nearest; then the order among these
        for (int r = search->ring_start[which[0]]; r < search->ring_start[which[0] + 1]; r++) {
            int other = search->rings[r], others[3];
            const int *corners = search->candidates.triangles + 3 * (size_t)other;
            const int points[4] = {v, corners[0], corners[1], corners[2]};
            real at[12];
            pd_closest closest;
            if (other == t || (pass && other > t)) continue;
            if (which[1] >= 0 && corners[0] != which[1] && corners[1] != which[1] && corners[2] != which[1]) continue;
            pd_contact_update_corners(y, points, 4, at);
            pd_pair_closest(PD_VERTEX_TRIANGLE, at, &closest);
            pd_penalty_corners_in(closest.weights + 1, corners, others);
            int same = others[0] == which[0] && others[1] == which[1] && others[2] == which[2];
            if (pass ? same && closest.distance <= least * ((real)1 + PD_PENALTY_AS_NEAR) : !same && closest.distance < distance) return 0;
            if (same) least = pd_min(least, closest.distance);
        }
        if (distance > least * ((real)1 + PD_PENALTY_AS_NEAR)) return 0;
    }
    return 1;
}

#endif
