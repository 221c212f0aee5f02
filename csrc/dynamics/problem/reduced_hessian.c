/* The Hessian of the incremental potential in the six numbers of each rigid body; see reduced_hessian.h.
 *
 * The rows of a body have no blocks: elements and pairs add directly to the two rows of its six numbers. So the pattern has a block per
 * pair of bodies, and not per pair of their corners, and is constant while corners change. */
#include "dynamics/problem/reduced_hessian.h"

#include "base/pose.h"
#include "contact/potential/contact.h"
#include "dynamics/problem/block_hessian.h"
#include "dynamics/rigid/rigid.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void pd_reduced_hessian_destroy(pd_reduced_hessian *self) {
    pd_csr_destroy(&self->elements);
    free(self->vertex_blocks);
    pd_assembled_hessian_destroy(&self->assembled);
}

/* The rows of a vertex: itself, or translation and rotation of its body. */
static int nodes_of(const pd_rigid *self, int i, int nodes[2]) {
    if (self->body_of[i] < 0) return nodes[0] = i, 1;
    const pd_rigid_rows *rows = &self->bodies[self->body_of[i]].rows;
    nodes[0] = rows->first + rows->n - PD_RIGID_CARRIERS;
    nodes[1] = nodes[0] + 1;
    return 2;
}

/* Tells whether a row belongs to a fixed body. */
static int is_pin(const pd_problem *problem, int i) { return problem->rigid->body_of[i] >= 0 && problem->fixed[i]; }

/* ---- the pattern --------------------------------------------------------------------------------------------------------------------- */

/* Keys of all blocks of elements, row << 32 | column, with repetitions; returns their number. They include the diagonal of every row,
 * and both rows of each body. */
static size_t list_keys(const pd_rigid *self, const pd_csr *of_vertices, uint64_t *keys) {
    size_t n = 0;
    for (int i = 0; i < of_vertices->n; i++) {
        int rows[2], columns[2], n_rows = nodes_of(self, i, rows);
        if (keys) keys[n] = (uint64_t)i << 32 | (uint64_t)i;
        n++;
        for (int s = of_vertices->row_start[i]; s < of_vertices->row_start[i + 1]; s++) {
            int n_columns = nodes_of(self, of_vertices->columns[s], columns);
            for (int a = 0; a < n_rows; a++)
                for (int b = 0; b < n_columns; b++, n++)
                    if (keys) keys[n] = (uint64_t)rows[a] << 32 | (uint64_t)columns[b];
        }
    }
    return n;
}

/* The pattern of the elements. */
static pd_status make_elements(const pd_problem *problem) {
    pd_reduced_hessian *self = problem->reduced;
    const pd_csr *of_vertices = &problem->hessian->pattern;
    if (self->elements.row_start) return PD_OK;
    size_t count = list_keys(problem->rigid, of_vertices, NULL);
    uint64_t *keys = malloc((count + 1) * sizeof *keys);
    pd_csr pattern = {of_vertices->n, calloc((size_t)of_vertices->n + 2, sizeof(int)), malloc((count + 1) * sizeof(int)), NULL};
    self->vertex_blocks = malloc((9 * (size_t)of_vertices->row_start[of_vertices->n] + 1) * sizeof *self->vertex_blocks);
    if (!keys || !pattern.row_start || !pattern.columns || !self->vertex_blocks || count > INT_MAX / 9) {
        free(keys);
        pd_csr_destroy(&pattern);
        return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for the Hessian of %d rigid bodies", problem->rigid->n);
    }
    list_keys(problem->rigid, of_vertices, keys);
    count = pd_keys_sort_once(keys, count);
    for (size_t k = 0; k < count; k++) {
        pattern.columns[k] = (int)(keys[k] & 0xffffffffu);
        pattern.row_start[(keys[k] >> 32) + 1]++;
    }
    for (int i = 0; i < pattern.n; i++) pattern.row_start[i + 1] += pattern.row_start[i];
    free(keys);
    self->elements = pattern;
    return PD_OK;
}

/* The rows that move pairs. */
typedef struct body_rows {
    const pd_problem *problem;
    const pd_contact_rows *carried;
} body_rows;

