/* One constraint, or one vertex, of the loops of the two-way interior point method, for both backends. */
#ifndef PD_UPDATES_CONTACT_TWO_WAY_UPDATE_H
#define PD_UPDATES_CONTACT_TWO_WAY_UPDATE_H

#include "elements/contact/barrier.h"
#include "updates/contact/two_way_metric.h"

/* ---- rows ---------------------------------------------------------------------------------------------------------------------------- */

PD_FUNCTION int pd_two_way_same(const int *a, const int *b) { return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3]; }

/* A pair of features of pair p with given points and closest points; kind_out -1: no row. */
PD_FUNCTION void pd_two_way_set_feature(const pd_model *model, const pd_contact_scene *scene, const pd_contact_pairs *pairs,
                                        const pd_two_way_choice *choice, int p, double distance, int kind, int *points, int *kind_out,
                                        real *length) {
    real at[12], mass = 0, activation = scene->activation;
    int other = kind == PD_EDGE_EDGE ? 2 : 1;
    *kind_out = -1;
    for (int j = pd_contact_corners(kind); j < 4; j++) points[j] = -1;
    if ((kind == PD_VERTEX_EDGE && points[1] > points[2]) || (kind == PD_VERTEX_VERTEX && points[0] > points[1])) {
        int first = kind == PD_VERTEX_EDGE, swap = points[first];
        points[first] = points[first + 1], points[first + 1] = swap;
    }
    for (int j = 0; j < 4; j++) mass += pd_two_way_inverse_mass(model, points[j]);
    if (!(mass > 0)) return;
    // a fraction of the rest distance of these features, and always above the floor; they are at least as far apart as the
    // pair
    if (pairs->activation[p] < activation && kind != PD_VERTEX_PLANE && scene->bodies[points[0]] == scene->bodies[points[other]]) {
        pd_contact_update_corners(scene->rest, points, pd_contact_corners(kind), at);
        activation = pd_contact_activation(activation, pairs->separation[p], pd_contact_nearest_of(kind, at).distance);
    }
    *length = pairs->separation[p] + activation;
    if (choice->begun) {
        pd_contact_update_corners(choice->begun, points, pd_contact_corners(kind), at);
        double missing = (double)*length - (double)pd_contact_nearest_of(kind, at).distance;
        if (missing > 0.0) *length = (real)((double)*length - (1.0 - choice->recovery) * missing);
    }
    if (distance - (double)pairs->separation[p] <= choice->far * (double)activation) *kind_out = kind;
}

/* The gap of pair p at y along its normal, m, for corners with these closest points. */
PD_FUNCTION double pd_two_way_ahead(const real *y, int kind, const int *points, pd_nearest nearest) {
    real weights[4];
    pd_vector gap = pd_vector_of(0, 0, 0);
    pd_per_corner_store(nearest.weights, weights);
    for (int j = 0; j < (kind == PD_VERTEX_PLANE ? 2 : pd_contact_corners(kind)); j++)
        gap = pd_vector_along(gap, weights[j], pd_vector_load(y + 3 * (size_t)points[j]));
    return (double)pd_vector_dot(gap, nearest.normal);
}

/* Tells whether pair p may come nearer by `by`, for moves of its corners in any direction. */
PD_FUNCTION int pd_two_way_may_come(const pd_two_way_choice *choice, int kind, const int *points, double by) {
    double most[2] = {0.0, 0.0};
    int first = kind == PD_EDGE_EDGE ? 2 : 1, corners = kind == PD_VERTEX_PLANE ? 2 : pd_contact_corners(kind);
    for (int j = 0; j < corners; j++) {
        double square = pd_move_square(choice->y + 3 * (size_t)points[j], choice->x + 3 * (size_t)points[j]);
        most[j >= first] = pd_most_of(most[j >= first], square);
    }
    return !(sqrt(most[0]) + sqrt(most[1]) < by);
}

/* The features of pair p for pd_two_way_features: the closest, and for nearly parallel edges at most two ends next to the interior of the
 * other edge. One constraint would let them rotate about its points, and the closest points would change sides with every rotation. */
