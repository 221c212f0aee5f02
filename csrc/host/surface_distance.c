/* Nearest triangles through a tree of boxes; see surface_distance.h. */
#include "host/surface_distance.h"

#include "geometry/distance.h"
#include "host/box_tree.h"

#include <math.h>
#include <stdlib.h>

_Static_assert(sizeof(real) == sizeof(double), "host code is double");

/* A box is opened unless it is this much (relative) farther than the best triangle: more than either distance can be off. */
static const double SLACK = 1.0 + 0x1p-40;
enum { QUERIES = 64 };

static double box_distance(const pd_host_box *box, const double p[3]) {
    double sum = 0.0;
    for (int k = 0; k < 3; k++) {
        double gap = fmax(0.0, fmax(box->low[k] - p[k], p[k] - box->high[k]));
        sum += gap * gap;
    }
    return sqrt(sum);
}

typedef struct search {
    const pd_host_surface *surface;
    pd_host_box *boxes; /* [n_triangles] */
    pd_box_tree tree;
} search;

static pd_status search_create(search *s, const pd_host_surface *surface, pd_error *error) {
    *s = (search){.surface = surface};
    s->boxes = malloc((size_t)surface->n_triangles * sizeof *s->boxes);
    if (!s->boxes) return pd_fail(error, PD_ERROR_MEMORY, "out of memory for the boxes of %d triangles", surface->n_triangles);
    for (int t = 0; t < surface->n_triangles; t++) {
        s->boxes[t] = pd_box_of_nothing();
        for (int c = 0; c < 3; c++) pd_box_add(&s->boxes[t], surface->points + 3 * (size_t)surface->triangles[3 * (size_t)t + (size_t)c]);
    }
    pd_status status = pd_box_tree_create(&s->tree, s->boxes, surface->n_triangles, error);
    if (status) free(s->boxes);
    return status;
}

static void search_destroy(search *s) {
    pd_box_tree_destroy(&s->tree);
    free(s->boxes);
}

static double triangle_distance(const pd_host_surface *surface, int t, const double p[3]) {
    double x[12];
    pd_closest closest;
    for (int i = 0; i < 3; i++) x[i] = p[i];
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < 3; i++)
            x[3 + 3 * c + i] = surface->points[3 * (size_t)surface->triangles[3 * (size_t)t + (size_t)c] + (size_t)i];
    pd_pair_closest(PD_VERTEX_TRIANGLE, x, &closest);
    return closest.distance;
}

/* The distance of p, which must not be above `most`; *nearest is the triangle. What is pruned is farther than the result, so neither bound
 * nor order changes it. */
static double nearest_distance(const search *s, const double p[3], double most, int *nearest) {
    const pd_box_tree *tree = &s->tree;
    int stack[64], depth = 0, first_leaf = 1 << (tree->levels - 1), n_nodes = 2 * first_leaf;
    double best = INFINITY;
    *nearest = -1;
    stack[depth++] = 1;
    while (depth > 0) {
        int node = stack[--depth];
        if (box_distance(&tree->nodes[node], p) > fmin(best, most) * SLACK) continue;
        if (node < first_leaf) { /* the nearer child first */
            int near = 2 * node;
            if (box_distance(&tree->nodes[near + 1], p) < box_distance(&tree->nodes[near], p)) near++;
            stack[depth++] = near ^ 1;
            stack[depth++] = near;
            continue;
        }
        int end = node + 1 == n_nodes ? tree->n : tree->start[node + 1];
        for (int place = tree->start[node]; place < end; place++) {
            int t = tree->order[place];
            if (box_distance(&s->boxes[t], p) > fmin(best, most) * SLACK) continue;
            double distance = triangle_distance(s->surface, t, p);
            if (distance < best || (distance == best && t < *nearest)) best = distance, *nearest = t;
        }
    }
    return best;
}

pd_status pd_surface_nearest(int *nearest, const pd_host_surface *surface, const double *queries, int n, int threads, pd_error *error) {
    search s;
    pd_status status = search_create(&s, surface, error);
    if (status) return status;
#pragma omp parallel for schedule(dynamic, QUERIES) num_threads(threads) if (n > QUERIES)
    for (int i = 0; i < n; i++) (void)nearest_distance(&s, queries + 3 * (size_t)i, INFINITY, &nearest[i]);
    search_destroy(&s);
    return PD_OK;
}

pd_status pd_surface_grid_distance(double *values, const pd_host_surface *surface, const pd_host_grid *grid, int threads, pd_error *error) {
    search s;
    pd_status status = search_create(&s, surface, error);
    if (status) return status;
    long long n_rows = (long long)grid->n[0] * grid->n[1];
#pragma omp parallel for schedule(dynamic, 4) num_threads(threads)
    for (long long row = 0; row < n_rows; row++) {
        double p[3] = {pd_host_grid_node(grid, 0, (int)(row / grid->n[1])), pd_host_grid_node(grid, 1, (int)(row % grid->n[1])), 0.0};
        double most = INFINITY, *out = values + (size_t)row * (size_t)grid->n[2];
        int nearest;
        for (int k = 0; k < grid->n[2]; k++) {
            p[2] = pd_host_grid_node(grid, 2, k);
            out[k] = nearest_distance(&s, p, most, &nearest);
            /* the next node of the row is so much farther at most, with room for what is rounded */
            most = out[k] + 1.0001 * (pd_host_grid_node(grid, 2, k + 1) - p[2]);
        }
    }
    search_destroy(&s);
    return PD_OK;
}
