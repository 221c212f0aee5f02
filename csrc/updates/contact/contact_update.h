/* One pair of a loop over contacts, for the loops of both backends: gathers the corners, evaluates, writes its part of the result. */
#ifndef PD_UPDATES_CONTACT_CONTACT_UPDATE_H
#define PD_UPDATES_CONTACT_CONTACT_UPDATE_H

#include "elements/contact/pair_hessian.h"
#include "loops/contact_loops.h"
#include "updates/detection/candidate_update.h"

#include "updates/contact/pair_weight.h"

/* The corners [4,3] of a pair at rows of y; missing corners repeat the first. */
PD_FUNCTION void pd_contact_update_corners(const real *y, const int *points, int corners, real at[12]) {
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 3; i++) at[3 * j + i] = y[3 * (size_t)points[j < corners ? j : 0] + (size_t)i];
}

/* The number of corners of a pair that move at once with one of this colour, itself included, in a sweep with such colours (NULL: 1); at
 * most two. Each of them assumes the others at rest. A convex energy E has E(x + sum of moves d_i) <= sum of E(x + k d_i)/k over k such
 * corners [Jensen's inequality]. So a vertex that takes this as its share never increases the sum, for any moves of the others. The
 * curvature of its share is k times that of E. */
PD_FUNCTION real pd_contact_update_partners(const int *colours, int n_vertices, const int *points, int colour) {
    int partners = 0;
    for (int j = 0; j < 4 && colours; j++) partners += points[j] >= 0 && points[j] < n_vertices && colours[points[j]] == colour;
    return partners > 1 ? (real)2 : (real)1;
}

/* Column p of an active pair; see contact_loops.h. */
PD_FUNCTION void pd_contact_update_describe(const pd_contact_scene *scene, const pd_active_pairs *active, size_t p,
                                            const pd_contact_columns *out) {
    const int *from = active->points + 4 * p;
    int first = (int)(active->key[p] >> 31 & 0x7fffffff), second = (int)(active->key[p] & 0x7fffffff);
    int *points = out->points + 4 * p, kind = active->kind[p], other = 1; // other: the first corner of the second primitive
    real weight = 1, threshold = 0, at[12];
    for (int j = 0; j < 4; j++) points[j] = from[j];
    if (kind == PD_VERTEX_TRIANGLE) {
        weight = pd_pair_weight_of_triangle(scene, from[0], second, from[1]);
    } else if (kind == PD_EDGE_EDGE) {
        weight = pd_pair_weight_of_edges(scene, from, first, second);
        int a = pd_edge_is_point(from), b = pd_edge_is_point(from + 2);
        other = 2;
        if (a || b) {
            kind = a && b ? PD_VERTEX_VERTEX : PD_VERTEX_EDGE;
            other = 1;
            points[0] = a ? from[0] : from[2];
            points[1] = a ? from[2] : from[0];
            points[2] = a && b ? -1 : a ? from[3] : from[1];
            points[3] = -1;
        }
    } else {
        kind = PD_VERTEX_PLANE;
        weight = pd_pair_weight_of_plane(scene, from[0]);
        points[1] = scene->planes[first], points[2] = points[1] + 1;
    }
    int of_plane = kind == PD_VERTEX_PLANE;
    real separation = scene->separation + scene->radii[points[0]] + (of_plane ? (real)0 : scene->radii[points[other]]);
    real activation = scene->activation;
    if (!of_plane) {
        pd_contact_update_corners(scene->rest, points, pd_contact_corners(kind), at);
        if (kind == PD_EDGE_EDGE) threshold = pd_mollifier_threshold(at);
        if (scene->bodies[points[0]] == scene->bodies[points[other]])
            activation = pd_contact_activation(activation, separation, pd_contact_closest(kind, at).distance);
    }
    out->kind[p] = kind;
    if (out->panel) out->panel[p] = kind == PD_VERTEX_TRIANGLE && scene->panels ? scene->panels[second] : -1;
    out->activation[p] = activation, out->separation[p] = separation;
    out->weight[p] = weight, out->threshold[p] = threshold;
}

/* Row i of pd_contact_gather. */
PD_FUNCTION void pd_contact_update_gather_vertex(const pd_model *model, const pd_incidence *incidence, const real *corners, int i,
                                                 real *out) {
    real sum[3] = {0, 0, 0};
    if (model->fixed[i]) return;
    for (int r = incidence->start[i]; r < incidence->start[i + 1]; r++)
        for (int a = 0; a < 3; a++) sum[a] += corners[3 * (size_t)incidence->roles[r] + (size_t)a];
    if (model->subspace) pd_vertex_project(model->subspace + 9 * (size_t)i, sum);
    for (int a = 0; a < 3; a++) out[3 * (size_t)i + (size_t)a] += sum[a];
}