PD_FUNCTION void pd_two_way_update_feature(const pd_model *model, const pd_contact_scene *scene, const pd_contact_pairs *pairs,
                                           const pd_two_way_choice *choice, int p, int *kinds, int *points, real *lengths, real *normal) {
    real at[12], weights[4];
    int order[4], kind = pairs->kind[p], n = 1;
    const int *corners = pairs->points + 4 * (size_t)p;
    double separation = (double)pairs->separation[p], gap = (double)choice->distance[p] - separation,
           activation = (double)scene->activation;
    double clear = choice->clear * activation;
    int far = gap > choice->near * activation;
    for (int j = 0; j < PD_TWO_WAY_FEATURES; j++) kinds[j] = -1;
    for (int a = 0; a < 3; a++) normal[a] = 0;
    if (!(gap <= choice->far * activation)) return;
    if (far && !pd_two_way_may_come(choice, kind, corners, gap - clear)) return;
    pd_contact_update_corners(choice->x, corners, pd_contact_corners(kind), at);
    pd_nearest nearest = pd_contact_nearest_of(kind, at);
    pd_vector_store(nearest.normal, normal);
    if (far && pd_two_way_ahead(choice->y, kind, corners, nearest) > separation + clear) return;
    pd_per_corner_store(nearest.weights, weights);
    kind = pd_constraint_feature(kind, pd_support_of_weights(weights), order);
    for (int j = 0; j < 4; j++) points[j] = j < pd_contact_corners(kind) ? corners[order[j]] : -1;
    pd_two_way_set_feature(model, scene, pairs, choice, p, (double)choice->distance[p], kind, points, kinds, lengths);
    if (pairs->kind[p] != PD_EDGE_EDGE || !pd_constraint_is_parallel(at)) return;
    for (int end = 0; end < 4 && n < PD_TWO_WAY_FEATURES; end++) {
        int edge = end < 2 ? 2 : 0, *out = points + 4 * n;
        real of_end[12];
        out[0] = corners[end], out[1] = corners[edge], out[2] = corners[edge + 1];
        pd_contact_update_corners(choice->x, out, 3, of_end);
        nearest = pd_contact_nearest_of(PD_VERTEX_EDGE, of_end);
        pd_per_corner_store(nearest.weights, weights);
        if (pd_support_count(pd_support_of_weights(weights) & 7u) < 3) continue;
        pd_two_way_set_feature(model, scene, pairs, choice, p, (double)nearest.distance, PD_VERTEX_EDGE, out, kinds + n, lengths + n);
        n++;
    }
}

/* Tells whether feature f is the first with the same kind and points. */
PD_FUNCTION unsigned char pd_two_way_update_first(const int *kind, const int *points, const pd_incidence *incidence, int f) {
    if (kind[f] < 0) return 0;
    if (kind[f] != PD_VERTEX_EDGE && kind[f] != PD_VERTEX_VERTEX) return 1; // faces and interior points have one pair
    int i = points[4 * (size_t)f];
    for (int r = incidence->start[i]; r < incidence->start[i + 1]; r++) {
        int begin = incidence->roles[r] / 4 * PD_TWO_WAY_FEATURES;
        for (int g = begin; g < begin + PD_TWO_WAY_FEATURES && g < f; g++)
            if (kind[g] == kind[f] && pd_two_way_same(points + 4 * (size_t)g, points + 4 * (size_t)f)) return 0;
    }
    return 1;
}

/* Row `to` of pd_two_way_take. */
PD_FUNCTION void pd_two_way_update_take(const int *kind, const int *points, const real *length, const pd_two_way_rows *before,
                                        const pd_incidence *incidence, int p, const pd_two_way_rows *out, int to) {
    const int *mine = points + 4 * (size_t)p;
    real multiplier = 0, tangential[3] = {0, 0, 0};
    int colour = 0;
    for (int r = before->n ? incidence->start[mine[0]] : 0; before->n && r < incidence->start[mine[0] + 1]; r++) {
        int q = incidence->roles[r] / 4;
        if (before->kind[q] != kind[p] || !pd_two_way_same(before->points + 4 * (size_t)q, mine)) continue;
        multiplier = before->multiplier[q];
        colour = before->colour[q] > 0 ? before->colour[q] : 0;
        if (before->coefficient)
            for (int a = 0; a < 3; a++) tangential[a] = before->tangential[3 * (size_t)q + (size_t)a];
        break;
    }
    out->kind[to] = kind[p];
    out->length[to] = length[p];
    out->multiplier[to] = multiplier;
    out->colour[to] = colour;
    for (int j = 0; j < 4; j++) out->points[4 * (size_t)to + (size_t)j] = mine[j];
    if (out->coefficient)
        for (int a = 0; a < 3; a++) out->tangential[3 * (size_t)to + (size_t)a] = tangential[a];
}

