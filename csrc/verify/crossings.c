/* All contacts between two frames: boxes, a floating-point filter, exact decisions for the undecided pairs; see crossings.h.
 *
 * The filter searches for a fixed direction that strictly separates the two simplices, with the same sign, at the start and at the end
 * of an interval. Then it separates them throughout, since projections are linear in time. Intervals are halved a few times.
 *
 * The error bound: D is the largest difference of coordinates and u = 2^-53. A difference has an error of u D, one at an intermediate
 * time below 8 u D after three halvings, its component along w below 12 u |w|_1 D. The bound 2^-48 |w|_1 D exceeds it, with fused
 * multiply-adds or without. */
#include "verify/crossings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double ERROR_ALONG = 0x1p-48;
static const double SMALLEST = 0x1p-300, LARGEST = 0x1p300; /* no overflow or underflow affects the bound in this range */
enum { HALVINGS = 3 };

/* ---- the filter --------------------------------------------------------------------------------------------------------------- */

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void cross(double out[3], const double a[3], const double b[3]) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static void difference(double out[3], const double a[3], const double b[3]) {
    for (int k = 0; k < 3; k++) out[k] = a[k] - b[k];
}

/* A pair of simplices: n points, the first n_first of them of one simplex, relative to one of them at each time. */
typedef struct pair {
    double d[2][4][3];
    double size;
    int n, n_first;
} pair;

static int separates(const double w[3], const pair *p) {
    double length = fabs(w[0]) + fabs(w[1]) + fabs(w[2]);
    if (!(length > SMALLEST && length < LARGEST)) return 0;
    double margin = 2.0 * ERROR_ALONG * length * p->size;
    int above = 1, below = 1;
    for (int time = 0; time < 2; time++) {
        double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
        for (int i = 0; i < p->n; i++) {
            int side = i >= p->n_first;
            double along = dot(w, p->d[time][i]);
            low[side] = fmin(low[side], along);
            high[side] = fmax(high[side], along);
        }
        above = above && low[0] - high[1] > margin;
        below = below && low[1] - high[0] > margin;
    }
    return above || below;
}

/* Tries directions for one position of the points: the common normal, and in the plane the normal of every side. */
static int separable_at(double (*x)[3], const pair *p) {
    double normal[3], side[3], to[3], w[3];
    int is_edges = p->n_first == 2, n_sides = is_edges ? 2 : p->n - 1;
    if (p->n == 4) {
        difference(side, x[is_edges ? 1 : 2], x[is_edges ? 0 : 1]);
        difference(to, x[3], x[is_edges ? 2 : 1]);
        cross(normal, side, to);
        if (separates(normal, p)) return 1;
    }
    for (int i = 0; i < n_sides; i++) {
        int from = is_edges ? 2 * i : 1 + i, other = is_edges ? 2 - 2 * i : 0;
        int end = is_edges ? from + 1 : 1 + (i + 1) % n_sides;
        difference(side, x[end], x[from]);
        difference(to, x[other], x[from]);
        if (p->n == 4) {
            cross(w, normal, side);
            if (separates(w, p)) return 1;
        }
        /* the component of `to` across the side; and the one along the side, for collinear points */
        double square = dot(side, side), share = square > 0.0 ? dot(to, side) / square : 0.0;
        for (int k = 0; k < 3; k++) w[k] = to[k] - share * side[k];
        if (separates(w, p) || separates(side, p) || separates(to, p)) return 1;
    }
    return 0;
}

static int certainly_apart(const pair *p, int halvings) {
    double middle[4][3];
    if (separable_at((double(*)[3])p->d[0], p) || separable_at((double(*)[3])p->d[1], p)) return 1;
    if (halvings == 0) return 0;
    for (int i = 0; i < p->n; i++)
        for (int k = 0; k < 3; k++) middle[i][k] = 0.5 * (p->d[0][i][k] + p->d[1][i][k]);
    pair half = *p;
    memcpy(half.d[1], middle, sizeof middle);
    if (!certainly_apart(&half, halvings - 1)) return 0;
    half = *p;
    memcpy(half.d[0], middle, sizeof middle);
    return certainly_apart(&half, halvings - 1);
}

