/* Sparse matrices over the vertices; see system_matrix.h. Every pass is linear in the number of corners. */
#include "sparse/system_matrix.h"

#include "threads/team.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void pd_csr_destroy(pd_csr *matrix) {
    free(matrix->row_start);
    free(matrix->columns);
    free(matrix->values);
    memset(matrix, 0, sizeof *matrix);
}

double pd_csr_entry(const pd_csr *matrix, int i, int j) {
    int low = matrix->row_start[i], high = matrix->row_start[i + 1] - 1;
    while (low <= high) {
        int middle = low + (high - low) / 2, column = matrix->columns[middle];
        if (column == j) return matrix->values[middle];
        if (column < j)
            low = middle + 1;
        else
            high = middle - 1;
    }
    return 0.0;
}

/* Appends columns of entries that `matrix` lacks to each row, and counts them in `more` [n]; out->columns may be NULL. */
static void append_missing(pd_csr *out, const pd_csr *matrix, const pd_entries *entries, int *more) {
    memset(more, 0, (size_t)matrix->n * sizeof *more);
    for (int e = 0; e < entries->n; e++)
        for (int mirrored = 0; mirrored < 1 + (entries->rows[e] != entries->columns[e]); mirrored++) {
            int i = mirrored ? entries->columns[e] : entries->rows[e], j = mirrored ? entries->rows[e] : entries->columns[e];
            if (pd_csr_slot(matrix, i, j) >= 0) continue;
            int slot = matrix->row_start[i + 1] - matrix->row_start[i] + more[i]++;
            if (out->columns) out->columns[out->row_start[i] + slot] = j;
        }
}

pd_status pd_csr_with_capacity(pd_csr *out, const pd_csr *matrix, const pd_entries *entries, pd_error *error) {
    size_t n = (size_t)matrix->n;
    int *more = malloc((n + 1) * sizeof *more);
    *out = (pd_csr){.n = matrix->n, .row_start = malloc((n + 1) * sizeof(int))};
    if (!more || !out->row_start) goto memory;
    append_missing(out, matrix, entries, more);
    out->row_start[0] = 0;
    for (size_t i = 0; i < n; i++) out->row_start[i + 1] = out->row_start[i] + matrix->row_start[i + 1] - matrix->row_start[i] + more[i];
    out->columns = malloc(((size_t)out->row_start[n] + 1) * sizeof(int));
    out->values = calloc((size_t)out->row_start[n] + 1, sizeof(double));
    if (!out->columns || !out->values) goto memory;
    append_missing(out, matrix, entries, more);
    for (size_t i = 0; i < n; i++) {
        int *columns = out->columns + out->row_start[i];
        double *values = out->values + out->row_start[i];
        int count = matrix->row_start[i + 1] - matrix->row_start[i];
        memcpy(columns, matrix->columns + matrix->row_start[i], (size_t)count * sizeof *columns);
        memcpy(values, matrix->values + matrix->row_start[i], (size_t)count * sizeof *values);
        for (int s = count; s < count + more[i]; s++) {
            int column = columns[s], to = s;
            for (; to > 0 && columns[to - 1] > column; to--) columns[to] = columns[to - 1], values[to] = values[to - 1];
            columns[to] = column, values[to] = 0.0;
        }
    }
    free(more);
    return PD_OK;

memory:
    free(more);
    pd_csr_destroy(out);
    return pd_fail(error, PD_ERROR_MEMORY, "out of memory for a matrix of %d rows", matrix->n);
}

