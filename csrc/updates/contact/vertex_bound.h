/* The displacement bound of one vertex in contact, for the loops of both backends.
 *
 * A vertex stays on its side of the separating plane of each of its pairs (separating_plane.h), and inside an outer ball, which keeps it
 * away from unlisted pairs. So it slides freely along a surface. If its Newton step H^-1 g leaves that region, the vertex minimises its
 * quadratic there:
 *
 *     min 1/2 d.Hd - g.d     way_k . d <= slack_k,   |d| <= radius            (the vertex moves by -d)
 *
 * by a primal active-set method [Nocedal and Wright 2006, Algorithm 16.3] with at most three planes at a time. Each iterate is feasible
 * and no worse than the last, so that it may end early. Outside the ball the same is done with H + lambda I, lambda by Newton's method
 * on 1/|d| - 1/radius [Nocedal and Wright 2006, Sec. 4.3]. Scaling the step would also scale its normal component. */
#ifndef PD_UPDATES_CONTACT_VERTEX_BOUND_H
#define PD_UPDATES_CONTACT_VERTEX_BOUND_H

#include "base/pose.h"
#include "updates/contact/pair_movers.h"
#include "updates/contact/separating_plane.h"

enum { PD_BOUND_STEPS = 12, PD_BOUND_SHIFTS = 10 };

/* A direction whose component towards a plane is below this fraction of its length is parallel to it. */
#define PD_BOUND_PARALLEL 1e-12
/* The fraction of the radius by which a step may exceed it before it is scaled, and which it has to use. */
#define PD_BOUND_EXCESS 0.05
#define PD_BOUND_ENOUGH 0.8

/* ---- the planes of a vertex ---------------------------------------------------------------------------------------------------------- */

/* The path from `from` along `along`, m, up to the first plane. */
typedef struct pd_bound_way {
    double from[3], along[3], least; /* least: slower approaches are ignored */
    double fraction, way[3];         /* free fraction of the path; the plane at its end, if `met` */
    int met, last;                   /* last: a gap that rounding could close must open */
} pd_bound_way;

PD_FUNCTION double pd_bound_dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

PD_FUNCTION void pd_bound_begin(pd_bound_way *out, const double from[3], const double along[3], int last) {
    for (int c = 0; c < 3; c++) out->from[c] = from[c], out->along[c] = along[c], out->way[c] = 0.0;
    out->least = PD_BOUND_PARALLEL * sqrt(pd_bound_dot(along, along));
    out->fraction = 1.0, out->met = 0, out->last = last;
}

/* A plane in the view of a vertex. */
typedef struct pd_bound_plane {
    double way[3], slack; /* the unit vector towards it, and the allowed displacement in that direction, m */
    real share;           /* of its pair (separating_plane.h), m */
} pd_bound_plane;

/* The planes of a vertex, stored after their first use. Most vertices use theirs two to four times in a step, and computing a plane
 * costs ten times its use. A kernel recomputes them, since a thread has no memory for them. */
#ifndef PD_BOUND_KEPT
#ifdef __CUDACC__
#define PD_BOUND_KEPT 0
#else
#define PD_BOUND_KEPT 512
#endif
#endif

typedef struct pd_bound_planes {
    int n; /* -1: not computed; above PD_BOUND_KEPT: too many to store */
#if PD_BOUND_KEPT
    const pd_separating_plane *ready; /* [<= PD_BOUND_KEPT] of the pairs in the order of pd_bound_meet_point; NULL: computed there */
    pd_bound_plane kept[PD_BOUND_KEPT];
#endif
} pd_bound_planes;

PD_FUNCTION void pd_bound_planes_begin(pd_bound_planes *planes) {
    planes->n = -1;
#if PD_BOUND_KEPT
    planes->ready = NULL;
#endif
}

/* Takes the next plane from those that are ready; returns 0 without these. */
PD_FUNCTION int pd_bound_take_ready(const pd_bound_planes *planes, pd_separating_plane *plane) {
#if PD_BOUND_KEPT
    if (planes->ready) *plane = planes->ready[planes->n];
    return planes->ready != NULL;
#else
    (void)planes, (void)plane;
    return 0;
#endif
}