/* x [2 n,3]: n points at time 0, then at time 1. */
static int filter_says_apart(const double *x, int n, int n_first) {
    pair p = {.n = n, .n_first = n_first, .size = 0.0};
    for (int time = 0; time < 2; time++)
        for (int i = 0; i < n; i++)
            for (int k = 0; k < 3; k++) {
                p.d[time][i][k] = x[3 * (n * time + i) + k] - x[3 * n * time + k];
                p.size = fmax(p.size, fabs(p.d[time][i][k]));
            }
    if (!(p.size > SMALLEST && p.size < LARGEST)) return 0;
    return certainly_apart(&p, HALVINGS);
}

/* ---- the pairs ------------------------------------------------------------------------------------------------------------------ */

typedef struct scene {
    const double *points[2];
    const pd_simplices *simplices;
    const int *vertices, *alone;
} scene;

static void gather(double *x, const scene *s, const int *corners, int n) {
    for (int time = 0; time < 2; time++)
        for (int i = 0; i < n; i++) memcpy(x + 3 * (n * time + i), s->points[time] + 3 * (size_t)corners[i], 3 * sizeof *x);
}

/* The corners of a pair; 0 for a pair with a common vertex. */
static int vertex_triangle_corners(const scene *s, int query, int triangle, int corners[4]) {
    corners[0] = s->vertices[query];
    memcpy(corners + 1, s->simplices->triangles + 3 * (size_t)triangle, 3 * sizeof *corners);
    return corners[0] != corners[1] && corners[0] != corners[2] && corners[0] != corners[3];
}

static int edge_edge_corners(const scene *s, int i, int j, int corners[4]) {
    memcpy(corners, s->simplices->edges + 2 * (size_t)i, 2 * sizeof *corners);
    memcpy(corners + 2, s->simplices->edges + 2 * (size_t)j, 2 * sizeof *corners);
    return corners[0] != corners[2] && corners[0] != corners[3] && corners[1] != corners[2] && corners[1] != corners[3];
}

static int vertex_edge_corners(const scene *s, int query, int alone, int corners[3]) {
    corners[0] = s->vertices[query];
    memcpy(corners + 1, s->simplices->edges + 2 * (size_t)s->alone[alone], 2 * sizeof *corners);
    return corners[0] != corners[1] && corners[0] != corners[2];
}

static int accept_vertex_triangle(const void *data, int query, int triangle) {
    int corners[4];
    double x[24];
    if (!vertex_triangle_corners(data, query, triangle, corners)) return 0;
    gather(x, data, corners, 4);
    return !filter_says_apart(x, 4, 1);
}

static int accept_edge_edge(const void *data, int query, int edge) {
    int corners[4];
    double x[24];
    if (query >= edge || !edge_edge_corners(data, query, edge, corners)) return 0;
    gather(x, data, corners, 4);
    return !filter_says_apart(x, 4, 2);
}

static int accept_vertex_edge(const void *data, int query, int alone) {
    int corners[3];
    double x[18];
    if (!vertex_edge_corners(data, query, alone, corners)) return 0;
    gather(x, data, corners, 3);
    return !filter_says_apart(x, 3, 1);
}

static pd_host_box swept_box(const scene *s, const int *vertices, int k) {
    pd_host_box box = pd_box_of_nothing();
    for (int time = 0; time < 2; time++)
        for (int i = 0; i < k; i++) pd_box_add(&box, s->points[time] + 3 * (size_t)vertices[i]);
    return box;
}

static double vertex_triangle_time(const void *data, const int pair[2]) {
    int corners[4];
    double x[24];
    (void)vertex_triangle_corners(data, pair[0], pair[1], corners);
    gather(x, data, corners, 4);
    return pd_vertex_triangle_contact(x);
}

static double edge_edge_time(const void *data, const int pair[2]) {
    int corners[4];
    double x[24];
    (void)edge_edge_corners(data, pair[0], pair[1], corners);
    gather(x, data, corners, 4);
    return pd_edge_edge_contact(x);
}