static int list_rows(const void *owner, int pair, int *rows) {
    const body_rows *of = owner;
    const pd_rigid *self = of->problem->rigid;
    pd_movers movers;
    int n = 0;
    pd_assembled_find_movers(of->problem->assembled, of->carried, pair, &movers);
    for (int v = 0; v < movers.n; v++) {
        int nodes[2], n_nodes = nodes_of(self, movers.vertices[v], nodes), k = 0;
        while (k < n && rows[k] != nodes[0]) k++;
        for (int a = 0; a < n_nodes && k == n; a++) rows[n + a] = nodes[a];
        n += k == n ? n_nodes : 0;
    }
    return n;
}

const pd_assembled_hessian *pd_problem_reduced(const pd_problem *problem) {
    return problem->rigid ? &problem->reduced->assembled : problem->assembled;
}

pd_status pd_problem_need_reduced(const pd_problem *problem) {
    const pd_pair_rows none = {NULL, NULL};
    if (!problem->rigid) return pd_problem_create_assembled(problem);
    pd_status status = make_elements(problem);
    return status ? status : pd_assembled_cover(&problem->reduced->assembled, &problem->reduced->elements, &none, 0, 0, problem->error);
}

/* ---- the blocks ---------------------------------------------------------------------------------------------------------------------- */

/* C += A B^T. */
static void add_transposed(const double A[9], const double B[9], double C[9]) {
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) C[3 * r + c] += A[3 * r] * B[3 * c] + A[3 * r + 1] * B[3 * c + 1] + A[3 * r + 2] * B[3 * c + 2];
}

static real *block_at(const pd_problem *problem, int i, int j) {
    const pd_assembled_hessian *assembled = &problem->reduced->assembled;
    return assembled->blocks + 9 * (size_t)pd_csr_slot(&assembled->pattern, i, j);
}

/* blocks += T_a B T_b^T of every block (i,j) of the elements, a and b the nodes of rows i and j: 0 translation or a vertex itself,
 * 1 rotation. */
static void add_elements(const pd_problem *problem) {
    const pd_rigid *self = problem->rigid;
    const pd_csr *pattern = &problem->hessian->pattern;
    for (int i = 0; i < pattern->n; i++) {
        int rows[2], columns[2], n_rows = nodes_of(self, i, rows);
        for (int s = pattern->row_start[i]; s < pattern->row_start[i + 1]; s++) {
            int j = pattern->columns[s], n_columns = nodes_of(self, j, columns);
            if (is_pin(problem, i) || is_pin(problem, j)) continue;
            double B[2][9];
            for (int c = 0; c < 9; c++) B[0][c] = (double)problem->reduced->vertex_blocks[9 * (size_t)s + (size_t)c];
            if (n_rows > 1) pd_pose_multiply(self->host_turns + 9 * (size_t)i, B[0], B[1]);
            for (int a = 0; a < n_rows; a++)
                for (int b = 0; b < n_columns; b++) {
                    real *block = block_at(problem, rows[a], columns[b]);
                    double C[9] = {0.0};
                    if (b) add_transposed(B[a], self->host_turns + 9 * (size_t)j, C);
                    for (int c = 0; c < 9; c++) block[c] += (real)(b ? C[c] : B[a][c]);
                }
        }
    }
}

/* The displacement of a pair's corners by rows: corner c by the sum over its rows of maps[c]^T z. */
typedef struct pair_map {
    int n, nodes[PD_MOST_ROWS];
    unsigned char moves[PD_MOST_ROWS][4]; /* 0: none; 1: maps = share times the identity; 2: any */
    double shares[PD_MOST_ROWS][4], maps[PD_MOST_ROWS][4][9];
} pair_map;

static void map_mover(const pd_rigid *self, const pd_movers *movers, int v, pair_map *map) {
    int nodes[2], vertex = movers->vertices[v], n_nodes = nodes_of(self, vertex, nodes), k = 0;
    while (k < map->n && map->nodes[k] != nodes[0]) k++;
    for (int a = 0; a < n_nodes && k == map->n; a++) {
        map->nodes[k + a] = nodes[a];
        memset(map->moves[k + a], 0, sizeof map->moves[k + a]);
        memset(map->shares[k + a], 0, sizeof map->shares[k + a]);
        if (a) memset(map->maps[k + a], 0, sizeof map->maps[k + a]);
    }
    map->n += k == map->n ? n_nodes : 0;
    for (int corner = 0; corner < 4; corner++) {
        double share = movers->shares[v][corner];
        if (share == 0.0) continue;
        map->moves[k][corner] = 1;
        map->shares[k][corner] += share;
        if (n_nodes == 1) continue;
        const double *T = self->host_turns + 9 * (size_t)vertex;
        map->moves[k + 1][corner] = 2;
        for (int c = 0; c < 9; c++) map->maps[k + 1][corner][c] += share * T[c];
    }
}