PD_FUNCTION void pd_bound_meet(const pd_bound_plane *plane, pd_bound_way *out) {
    double speed = pd_bound_dot(plane->way, out->along);
    if (out->last && !(plane->share > 0) && !(speed <= 4.0 * (double)plane->share)) out->fraction = 0.0;
    if (!(speed > out->least)) return;
    double left = plane->slack - pd_bound_dot(plane->way, out->from);
    if (!(left > 0.0)) left = 0.0;
    if (!(left < out->fraction * speed)) return;
    out->fraction = left / speed, out->met = 1;
    for (int c = 0; c < 3; c++) out->way[c] = plane->way[c];
}

/* Applies a known plane to the vertex: side 1 or -1 times its normal is the direction towards it. */
PD_FUNCTION void pd_bound_meet_found(const pd_separating_plane *plane, double side, double slack, pd_bound_planes *planes,
                                     pd_bound_way *out) {
    const pd_bound_plane found = {
        {side * (double)plane->normal[0], side * (double)plane->normal[1], side * (double)plane->normal[2]}, slack, plane->share};
#if PD_BOUND_KEPT
    if (planes->n < PD_BOUND_KEPT) planes->kept[planes->n] = found;
#endif
    if (planes->n <= PD_BOUND_KEPT) planes->n++;
    pd_bound_meet(&found, out);
}

/* All planes of point `point`, which moves `weight` times as far as the vertex; `movers` (>= 1) as in the energies of its pairs. */
PD_FUNCTION void pd_bound_meet_point(const pd_contact_sweep *contact, const pd_vertex_sweep *sweep, int n_vertices, int vertex, int point,
                                     double weight, double size, pd_bound_planes *planes, pd_bound_way *out) {
    const pd_vertex_bounds *bounds = &contact->bounds;
    const pd_far_pairs *far = &bounds->far;
    const double sign = weight < 0.0 ? -1.0 : 1.0;
    pd_separating_plane plane;
    for (int r = contact->incidence.start[point]; r < contact->incidence.start[point + 1]; r++) {
        int p = contact->incidence.roles[r] / 4, corner = contact->incidence.roles[r] % 4;
        double movers = (double)pd_vertex_update_movers(sweep, contact, n_vertices, bounds->pairs.points + 4 * (size_t)p, vertex);
        if (!pd_bound_take_ready(planes, &plane))
            pd_contact_update_plane(&bounds->pairs, bounds->begun, bounds->rounding, bounds->fraction, 0, p, &plane);
        double slack = (double)plane.slacks[corner] / (movers > size ? movers : size);
        pd_bound_meet_found(&plane, sign * pd_corner_side(bounds->pairs.kind[p], corner), slack, planes, out);
    }
    const real *at = contact->points + 3 * (size_t)point, *start = far->start + 3 * (size_t)point;
    for (int r = far->incidence.start[point]; r < far->incidence.start[point + 1]; r++) {
        int p = far->incidence.roles[r] / 4, corner = far->incidence.roles[r] % 4;
        if (far->near[p]) continue;
        if (!pd_bound_take_ready(planes, &plane))
            pd_contact_update_plane(&far->pairs, far->start, bounds->rounding, bounds->fraction, 1, p, &plane);
        double side = pd_corner_side(far->pairs.kind[p], corner), gone = 0.0;
        for (int c = 0; c < 3; c++) gone += (double)plane.normal[c] * ((double)at[c] - (double)start[c]);
        double slack = (double)plane.slacks[corner] + side * gone;
        pd_bound_meet_found(&plane, sign * side, (slack > 0.0 ? slack : 0.0) / size, planes, out);
    }
}

PD_FUNCTION void pd_bound_meet_all(const pd_contact_sweep *contact, const pd_vertex_sweep *sweep, int n_vertices, int vertex,
                                   pd_bound_planes *planes, pd_bound_way *out) {
#if PD_BOUND_KEPT
    if (planes->n >= 0 && planes->n <= PD_BOUND_KEPT) {
        for (int k = 0; k < planes->n; k++) pd_bound_meet(planes->kept + k, out);
        return;
    }
#endif
    planes->n = 0;
#if PD_UPDATE_CARRIES
    const pd_embedding *embedding = &contact->embedding;
    for (int k = embedding->start ? embedding->start[vertex] : 0; embedding->start && k < embedding->start[vertex + 1]; k++)
        pd_bound_meet_point(contact, sweep, n_vertices, vertex, embedding->points[k], (double)embedding->shares[k],
                            (double)embedding->sizes[embedding->points[k]], planes, out);
    if (embedding->start) return;
#endif
    pd_bound_meet_point(contact, sweep, n_vertices, vertex, vertex, 1.0, 1.0, planes, out);
}

