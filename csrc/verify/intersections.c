/* Intersections of one frame with exact predicates; see intersections.h. */
#include "verify/intersections.h"

#include "threads/team.h"
#include "verify/exact_predicates.h"

#include <stdlib.h>
#include <string.h>

/* ---- pairs of boxes ---------------------------------------------------------------------------------------------------------- */

static int compare_pairs(const void *left, const void *right) {
    const int *a = left, *b = right;
    if (a[0] != b[0]) return a[0] < b[0] ? -1 : 1;
    return (a[1] > b[1]) - (a[1] < b[1]);
}

pd_status pd_host_pairs_find(pd_pair_list *out, const pd_host_box *queries, int n_queries, const pd_host_box *boxes, int n_boxes,
                             int (*accept)(const void *data, int query, int box), const void *data, int threads,
                             pd_interruption *interruption, pd_error *error) {
    enum { CHUNK = 256 };
    int n_chunks = n_queries / CHUNK + 1, failed = 0;
    pd_box_tree tree;
    pd_status status = pd_box_tree_create(&tree, boxes, n_boxes, error);
    if (status) return status;
    pd_pair_list *found = calloc((size_t)n_chunks, sizeof *found);
    if (!found) failed = 1;

#pragma omp parallel for schedule(dynamic, 1) num_threads(pd_team(threads, n_queries, 500))
    for (int chunk = 0; chunk < (found ? n_chunks : 0); chunk++) {
        pd_pair_list near = {NULL, 0, 0};
        int last = (chunk + 1) * CHUNK < n_queries ? (chunk + 1) * CHUNK : n_queries, enough = 1;
        for (int i = chunk * CHUNK; i < last && enough && !pd_interrupted(interruption); i++) {
            near.n = 0;
            enough = pd_box_tree_query(&tree, boxes, &queries[i], i, &near);
            size_t first = found[chunk].n;
            for (size_t k = 0; k < near.n && enough && !pd_interrupted(interruption); k++)
                if (accept(data, i, near.pairs[k][1])) enough = pd_pair_list_add(&found[chunk], i, near.pairs[k][1]);
            if (found[chunk].n > first + 1)
                qsort(found[chunk].pairs + first, found[chunk].n - first, sizeof *found[chunk].pairs, compare_pairs);
        }
        free(near.pairs);
        if (!enough) {
#pragma omp atomic write
            failed = 1;
        }
    }

    for (int chunk = 0; found && chunk < n_chunks; chunk++) {
        for (size_t k = 0; k < found[chunk].n && !failed; k++)
            failed = !pd_pair_list_add(out, found[chunk].pairs[k][0], found[chunk].pairs[k][1]);
        free(found[chunk].pairs);
    }
    free(found);
    pd_box_tree_destroy(&tree);
    if (failed) return pd_fail(error, PD_ERROR_MEMORY, "out of memory for the pairs of %d and %d boxes", n_queries, n_boxes);
    return pd_interruption_status(interruption, error);
}

pd_status pd_host_pairs_time(pd_pair_list *list, double **times, double (*time_of)(const void *data, const int pair[2]), const void *data,
                             int threads, pd_interruption *interruption, pd_error *error) {
    *times = malloc((list->n + 1) * sizeof **times);
    if (!*times) return pd_fail(error, PD_ERROR_MEMORY, "out of memory for %zu contacts", list->n);
#pragma omp parallel for schedule(dynamic, 16) num_threads(pd_team(threads, (long long)list->n, 5000))
    for (size_t i = 0; i < list->n; i++) (*times)[i] = pd_interrupted(interruption) ? -1.0 : time_of(data, list->pairs[i]);
    size_t kept = 0;
    for (size_t i = 0; i < list->n; i++) {
        if ((*times)[i] < 0.0) continue;
        (*times)[kept] = (*times)[i];
        memcpy(list->pairs[kept++], list->pairs[i], sizeof list->pairs[i]);
    }
    list->n = kept;
    return pd_interruption_status(interruption, error);
}

/* ---- points and segments --------------------------------------------------------------------------------------------------- */

static int same_point(const double p[3], const double q[3]) { return p[0] == q[0] && p[1] == q[1] && p[2] == q[2]; }