static int ascending(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* Insertion sort for short rows; qsort for a vertex with very many neighbours. */
static void sort_row(int *row, int n) {
    if (n > 64) {
        qsort(row, (size_t)n, sizeof *row, ascending);
        return;
    }
    for (int i = 1; i < n; i++) {
        int value = row[i], j = i;
        for (; j > 0 && row[j - 1] > value; j--) row[j] = row[j - 1];
        row[j] = value;
    }
}

pd_status pd_pattern_create(pd_csr *out, int n_vertices, const pd_element_set *sets, int n_sets, const pd_corners *corners,
                            pd_error *error) {
    (void)n_sets;
    memset(out, 0, sizeof *out);
    out->n = n_vertices;
    out->row_start = calloc((size_t)n_vertices + 1, sizeof(int));
    int *seen = malloc(((size_t)n_vertices + 1) * sizeof(int));
    if (!out->row_start || !seen) goto memory;

    // two passes over the same walk: count the distinct neighbours, then store them
    for (int pass = 0; pass < 2; pass++) {
        memset(seen, 0xff, (size_t)n_vertices * sizeof(int));
        int64_t total = 0;
        for (int i = 0; i < n_vertices; i++) {
            int count = 1;
            int *row = pass ? out->columns + out->row_start[i] : NULL;
            seen[i] = i;
            if (row) row[0] = i;
            for (int c = corners->start[i]; c < corners->start[i + 1]; c++) {
                int element, position;
                const pd_element_set *set = pd_corner_set(sets, corners->corners[c], &element, &position);
                int k = pd_kind_shape_of(set->kind).vertices;
                for (int b = 0; b < k; b++) {
                    int j = set->vertices[(int64_t)element * k + b];
                    if (seen[j] == i) continue;
                    seen[j] = i;
                    if (row) row[count] = j;
                    count++;
                }
            }
            if (row)
                sort_row(row, count);
            else {
                total += count;
                if (total > INT_MAX / 9) {
                    free(seen);
                    pd_csr_destroy(out);
                    return pd_fail(error, PD_ERROR_VALUE, "elements: the Hessian would have more than 2^31-1 entries");
                }
                out->row_start[i + 1] = (int)total;
            }
        }
        if (pass == 0) {
            out->columns = malloc(((size_t)total + 1) * sizeof(int));
            if (!out->columns) goto memory;
        }
    }
    free(seen);
    return PD_OK;

memory:
    free(seen);
    pd_csr_destroy(out);
    return pd_fail(error, PD_ERROR_MEMORY, "out of memory for the pattern of %d vertices", n_vertices);
}

/* The place of column j in row i of the pattern, which must contain it. */
static int find_slot(const pd_csr *pattern, int i, int j) {
    int low = pattern->row_start[i], high = pattern->row_start[i + 1] - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (pattern->columns[middle] < j)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void pd_pattern_slots(const pd_csr *pattern, const pd_element_set *set, int *slots, int threads) {
    int k = pd_kind_shape_of(set->kind).vertices;
#pragma omp parallel for num_threads(pd_team(threads, 8LL * set->n * k, k)) schedule(static)
    for (int e = 0; e < set->n; e++) {
        const int *vertices = set->vertices + (int64_t)e * k;
        for (int a = 0; a < k; a++)
            for (int b = 0; b < k; b++) slots[((int64_t)e * k + a) * k + b] = find_slot(pattern, vertices[a], vertices[b]);
    }
    (void)threads;
}

/* g_a . g_b of one element, with g_0 = -sum of the others. */
static double gradient_dot(const pd_kind_shape *shape, const double *rest, int a, int b) {
    int d = shape->columns;
    double ga[PD_MAX_COLUMNS] = {0}, gb[PD_MAX_COLUMNS] = {0};
    if (shape->vertices == 1) return 1.0;
    for (int i = 1; i < shape->vertices; i++)
        for (int c = 0; c < d; c++) {
            double g = rest[(i - 1) * d + c];
            if (a == 0) ga[c] -= g;
            if (a == i) ga[c] = g;
            if (b == 0) gb[c] -= g;
            if (b == i) gb[c] = g;
        }
    double sum = 0.0;
    for (int c = 0; c < d; c++) sum += ga[c] * gb[c];
    return sum;
}

pd_status pd_system_matrix_create(pd_csr *out, int n_vertices, const double *masses_over_h2, double inverse_h, const pd_element_set *sets,
                                  int n_sets, const pd_csr *pattern, const pd_corners *corners, int threads, pd_error *error) {
    (void)n_sets;
    memset(out, 0, sizeof *out);
    size_t nnz = (size_t)pattern->row_start[n_vertices];
    double *full = calloc(nnz + 1, sizeof(double));
    double *diagonal = calloc((size_t)n_vertices + 1, sizeof(double));
    out->n = n_vertices;
    out->row_start = calloc((size_t)n_vertices + 1, sizeof(int));
    if (!full || !diagonal || !out->row_start) goto memory;

        // one row at a time, corners in order: no sum depends on the threads
#pragma omp parallel for num_threads(pd_team(threads, corners->start[n_vertices], 30)) schedule(dynamic, 1024)
    for (int i = 0; i < n_vertices; i++) {
        full[find_slot(pattern, i, i)] = masses_over_h2[i];
        for (int c = corners->start[i]; c < corners->start[i + 1]; c++) {
            int element, a;
            const pd_element_set *set = pd_corner_set(sets, corners->corners[c], &element, &a);
            pd_kind_shape shape = pd_kind_shape_of(set->kind);
            double w = set->parameters[(int64_t)element * shape.parameters];
            if (set->damping) w *= 1.0 + set->damping[element] * inverse_h;
            for (int b = 0; b < shape.vertices; b++) {
                int j = set->vertices[(int64_t)element * shape.vertices + b];
                full[find_slot(pattern, i, j)] += w * gradient_dot(&shape, set->rest + (int64_t)element * shape.rest, a, b);
            }
        }
        diagonal[i] = full[find_slot(pattern, i, i)];
    }

    // drop cancelled entries: most off-diagonal ones on regular grids, which makes the factor much smaller
    for (int i = 0; i < n_vertices; i++) {
        int count = 0;
        for (int s = pattern->row_start[i]; s < pattern->row_start[i + 1]; s++) {
            int j = pattern->columns[s];
            if (j != i && fabs(full[s]) <= 1e-14 * sqrt(fabs(diagonal[i] * diagonal[j]))) full[s] = 0.0;
            count += j == i || full[s] != 0.0;
        }
        out->row_start[i + 1] = out->row_start[i] + count;
    }
    out->columns = malloc(((size_t)out->row_start[n_vertices] + 1) * sizeof(int));
    out->values = malloc(((size_t)out->row_start[n_vertices] + 1) * sizeof(double));
    if (!out->columns || !out->values) goto memory;
    int next = 0;
    for (int i = 0; i < n_vertices; i++)
        for (int s = pattern->row_start[i]; s < pattern->row_start[i + 1]; s++) {
            if (pattern->columns[s] != i && full[s] == 0.0) continue;
            out->columns[next] = pattern->columns[s];
            out->values[next++] = full[s];
        }
    free(full);
    free(diagonal);
    (void)threads;
    return PD_OK;

memory:
    free(full);
    free(diagonal);
    pd_csr_destroy(out);
    return pd_fail(error, PD_ERROR_MEMORY, "out of memory for a system matrix of %d rows", n_vertices);
}