/* The largest fraction of a gap that a prescribed motion closes in one update. It is less for a small gap: an iteration of Newton's
 * method at most doubles a small gap, which would stay small if it were halved each time. Wide: from this fraction of the activation
 * distance on. */
#define PD_CLOSING_SHARE 0.8
#define PD_CLOSING_WIDE  0.5

/* *closing: the minimum of itself and that of pair p. */
PD_FUNCTION void pd_contact_update_closing(const pd_contact_pairs *pairs, const real *before, const real *after, double least, double floor,
                                           int p, pd_closing *closing) {
    double from = (double)before[p] - (double)pairs->separation[p], to = (double)after[p] - (double)pairs->separation[p];
    if (from - to <= least) return; // a NaN gap counts as closing
    double most = PD_CLOSING_SHARE * fmin(1.0, from / (PD_CLOSING_WIDE * (double)pairs->activation[p]));
    double least_gap = fmax(floor, from * (1.0 - most));
    double fraction = to >= least_gap ? 1.0 : from > least_gap ? (from - least_gap) / (from - to) : 0.0;
    closing->before = pd_least_of(closing->before, from);
    closing->after = pd_least_of(closing->after, to);
    closing->fraction = pd_least_of(closing->fraction, fraction);
}

/* Tells whether the gap of pair p has collapsed: 1 or 0. */
PD_FUNCTION real pd_contact_update_collapsed(const pd_contact_pairs *pairs, real distance, int p) {
    return distance < pairs->separation[p] + (real)PD_COLLAPSED_GAP * pairs->activation[p] ? (real)1 : (real)0;
}

/* The decrease of the distance of pair p before it becomes active. */
PD_FUNCTION real pd_contact_update_slack(const pd_contact_pairs *pairs, real distance, double rounding, int p) {
    double limit = ((double)pairs->separation[p] + (double)pairs->activation[p]) * (1.0 + 8.0 * (double)PD_EPSILON);
    return (real)((double)distance - limit - rounding);
}

/* The displacement bound that pair p gives its corners, m, at least 0; its sign bit is set if the pair acts. */
PD_FUNCTION real pd_contact_update_pair_bound(const pd_contact_pairs *pairs, real distance, double rounding, double fraction, int p) {
    double gap = (double)distance - (double)pairs->separation[p], bound = 0.5 * fraction * (gap - rounding);
    if (!(bound > 0.0)) bound = 0.0; // also for a NaN coordinate
    return (real)(gap >= (double)pairs->activation[p] ? bound : -bound);
}

/* The displacement bound of point i, m; touching: set if one of its pairs acts. */
PD_FUNCTION real pd_contact_update_displacement_bound_of(const pd_incidence *incidence, const real *pair_bounds, const real *balls,
                                                         const real *start, const real *points, int i, unsigned char *touching) {
    double left = (double)balls[i] - sqrt(pd_move_square(points + 3 * (size_t)i, start + 3 * (size_t)i));
    real bound = left > 0.0 ? (real)left : (real)0;
    for (int r = incidence->start[i]; r < incidence->start[i + 1]; r++) {
        real of_pair = pair_bounds[incidence->roles[r] / 4];
        bound = pd_min(bound, pd_fabs(of_pair));
        if (signbit(of_pair)) *touching = 1;
    }
    return bound;
}

/* The displacement up to which pair p neither becomes active nor loses more than `fraction` of its gap, m, if no corner moves farther;
 * infinite for a pair with a slack up to `cut`. */
PD_FUNCTION real pd_contact_update_far_pair_bound(const pd_contact_pairs *pairs, real distance, double cut, double rounding,
                                                  double fraction, int p) {
    double slack = (double)pd_contact_update_slack(pairs, distance, rounding, p);
    double gap = fraction * ((double)distance - (double)pairs->separation[p] - rounding);
    return slack > cut ? (real)(0.5 * pd_least_of(slack, gap)) : (real)INFINITY;
}

/* The ball of point i. */
PD_FUNCTION real pd_contact_update_ball(const pd_incidence *incidence, const real *pair_bounds, double far, int i) {
    real radius = (real)far;
    for (int r = incidence->start[i]; r < incidence->start[i + 1]; r++) radius = pd_min(radius, pair_bounds[incidence->roles[r] / 4]);
    return radius;
}

/* The displacement of point i as a fraction of `certain`; left: set if it is more than `most` of a ball smaller than `far`. */
PD_FUNCTION double pd_contact_update_used(int prescribed, const real *balls, double far, double certain, double most, const real *start,
                                          const real *points, int i, unsigned char *left) {
    double move = sqrt(pd_move_square(points + 3 * (size_t)i, start + 3 * (size_t)i));
    *left = (unsigned char)(balls[i] < (real)far && move > most * (double)balls[i]);
    if (move == 0.0) return 0.0;
    return !prescribed && move < certain ? move / certain : INFINITY; // infinite also for a NaN coordinate
}

