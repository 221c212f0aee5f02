/* The Hessian of the incremental potential in the six numbers of each rigid body; see rigid.h. */
#include "dynamics/rigid/rigid.h"

#include "base/pose.h"
#include "dynamics/problem/whole_hessian.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int compare_keys(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Where a row acts: on itself, or on translation and rotation of its body. */
static int nodes_of(const pd_rigid *self, int i, int nodes[2]) {
    if (self->body_of[i] < 0) return nodes[0] = i, 1;
    const pd_rigid_rows *rows = &self->bodies[self->body_of[i]].rows;
    nodes[0] = rows->first + rows->n - PD_RIGID_CARRIERS;
    nodes[1] = nodes[0] + 1;
    return 2;
}

/* Keys of all blocks, row << 32 | column, with repetitions; returns how many. The diagonal is among them, of every row. */
static size_t list_keys(const pd_rigid *self, const pd_csr *whole, uint64_t *keys) {
    size_t n = 0;
    for (int i = 0; i < whole->n; i++) {
        int rows[2], columns[2], n_rows = nodes_of(self, i, rows);
        if (keys) keys[n] = (uint64_t)i << 32 | (uint64_t)i;
        n++;
        for (int s = whole->row_start[i]; s < whole->row_start[i + 1]; s++) {
            int n_columns = nodes_of(self, whole->columns[s], columns);
            for (int a = 0; a < n_rows; a++)
                for (int b = 0; b < n_columns; b++, n++)
                    if (keys) keys[n] = (uint64_t)rows[a] << 32 | (uint64_t)columns[b];
        }
    }
    return n;
}

pd_status pd_rigid_hessian_pattern(const pd_problem *problem) {
    pd_rigid *self = problem->rigid;
    const pd_csr *whole = &problem->whole->pattern;
    if (self->revision == problem->whole->revision) return PD_OK;
    size_t count = list_keys(self, whole, NULL), kept = 0;
    uint64_t *keys = malloc((count + 1) * sizeof *keys);
    pd_csr pattern = {whole->n, calloc((size_t)whole->n + 2, sizeof(int)), malloc((count + 1) * sizeof(int)), NULL};
    real *blocks = NULL;
    if (keys && pattern.row_start && pattern.columns) {
        list_keys(self, whole, keys);
        qsort(keys, count, sizeof *keys, compare_keys);
        for (size_t k = 0; k < count; k++)
            if (k == 0 || keys[k] != keys[k - 1]) keys[kept++] = keys[k];
        blocks = malloc((9 * kept + 1) * sizeof *blocks);
    }
    if (!blocks || kept > INT_MAX / 9) {
        free(keys);
        free(blocks);
        pd_csr_destroy(&pattern);
        return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for the Hessian of %d rigid bodies", self->n);
    }
    for (size_t k = 0; k < kept; k++) {
        pattern.columns[k] = (int)(keys[k] & 0xffffffffu);
        pattern.row_start[(keys[k] >> 32) + 1]++;
    }
    for (int i = 0; i < whole->n; i++) pattern.row_start[i + 1] += pattern.row_start[i];
    free(keys);
    free(self->blocks);
    pd_csr_destroy(&self->pattern);
    self->pattern = pattern, self->blocks = blocks;
    self->revision = problem->whole->revision;
    return PD_OK;
}

/* C = T_a B T_b^T, a and b the nodes of rows i and j: 0 translation or a vertex itself, 1 rotation. */
static void transform(const pd_rigid *self, int i, int a, int j, int b, const double B[9], double C[9]) {
    double half[9];
    if (a)
        pd_pose_multiply(self->host_turns + 9 * (size_t)i, B, half);
    else
        memcpy(half, B, sizeof half);
    if (!b) {
        memcpy(C, half, sizeof half);
        return;
    }
    const double *T = self->host_turns + 9 * (size_t)j;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) C[3 * r + c] = half[3 * r] * T[3 * c] + half[3 * r + 1] * T[3 * c + 1] + half[3 * r + 2] * T[3 * c + 2];
}

/* What a body adds to the block of its rotations: the curvature, and of one held in an axis a stiffness across it, for the inverse's
 * sake. */
static void finish_rotations(pd_rigid *self, int b, pd_hessian_filter filter) {
    const pd_rigid_body *body = &self->bodies[b];
    const double *along = self->host_along + 9 * (size_t)b;
    int node = body->rows.first + body->rows.n - PD_RIGID_CARRIERS + 1;
    real *block = self->blocks + 9 * (size_t)pd_csr_slot(&self->pattern, node, node);
    double half[9], curvature[9], trace = (double)block[0] + (double)block[4] + (double)block[8];
    pd_pose_multiply(along, self->host_curvature + 9 * (size_t)b, half);
    pd_pose_multiply(half, along, curvature);
    for (int c = 0; c < 9; c++)
        block[c] = (real)((double)block[c] + (filter == PD_FILTER_NONE ? curvature[c] : 0.0) + trace * ((double)(c % 4 == 0) - along[c]));
}

/* What the rotations of bodies do at x. */
static pd_status read_rotations(const pd_problem *problem, const real *x) {
    pd_rigid *self = problem->rigid;
    pd_context *context = problem->context;
    size_t of_bodies = 9 * (size_t)self->n * sizeof(double), of_rows = 9 * (size_t)problem->model->n_vertices * sizeof(double);
    pd_status status = PD_OK;
    PD_TRY(pd_rigid_told(problem, pd_bodies_arms(context, &self->set, x, self->turns, self->along)));
    PD_TRY(pd_memory_download(context, self->host_turns, self->turns, of_rows));
    PD_TRY(pd_memory_download(context, self->host_along, self->along, of_bodies));
    PD_TRY(pd_memory_download(context, self->host_curvature, self->curvature, of_bodies));
done:
    return status;
}

pd_status pd_rigid_hessian(const pd_problem *problem, const real *x, pd_hessian_filter filter) {
    pd_rigid *self = problem->rigid;
    const pd_csr *whole = &problem->whole->pattern;
    pd_status status = PD_OK;
    PD_TRY(pd_rigid_hessian_pattern(problem));
    memset(self->blocks, 0, 9 * (size_t)self->pattern.row_start[whole->n] * sizeof *self->blocks);
    PD_TRY(read_rotations(problem, x));
    for (int i = 0; i < whole->n; i++) {
        int rows[2], columns[2], n_rows = nodes_of(self, i, rows);
        for (int s = whole->row_start[i]; s < whole->row_start[i + 1]; s++) {
            int j = whole->columns[s], n_columns = nodes_of(self, j, columns);
            if ((self->body_of[i] >= 0 && problem->fixed[i]) || (self->body_of[j] >= 0 && problem->fixed[j])) continue;
            double B[9], C[9];
            for (int c = 0; c < 9; c++) B[c] = (double)problem->whole->blocks[9 * (size_t)s + (size_t)c];
            for (int a = 0; a < n_rows; a++)
                for (int b = 0; b < n_columns; b++) {
                    real *block = self->blocks + 9 * (size_t)pd_csr_slot(&self->pattern, rows[a], columns[b]);
                    transform(self, i, a, j, b, B, C);
                    for (int c = 0; c < 9; c++) block[c] += (real)C[c];
                }
        }
    }
    for (int b = 0; b < self->n; b++) finish_rotations(self, b, filter);
done:
    return status;
}
