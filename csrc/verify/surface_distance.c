/* Nearest triangles through a tree of boxes; see surface_distance.h. */
#include "verify/surface_distance.h"

#include "geometry/distance.h"
#include "threads/team.h"
#include "verify/box_tree.h"

#include <math.h>
#include <stdlib.h>

_Static_assert(sizeof(real) == sizeof(double), "host code is double");

/* A box is opened unless it is farther than the best triangle by this relative margin (squared). It exceeds the errors of both
 * distances. */
static const double SLACK = 1.0 + 0x1p-40;
enum { QUERIES = 64 };

static double box_squared(const pd_host_box *box, const double p[3]) {
    double sum = 0.0;
    for (int k = 0; k < 3; k++) {
        double gap = fmax(0.0, fmax(box->low[k] - p[k], p[k] - box->high[k]));
        sum += gap * gap;
    }
    return sum;
}

/* A disc that contains a triangle. Far from the surface it is a much better lower bound of the distance than a box. */
typedef struct disc {
    double centre[3], normal[3], radius; /* normal: unit, or zero for a triangle almost without area: then a ball */
} disc;

static disc disc_around(const double *a, const double *b, const double *c) {
    disc d = {{0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}, 0.0};
    const double *corner[3] = {a, b, c};
    double e[3], f[3], normal[3], away[3];
    for (int k = 0; k < 3; k++) d.centre[k] = a[k] / 3.0 + b[k] / 3.0 + c[k] / 3.0, e[k] = b[k] - a[k], f[k] = c[k] - a[k];
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) away[k] = corner[i][k] - d.centre[k];
        d.radius = fmax(d.radius, (1.0 + 0x1p-40) * pd_norm3(away));
    }
    pd_cross3(e, f, normal);
    double area = pd_norm3(normal), sides = pd_norm3(e) * pd_norm3(f);
    if (area > 1e-6 * sides) /* rounding then turns the normal by less than 1e-9 */
        for (int k = 0; k < 3; k++) d.normal[k] = normal[k] / area;
    return d;
}

/* A lower bound of the squared distance from the disc: the height above its plane and the distance of the foot outside the rim. The
 * subtracted margin exceeds the effect of an error of 1e-9 in the normal. */
static double disc_squared(const disc *d, const double p[3]) {
    double away[3];
    for (int k = 0; k < 3; k++) away[k] = p[k] - d->centre[k];
    double square = pd_dot3(away, away), height = pd_dot3(away, d->normal);
    double outside = sqrt(fmax(0.0, square - height * height)) - d->radius;
    return height * height + (outside > 0.0 ? outside * outside : 0.0) - 1e-8 * square;
}

typedef struct search {
    const pd_host_surface *surface;
    disc *discs; /* [n_triangles] */
    pd_box_tree tree;
} search;

static pd_status search_create(search *s, const pd_host_surface *surface, pd_error *error) {
    *s = (search){.surface = surface};
    size_t n = (size_t)surface->n_triangles;
    pd_host_box *boxes = malloc(n * sizeof *boxes);
    s->discs = malloc(n * sizeof *s->discs);
    pd_status status = PD_OK;
    if (!boxes || !s->discs) {
        status = pd_fail(error, PD_ERROR_MEMORY, "out of memory for %d triangles", surface->n_triangles);
        goto done;
    }
    for (size_t t = 0; t < n; t++) {
        const double *corner[3];
        boxes[t] = pd_box_of_nothing();
        for (int c = 0; c < 3; c++) {
            corner[c] = surface->points + 3 * (size_t)surface->triangles[3 * t + (size_t)c];
            pd_box_add(&boxes[t], corner[c]);
        }
        s->discs[t] = disc_around(corner[0], corner[1], corner[2]);
    }
    PD_TRY(pd_box_tree_create(&s->tree, boxes, surface->n_triangles, error));
done:
    free(boxes);
    if (status) free(s->discs);
    return status;
}

static void search_destroy(search *s) {
    pd_box_tree_destroy(&s->tree);
    free(s->discs);
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

/* The distance of p. `nearest`: in a triangle to start with, the nearer the better; out the nearest one, with the smallest index at
 * equal distance. Pruned boxes are farther, so neither the start nor the order changes the result. */
static double nearest_distance(const search *s, const double p[3], int *nearest) {
    const pd_box_tree *tree = &s->tree;
    int stack[64], depth = 0, first_leaf = 1 << (tree->levels - 1), n_nodes = 2 * first_leaf;
    double best = triangle_distance(s->surface, *nearest, p), most = best * best * SLACK;
    stack[depth++] = 1;
    while (depth > 0) {
        int node = stack[--depth];
        if (box_squared(&tree->nodes[node], p) > most) continue;
        if (node < first_leaf) { /* the nearer child first */
            int near = 2 * node;
            if (box_squared(&tree->nodes[near + 1], p) < box_squared(&tree->nodes[near], p)) near++;
            stack[depth++] = near ^ 1;
            stack[depth++] = near;
            continue;
        }
        int end = node + 1 == n_nodes ? tree->n : tree->start[node + 1];
        for (int place = tree->start[node]; place < end; place++) {
            int t = tree->order[place];
            if (t == *nearest || disc_squared(&s->discs[t], p) > most) continue;
            double distance = triangle_distance(s->surface, t, p);
            if (distance < best || (distance == best && t < *nearest)) {
                best = distance;
                most = best * best * SLACK;
                *nearest = t;
            }
        }
    }
    return best;
}

pd_status pd_surface_nearest(int *nearest, const pd_host_surface *surface, const double *queries, int n, int threads,
                             pd_interruption *interruption, pd_error *error) {
    search s;
    pd_status status = search_create(&s, surface, error);
    if (status) return status;
#pragma omp parallel for schedule(dynamic, QUERIES) num_threads(pd_team(threads, n, 1000))
    for (int i = 0; i < n; i++) {
        nearest[i] = 0;
        if (pd_interrupted(interruption)) continue;
        (void)nearest_distance(&s, queries + 3 * (size_t)i, &nearest[i]);
    }
    search_destroy(&s);
    return pd_interruption_status(interruption, error);
}

pd_status pd_surface_grid_distance(double *values, const pd_host_surface *surface, const pd_host_grid *grid, int threads,
                                   pd_interruption *interruption, pd_error *error) {
    search s;
    pd_status status = search_create(&s, surface, error);
    if (status) return status;
    long long n_rows = (long long)grid->n[0] * grid->n[1];
#pragma omp parallel for schedule(dynamic, 4) num_threads(pd_team(threads, n_rows * grid->n[2], 500))
    for (long long row = 0; row < n_rows; row++) {
        double p[3] = {pd_host_grid_node(grid, 0, (int)(row / grid->n[1])), pd_host_grid_node(grid, 1, (int)(row % grid->n[1])), 0.0};
        double *out = values + (size_t)row * (size_t)grid->n[2];
        int nearest = 0; /* that of the previous node is a good start */
        for (int k = 0; k < grid->n[2] && !pd_interrupted(interruption); k++) {
            p[2] = pd_host_grid_node(grid, 2, k);
            out[k] = nearest_distance(&s, p, &nearest);
        }
    }
    search_destroy(&s);
    return pd_interruption_status(interruption, error);
}
