/* The side of a closed surface on which a point lies, by exact parity; see surface_distance.h. */
#include "threads/team.h"
#include "verify/box_tree.h"
#include "verify/exact_predicates.h"
#include "verify/surface_distance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { QUERIES = 64 };

typedef struct column_tree {
    const pd_host_surface *surface;
    pd_host_box *boxes; /* [n_triangles] of the triangles' projections along z */
    pd_box_tree tree;
} column_tree;

static pd_status column_tree_create(column_tree *c, const pd_host_surface *surface, pd_error *error) {
    *c = (column_tree){.surface = surface};
    c->boxes = malloc((size_t)surface->n_triangles * sizeof *c->boxes);
    if (!c->boxes) return pd_fail(error, PD_ERROR_MEMORY, "out of memory for the boxes of %d triangles", surface->n_triangles);
    for (int t = 0; t < surface->n_triangles; t++) {
        c->boxes[t] = pd_box_of_nothing();
        for (int k = 0; k < 3; k++) {
            const double *x = surface->points + 3 * (size_t)surface->triangles[3 * (size_t)t + (size_t)k], seen[3] = {x[0], x[1], 0.0};
            pd_box_add(&c->boxes[t], seen);
        }
    }
    pd_status status = pd_box_tree_create(&c->tree, c->boxes, surface->n_triangles, error);
    if (status) free(c->boxes);
    return status;
}

static void column_tree_destroy(column_tree *c) {
    pd_box_tree_destroy(&c->tree);
    free(c->boxes);
}

/* The side of p + (eps, eps^2, 0) relative to the line through a and b, in the projection along z. The sign is that of the exact
 * determinant. If that is zero, it is the sign of the derivative by the first coordinate of p that changes it. 0 only if a and b
 * coincide. */
static int side_seen(const double a[3], const double b[3], const double p[3]) {
    int sign = pd_orientation_seen(a, b, p, 2);
    if (sign) return sign;
    if (a[1] != b[1]) return a[1] > b[1] ? 1 : -1;
    return (b[0] > a[0]) - (b[0] < a[0]);
}

/* 1 or -1 if the line along z through the perturbed p meets the triangle, by the orientation of its projection; otherwise 0. */
static int column_meets(const double *corner[3], const double p[3]) {
    int sign = side_seen(corner[0], corner[1], p);
    return sign && side_seen(corner[1], corner[2], p) == sign && side_seen(corner[2], corner[0], p) == sign ? sign : 0;
}

/* For nodes (x, y, z[k]) with ascending z: crossings[k] is odd if an odd number of triangles has node k, but not node k + 1, below it.
 *   crossings [n]  out */
static void column_crossings(const column_tree *c, const double x, const double y, const double *z, int n, unsigned char *crossings) {
    const pd_host_surface *surface = c->surface;
    const pd_box_tree *tree = &c->tree;
    pd_host_box here = {{x, y, 0.0}, {x, y, 0.0}};
    int stack[64], depth = 0, first_leaf = 1 << (tree->levels - 1), n_nodes = 2 * first_leaf;
    memset(crossings, 0, (size_t)n);
    stack[depth++] = 1;
    while (depth > 0) {
        int node = stack[--depth];
        if (!pd_boxes_touch(&tree->nodes[node], &here)) continue;
        if (node < first_leaf) {
            stack[depth++] = 2 * node + 1;
            stack[depth++] = 2 * node;
            continue;
        }
        int end = node + 1 == n_nodes ? tree->n : tree->start[node + 1];
        for (int place = tree->start[node]; place < end; place++) {
            int t = tree->order[place];
            if (!pd_boxes_touch(&c->boxes[t], &here)) continue;
            const double *corner[3];
            for (int k = 0; k < 3; k++) corner[k] = surface->points + 3 * (size_t)surface->triangles[3 * (size_t)t + (size_t)k];
            double p[3] = {x, y, 0.0};
            int turn = column_meets(corner, p);
            if (!turn) continue;
            int below = 0, above = n; /* nodes before `below` are below the triangle, those from `above` on are above */
            while (below < above) {
                int middle = below + (above - below) / 2;
                p[2] = z[middle];
                if (turn * pd_orientation(corner[0], corner[1], corner[2], p) < 0)
                    below = middle + 1;
                else
                    above = middle;
            }
            if (below > 0) crossings[below - 1] ^= 1;
        }
    }
}

pd_status pd_surface_inside(unsigned char *inside, const pd_host_surface *surface, const double *queries, int n, int threads,
                            pd_interruption *interruption, pd_error *error) {
    column_tree c;
    pd_status status = column_tree_create(&c, surface, error);
    if (status) return status;
#pragma omp parallel for schedule(dynamic, QUERIES) num_threads(pd_team(threads, n, 1000))
    for (int i = 0; i < n; i++) {
        const double *p = queries + 3 * (size_t)i;
        inside[i] = 0;
        if (pd_interrupted(interruption)) continue;
        column_crossings(&c, p[0], p[1], p + 2, 1, &inside[i]);
    }
    column_tree_destroy(&c);
    return pd_interruption_status(interruption, error);
}

pd_status pd_surface_grid_sign(double *values, const pd_host_surface *surface, const pd_host_grid *grid, int threads,
                               pd_interruption *interruption, pd_error *error) {
    column_tree c;
    pd_status status = PD_OK;
    size_t n_z = (size_t)grid->n[2];
    long long n_rows = (long long)grid->n[0] * grid->n[1];
    double *z = malloc(n_z * sizeof *z);
    unsigned char *crossings = malloc((size_t)threads * n_z);
    int created = 0;
    if (!z || !crossings) {
        status = pd_fail(error, PD_ERROR_MEMORY, "out of memory for a row of %d nodes", grid->n[2]);
        goto done;
    }
    PD_TRY(column_tree_create(&c, surface, error));
    created = 1;
    for (int k = 0; k < grid->n[2]; k++) z[k] = pd_host_grid_node(grid, 2, k);
#pragma omp parallel for schedule(static) num_threads(pd_team(threads, n_rows, 1000))
    for (int part = 0; part < threads; part++) { /* each part has its own buffer */
        unsigned char *mine = crossings + (size_t)part * n_z;
        for (long long row = part; row < n_rows && !pd_interrupted(interruption); row += threads) {
            double *out = values + (size_t)row * n_z;
            column_crossings(&c, pd_host_grid_node(grid, 0, (int)(row / grid->n[1])), pd_host_grid_node(grid, 1, (int)(row % grid->n[1])),
                             z, grid->n[2], mine);
            int inside = 0;
            for (int k = grid->n[2] - 1; k >= 0; k--) {
                inside ^= mine[k];
                if (inside && out[k] > 0.0) out[k] = -out[k];
            }
        }
    }
    status = pd_interruption_status(interruption, error);
done:
    if (created) column_tree_destroy(&c);
    free(z);
    free(crossings);
    return status;
}