/* out [3,12] = the rows of a pair's Hessian H [12,12] mapped by row k. */
static void rows_seen(const pair_map *map, int k, const double *H, double out[36]) {
    for (int i = 0; i < 36; i++) out[i] = 0.0;
    for (int corner = 0; corner < 4; corner++) {
        const double *from = H + 36 * corner, *T = map->maps[k][corner];
        if (map->moves[k][corner] == 1)
            for (int i = 0; i < 36; i++) out[i] += map->shares[k][corner] * from[i];
        if (map->moves[k][corner] == 2)
            for (int r = 0; r < 3; r++)
                for (int i = 0; i < 12; i++)
                    out[12 * r + i] += T[3 * r] * from[i] + T[3 * r + 1] * from[12 + i] + T[3 * r + 2] * from[24 + i];
    }
}

/* C [3,3] = the same for its columns by row l. */
static void columns_seen(const pair_map *map, int l, const double rows[36], double C[9]) {
    for (int c = 0; c < 9; c++) C[c] = 0.0;
    for (int corner = 0; corner < 4; corner++) {
        double B[9];
        if (!map->moves[l][corner]) continue;
        for (int c = 0; c < 9; c++) B[c] = rows[12 * (c / 3) + 3 * corner + c % 3];
        if (map->moves[l][corner] == 2)
            add_transposed(B, map->maps[l][corner], C);
        else
            for (int c = 0; c < 9; c++) C[c] += map->shares[l][corner] * B[c];
    }
}

/* H [12,12] of pair p: with friction only, weight_i weight_j M. Blocks of one corner are omitted if those of the elements contain them. */
static void read_pair(const pd_assembled_hessian *assembled, pd_pair_counts n, int p, int diagonal, double *H) {
    const real *hessian = assembled->hessians + 144 * (size_t)p;
    for (int i = 0; i < 144 && p < n.contact; i++) H[i] = (double)hessian[i];
    if (p >= n.contact) {
        const real *weights = assembled->weights + 4 * (size_t)(p - n.contact), *M = assembled->matrices + 9 * (size_t)(p - n.contact);
        for (int i = 0; i < 12; i++)
            for (int j = 0; j < 12; j++) H[12 * i + j] = (double)(weights[i / 3] * weights[j / 3]) * (double)M[3 * (i % 3) + j % 3];
    }
    for (int c = 0; c < 36 && !diagonal; c++) H[39 * (c / 9) + 12 * (c % 9 / 3) + c % 3] = 0.0;
}

/* Tells whether the Hessian of pair p is zero: a triangle of a panel without the term, an inactive pair, or friction without normal force. */
static int is_without_hessian(const pd_assembled_hessian *assembled, pd_pair_counts n, int p) {
    int friction = p >= n.contact, count = friction ? 9 : 144;
    const real *values = friction ? assembled->matrices + 9 * (size_t)(p - n.contact) : assembled->hessians + 144 * (size_t)p;
    for (int i = 0; i < count; i++)
        if (values[i] != 0) return 0;
    return 1;
}

/* blocks += the mapped Hessian of each pair. */
static void add_pairs(const pd_problem *problem, const pd_contact_rows *carried, pd_pair_counts n) {
    const pd_rigid *self = problem->rigid;
    const pd_assembled_hessian *assembled = problem->assembled;
    for (int p = 0; p < n.contact + n.friction; p++) {
        pd_movers movers;
        pair_map map;
        double H[144], rows[36], C[9];
        if (is_without_hessian(assembled, n, p)) continue;
        pd_assembled_find_movers(assembled, carried, p, &movers);
        if (movers.n < 2 && !carried->rows) continue; // contained in the elements' blocks
        map.n = 0;
        for (int v = 0; v < movers.n; v++)
            if (!is_pin(problem, movers.vertices[v])) map_mover(self, &movers, v, &map);
        read_pair(assembled, n, p, carried->rows != NULL, H);
        for (int k = 0; k < map.n; k++) {
            rows_seen(&map, k, H, rows);
            for (int l = k; l < map.n; l++) { // H is symmetric
                columns_seen(&map, l, rows, C);
                real *upper = block_at(problem, map.nodes[k], map.nodes[l]);
                for (int c = 0; c < 9; c++) upper[c] += (real)C[c];
                if (l == k) continue;
                real *lower = block_at(problem, map.nodes[l], map.nodes[k]);
                for (int c = 0; c < 9; c++) lower[c] += (real)C[3 * (c % 3) + c / 3];
            }
        }
    }
}