/* Tells whether one of the corners of a pair is marked. */
PD_FUNCTION unsigned char pd_contact_update_has_marked_corner(const int *points, const unsigned char *marks) {
    for (int j = 0; j < 4; j++)
        if (points[j] >= 0 && marks[points[j]]) return 1;
    return 0;
}

/* The weight of a pair in the contact potential, from its column. */
PD_FUNCTION real pd_contact_update_weight(real weight) { return pd_max(weight, (real)0); }

/* Copies row p of a list of pairs to row `to` of another, and to its records. */
PD_FUNCTION void pd_contact_update_take(const pd_contact_pairs *pairs, const int *panel, int p, const pd_contact_columns *out,
                                        pd_contact_record *records, int to) {
    pd_contact_record *record = records + to;
    for (int j = 0; j < 4; j++) record->points[j] = pairs->points[4 * (size_t)p + (size_t)j];
    record->activation = pairs->activation[p], record->separation = pairs->separation[p];
    record->weight = pd_contact_update_weight(pairs->weight[p]), record->threshold = pairs->threshold[p];
    record->slack = 0, record->kind = pairs->kind[p];
    out->kind[to] = pairs->kind[p], out->panel[to] = panel ? panel[p] : -1;
    for (int j = 0; j < 4; j++) out->points[4 * (size_t)to + (size_t)j] = pairs->points[4 * (size_t)p + (size_t)j];
    out->activation[to] = pairs->activation[p], out->separation[to] = pairs->separation[p];
    out->weight[to] = pairs->weight[p], out->threshold[to] = pairs->threshold[p];
}

