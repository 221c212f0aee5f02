/* The work on one proxy and on one vertex in the loops over proxies; see loops/proxy_loops.h. */
#ifndef PD_UPDATES_CONTACT_PROXY_UPDATE_H
#define PD_UPDATES_CONTACT_PROXY_UPDATE_H

#include "geometry/collider.h"
#include "geometry/vertex_triangle.h"
#include "loops/proxy_loops.h"
#include "updates/contact/tet_walk.h"

/* Keeps the surface point of a collider for the proxy at y if its depth exceeds those of the colliders before; `depth` and `active`
 * begin at 0. */
PD_FUNCTION void pd_proxy_keep(const pd_collider *collider, const pd_surface_point *found, real *depth, real target[3],
                               unsigned char *active) {
    if (pd_collider_is_silent(collider, found)) *active = PD_PROXY_LOST;
    if (*active == PD_PROXY_LOST || !(found->distance < -*depth)) return;
    *depth = -found->distance, *active = 1;
    for (int i = 0; i < 3; i++) target[i] = found->closest[i];
}

PD_FUNCTION void pd_proxy_update_gather(int v, const int *start, const int *roles, const pd_proxy_points *proxies, real *out) {
    real sum[3] = {0, 0, 0};
    for (int r = start[v]; r < start[v + 1]; r++) {
        size_t p = (size_t)(roles[r] / 4);
        if (!proxies->active[p]) continue;
        real scale = proxies->stiffness[p] * proxies->weights[roles[r]];
        for (size_t i = 0; i < 3; i++) sum[i] += scale * (proxies->y[3 * p + i] - proxies->target[3 * p + i]);
    }
    for (int i = 0; i < 3; i++) out[i] += sum[i];
}

/* ---- in the rest shape of a body ------------------------------------------------------------------------------------------------ */

/* Negative barycentric coordinates down to this are rounding. */
#define PD_REST_TIE ((real)512 * PD_EPSILON)

/* Coordinates of p in a tet of points x [.,3], inverted or not; returns the smallest, -infinity for a flat tet. */
PD_FUNCTION real pd_rest_coordinates(const int corners[4], const real *x, const real p[3], real out[4]) {
    pd_vector at = pd_vector_load(p), from[4];
    for (int j = 0; j < 4; j++) from[j] = pd_vector_subtract(pd_vector_load(x + 3 * (size_t)corners[j]), at);
    real volume = pd_walk_coordinates(from, out);
    for (int j = 0; j < 4 && volume < 0; j++) out[j] /= volume;
    return volume < 0 || volume > 0 ? pd_min(pd_min(out[0], out[1]), pd_min(out[2], out[3])) : -(real)INFINITY;
}

/* A computed squared distance may exceed the true one by this factor. */
#define PD_REST_SLACK ((real)1 + (real)64 * PD_EPSILON)

PD_FUNCTION real pd_rest_box_squared(const real box[6], pd_vector p) {
    real x = pd_max(pd_max(box[0] - p.x, p.x - box[3]), 0), y = pd_max(pd_max(box[1] - p.y, p.y - box[4]), 0),
         z = pd_max(pd_max(box[2] - p.z, p.z - box[5]), 0);
    return x * x + y * y + z * z;
}

/* The triangle nearest to p, if its squared distance is at most `best`; the first at equal distance. Returns 7 times its number plus the
 * feature; -1: none. gap: from the nearest point to p. Units of the surface. */
PD_FUNCTION int pd_rest_nearest(const pd_rest_surface *surface, pd_vector p, real best, pd_vector *gap) {
    int found = -1;
    for (int k = 0; k < surface->n_nodes;) {
        if (!(pd_rest_box_squared(surface->boxes + 6 * (size_t)k, p) <= best * PD_REST_SLACK)) {
            k = surface->skip[k];
            continue;
        }
        for (int t = surface->first[k]; t < surface->first[k + 1]; t++) {
            const real *corners = surface->corners + 9 * (size_t)t;
            pd_nearest nearest =
                pd_vertex_triangle_nearest(p, pd_vector_load(corners), pd_vector_load(corners + 3), pd_vector_load(corners + 6));
            real square = pd_vector_dot(nearest.gap, nearest.gap);
            if (!(square < best) && !(found < 0 && square <= best)) continue;
            best = square, *gap = nearest.gap, found = 7 * t + (int)nearest.feature;
        }
        k++;
    }
    return found;
}

/* Tells whether a rest point is inside the surface at a depth above `depth`, m. If so, depth becomes that of the point, and nearest [3],
 * m, the nearest point of the surface. The sign is that of the pseudonormal of the nearest feature [Baerentzen and Aanaes 2005]. The
 * grid is within sqrt(3)/2 of its spacing of the distance: it excludes points and limits the search. */