/* The radius of the outer ball around the present point, m. */
PD_FUNCTION double pd_bound_radius_of(const pd_contact_sweep *contact, int point, double size) {
    double square = 0.0;
    for (int c = 0; c < 3; c++) {
        double gone =
            (double)contact->points[3 * (size_t)point + (size_t)c] - (double)contact->bounds.far.start[3 * (size_t)point + (size_t)c];
        square += gone * gone;
    }
    double left = (contact->bounds.outer - sqrt(square)) / size;
    return left > 0.0 ? left : 0.0;
}

PD_FUNCTION double pd_bound_radius(const pd_contact_sweep *contact, int vertex) {
#if PD_UPDATE_CARRIES
    const pd_embedding *embedding = &contact->embedding;
    double least = (double)INFINITY;
    for (int k = embedding->start ? embedding->start[vertex] : 0; embedding->start && k < embedding->start[vertex + 1]; k++)
        least = fmin(least, pd_bound_radius_of(contact, embedding->points[k], (double)embedding->sizes[embedding->points[k]]));
    if (embedding->start) return least;
#endif
    return pd_bound_radius_of(contact, vertex, 1.0);
}

/* ---- the quadratic ------------------------------------------------------------------------------------------------------------------- */

/* Up to three active planes of a step, and unit vectors [3 - n] along all of them. */
typedef struct pd_bound_set {
    int n;
    double ways[3][3], free[3][3];
} pd_bound_set;

PD_FUNCTION void pd_bound_unit(double a[3]) {
    double size = sqrt(pd_bound_dot(a, a));
    for (int c = 0; c < 3; c++) a[c] = size > 0.0 ? a[c] / size : 0.0;
}

PD_FUNCTION void pd_bound_span(pd_bound_set *set) {
    const double *a = set->ways[0];
    if (set->n == 0)
        for (int i = 0; i < 9; i++) set->free[i / 3][i % 3] = (double)(i % 4 == 0);
    if (set->n == 1) {
        int least = fabs(a[0]) <= fabs(a[1]) && fabs(a[0]) <= fabs(a[2]) ? 0 : fabs(a[1]) <= fabs(a[2]) ? 1 : 2;
        const double axis[3] = {(double)(least == 0), (double)(least == 1), (double)(least == 2)};
        pd_pose_cross(a, axis, set->free[0]);
        pd_bound_unit(set->free[0]);
        pd_pose_cross(a, set->free[0], set->free[1]);
        pd_bound_unit(set->free[1]);
    }
    if (set->n == 2) {
        pd_pose_cross(a, set->ways[1], set->free[0]);
        pd_bound_unit(set->free[0]);
    }
}

/* out = the solution of (H + shift I) p = r along the planes of the set; H [6] the upper triangle. 0 for a singular system. */
PD_FUNCTION void pd_bound_solve(const pd_bound_set *set, const double H[6], double shift, const double r[3], double out[3]) {
    const double full[9] = {H[0] + shift, H[1], H[2], H[1], H[3] + shift, H[4], H[2], H[4], H[5] + shift};
    int n = 3 - set->n;
    double A[9], b[3], least = 1e-14 * (full[0] + full[4] + full[8]);
    for (int c = 0; c < 3; c++) out[c] = 0.0;
    for (int i = 0; i < n; i++) {
        b[i] = pd_bound_dot(set->free[i], r);
        for (int j = 0; j < n; j++) {
            double sum = 0.0;
            for (int k = 0; k < 9; k++) sum += set->free[i][k / 3] * full[k] * set->free[j][k % 3];
            A[3 * i + j] = sum;
        }
    }
    for (int i = 0; i < n; i++) { // elimination without pivots: A is positive definite
        if (!(A[4 * i] > least)) return;
        for (int k = i + 1; k < n; k++) {
            double factor = A[3 * k + i] / A[4 * i];
            for (int j = i; j < n; j++) A[3 * k + j] -= factor * A[3 * i + j];
            b[k] -= factor * b[i];
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int j = i + 1; j < n; j++) b[i] -= A[3 * i + j] * b[j];
        b[i] /= A[4 * i];
    }
    for (int i = 0; i < n; i++)
        for (int c = 0; c < 3; c++) out[c] += b[i] * set->free[i][c];
}

