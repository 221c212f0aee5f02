/* Nearest pairs through a tree of boxes; see smallest_gap.h. */
#include "verify/smallest_gap.h"

#include "threads/team.h"
#include "verify/simplex_distance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Boxes nearer than the best pair by this relative margin (squared) are opened too. It exceeds the error of their distance. */
static const double SLACK = 1.0 + 0x1p-40;
enum { CHUNK = 64, ROUND = 4096 };

/* ---- the nearest of a set of queries ---------------------------------------------------------------------------------------- */

typedef struct nearest {
    double squared;
    int pair[2];
} nearest;

static int is_nearer(const nearest *a, const nearest *b) {
    if (a->squared != b->squared) return a->squared < b->squared;
    return a->pair[0] != b->pair[0] ? a->pair[0] < b->pair[0] : a->pair[1] < b->pair[1];
}

static double boxes_squared(const pd_host_box *a, const pd_host_box *b) {
    double sum = 0.0;
    for (int k = 0; k < 3; k++) {
        double gap = fmax(0.0, fmax(a->low[k] - b->high[k], b->low[k] - a->high[k]));
        sum += gap * gap;
    }
    return sum;
}

/* A kind of pair: rows of n_first and n_second vertices; only i < j if both are rows of the same array. */
typedef struct pair_kind {
    const double *points;
    const int *first, *second;
    int n_first, n_second, k_first, k_second, same;
} pair_kind;

static double squared_distance(const pair_kind *kind, int i, int j) {
    const int *u = kind->first + (size_t)kind->k_first * (size_t)i, *v = kind->second + (size_t)kind->k_second * (size_t)j;
    if (kind->same && i >= j) return INFINITY;
    const double *x[5];
    for (int a = 0; a < kind->k_first; a++) {
        x[a] = kind->points + 3 * (size_t)u[a];
        for (int b = 0; b < kind->k_second; b++)
            if (u[a] == v[b]) return INFINITY;
    }
    for (int b = 0; b < kind->k_second; b++) x[kind->k_first + b] = kind->points + 3 * (size_t)v[b];
    double gap[3];
    if (kind->k_first == 2) return pd_segment_segment_squared(gap, x[0], x[1], x[2], x[3]);
    return kind->k_second == 3 ? pd_point_triangle_squared(gap, x[0], x[1], x[2], x[3]) : pd_point_segment_squared(gap, x[0], x[1], x[2]);
}

static void search(nearest *best, const pair_kind *kind, int i, const pd_host_box *box, const pd_box_tree *tree, const pd_host_box *boxes) {
    int stack[64], depth = 0, first_leaf = 1 << (tree->levels - 1), n_nodes = 2 * first_leaf;
    stack[depth++] = 1;
    while (depth > 0) {
        int node = stack[--depth];
        if (boxes_squared(box, &tree->nodes[node]) > best->squared * SLACK) continue;
        if (node < first_leaf) { /* the nearer child first */
            int near = 2 * node;
            if (boxes_squared(box, &tree->nodes[near + 1]) < boxes_squared(box, &tree->nodes[near])) near++;
            stack[depth++] = near ^ 1;
            stack[depth++] = near;
            continue;
        }
        int end = node + 1 == n_nodes ? tree->n : tree->start[node + 1];
        for (int place = tree->start[node]; place < end; place++) {
            int j = tree->order[place];
            if (boxes_squared(box, &boxes[j]) > best->squared * SLACK) continue;
            nearest found = {squared_distance(kind, i, j), {i, j}};
            if (is_nearer(&found, best)) *best = found;
        }
    }
}

static pd_host_box box_of(const double *points, const int *vertices, int k) {
    pd_host_box box = pd_box_of_nothing();
    for (int i = 0; i < k; i++) pd_box_add(&box, points + 3 * (size_t)vertices[i]);
    return box;
}