static int collinear(const double a[3], const double b[3], const double c[3]) {
    for (int axis = 0; axis < 3; axis++)
        if (pd_orientation_seen(a, b, c, axis)) return 0;
    return 1;
}

/* Tells whether p, on the line of a and b, is between them. Exact, since coordinates are monotone along a line. */
static int between(const double p[3], const double a[3], const double b[3]) {
    for (int k = 0; k < 3; k++) {
        double low = a[k] < b[k] ? a[k] : b[k], high = a[k] < b[k] ? b[k] : a[k];
        if (p[k] < low || p[k] > high) return 0;
    }
    return 1;
}

static int point_on_segment(const double p[3], const double a[3], const double b[3]) { return between(p, a, b) && collinear(a, b, p); }

/* Tells whether the projections of segments pq and ab along an axis meet: the classical test with orientations. The points lie in a
 * common plane that is not parallel to the axis. */
static int segments_meet_seen(const double p[3], const double q[3], const double a[3], const double b[3], int axis) {
    int pa = pd_orientation_seen(p, q, a, axis), pb = pd_orientation_seen(p, q, b, axis);
    if (pa * pb > 0) return 0;
    int ap = pd_orientation_seen(a, b, p, axis), aq = pd_orientation_seen(a, b, q, axis);
    if (ap * aq > 0) return 0;
    if (pa == 0 && pb == 0 && ap == 0 && aq == 0) /* collinear, or one segment is a point on the line of the other */
        return between(p, a, b) || between(q, a, b) || between(a, p, q) || between(b, p, q);
    return 1;
}

/* An axis that is not parallel to the plane of directions b - a and d - c. -1 if they are parallel. */
static int axis_of_directions(const double a[3], const double b[3], const double c[3], const double d[3]);

static int segments_meet(const double p[3], const double q[3], const double a[3], const double b[3]) {
    if (pd_orientation(p, q, a, b)) return 0;
    int axis = axis_of_directions(p, q, a, b);
    if (axis >= 0) return segments_meet_seen(p, q, a, b, axis);
    return point_on_segment(p, a, b) || point_on_segment(q, a, b) || point_on_segment(a, p, q) || point_on_segment(b, p, q);
}

/* The same for four points of a common plane, or pq parallel to ab. If a triangle of three of them has an area in the projection along
 * an axis, the plane is not parallel to it. Otherwise all are collinear, or two coincide: then the tests of ends suffice. */
static int axis_of_directions(const double a[3], const double b[3], const double c[3], const double d[3]) {
    for (int axis = 0; axis < 3; axis++)
        if (pd_orientation_seen(a, b, c, axis) || pd_orientation_seen(a, b, d, axis) || pd_orientation_seen(c, d, a, axis) ||
            pd_orientation_seen(c, d, b, axis))
            return axis;
    return -1;
}

/* ---- an edge and a triangle ------------------------------------------------------------------------------------------------- */

/* Tells whether projections onto coordinate planes separate segment and triangle: along each axis, the line of the segment or of a side
 * has them certainly on different sides. Avoids exact tests of flat bodies, whose determinants are all zero. */
static int certainly_apart(const double p[3], const double q[3], const double *const corner[3]) {
    for (int axis = 0; axis < 3; axis++) {
        int signs[3] = {pd_orientation_seen_if_certain(p, q, corner[0], axis), pd_orientation_seen_if_certain(p, q, corner[1], axis),
                        pd_orientation_seen_if_certain(p, q, corner[2], axis)};
        if (signs[0] && signs[0] == signs[1] && signs[0] == signs[2]) return 1;
        int turn = pd_orientation_seen_if_certain(corner[0], corner[1], corner[2], axis);
        if (!turn) continue;
        for (int i = 0; i < 3; i++) {
            const double *a = corner[i], *b = corner[(i + 1) % 3];
            if (pd_orientation_seen_if_certain(a, b, p, axis) == -turn && pd_orientation_seen_if_certain(a, b, q, axis) == -turn) return 1;
        }
    }
    return 0;
}