/* Normal, weights and coefficient of pair p, and the directions in which friction can act. */
PD_FUNCTION void pd_two_way_update_friction(const pd_model *model, const pd_rubbing *rubbing, pd_nearest nearest, int kind, int p,
                                            const pd_two_way_rows *rows) {
    const int *points = rows->points + 4 * (size_t)p;
    real *weights = rows->weights + 4 * (size_t)p, sum = 0;
    pd_per_corner_store(nearest.weights, weights);
    for (int j = 0; j < 4; j++) {
        if (j >= pd_contact_corners(kind)) weights[j] = 0;
        sum += weights[j] * weights[j] * pd_two_way_inverse_mass(model, points[j]);
    }
    int first = rubbing->owners[points[0]], second = rubbing->owners[points[kind == PD_EDGE_EDGE ? 2 : 1]];
    rows->coefficient[p] = rubbing->coefficients[(size_t)first * (size_t)rubbing->n_owners + (size_t)second];
    rows->share[p] = sum > 0 ? (real)1 / sum : (real)0;
    pd_vector tangential = pd_vector_load(rows->tangential + 3 * (size_t)p);
    tangential = pd_vector_along(tangential, -pd_vector_dot(tangential, nearest.normal), nearest.normal);
    pd_vector_store(nearest.normal, rows->normal + 3 * (size_t)p);
    pd_vector_store(tangential, rows->tangential + 3 * (size_t)p);
}

PD_FUNCTION void pd_two_way_update_linearise(const pd_model *model, double limit, const pd_rubbing *rubbing, const real *x, int p,
                                             const pd_two_way_rows *rows) {
    const int *points = rows->points + 4 * (size_t)p;
    int kind = rows->kind[p];
    real at[12];
    pd_constraint constraint;
    pd_contact_update_corners(x, points, pd_constraint_corners(kind), at);
    if (kind == PD_EDGE_LENGTH) {
        constraint = pd_constraint_of_edge(at, rows->length[p], (real)limit);
    } else {
        pd_nearest nearest = pd_contact_nearest_of(kind, at);
        constraint = rows->by_distance ? pd_constraint_of_distance(kind, nearest, rows->length[p])
                                       : pd_constraint_of_pair(kind, at, nearest, rows->length[p]);
        if (rows->coefficient) pd_two_way_update_friction(model, rubbing, nearest, kind, p, rows);
    }
    for (int j = 0; j < pd_constraint_corners(kind); j++)
        pd_vector_store(constraint.gradient[j], pd_two_way_corner(rows->jacobian, (size_t)p, j));
    rows->value[p] = constraint.value;
}

/* Row p of pd_two_way_weigh. */
PD_FUNCTION void pd_two_way_update_weigh(const real *inverse, const real *x, const real *begun, const real *goal, int p,
                                         const pd_two_way_rows *rows) {
    const int *points = rows->points + 4 * (size_t)p;
    real denominator = 0, ahead = rows->value[p];
    pd_vector slid = pd_vector_of(0, 0, 0);
    for (int j = 0; j < 4; j++) {
        size_t corner = 4 * (size_t)p + (size_t)j;
        int moves = points[j] >= 0 && pd_two_way_moves(inverse, points[j]);
        rows->movers[corner] = moves ? points[j] : -1;
        if (points[j] < 0) continue;
        pd_vector push = pd_two_way_at_corner(rows->jacobian, (size_t)p, j), yield = pd_vector_of(0, 0, 0);
        if (moves) {
            yield = pd_two_way_yield(inverse, points[j], push);
            pd_vector_store(yield, pd_two_way_corner(rows->yield, (size_t)p, j));
        }
        pd_vector aim = pd_vector_load(goal + 3 * (size_t)points[j]);
        denominator += pd_vector_dot(push, yield);
        ahead += pd_vector_dot(push, pd_vector_subtract(aim, pd_vector_load(x + 3 * (size_t)points[j])));
        if (!rows->coefficient) continue;
        slid = pd_vector_along(slid, rows->weights[corner], pd_vector_subtract(aim, pd_vector_load(begun + 3 * (size_t)points[j])));
    }
    rows->inverse[p] = denominator > 0 ? (real)1 / denominator : (real)0;
    rows->ahead[p] = ahead;
    if (rows->coefficient) pd_vector_store(slid, rows->slid + 3 * (size_t)p);
}

