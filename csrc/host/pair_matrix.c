/* Every row of the matrix belongs to one vertex and is summed by one thread, in the order of the pairs; see pair_matrix.h. */
#include "host/pair_matrix.h"

#include "host/team.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_NANOSECONDS = 2000 };

static int ascending(const void *a, const void *b) {
    int left = *(const int *)a, right = *(const int *)b;
    return (left > right) - (left < right);
}

/* The vertices that share a pair with vertex i, ascending, into found; slots [n_vertices] holds -1 before and after. Returns how many. */
static int neighbours(const pd_pair_matrix *matrix, int i, int *slots, int *found) {
    int n = 0;
    for (int c = matrix->start[i]; c < matrix->start[i + 1]; c++) {
        const int *points = matrix->points + 4 * (size_t)(matrix->corners[c] / 4);
        for (int j = 0; j < 4; j++)
            if (points[j] >= 0 && slots[points[j]] < 0) slots[points[j]] = 0, found[n++] = points[j];
    }
    for (int k = 0; k < n; k++) slots[found[k]] = -1;
    qsort(found, (size_t)n, sizeof *found, ascending);
    return n;
}

/* Room of one thread: slots, and the neighbours of a vertex. NULL where there is none. */
static int *room_create(int n_vertices) {
    int *room = malloc((2 * (size_t)n_vertices + 1) * sizeof *room);
    for (int i = 0; room && i < n_vertices; i++) room[i] = -1;
    return room;
}

pd_status pd_pair_matrix_create(pd_pair_matrix *out, const int *points, int n_pairs, int n_vertices, int threads,
                                pd_interruption *interruption, pd_error *error) {
    int failed = 0;
    size_t n_corners = 0;
    memset(out, 0, sizeof *out);
    out->n_pairs = n_pairs, out->n_vertices = n_vertices, out->points = points;
    for (size_t c = 0; c < 4 * (size_t)n_pairs; c++) n_corners += points[c] >= 0;
    if (n_pairs > INT_MAX / 4 || n_vertices > INT_MAX / 3 - 1)
        return pd_fail(error, PD_ERROR_VALUE, "%d pairs of %d vertices are too many for a sparse matrix", n_pairs, n_vertices);
    out->start = calloc((size_t)n_vertices + 1, sizeof *out->start);
    out->corners = malloc((n_corners + 1) * sizeof *out->corners);
    out->row_start = calloc(3 * (size_t)n_vertices + 1, sizeof *out->row_start);
    if (!out->start || !out->corners || !out->row_start)
        return pd_fail(error, PD_ERROR_MEMORY, "out of memory for the matrix of %d pairs", n_pairs);

    // a counting sort: start[i + 1] is where the next corner of vertex i goes, and ends where the list does
    for (size_t c = 0; c < 4 * (size_t)n_pairs; c++)
        if (points[c] >= 0 && points[c] + 1 < n_vertices) out->start[points[c] + 2]++;
    for (int i = 2; i <= n_vertices; i++) out->start[i] += out->start[i - 1];
    for (int c = 0; c < 4 * n_pairs; c++)
        if (points[c] >= 0) out->corners[out->start[points[c] + 1]++] = c;

#pragma omp parallel num_threads(pd_team(threads, n_pairs, ROW_NANOSECONDS))
    {
        int *room = room_create(n_vertices);
#pragma omp for schedule(dynamic, 64)
        for (int i = 0; i < n_vertices; i++) {
            if (!room || pd_interrupted(interruption)) continue;
            out->row_start[3 * (size_t)i + 3] = neighbours(out, i, room, room + n_vertices);
        }
        if (!room) {
#pragma omp atomic write
            failed = 1;
        }
        free(room);
    }
    if (failed) return pd_fail(error, PD_ERROR_MEMORY, "out of memory for the matrix of %d pairs", n_pairs);
    long long entries = 0;
    for (int i = 0; i < n_vertices; i++) {
        long long length = 3LL * out->row_start[3 * (size_t)i + 3];
        if (entries + 3 * length > INT_MAX)
            return pd_fail(error, PD_ERROR_VALUE, "the matrix of %d pairs has more than 2^31 - 1 entries", n_pairs);
        for (int a = 1; a <= 3; a++) out->row_start[3 * (size_t)i + (size_t)a] = (int)(entries += length);
    }
    return pd_interruption_status(interruption, error);
}

void pd_pair_matrix_destroy(pd_pair_matrix *matrix) {
    free(matrix->start);
    free(matrix->corners);
    free(matrix->row_start);
}

/* The three rows of vertex i; slots as in neighbours(). */
static void fill_rows(const pd_pair_matrix *matrix, int i, const double *blocks, int *slots, int *found, int *columns, double *values) {
    int n = neighbours(matrix, i, slots, found);
    size_t first = (size_t)matrix->row_start[3 * (size_t)i], length = 3 * (size_t)n;
    for (int k = 0; k < n; k++) slots[found[k]] = k;
    for (size_t a = 0; a < 3; a++)
        for (size_t k = 0; k < length; k++) columns[first + a * length + k] = 3 * found[k / 3] + (int)(k % 3);
    memset(values + first, 0, 3 * length * sizeof *values);
    for (int c = matrix->start[i]; c < matrix->start[i + 1]; c++) {
        size_t pair = (size_t)matrix->corners[c] / 4, corner = (size_t)matrix->corners[c] % 4;
        const int *points = matrix->points + 4 * pair;
        const double *rows = blocks + 144 * pair + 36 * corner;
        for (size_t j = 0; j < 4; j++) {
            if (points[j] < 0) continue;
            double *place = values + first + 3 * (size_t)slots[points[j]];
            for (size_t a = 0; a < 3; a++)
                for (size_t b = 0; b < 3; b++) place[a * length + b] += rows[12 * a + 3 * j + b];
        }
    }
    for (int k = 0; k < n; k++) slots[found[k]] = -1;
}

pd_status pd_pair_matrix_fill(const pd_pair_matrix *matrix, const double *blocks, int *columns, double *values, int threads,
                              pd_interruption *interruption, pd_error *error) {
    int failed = 0, n_vertices = matrix->n_vertices;
#pragma omp parallel num_threads(pd_team(threads, matrix->n_pairs, ROW_NANOSECONDS))
    {
        int *room = room_create(n_vertices);
#pragma omp for schedule(dynamic, 64)
        for (int i = 0; i < n_vertices; i++) {
            if (!room || pd_interrupted(interruption)) continue;
            fill_rows(matrix, i, blocks, room, room + n_vertices, columns, values);
        }
        if (!room) {
#pragma omp atomic write
            failed = 1;
        }
        free(room);
    }
    if (failed) return pd_fail(error, PD_ERROR_MEMORY, "out of memory for the matrix of %d pairs", matrix->n_pairs);
    return pd_interruption_status(interruption, error);
}