/* Completes the block of a body's rotations: the curvature, and for a body on an axis a stiffness across it, which keeps the matrix
 * invertible. */
static void finish_rotations(const pd_problem *problem, int b, pd_hessian_filter filter) {
    const pd_rigid *self = problem->rigid;
    const pd_rigid_body *body = &self->bodies[b];
    const double *along = self->host_along + 9 * (size_t)b;
    int node = body->rows.first + body->rows.n - PD_RIGID_CARRIERS + 1;
    real *block = block_at(problem, node, node);
    double half[9], curvature[9], trace = (double)block[0] + (double)block[4] + (double)block[8];
    pd_pose_multiply(along, self->host_curvature + 9 * (size_t)b, half);
    pd_pose_multiply(half, along, curvature);
    for (int c = 0; c < 9; c++)
        block[c] = (real)((double)block[c] + (filter == PD_FILTER_NONE ? curvature[c] : 0.0) + trace * ((double)(c % 4 == 0) - along[c]));
}

/* The rotations of bodies at x. */
static pd_status read_rotations(const pd_problem *problem, const real *x) {
    pd_rigid *self = problem->rigid;
    pd_context *context = problem->context;
    size_t of_bodies = 9 * (size_t)self->n * sizeof(double), of_rows = 9 * (size_t)problem->model->n_vertices * sizeof(double);
    pd_status status = PD_OK;
    PD_TRY(pd_rigid_result(problem, pd_bodies_arms(context, &self->set, x, self->turns, self->along)));
    PD_TRY(pd_memory_download(context, self->host_turns, self->turns, of_rows));
    PD_TRY(pd_memory_download(context, self->host_along, self->along, of_bodies));
    PD_TRY(pd_memory_download(context, self->host_curvature, self->curvature, of_bodies));
done:
    return status;
}

pd_status pd_problem_reduced_assemble(const pd_problem *problem, const real *x, pd_hessian_filter filter, int filled, int rebuild) {
    if (!problem->rigid) return pd_problem_assemble(problem, filled, rebuild);
    pd_reduced_hessian *self = problem->reduced;
    pd_assembled_hessian *reduced = &self->assembled;
    const pd_csr *of_vertices = &problem->hessian->pattern;
    size_t n_blocks = (size_t)of_vertices->row_start[of_vertices->n];
    pd_pair_counts n = {0, 0};
    pd_contact_rows carried = {0};
    pd_status status = PD_OK;
    PD_TRY(make_elements(problem));
    if (problem->contact) carried = pd_contact_rows_of(problem->contact);
    if (problem->contact) PD_TRY(pd_assembled_read_pairs(problem->assembled, problem, &n));
    const body_rows owner = {problem, &carried};
    const pd_pair_rows rows = {list_rows, &owner};
    PD_TRY(pd_assembled_cover(reduced, &self->elements, &rows, n.contact + n.friction, rebuild, problem->error));
    PD_TRY(pd_memory_download(problem->context, self->vertex_blocks, problem->hessian->blocks, 9 * n_blocks * sizeof(real)));
    PD_TRY(read_rotations(problem, x));
    memset(reduced->blocks, 0, 9 * (size_t)reduced->pattern.row_start[reduced->pattern.n] * sizeof *reduced->blocks);
    add_elements(problem);
    add_pairs(problem, &carried, n);
    pd_assembled_restrict(reduced, problem, filled);
    for (int b = 0; b < problem->rigid->n; b++) finish_rotations(problem, b, filter);
done:
    return status;
}

pd_status pd_problem_reduced_hessian(const pd_problem *problem, const real *x, pd_hessian_filter filter, int filled, int rebuild) {
    pd_status status = pd_problem_hessian(problem, x, filter);
    return status ? status : pd_problem_reduced_assemble(problem, x, filter, filled, rebuild);
}

pd_status pd_problem_reduced_hessian_on(const pd_problem *problem, const real *base, const real *x, int rebuild) {
    pd_status status = pd_problem_hessian_on(problem, base, x);
    return status ? status : pd_problem_reduced_assemble(problem, x, PD_FILTER_CLAMP, 1, rebuild);
}