/* In rounds: every query of a round starts from the best pair of the earlier rounds, so that the result does not depend on the schedule. */
static pd_status nearest_of_kind(nearest *best, const pair_kind *kind, int threads, pd_interruption *interruption, pd_error *error) {
    pd_box_tree tree = {0};
    pd_status status = PD_OK;
    pd_host_box *boxes = malloc(((size_t)kind->n_second + 1) * sizeof *boxes);
    nearest found[ROUND / CHUNK];
    if (!boxes) return pd_fail(error, PD_ERROR_MEMORY, "out of memory for %d boxes", kind->n_second);
    for (int j = 0; j < kind->n_second; j++)
        boxes[j] = box_of(kind->points, kind->second + (size_t)kind->k_second * (size_t)j, kind->k_second);
    PD_TRY(pd_box_tree_create(&tree, boxes, kind->n_second, error));
    for (int start = 0; start < kind->n_first; start += ROUND) {
        int end = kind->n_first - start < ROUND ? kind->n_first : start + ROUND, n_chunks = (end - start + CHUNK - 1) / CHUNK;
#pragma omp parallel for schedule(dynamic, 1) num_threads(pd_team(threads, end - start, 500))
        for (int chunk = 0; chunk < n_chunks; chunk++) {
            nearest mine = *best;
            int last = start + (chunk + 1) * CHUNK < end ? start + (chunk + 1) * CHUNK : end;
            for (int i = start + chunk * CHUNK; i < last && !pd_interrupted(interruption); i++) {
                pd_host_box box = box_of(kind->points, kind->first + (size_t)kind->k_first * (size_t)i, kind->k_first);
                search(&mine, kind, i, &box, &tree, boxes);
            }
            found[chunk] = mine;
        }
        for (int chunk = 0; chunk < n_chunks; chunk++)
            if (is_nearer(&found[chunk], best)) *best = found[chunk];
        PD_TRY(pd_interruption_status(interruption, error));
    }
done:
    pd_box_tree_destroy(&tree);
    free(boxes);
    return status;
}

pd_status pd_smallest_gap(pd_gap *out, const double *points, const int *vertices, int n_vertices, const pd_simplices *simplices,
                          int threads, pd_interruption *interruption, pd_error *error) {
    *out = (pd_gap){INFINITY, PD_GAP_NONE, {-1, -1}};
    pd_status status = PD_OK;
    int n_alone = 0;
    int *alone = malloc(((size_t)simplices->n_edges + 1) * sizeof *alone),
        *rows = malloc(((size_t)simplices->n_edges + 1) * 2 * sizeof *rows);
    if (!alone || !rows) {
        status = pd_fail(error, PD_ERROR_MEMORY, "out of memory for %d edges", simplices->n_edges);
        goto done;
    }
    for (int i = 0; i < simplices->n_edges; i++)
        if (simplices->alone[i]) {
            memcpy(rows + 2 * (size_t)n_alone, simplices->edges + 2 * (size_t)i, 2 * sizeof *rows);
            alone[n_alone++] = i;
        }
    pair_kind kinds[3] = {{points, vertices, simplices->triangles, n_vertices, simplices->n_triangles, 1, 3, 0},
                          {points, simplices->edges, simplices->edges, simplices->n_edges, simplices->n_edges, 2, 2, 1},
                          {points, vertices, rows, n_vertices, n_alone, 1, 2, 0}};
    nearest best = {INFINITY, {-1, -1}};
    for (int k = 0; k < 3; k++) {
        nearest found = best;
        found.pair[0] = found.pair[1] = -1; /* at equal distance the earlier kind stays */
        PD_TRY(nearest_of_kind(&found, &kinds[k], threads, interruption, error));
        if (!(found.squared < best.squared)) continue;
        best = found;
        out->kind = (pd_gap_kind)(PD_GAP_VERTEX_TRIANGLE + k);
        out->pair[0] = k == 1 ? found.pair[0] : vertices[found.pair[0]];
        out->pair[1] = k == 2 ? alone[found.pair[1]] : found.pair[1];
    }
    out->distance = sqrt(best.squared);
done:
    free(alone);
    free(rows);
    return status;
}