/* The number of n ascending rows below `row`. */
PD_FUNCTION int pd_contact_update_rows_below(const int *rows, int n, int row) {
    int low = 0, high = n;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (rows[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The roles of point i, the first with number `begin` (pd_contact_update_rows_below), and at i = n_points the end of the list. Returns
 * the begin of point i + 1. */
PD_FUNCTION int pd_contact_update_take_roles(int n_points, int n_roles, const int *role_rows, const int *ranks,
                                             const pd_incidence *incidence, const pd_incidence *out, int begin, int i) {
    int r = begin;
    out->start[i] = begin;
    for (; i < n_points && r < n_roles && role_rows[r] < incidence->start[i + 1]; r++) {
        int role = incidence->roles[role_rows[r]];
        out->roles[r] = 4 * (ranks ? ranks[role / 4] : role / 4) + role % 4;
    }
    return r;
}

/* The diagonal block of vertex i. */
PD_FUNCTION void pd_contact_update_gather_block(const pd_incidence *incidence, const real *hessians, int i, real *block) {
    for (int r = incidence->start[i]; r < incidence->start[i + 1]; r++) {
        int pair = incidence->roles[r] / 4, corner = incidence->roles[r] % 4;
        const real *H = hessians + 144 * (size_t)pair + 39 * (size_t)corner;
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++) block[3 * a + b] += H[12 * a + b];
    }
}

/* The diagonal of vertex i in an upper bound of the sum of the pairs' Hessians, N/m: the norms of its blocks with movable points, since
 * 2 a . H_ij b <= |H_ij| (|a|^2 + |b|^2). 0 at fixed vertices. */
PD_FUNCTION double pd_contact_update_bound(const pd_model *model, const pd_incidence *incidence, const int *points, const real *hessians,
                                           int i) {
    double sum = 0.0;
    if (model->fixed[i]) return sum;
    for (int r = incidence->start[i]; r < incidence->start[i + 1]; r++) {
        size_t pair = (size_t)(incidence->roles[r] / 4), corner = (size_t)(incidence->roles[r] % 4);
        for (int j = 0; j < 4; j++) {
            int other = points[4 * pair + (size_t)j];
            const real *H = hessians + 144 * pair + 36 * corner + 3 * (size_t)j;
            double square = 0.0;
            if (other < 0 || other >= model->n_vertices || model->fixed[other]) continue;
            for (int a = 0; a < 3; a++)
                for (int b = 0; b < 3; b++) square += (double)H[12 * a + b] * (double)H[12 * a + b];
            sum += sqrt(square);
        }
    }
    return sum;
}

/* Pair n of pd_contact_product: out [4,3]; returns p . out. */
PD_FUNCTION real pd_contact_update_product(const pd_model *model, const int *points, const real *H, int all, const real *p, real *out) {
    real at[12], product = 0;
    for (int j = 0; j < 4; j++)
        for (int a = 0; a < 3; a++)
            at[3 * j + a] = points[j] >= 0 && points[j] < model->n_vertices ? p[3 * (size_t)points[j] + (size_t)a] : (real)0;
    for (int row = 0; row < 12; row++) {
        real sum = 0;
        for (int column = 0; column < 12; column++)
            if (all || row / 3 != column / 3) sum += H[12 * row + column] * at[column];
        out[row] = sum;
        product += at[row] * sum;
    }
    return product;
}

/* Corner positions [4,3] and limits of pair p. */
PD_FUNCTION void pd_contact_update_gather(const pd_contact_pairs *pairs, const real *x, int p, real at[12], pd_contact_limits *limits) {
    pd_contact_update_corners(x, pairs->points + 4 * (size_t)p, pd_contact_corners(pairs->kind[p]), at);
    limits->activation = pairs->activation[p];
    limits->separation = pairs->separation[p];
    limits->weight = pd_contact_update_weight(pairs->weight[p]);
    limits->threshold = pairs->threshold[p];
}

PD_FUNCTION void pd_contact_update_gather_record(const pd_contact_record *record, const real *x, real at[12], pd_contact_limits *limits) {
    pd_contact_update_corners(x, record->points, pd_contact_corners(record->kind), at);
    *limits = (pd_contact_limits){record->activation, record->separation, record->weight, record->threshold};
}

/* A scalar quantity of a pair with known closest points. */
PD_LANE_FUNCTION real pd_contact_number(pd_pair_potential potential, int quantity, pd_contact_limits limits, int kind, pd_points4 x,
                                        pd_nearest nearest) {
    if (quantity == PD_CONTACT_ENERGY) return pd_contact_energy(potential, limits, kind, x, nearest);
    if (quantity == PD_CONTACT_DISTANCE) return nearest.distance;
    return pd_contact_activation(limits.activation, limits.separation, nearest.distance);
}

PD_FUNCTION real pd_contact_update_number(const pd_pair_potential *potential, int quantity, const pd_contact_pairs *pairs, const real *x,
                                          int p) {
    real at[12];
    pd_contact_limits limits;
    int kind = pairs->kind[p];
    pd_contact_update_gather(pairs, x, p, at, &limits);
    if (quantity == PD_CONTACT_THRESHOLD) return kind == PD_EDGE_EDGE ? pd_mollifier_threshold(at) : (real)0;
    return pd_contact_number(*potential, quantity, limits, kind, pd_points4_load(at), pd_contact_closest(kind, at));
}

/* out [4,3] */
PD_FUNCTION void pd_contact_update_gradient(const pd_pair_potential *potential, const pd_contact_pairs *pairs, const real *x, int p,
                                            real *out) {
    real at[12];
    pd_contact_limits limits;
    int kind = pairs->kind[p];
    pd_contact_update_gather(pairs, x, p, at, &limits);
    pd_points4_store(pd_contact_gradient(*potential, limits, kind, pd_points4_load(at), pd_contact_closest(kind, at)), out);
    for (int i = 3 * pd_contact_corners(kind); i < 12; i++) out[i] = 0;
}

/* out [12,12] */
PD_FUNCTION void pd_contact_update_hessian(const pd_pair_potential *potential, const pd_contact_pairs *pairs, const real *x, int p,
                                           pd_hessian_filter filter, real *out) {
    real at[12];
    pd_contact_limits limits;
    int kind = pairs->kind[p], n = 3 * pd_contact_corners(kind);
    if (pairs->weight[p] < 0) { // a triangle of a panel without the term
        for (int i = 0; i < 144; i++) out[i] = 0;
        return;
    }
    pd_contact_update_gather(pairs, x, p, at, &limits);
    pd_contact_hessian(potential, &limits, kind, at, filter, out);
    // from [n,n] to [12,12] in place, the last entries first
    for (int i = n == 12 ? -1 : 143; i >= 0; i--) out[i] = i / 12 < n && i % 12 < n ? out[n * (i / 12) + i % 12] : (real)0;
}

/* out [4,3,3] */
PD_FUNCTION void pd_contact_update_blocks(const pd_pair_potential *potential, const pd_contact_pairs *pairs, const real *x, int p,
                                          pd_hessian_filter filter, real *out) {
    real at[12], gradient[3];
    pd_contact_limits limits;
    int kind = pairs->kind[p], corners = pd_contact_corners(kind);
    pd_contact_update_gather(pairs, x, p, at, &limits);
    for (int j = 0; j < corners; j++) pd_contact_block(potential, &limits, kind, at, j, filter, gradient, out + 9 * j);
    for (int i = 9 * corners; i < 36; i++) out[i] = 0;
}

#endif