/* The plane of the set with the most negative multiplier in r = sum of mu_k way_k; -1: none. */
PD_FUNCTION int pd_bound_wrong(const pd_bound_set *set, const double r[3]) {
    double gram[9], mu[3], most = 0.0;
    int n = set->n, wrong = -1;
    for (int i = 0; i < n; i++) {
        mu[i] = pd_bound_dot(set->ways[i], r);
        for (int j = 0; j < n; j++) gram[3 * i + j] = pd_bound_dot(set->ways[i], set->ways[j]);
    }
    for (int i = 0; i < n; i++) {
        for (int k = i + 1; k < n; k++) {
            double factor = gram[4 * i] > 0.0 ? gram[3 * k + i] / gram[4 * i] : 0.0;
            for (int j = i; j < n; j++) gram[3 * k + j] -= factor * gram[3 * i + j];
            mu[k] -= factor * mu[i];
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int j = i + 1; j < n; j++) mu[i] -= gram[3 * i + j] * mu[j];
        mu[i] = gram[4 * i] > 0.0 ? mu[i] / gram[4 * i] : 0.0;
        if (mu[i] < most) most = mu[i], wrong = i;
    }
    return wrong;
}

PD_FUNCTION void pd_bound_residual(const double H[6], double shift, const double g[3], const double d[3], double r[3]) {
    r[0] = g[0] - (H[0] + shift) * d[0] - H[1] * d[1] - H[2] * d[2];
    r[1] = g[1] - H[1] * d[0] - (H[3] + shift) * d[1] - H[4] * d[2];
    r[2] = g[2] - H[2] * d[0] - H[4] * d[1] - (H[5] + shift) * d[2];
}

/* d [3] = the step of least energy on the inner side of all planes; set: the active ones. P [9]: projector of the subspace of H and g,
 * or NULL. */
PD_FUNCTION void pd_bound_minimise(const pd_contact_sweep *contact, const pd_vertex_sweep *sweep, int n_vertices, int vertex, const real *P,
                                   const double H[6], double shift, const double g[3], pd_bound_planes *planes, double d[3],
                                   pd_bound_set *set) {
    set->n = 0;
    for (int c = 0; c < 3; c++) d[c] = 0.0;
    for (int iteration = 0; iteration < PD_BOUND_STEPS; iteration++) {
        double r[3], p[3];
        pd_bound_way way;
        pd_bound_span(set);
        pd_bound_residual(H, shift, g, d, r);
        pd_bound_solve(set, H, shift, r, p);
        pd_bound_begin(&way, d, p, 0);
        pd_bound_meet_all(contact, sweep, n_vertices, vertex, planes, &way);
        for (int c = 0; c < 3; c++) d[c] += way.fraction * p[c];
        if (way.met) {
            if (P) {
                real inside[3] = {(real)way.way[0], (real)way.way[1], (real)way.way[2]};
                pd_vertex_project(P, inside);
                for (int c = 0; c < 3; c++) way.way[c] = (double)inside[c];
            }
            if (set->n == 3) return;
            for (int c = 0; c < 3; c++) set->ways[set->n][c] = way.way[c];
            pd_bound_unit(set->ways[set->n++]);
            continue;
        }
        pd_bound_residual(H, shift, g, d, r);
        int wrong = pd_bound_wrong(set, r);
        if (wrong < 0) return;
        set->n--;
        for (int c = 0; c < 3; c++) set->ways[wrong][c] = set->ways[set->n][c];
    }
}

/* The next shift between `low`, with which the step is too long, and `high`: by Newton's method from `shift`, where `slope` is minus the
 * derivative of |d|^2 / 2, or by bisection. */
PD_FUNCTION double pd_bound_next_shift(double low, double high, double shift, double size, double radius, double slope) {
    double next = shift + (slope > 0.0 ? (size / radius - 1.0) * size * size / slope : 0.0);
    if (next > low && next < high) return next;
    return low > 0.0 ? sqrt(low * high) : 1e-2 * high;
}

/* d [3] in the outer ball: |g| / radius is the largest shift that may be needed. */
PD_FUNCTION void pd_bound_minimise_in_ball(const pd_contact_sweep *contact, const pd_vertex_sweep *sweep, int n_vertices, int vertex,
                                           const real *P, const double H[6], const double g[3], double radius, pd_bound_planes *planes,
                                           double d[3]) {
    double low = 0.0, high = sqrt(pd_bound_dot(g, g)) / radius, shift = 0.0, size = 0.0;
    pd_bound_set set;
    for (int k = 0; k <= PD_BOUND_SHIFTS; k++) {
        double along[3];
        pd_bound_minimise(contact, sweep, n_vertices, vertex, P, H, shift, g, planes, d, &set);
        size = sqrt(pd_bound_dot(d, d));
        if (size > radius)
            low = shift;
        else
            high = shift;
        if (size <= (1.0 + PD_BOUND_EXCESS) * radius && (shift == 0.0 || size >= PD_BOUND_ENOUGH * radius)) break;
        pd_bound_span(&set);
        pd_bound_solve(&set, H, shift, d, along);
        shift = k + 1 < PD_BOUND_SHIFTS ? pd_bound_next_shift(low, high, shift, size, radius, pd_bound_dot(d, along)) : high;
    }
    if (size > radius)
        for (int c = 0; c < 3; c++) d[c] *= radius / size;
}