PD_FUNCTION int pd_rest_is_deeper(const pd_rest_field *field, const real place[3], real *depth, real nearest[3]) {
    const pd_rest_surface *surface = &field->surface;
    const real *origin = field->distance.translation;
    pd_surface_point found;
    pd_collider_query(&field->distance, place, &found);
    real off = (real)0.8661 * field->distance.grid.spacing;
    if (!(found.distance - off < -*depth)) return 0;
    real range = (pd_fabs(found.distance) + off) * surface->scale;
    pd_vector p = pd_vector_scale(surface->scale, pd_vector_of(place[0] - origin[0], place[1] - origin[1], place[2] - origin[2])), gap;
    int feature = pd_rest_nearest(surface, p, range * range * (real)1.001, &gap);
    if (feature < 0) feature = pd_rest_nearest(surface, p, (real)INFINITY, &gap); // rounding has excluded it
    if (feature < 0) return 0;
    real distance = pd_sqrt(pd_vector_dot(gap, gap)) / surface->scale;
    if (!(pd_vector_dot(gap, pd_vector_load(surface->normals + 3 * (size_t)feature)) < 0) || !(distance > *depth)) return 0;
    pd_vector point = pd_vector_scale((real)1 / surface->scale, pd_vector_subtract(p, gap));
    *depth = distance;
    nearest[0] = point.x + origin[0], nearest[1] = point.y + origin[1], nearest[2] = point.z + origin[2];
    return 1;
}

/* The tet of a shape that contains its rest point p, or that is closest to containing it, and p's coordinates there. -1: none within the
 * search distance. */
PD_FUNCTION int pd_rest_locate(const pd_rest_field *field, const pd_rest_fields *of, const real p[3], real weights[4]) {
    real best = -(real)INFINITY, found[4];
    int tet = -1;
    size_t cell = 0;
    for (int i = 0; i < 3; i++) {
        real place = (p[i] - field->distance.translation[i]) / field->cell, last = (real)(field->cells[i] - 1);
        cell = cell * (size_t)field->cells[i] + (size_t)(place > 0 ? (place < last ? place : last) : (real)0);
    }
    for (int k = field->start[cell]; k < field->start[cell + 1]; k++) {
        real least = pd_rest_coordinates(of->tets + 4 * (size_t)field->tets[k], of->rest, p, found);
        if (!(least > best)) continue;
        best = least, tet = field->tets[k];
        for (int j = 0; j < 4; j++) weights[j] = found[j];
    }
    return tet;
}

/* The first of n_pairs pairs with a proxy >= p. */
PD_FUNCTION size_t pd_rest_first_pair(size_t n_pairs, const int *pairs, int p) {
    size_t low = 0, high = n_pairs;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pairs[2 * middle] < p)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Proxy p and the tets that may contain it. Its place y in a deformed tet has the same coordinates as a rest point. The distance of that
 * point from the surface decides whether it is inside, and gives the depth. */
PD_FUNCTION void pd_proxy_update_rest(int p, size_t n_pairs, const int *pairs, const pd_rest_fields *of, const real *x,
                                      const pd_proxy_points *proxies) {
    const real *y = proxies->y + 3 * (size_t)p, *home = of->place + 3 * (size_t)p;
    int *rows = proxies->target_rows + 4 * (size_t)p, *open = proxies->free_rows + 4 * (size_t)p, inside = -1;
    real depth = proxies->depth[p], target[3] = {0, 0, 0}, weights[4];
    for (int j = 0; j < 4; j++) rows[j] = open[j] = -1;
    for (size_t k = pd_rest_first_pair(n_pairs, pairs, p); k < n_pairs && pairs[2 * k] == p; k++) {
        const int *corners = of->tets + 4 * (size_t)pairs[2 * k + 1];
        const pd_rest_field *field = of->fields + of->field_of[pairs[2 * k + 1]];
        real place[3] = {0, 0, 0}, away[3];
        if (!(pd_rest_coordinates(corners, x, y, weights) >= -PD_REST_TIE)) continue;
        for (int j = 0; j < 4; j++)
            for (int i = 0; i < 3; i++) place[i] += weights[j] * of->rest[3 * (size_t)corners[j] + (size_t)i];
        for (int i = 0; i < 3; i++) away[i] = place[i] - home[i];
        if (field->body == of->body[p] && pd_norm3(away) < field->apart) continue;
        if (pd_rest_is_deeper(field, place, &depth, target)) inside = of->field_of[pairs[2 * k + 1]];
    }
    if (inside < 0) return;
    int tet = pd_rest_locate(&of->fields[inside], of, target, weights);
    if (tet < 0) return;
    for (int j = 0; j < 4; j++) {
        rows[j] = of->tets[4 * (size_t)tet + (size_t)j];
        open[j] = of->fixed[rows[j]] ? -1 : rows[j];
        proxies->target_weights[4 * (size_t)p + (size_t)j] = weights[j];
    }
    proxies->depth[p] = depth;
    proxies->active[p] = 1;
}

PD_FUNCTION void pd_proxy_update_carry(size_t p, const real *x, const pd_proxy_points *proxies) {
    const int *rows = proxies->target_rows + 4 * p;
    const real *weights = proxies->target_weights + 4 * p;
    if (rows[0] < 0) return;
    for (size_t i = 0; i < 3; i++) {
        real sum = 0;
        for (int j = 0; j < 4; j++) sum += weights[j] * x[3 * (size_t)rows[j] + i];
        proxies->target[3 * p + i] = sum;
    }
}

PD_FUNCTION void pd_proxy_update_gather_targets(int v, const pd_incidence *of, const pd_proxy_points *proxies, real *out) {
    real sum[3] = {0, 0, 0};
    for (int r = of->start[v]; r < of->start[v + 1]; r++) {
        size_t p = (size_t)(of->roles[r] / 4);
        real scale = proxies->stiffness[p] * proxies->target_weights[of->roles[r]];
        for (size_t i = 0; i < 3; i++) sum[i] += scale * (proxies->y[3 * p + i] - proxies->target[3 * p + i]);
    }
    for (int i = 0; i < 3; i++) out[i] -= sum[i];
}

#endif