/* ---- colours ------------------------------------------------------------------------------------------------------------------------- */

/* A unique number for row p: its bits, mixed; p breaks ties. */
PD_FUNCTION uint64_t pd_two_way_priority(int p) {
    uint64_t h = (uint64_t)(unsigned)p + 0x9e3779b97f4a7c15ull;
    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9ull;
    h = (h ^ h >> 27) * 0x94d049bb133111ebull;
    return ((h ^ h >> 31) & ~(uint64_t)0x7fffffff) | (uint64_t)(unsigned)p;
}

/* The colour of row p after this round, from 1 on; or -1 - q for a row q that it waits for: p is skipped until q has a colour. */
PD_FUNCTION int pd_two_way_update_colour(const pd_model *model, const pd_two_way_rows *rows, const pd_incidence *incidence, int p) {
    const int *points = rows->points + 4 * (size_t)p, *colours = rows->colour;
    if (colours[p] > 0 || (colours[p] < 0 && colours[-1 - colours[p]] <= 0)) return colours[p];
    for (int base = 1;; base += 64) {
        uint64_t used = 0;
        for (int j = 0; j < 4; j++) {
            int i = points[j];
            if (!(pd_two_way_inverse_mass(model, i) > 0)) continue;
            for (int r = incidence->start[i]; r < incidence->start[i + 1]; r++) {
                int q = incidence->roles[r] / 4;
                if (colours[q] <= 0 && pd_two_way_priority(q) > pd_two_way_priority(p)) return -1 - q;
                if (colours[q] >= base && colours[q] < base + 64) used |= (uint64_t)1 << (colours[q] - base);
            }
        }
        if (~used == 0) continue;
        for (int c = 0; c < 64; c++)
            if (!(used >> c & 1)) return base + c;
    }
}

/* Place e of the sorted keys. */
PD_FUNCTION void pd_two_way_update_start(int n, int row_bits, const uint64_t *keys, int *order, int *starts, uint64_t *n_colours, int e) {
    int colour = (int)(keys[e] >> row_bits);
    order[e] = (int)(keys[e] & (((uint64_t)1 << row_bits) - 1));
    for (int c = e > 0 ? (int)(keys[e - 1] >> row_bits) + 1 : 0; c <= colour; c++) starts[c] = e;
    if (e == n - 1) starts[colour + 1] = n, *n_colours = (uint64_t)colour + 1;
}

/* Row e of pd_two_way_arrange. */
PD_FUNCTION void pd_two_way_update_arrange(const int *order, const pd_two_way_rows *rows, int *place, const pd_two_way_rows *out, int e) {
    int p = order[e];
    place[p] = e;
    out->kind[e] = rows->kind[p];
    out->length[e] = rows->length[p];
    out->multiplier[e] = rows->multiplier[p];
    out->colour[e] = rows->colour[p];
    for (int j = 0; j < 4; j++) out->points[4 * (size_t)e + (size_t)j] = rows->points[4 * (size_t)p + (size_t)j];
    for (int a = 0; rows->coefficient && a < 3; a++)
        out->tangential[3 * (size_t)e + (size_t)a] = rows->tangential[3 * (size_t)p + (size_t)a];
}

/* Entry e of the incidence of pd_two_way_arrange. */
PD_FUNCTION void pd_two_way_update_arrange_roles(int n_points, const pd_incidence *incidence, const int *place, const pd_incidence *out,
                                                 int e) {
    if (e <= n_points) out->start[e] = incidence->start[e];
    if (e < incidence->start[n_points]) out->roles[e] = 4 * place[incidence->roles[e] / 4] + incidence->roles[e] % 4;
}

/* ---- the backward step --------------------------------------------------------------------------------------------------------------- */

/* The impulse of the rows of point i on its target, before W. */
PD_FUNCTION pd_vector pd_two_way_impulse(const pd_two_way_rows *rows, const pd_incidence *incidence, int i) {
    pd_vector sum = pd_vector_of(0, 0, 0);
    for (int r = rows->n ? incidence->start[i] : 0; rows->n && r < incidence->start[i + 1]; r++) {
        size_t role = (size_t)incidence->roles[r], p = role / 4;
        real multiplier = rows->multiplier[p];
        if (multiplier != 0) sum = pd_vector_along(sum, multiplier, pd_two_way_at_corner(rows->jacobian, p, (int)(role % 4)));
        if (rows->coefficient) sum = pd_vector_along(sum, rows->weights[role], pd_vector_load(rows->tangential + 3 * p));
    }
    return sum;
}