/* out [3] = the step of a vertex whose own one exceeds its bound, from H [6] and g. planes: of the vertex; NULL: computed here. */
PD_FUNCTION_APART void pd_bound_correction(const pd_contact_sweep *contact, const pd_vertex_sweep *sweep, int n_vertices, int vertex,
                                           const real *P, const double H[6], const double g[3], pd_bound_planes *planes, real out[3]) {
    const double none[3] = {0.0, 0.0, 0.0};
    double d[3] = {0.0, 0.0, 0.0}, radius = pd_bound_radius(contact, vertex);
    pd_bound_way way;
    pd_bound_planes own;
    pd_bound_planes_begin(&own);
    if (!planes) planes = &own;
    if (radius > 0.0) pd_bound_minimise_in_ball(contact, sweep, n_vertices, vertex, P, H, g, radius, planes, d);
    pd_bound_begin(&way, none, d, 1);
    pd_bound_meet_all(contact, sweep, n_vertices, vertex, planes, &way);
    for (int c = 0; c < 3; c++) out[c] = (real)(way.fraction * d[c]);
    if (P) pd_vertex_project(P, out);
}

/* Tells whether the move -d is longer than `most`, m. */
PD_FUNCTION int pd_bound_exceeds(double most, const real d[3]) {
    const double g[3] = {(double)d[0], (double)d[1], (double)d[2]};
    return pd_bound_dot(g, g) > most * most;
}

/* The displacement bound of vertex i in any direction, m. */
PD_FUNCTION double pd_bound_most(const pd_contact_sweep *contact, int i) {
    return contact->displacement_bound ? (double)contact->displacement_bound[i] : (double)INFINITY;
}

/* d [3] of free vertex i, which may move `most` in any direction, becomes the nearest move to -d in its displacement bound. */
PD_FUNCTION void pd_bound_nearest(const pd_model *model, const pd_contact_sweep *contact, int i, double most, pd_bound_planes *planes,
                                  real d[3]) {
    const double H[6] = {1.0, 0.0, 0.0, 1.0, 0.0, 1.0}, g[3] = {(double)d[0], (double)d[1], (double)d[2]};
    const real *P = model->subspace ? model->subspace + 9 * (size_t)i : NULL;
    if (!pd_bound_exceeds(most, d)) return;
    pd_bound_correction(contact, NULL, model->n_vertices, i, P, H, g, planes, d);
}

/* Row i of pd_contact_bound_moves. planes: of the vertex; NULL: computed here. */
PD_FUNCTION void pd_bound_move(const pd_model *model, const pd_contact_sweep *contact, int i, pd_bound_planes *planes, real d[3]) {
    const real before[3] = {d[0], d[1], d[2]};
    if (!model->fixed[i]) pd_bound_nearest(model, contact, i, pd_bound_most(contact, i), planes, d);
    real cut[3] = {before[0] - d[0], before[1] - d[1], before[2] - d[2]};
    if (contact->held) contact->held[i] = pd_sqrt(cut[0] * cut[0] + cut[1] * cut[1] + cut[2] * cut[2]);
}

/* Row i of pd_projective_move_within. */
PD_FUNCTION void pd_bound_move_towards(const pd_model *model, const pd_contact_sweep *contact, const real *target, int i, real *x) {
    const real *to = target + 3 * (size_t)i;
    real *at = x + 3 * (size_t)i, d[3] = {at[0] - to[0], at[1] - to[1], at[2] - to[2]}, before[3] = {d[0], d[1], d[2]};
    if (model->fixed[i]) return;
    pd_bound_nearest(model, contact, i, fmin((double)contact->displacement_bound[i], pd_bound_radius(contact, i)), NULL, d);
    for (int c = 0; c < 3; c++) at[c] = d[c] == before[c] ? to[c] : at[c] - d[c];
}

#endif