static double vertex_edge_time(const void *data, const int pair[2]) {
    int corners[4];
    double x[18];
    (void)vertex_edge_corners(data, pair[0], pair[1], corners);
    gather(x, data, corners, 3);
    return pd_vertex_edge_contact(x);
}

pd_status pd_crossings_find(pd_crossings *out, const double *points_0, const double *points_1, const int *vertices, int n_vertices,
                            const pd_simplices *simplices, int threads, pd_interruption *interruption, pd_error *error) {
    memset(out, 0, sizeof *out);
    pd_status status = PD_OK;
    int n_edges = simplices->n_edges, n_triangles = simplices->n_triangles, n_alone = 0;
    pd_host_box *vertex_boxes = malloc(((size_t)n_vertices + 1) * sizeof *vertex_boxes);
    pd_host_box *edge_boxes = malloc(((size_t)n_edges + 1) * sizeof *edge_boxes);
    pd_host_box *triangle_boxes = malloc(((size_t)n_triangles + 1) * sizeof *triangle_boxes);
    pd_host_box *alone_boxes = malloc(((size_t)n_edges + 1) * sizeof *alone_boxes);
    int *alone = malloc(((size_t)n_edges + 1) * sizeof *alone);
    if (!vertex_boxes || !edge_boxes || !triangle_boxes || !alone_boxes || !alone) {
        status = pd_fail(error, PD_ERROR_MEMORY, "out of memory for %d edges and %d triangles", n_edges, n_triangles);
        goto done;
    }
    scene s = {{points_0, points_1}, simplices, vertices, alone};
    for (int i = 0; i < n_vertices; i++) vertex_boxes[i] = swept_box(&s, vertices + i, 1);
    for (int i = 0; i < n_triangles; i++) triangle_boxes[i] = swept_box(&s, simplices->triangles + 3 * (size_t)i, 3);
    for (int i = 0; i < n_edges; i++) {
        edge_boxes[i] = swept_box(&s, simplices->edges + 2 * (size_t)i, 2);
        if (!simplices->alone[i]) continue;
        alone_boxes[n_alone] = edge_boxes[i];
        alone[n_alone++] = i;
    }
    PD_TRY(pd_host_pairs_find(&out->vertex_triangle, vertex_boxes, n_vertices, triangle_boxes, n_triangles, accept_vertex_triangle, &s,
                              threads, interruption, error));
    PD_TRY(pd_host_pairs_time(&out->vertex_triangle, &out->times[0], vertex_triangle_time, &s, threads, interruption, error));
    PD_TRY(
        pd_host_pairs_find(&out->edge_edge, edge_boxes, n_edges, edge_boxes, n_edges, accept_edge_edge, &s, threads, interruption, error));
    PD_TRY(pd_host_pairs_time(&out->edge_edge, &out->times[1], edge_edge_time, &s, threads, interruption, error));
    PD_TRY(pd_host_pairs_find(&out->vertex_edge, vertex_boxes, n_vertices, alone_boxes, n_alone, accept_vertex_edge, &s, threads,
                              interruption, error));
    PD_TRY(pd_host_pairs_time(&out->vertex_edge, &out->times[2], vertex_edge_time, &s, threads, interruption, error));
    for (size_t i = 0; i < out->vertex_triangle.n; i++) out->vertex_triangle.pairs[i][0] = vertices[out->vertex_triangle.pairs[i][0]];
    for (size_t i = 0; i < out->vertex_edge.n; i++) {
        out->vertex_edge.pairs[i][0] = vertices[out->vertex_edge.pairs[i][0]];
        out->vertex_edge.pairs[i][1] = alone[out->vertex_edge.pairs[i][1]];
    }
done:
    free(vertex_boxes);
    free(edge_boxes);
    free(triangle_boxes);
    free(alone_boxes);
    free(alone);
    if (status) pd_crossings_free(out);
    return status;
}

void pd_crossings_free(pd_crossings *crossings) {
    free(crossings->vertex_triangle.pairs);
    free(crossings->edge_edge.pairs);
    free(crossings->vertex_edge.pairs);
    for (int i = 0; i < 3; i++) free(crossings->times[i]);
    memset(crossings, 0, sizeof *crossings);
}