PD_FUNCTION void pd_two_way_update_gather(const real *inverse, const pd_two_way_rows *edges, const pd_incidence *of_edges,
                                          const pd_two_way_rows *pairs, const pd_incidence *of_pairs, real *pushed, int i) {
    pd_vector way = pd_vector_of(0, 0, 0);
    if (pd_two_way_moves(inverse, i))
        way = pd_two_way_yield(inverse, i, pd_vector_add(pd_two_way_impulse(edges, of_edges, i), pd_two_way_impulse(pairs, of_pairs, i)));
    pd_vector_store(way, pushed + 3 * (size_t)i);
}

/* Moves a corner by W times the impulse. */
PD_FUNCTION void pd_two_way_move(const real *inverse, const int *points, int j, pd_vector impulse, real *y) {
    if (points[j] < 0 || !pd_two_way_moves(inverse, points[j])) return;
    real *at = y + 3 * (size_t)points[j];
    pd_vector_store(pd_vector_add(pd_vector_load(at), pd_two_way_yield(inverse, points[j], impulse)), at);
}

/* The friction of row p after its normal part: reverts the slip since the begin of the step, within the bound by the normal impulse
 * lambda/delta. */
PD_FUNCTION void pd_two_way_update_rub(const real *inverse, const pd_two_way_rows *rows, real *pushed, int p) {
    const int *movers = rows->movers + 4 * (size_t)p;
    const real *weights = rows->weights + 4 * (size_t)p;
    pd_vector slip = pd_vector_load(rows->slid + 3 * (size_t)p), normal = pd_vector_load(rows->normal + 3 * (size_t)p);
    pd_vector held = pd_vector_load(rows->tangential + 3 * (size_t)p);
    if (!(rows->coefficient[p] > 0)) return;
    for (int j = 0; j < 4; j++)
        if (movers[j] >= 0) slip = pd_vector_along(slip, weights[j], pd_vector_load(pushed + 3 * (size_t)movers[j]));
    slip = pd_vector_along(slip, -pd_vector_dot(slip, normal), normal);
    pd_vector wanted = pd_vector_along(held, -rows->share[p], slip);
    real most = rows->coefficient[p] * rows->multiplier[p] / rows->length[p], size = pd_sqrt(pd_vector_dot(wanted, wanted));
    if (size > most) wanted = pd_vector_scale(most / size, wanted);
    pd_vector_store(wanted, rows->tangential + 3 * (size_t)p);
    pd_vector change = pd_vector_subtract(wanted, held);
    for (int j = 0; j < 4; j++) pd_two_way_move(inverse, movers, j, pd_vector_scale(weights[j], change), pushed);
}

/* c + J (goal + pushed - x) of row p. */
PD_FUNCTION real pd_two_way_residual(const pd_two_way_rows *rows, const real *pushed, int p) {
    const int *movers = rows->movers + 4 * (size_t)p;
    real residual = rows->ahead[p];
    for (int j = 0; j < 4; j++)
        if (movers[j] >= 0)
            residual += pd_vector_dot(pd_two_way_at_corner(rows->jacobian, (size_t)p, j), pd_vector_load(pushed + 3 * (size_t)movers[j]));
    return residual;
}

/* Row p of a Jacobi step. */
PD_FUNCTION void pd_two_way_update_relax(const pd_two_way_rows *edges, const pd_incidence *of_edges, const pd_two_way_rows *pairs,
                                         const pd_incidence *of_pairs, const pd_two_way_rows *rows, double penalty, const real *pushed,
                                         int p) {
    int most = 1;
    if (!(rows->inverse[p] > 0)) return;
    for (int j = 0; j < 4; j++) {
        int i = rows->movers[4 * (size_t)p + (size_t)j];
        if (i < 0) continue;
        int here =
            (edges->n ? of_edges->start[i + 1] - of_edges->start[i] : 0) + (pairs->n ? of_pairs->start[i + 1] - of_pairs->start[i] : 0);
        most = here > most ? here : most;
    }
    real after = rows->multiplier[p] - (real)penalty * pd_two_way_residual(rows, pushed, p) * rows->inverse[p] / (real)most;
    rows->multiplier[p] = after > rows->least ? after : rows->least;
}