static int axis_of_triangle(const double a[3], const double b[3], const double c[3], int *turn) {
    for (int axis = 0; axis < 3; axis++)
        if ((*turn = pd_orientation_seen(a, b, c, axis))) return axis;
    return -1;
}

static int point_in_triangle_seen(const double p[3], const double *const corner[3], int axis, int turn) {
    for (int i = 0; i < 3; i++)
        if (pd_orientation_seen(corner[i], corner[(i + 1) % 3], p, axis) == -turn) return 0;
    return 1;
}

/* For a segment and a triangle without a common vertex. */
static int segment_meets_triangle(const double p[3], const double q[3], const double *const corner[3]) {
    const double *a = corner[0], *b = corner[1], *c = corner[2];
    if (certainly_apart(p, q, corner)) return 0;
    int above = pd_orientation(a, b, c, p), below = pd_orientation(a, b, c, q);
    if (above * below > 0) return 0;
    if (above || below) { /* through the plane: the line has all three sides on the same side, or meets them */
        int ab = pd_orientation(p, q, a, b), bc = pd_orientation(p, q, b, c), ca = pd_orientation(p, q, c, a);
        return (ab >= 0 && bc >= 0 && ca >= 0) || (ab <= 0 && bc <= 0 && ca <= 0);
    }
    int turn, axis = axis_of_triangle(a, b, c, &turn);
    if (axis < 0) return segments_meet(p, q, a, b) || segments_meet(p, q, b, c) || segments_meet(p, q, c, a);
    return point_in_triangle_seen(p, corner, axis, turn) || point_in_triangle_seen(q, corner, axis, turn) ||
           segments_meet_seen(p, q, a, b, axis) || segments_meet_seen(p, q, b, c, axis) || segments_meet_seen(p, q, c, a, axis);
}

/* Tells whether segments vq and vb share more than v. */
static int segments_overlap(const double v[3], const double q[3], const double b[3]) {
    int k = 0;
    while (k < 3 && q[k] == v[k]) k++;
    if (k == 3 || same_point(v, b)) return 0; /* one of them is the point v */
    if (b[k] == v[k] || (b[k] > v[k]) != (q[k] > v[k])) return 0;
    return collinear(v, q, b);
}

/* Tells whether segment vq and triangle vbc share more than v. */
static int segment_meets_triangle_beyond(const double v[3], const double q[3], const double b[3], const double c[3]) {
    if (same_point(v, q)) return 0;
    for (int axis = 0; axis < 3; axis++) { /* in the projection along an axis, q is certainly outside the angle at v */
        int turn = pd_orientation_seen_if_certain(v, b, c, axis);
        if (turn && (pd_orientation_seen_if_certain(v, b, q, axis) == -turn || pd_orientation_seen_if_certain(v, q, c, axis) == -turn))
            return 0;
    }
    if (pd_orientation(v, b, c, q)) return 0;
    int turn, axis = axis_of_triangle(v, b, c, &turn);
    if (axis < 0) return segments_overlap(v, q, b) || segments_overlap(v, q, c);
    return pd_orientation_seen(v, b, q, axis) != -turn && pd_orientation_seen(v, q, c, axis) != -turn;
}

/* ---- the two kinds of pairs ------------------------------------------------------------------------------------------------- */

typedef struct scene {
    const double *points;
    const pd_simplices *simplices;
    const int *alone; /* the edges without a triangle */
} scene;

static const double *point(const scene *scene, int vertex) { return scene->points + 3 * (size_t)vertex; }

static int edge_meets_triangle(const void *data, int edge_index, int triangle_index) {
    const scene *s = data;
    const int *edge = s->simplices->edges + 2 * (size_t)edge_index, *triangle = s->simplices->triangles + 3 * (size_t)triangle_index;
    int shared = 0, at_edge = 0, at_triangle = 0;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            if (edge[i] == triangle[j]) shared++, at_edge = i, at_triangle = j;
    if (shared > 1) return 0; /* a side of the triangle, or a particle at its corner */
    const double *corner[3] = {point(s, triangle[0]), point(s, triangle[1]), point(s, triangle[2])};
    if (!shared) return segment_meets_triangle(point(s, edge[0]), point(s, edge[1]), corner);
    return segment_meets_triangle_beyond(corner[at_triangle], point(s, edge[1 - at_edge]), corner[(at_triangle + 1) % 3],
                                         corner[(at_triangle + 2) % 3]);
}

