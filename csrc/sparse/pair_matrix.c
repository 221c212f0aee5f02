/* Contact matrices: every row belongs to one vertex and is summed by one thread, in the order of the pairs; see pair_matrix.h. */
#include "sparse/pair_matrix.h"

#include "threads/team.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_NANOSECONDS = 2000, ADD_NANOSECONDS = 200 };

static int ascending(const void *a, const void *b) {
    int left = *(const int *)a, right = *(const int *)b;
    return (left > right) - (left < right);
}

/* Writes the vertices that share a pair with vertex i to found. places [n_vertices] is -1 before and after. Returns their number. */
static int neighbours(const pd_pair_pattern *pattern, int i, int *places, int *found) {
    int n = 0;
    for (int c = pattern->start[i]; c < pattern->start[i + 1]; c++) {
        const int *points = pattern->points + 4 * (size_t)(pattern->corners[c] / 4);
        for (int j = 0; j < 4; j++)
            if (points[j] >= 0 && places[points[j]] < 0) places[points[j]] = 0, found[n++] = points[j];
    }
    for (int k = 0; k < n; k++) places[found[k]] = -1;
    return n;
}

/* Scratch of one thread: places, and the neighbours of a vertex. NULL if out of memory. */
static int *marks_create(int n_vertices) {
    int *marks = malloc((2 * (size_t)n_vertices + 1) * sizeof *marks);
    for (int i = 0; marks && i < n_vertices; i++) marks[i] = -1;
    return marks;
}

void pd_pair_vector_add(double *out, const int *points, const double *corners, int n_pairs) {
    for (size_t c = 0; c < 4 * (size_t)n_pairs; c++) {
        if (points[c] < 0) continue;
        for (size_t a = 0; a < 3; a++) out[3 * (size_t)points[c] + a] += corners[3 * c + a];
    }
}

pd_status pd_pair_pattern_create(pd_pair_pattern *out, const int *points, int n_pairs, int n_vertices, int threads,
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

    // a counting sort: start[i + 1] is the place of the next corner of vertex i, and ends at the end of its list
    for (size_t c = 0; c < 4 * (size_t)n_pairs; c++)
        if (points[c] >= 0 && points[c] + 1 < n_vertices) out->start[points[c] + 2]++;
    for (int i = 2; i <= n_vertices; i++) out->start[i] += out->start[i - 1];
    for (int c = 0; c < 4 * n_pairs; c++)
        if (points[c] >= 0) out->corners[out->start[points[c] + 1]++] = c;

#pragma omp parallel num_threads(pd_team(threads, n_pairs, ROW_NANOSECONDS))
    {
        int *marks = marks_create(n_vertices);
#pragma omp for schedule(dynamic, 64)
        for (int i = 0; i < n_vertices; i++) {
            if (!marks || pd_interrupted(interruption)) continue;
            out->row_start[3 * (size_t)i + 3] = neighbours(out, i, marks, marks + n_vertices);
        }
        if (!marks) {
#pragma omp atomic write
            failed = 1;
        }
        free(marks);
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

void pd_pair_pattern_destroy(pd_pair_pattern *pattern) {
    free(pattern->start);
    free(pattern->corners);
    free(pattern->row_start);
}

/* Columns and slots of the rows of vertex i; places as in neighbours(). */
static void fill_rows(const pd_pair_pattern *pattern, int i, int *places, int *found, int *columns, int *slots) {
    int n = neighbours(pattern, i, places, found), first = pattern->row_start[3 * (size_t)i];
    size_t length = 3 * (size_t)n;
    qsort(found, (size_t)n, sizeof *found, ascending);
    for (int k = 0; k < n; k++) places[found[k]] = k;
    for (size_t a = 0; a < 3; a++)
        for (size_t k = 0; k < length; k++) columns[(size_t)first + a * length + k] = 3 * found[k / 3] + (int)(k % 3);
    for (int c = pattern->start[i]; c < pattern->start[i + 1]; c++) {
        size_t corner = (size_t)pattern->corners[c];
        const int *points = pattern->points + corner / 4 * 4;
        for (size_t j = 0; j < 4; j++) slots[4 * corner + j] = points[j] < 0 ? -1 : first + 3 * places[points[j]];
    }
    for (int k = 0; k < n; k++) places[found[k]] = -1;
}

pd_status pd_pair_pattern_fill(const pd_pair_pattern *pattern, int *columns, int *slots, int threads, pd_interruption *interruption,
                               pd_error *error) {
    int failed = 0, n_vertices = pattern->n_vertices;
    memset(slots, 0xff, 16 * (size_t)pattern->n_pairs * sizeof *slots); // -1
#pragma omp parallel num_threads(pd_team(threads, pattern->n_pairs, ROW_NANOSECONDS))
    {
        int *marks = marks_create(n_vertices);
#pragma omp for schedule(dynamic, 64)
        for (int i = 0; i < n_vertices; i++) {
            if (!marks || pd_interrupted(interruption)) continue;
            fill_rows(pattern, i, marks, marks + n_vertices, columns, slots);
        }
        if (!marks) {
#pragma omp atomic write
            failed = 1;
        }
        free(marks);
    }
    if (failed) return pd_fail(error, PD_ERROR_MEMORY, "out of memory for the matrix of %d pairs", pattern->n_pairs);
    return pd_interruption_status(interruption, error);
}

size_t pd_pair_slots_wrong(const int *slots, const int *strides, int n_pairs, int entries) {
    for (size_t k = 0; k < 16 * (size_t)n_pairs; k++) {
        int slot = slots[k], stride = strides[k / 4];
        if (slot != -1 && (slot < 0 || stride < 0 || slot + 2LL * stride + 3 > entries)) return k + 1;
    }
    return 0;
}

/* Adds to the rows whose diagonal begins in first .. end - 1. */
static void add_rows(double *values, const int *slots, const int *strides, const double *blocks, int n_pairs, int first, int end) {
    for (size_t c = 0; c < 4 * (size_t)n_pairs; c++) {
        const int *row = slots + 4 * c;
        if (row[c % 4] < first || row[c % 4] >= end) continue; // also true for missing corners
        const double *rows = blocks + 36 * c;
        for (size_t j = 0; j < 4; j++) {
            if (row[j] < 0) continue;
            double *place = values + row[j];
            for (size_t a = 0; a < 3; a++)
                for (size_t b = 0; b < 3; b++) place[a * (size_t)strides[c] + b] += rows[12 * a + 3 * j + b];
        }
    }
}

void pd_pair_matrix_add(double *values, int entries, const int *slots, const int *strides, const double *blocks, int n_pairs, int threads) {
    // every thread visits all pairs and adds to its own rows, so that no entry depends on the schedule
    int team = pd_team(threads, n_pairs, ADD_NANOSECONDS);
#pragma omp parallel for num_threads(team) schedule(static)
    for (int part = 0; part < team; part++)
        add_rows(values, slots, strides, blocks, n_pairs, (int)((long long)entries * part / team),
                 (int)((long long)entries * (part + 1) / team));
}