/* Row p of a sweep. */
PD_FUNCTION void pd_two_way_update_project(const real *inverse, const pd_two_way_rows *rows, real *pushed, int p) {
    const int *movers = rows->movers + 4 * (size_t)p;
    if (!(rows->inverse[p] > 0)) return;
    real before = rows->multiplier[p], after = before - pd_two_way_residual(rows, pushed, p) * rows->inverse[p];
    after = after > rows->least ? after : rows->least;
    rows->multiplier[p] = after;
    if (after != before)
        for (int j = 0; j < 4; j++) {
            if (movers[j] < 0) continue;
            real *at = pushed + 3 * (size_t)movers[j];
            pd_vector_store(pd_vector_along(pd_vector_load(at), after - before, pd_two_way_at_corner(rows->yield, (size_t)p, j)), at);
        }
    if (rows->coefficient) pd_two_way_update_rub(inverse, rows, pushed, p);
}

/* The repulsion of row p. */
PD_FUNCTION void pd_two_way_update_repel(const real *inverse, const pd_two_way_rows *rows, double strength, double range, const real *x,
                                         real *y, int p) {
    const int *points = rows->points + 4 * (size_t)p;
    const real *weights = rows->weights + 4 * (size_t)p;
    pd_vector normal = pd_vector_load(rows->normal + 3 * (size_t)p);
    real over = (real)range - rows->value[p] * rows->length[p], parted = 0;
    if (!(over > 0 && rows->inverse[p] > 0)) return;
    for (int j = 0; j < 4; j++) {
        if (weights[j] == 0) continue;
        pd_vector move = pd_vector_subtract(pd_vector_load(y + 3 * (size_t)points[j]), pd_vector_load(x + 3 * (size_t)points[j]));
        parted += weights[j] * pd_vector_dot(normal, move);
    }
    real most = rows->share[p] * ((real)0.1 * over - parted), impulse = (real)strength * over;
    if (!(most > 0)) return;
    if (impulse > most) impulse = most;
    for (int j = 0; j < 4; j++) pd_two_way_move(inverse, points, j, pd_vector_scale(weights[j] * impulse, normal), y);
}

/* Point i of pd_two_way_descend. The absolute weights of a pair sum to two, so 2 |beta_i| B'' bounds the contribution of its corners
 * from above. The curvature of a distance only reduces it, as B' < 0. */
PD_FUNCTION void pd_two_way_update_descend(const pd_model *model, const pd_two_way_rows *pairs, const pd_incidence *of_pairs,
                                           double strength, double range, const real *x, const real *y_0, int i, real *curvature,
                                           real *goal) {
    real weight = pd_two_way_inverse_mass(model, i), k = (real)strength, more = 0;
    size_t row = 3 * (size_t)i;
    pd_vector force = pd_vector_of(0, 0, 0), at = pd_vector_load(x + row);
    for (size_t a = 2 * row; a < 2 * row + 6; a++) curvature[a] = 0;
    for (size_t a = row; a < row + 3; a++) goal[a] = y_0[a];
    if (!(weight > 0)) return;
    for (int r = pairs->n ? of_pairs->start[i] : 0; pairs->n && r < of_pairs->start[i + 1]; r++) {
        size_t role = (size_t)of_pairs->roles[r], p = role / 4;
        real v = -pairs->value[p] * pairs->length[p] / (real)range, u = (real)1 - v;
        if (!(v > 0)) continue;
        if (!(u > PD_EPSILON)) u = PD_EPSILON;
        pd_vector weighted = pd_vector_scale(pairs->length[p], pd_two_way_at_corner(pairs->jacobian, p, (int)(role % 4)));
        pd_pair_potential_slopes slopes = pd_barrier_slopes(u, v);
        force = pd_vector_along(force, -k * (real)range * slopes.first, weighted);
        more += (real)2 * k * slopes.second * pd_sqrt(pd_vector_dot(weighted, weighted));
    }
    for (size_t a = 2 * row; a < 2 * row + 3; a++) curvature[a] = more;
    pd_vector pull = pd_vector_along(force, (real)1 / weight, pd_vector_subtract(pd_vector_load(y_0 + row), at));
    if (model->subspace) {
        real held[3];
        pd_vector_store(pull, held);
        pd_vertex_project(model->subspace + 9 * (size_t)i, held);
        pull = pd_vector_load(held);
    }
    pd_vector_store(pd_vector_along(at, (real)1 / ((real)1 / weight + more), pull), goal + row);
}

#endif