static int edge_meets_edge(const void *data, int query, int box) {
    if (query >= box) return 0;
    const scene *s = data;
    const int *e = s->simplices->edges + 2 * (size_t)s->alone[query], *f = s->simplices->edges + 2 * (size_t)s->alone[box];
    int shared = 0, i = 0, j = 0;
    for (int k = 0; k < 4; k++)
        if (e[k >> 1] == f[k & 1]) shared++, i = k >> 1, j = k & 1;
    if (shared > 1) return 0;
    if (shared) return segments_overlap(point(s, e[i]), point(s, e[1 - i]), point(s, f[1 - j]));
    return segments_meet(point(s, e[0]), point(s, e[1]), point(s, f[0]), point(s, f[1]));
}

static pd_host_box box_of(const double *points, const int *vertices, int k) {
    pd_host_box box = pd_box_of_nothing();
    for (int i = 0; i < k; i++) pd_box_add(&box, points + 3 * (size_t)vertices[i]);
    return box;
}

pd_status pd_intersections_find(pd_intersections *out, const double *points, const pd_simplices *simplices, int threads,
                                pd_interruption *interruption, pd_error *error) {
    memset(out, 0, sizeof *out);
    pd_status status = PD_OK;
    int n_edges = simplices->n_edges, n_triangles = simplices->n_triangles, n_alone = 0;
    pd_host_box *edge_boxes = malloc(((size_t)n_edges + 1) * sizeof *edge_boxes);
    pd_host_box *triangle_boxes = malloc(((size_t)n_triangles + 1) * sizeof *triangle_boxes);
    pd_host_box *alone_boxes = malloc(((size_t)n_edges + 1) * sizeof *alone_boxes);
    int *alone = malloc(((size_t)n_edges + 1) * sizeof *alone);
    out->flat_triangles = malloc(((size_t)n_triangles + 1) * sizeof *out->flat_triangles);
    if (!edge_boxes || !triangle_boxes || !alone_boxes || !alone || !out->flat_triangles) {
        status = pd_fail(error, PD_ERROR_MEMORY, "out of memory for %d edges and %d triangles", n_edges, n_triangles);
        goto done;
    }
    for (int i = 0; i < n_edges; i++) {
        edge_boxes[i] = box_of(points, simplices->edges + 2 * (size_t)i, 2);
        if (!simplices->alone[i]) continue;
        alone_boxes[n_alone] = edge_boxes[i];
        alone[n_alone++] = i;
    }
    for (int i = 0; i < n_triangles; i++) {
        const int *triangle = simplices->triangles + 3 * (size_t)i;
        triangle_boxes[i] = box_of(points, triangle, 3);
        const double *a = points + 3 * (size_t)triangle[0], *b = points + 3 * (size_t)triangle[1], *c = points + 3 * (size_t)triangle[2];
        if (pd_interrupted(interruption)) break;
        if (collinear(a, b, c)) out->flat_triangles[out->n_flat_triangles++] = i;
    }
    scene s = {points, simplices, alone};
    PD_TRY(pd_host_pairs_find(&out->edge_triangle, edge_boxes, n_edges, triangle_boxes, n_triangles, edge_meets_triangle, &s, threads,
                              interruption, error));
    PD_TRY(
        pd_host_pairs_find(&out->edge_edge, alone_boxes, n_alone, alone_boxes, n_alone, edge_meets_edge, &s, threads, interruption, error));
    for (size_t i = 0; i < out->edge_edge.n; i++)
        for (int k = 0; k < 2; k++) out->edge_edge.pairs[i][k] = alone[out->edge_edge.pairs[i][k]];
done:
    free(edge_boxes);
    free(triangle_boxes);
    free(alone_boxes);
    free(alone);
    if (status) pd_intersections_free(out);
    return status;
}

void pd_intersections_free(pd_intersections *intersections) {
    free(intersections->edge_triangle.pairs);
    free(intersections->edge_edge.pairs);
    free(intersections->flat_triangles);
    memset(intersections, 0, sizeof *intersections);
}
