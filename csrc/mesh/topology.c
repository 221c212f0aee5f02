/* Edges, hinges and boundary triangles by bucketing on the smallest vertex; see topology.h. */
#include "mesh/topology.h"

#include "mesh/validation.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A sub-simplex in the bucket of its smallest vertex: its other vertices, ascending, and its source. */
typedef struct face_record {
    int second, third; /* third is 0 for an edge */
    int source;        /* faces_per_element * element + local face */
} face_record;

/* The vertices of a tet's four faces, outward for a positive tet. */
static const int tet_faces[4][3] = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}};

/* Insertion sort is faster than qsort below this length. Buckets of usual meshes hold 5 to 40 records. */
enum { INSERTION_LIMIT = 64 };

/* Up to this many triangles at an edge make a hinge per pair, a number that grows quadratically. */
enum { LARGEST_SEAM = 64 };

static pd_status too_many(pd_error *error, const char *name, int n) {
    return pd_fail(error, PD_ERROR_VALUE, "%s: %d rows are more than 32-bit indices can number", name, n);
}

static pd_status out_of_memory(pd_error *error, const char *name, int n) {
    return pd_fail(error, PD_ERROR_MEMORY, "%s: out of memory for the topology of %d rows", name, n);
}

static int compare_ints(const void *left, const void *right) {
    int a = *(const int *)left, b = *(const int *)right;
    return (a > b) - (a < b);
}

static void sort_ints(int *values, size_t n) {
    if (n > INSERTION_LIMIT) {
        qsort(values, n, sizeof *values, compare_ints);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        int value = values[i];
        size_t j = i;
        for (; j > 0 && values[j - 1] > value; j--) values[j] = values[j - 1];
        values[j] = value;
    }
}

static int compare_records(const void *left, const void *right) {
    const face_record *a = left, *b = right;
    if (a->second != b->second) return a->second < b->second ? -1 : 1;
    if (a->third != b->third) return a->third < b->third ? -1 : 1;
    return (a->source > b->source) - (a->source < b->source);
}

static void sort_records(face_record *records, size_t n) {
    if (n > INSERTION_LIMIT) {
        qsort(records, n, sizeof *records, compare_records);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        face_record record = records[i];
        size_t j = i;
        for (; j > 0 && compare_records(&records[j - 1], &record) > 0; j--) records[j] = records[j - 1];
        records[j] = record;
    }
}

/* The buckets are counted two places to the right: start[b+2]. After this, start[b+1] is the first place of bucket b. The scatter
 * advances it to the end, which is the first place of bucket b+1. So one array suffices. */
static void prefix_sums(size_t *start, int n_buckets) {
    for (size_t b = 0; b <= (size_t)n_buckets; b++) start[b + 1] += start[b];
}

static void order_pair(int *a, int *b) {
    if (*a <= *b) return;
    int larger = *a;
    *a = *b;
    *b = larger;
}

pd_status pd_edges_create(int **edges, int *n_edges, const int *elements, int n_elements, int k, int n_points, pd_error *error) {
    *edges = NULL;
    *n_edges = 0;
    pd_status status = pd_elements_check(elements, n_elements, k, n_points, "elements", error);
    if (status) return status;
    int pairs = k * (k - 1) / 2;
    if (n_elements > INT_MAX / pairs) return too_many(error, "elements", n_elements);

    size_t n_records = (size_t)n_elements * (size_t)pairs, n_unique = 0;
    size_t *start = calloc((size_t)n_points + 2, sizeof *start);
    int *larger = malloc((n_records + 1) * sizeof *larger);
    int *seen = malloc(((size_t)n_points + 1) * sizeof *seen);
    int *result = NULL;
    if (!start || !larger || !seen) {
        status = out_of_memory(error, "elements", n_elements);
        goto done;
    }

    /* count and scatter the larger vertex of every pair into the bucket of the smaller */
    for (int scatter = 0; scatter < 2; scatter++) {
        for (size_t e = 0; e < (size_t)n_elements; e++) {
            const int *element = elements + e * (size_t)k;
            for (int a = 0; a < k; a++)
                for (int b = a + 1; b < k; b++) {
                    int low = element[a] < element[b] ? element[a] : element[b];
                    if (scatter)
                        larger[start[low + 1]++] = element[a] + element[b] - low;
                    else
                        start[low + 2]++;
                }
        }
        if (!scatter) prefix_sums(start, n_points);
    }

    /* drop the repeats in each bucket first: most edges of a tet mesh occur four to six times */
    memset(seen, 0xff, ((size_t)n_points + 1) * sizeof *seen);
    for (int low = 0; low < n_points; low++) {
        size_t first = n_unique, end = start[low + 1];
        for (size_t r = start[low]; r < end; r++)
            if (seen[larger[r]] != low) {
                seen[larger[r]] = low;
                larger[n_unique++] = larger[r];
            }
        sort_ints(larger + first, n_unique - first);
        start[low] = first;
    }

    result = malloc((2 * n_unique + 1) * sizeof *result);
    if (!result) {
        status = out_of_memory(error, "elements", n_elements);
        goto done;
    }
    start[n_points] = n_unique;
    for (int low = 0; low < n_points; low++)
        for (size_t r = start[low]; r < start[low + 1]; r++) {
            result[2 * r] = low;
            result[2 * r + 1] = larger[r];
        }
    *edges = result;
    *n_edges = (int)n_unique;

done:
    free(start);
    free(larger);
    free(seen);
    return status;
}

/* Buckets every face of every element. corners == 3: the triangles of tets; corners == 2: the edges of triangles.
 * After it, bucket b is records[start[b] .. start[b+1]), sorted. */
static pd_status bucket_faces(size_t **start_out, face_record **records_out, const int *elements, int n_elements, int corners, int n_points,
                              const char *name, pd_error *error) {
    int per_element = corners + 1;
    size_t n_records = (size_t)n_elements * (size_t)per_element;
    size_t *start = calloc((size_t)n_points + 2, sizeof *start);
    face_record *records = malloc((n_records + 1) * sizeof *records);
    if (!start || !records) {
        free(start);
        free(records);
        return out_of_memory(error, name, n_elements);
    }

    for (int scatter = 0; scatter < 2; scatter++) {
        for (size_t source = 0; source < n_records; source++) {
            const int *element = elements + source / (size_t)per_element * (size_t)per_element;
            int local = (int)(source % (size_t)per_element), v[3];
            if (corners == 3) {
                for (int c = 0; c < 3; c++) v[c] = element[tet_faces[local][c]];
                order_pair(&v[0], &v[1]);
                order_pair(&v[1], &v[2]);
                order_pair(&v[0], &v[1]);
            } else {
                v[0] = element[local];
                v[1] = element[(local + 1) % 3];
                v[2] = 0;
                order_pair(&v[0], &v[1]);
            }
            if (scatter)
                records[start[v[0] + 1]++] = (face_record){v[1], v[2], (int)source};
            else
                start[v[0] + 2]++;
        }
        if (!scatter) prefix_sums(start, n_points);
    }
    for (int b = 0; b < n_points; b++) sort_records(records + start[b], start[b + 1] - start[b]);

    *start_out = start;
    *records_out = records;
    return PD_OK;
}

/* The number of records from `first` on, before `end`, with the same face. */
static size_t run_length(const face_record *records, size_t first, size_t end) {
    size_t last = first + 1;
    while (last < end && records[last].second == records[first].second && records[last].third == records[first].third) last++;
    return last - first;
}

pd_status pd_boundary_create(int **triangles, int *n_triangles, const int *tets, int n_tets, int n_points, pd_error *error) {
    *triangles = NULL;
    *n_triangles = 0;
    pd_status status = pd_elements_check(tets, n_tets, 4, n_points, "tets", error);
    if (status) return status;
    if (n_tets > INT_MAX / 4) return too_many(error, "tets", n_tets);

    size_t *start = NULL, n_boundary = 0;
    face_record *records = NULL;
    unsigned char *boundary = calloc(4 * (size_t)n_tets + 1, 1);
    int *result = NULL;
    if (!boundary) {
        status = out_of_memory(error, "tets", n_tets);
        goto done;
    }
    status = bucket_faces(&start, &records, tets, n_tets, 3, n_points, "tets", error);
    if (status) goto done;

    for (int low = 0; low < n_points; low++)
        for (size_t r = start[low], run; r < start[low + 1]; r += run) {
            run = run_length(records, r, start[low + 1]);
            if (run > 2) {
                status = pd_fail(error, PD_ERROR_VALUE, "tets: rows %d, %d and %d share the triangle %d %d %d", records[r].source / 4,
                                 records[r + 1].source / 4, records[r + 2].source / 4, low, records[r].second, records[r].third);
                goto done;
            }
            if (run == 1) {
                boundary[records[r].source] = 1;
                n_boundary++;
            }
        }

    /* in the order of the tets, which preserves the locality of the input */
    result = malloc((3 * n_boundary + 1) * sizeof *result);
    if (!result) {
        status = out_of_memory(error, "tets", n_tets);
        goto done;
    }
    int *next = result;
    for (size_t source = 0; source < 4 * (size_t)n_tets; source++)
        if (boundary[source])
            for (int c = 0; c < 3; c++) *next++ = tets[source / 4 * 4 + (size_t)tet_faces[source % 4][c]];
    *triangles = result;
    *n_triangles = (int)n_boundary;

done:
    free(start);
    free(records);
    free(boundary);
    return status;
}

pd_status pd_hinges_create(int **hinges, int *n_hinges, const int *triangles, int n_triangles, int n_points, pd_error *error) {
    *hinges = NULL;
    *n_hinges = 0;
    pd_status status = pd_elements_check(triangles, n_triangles, 3, n_points, "triangles", error);
    if (status) return status;
    if (n_triangles > INT_MAX / 3) return too_many(error, "triangles", n_triangles);

    size_t *start = NULL, n_hinges_found = 0;
    face_record *records = NULL;
    int *result = NULL;
    status = bucket_faces(&start, &records, triangles, n_triangles, 2, n_points, "triangles", error);
    if (status) goto done;

    for (int low = 0; low < n_points; low++)
        for (size_t r = start[low], run; r < start[low + 1]; r += run) {
            run = run_length(records, r, start[low + 1]);
            if (run > LARGEST_SEAM) {
                status = pd_fail(error, PD_ERROR_VALUE, "triangles: %zu rows share the edge %d %d, of which at most %d have hinges", run,
                                 low, records[r].second, LARGEST_SEAM);
                goto done;
            }
            n_hinges_found += run * (run - 1) / 2;
        }
    if (n_hinges_found > INT_MAX / 4) {
        status = too_many(error, "hinges", n_triangles);
        goto done;
    }
    result = malloc((4 * n_hinges_found + 1) * sizeof *result);
    if (!result) {
        status = out_of_memory(error, "triangles", n_triangles);
        goto done;
    }
    int *hinge = result;
    for (int low = 0; low < n_points; low++)
        for (size_t r = start[low], run; r < start[low + 1]; r += run) {
            run = run_length(records, r, start[low + 1]);
            for (size_t i = r; i < r + run; i++)
                for (size_t j = i + 1; j < r + run; j++, hinge += 4) {
                    int s0 = records[i].source, s1 = records[j].source;
                    /* the triangle with direction x0 -> x1 comes first; of two such triangles the smaller row already does */
                    if (triangles[s0] != low && triangles[s1] == low) {
                        int s = s0;
                        s0 = s1;
                        s1 = s;
                    }
                    hinge[0] = low;
                    hinge[1] = records[r].second;
                    hinge[2] = triangles[s0 / 3 * 3 + (s0 + 2) % 3];
                    hinge[3] = triangles[s1 / 3 * 3 + (s1 + 2) % 3];
                    if (hinge[2] == hinge[3]) {
                        status = pd_fail(error, PD_ERROR_VALUE,
                                         "triangles: rows %d and %d have the same vertices %d %d %d; mesh.welded() keeps one of them",
                                         s0 / 3, s1 / 3, low, records[r].second, hinge[2]);
                        goto done;
                    }
                }
        }
    *hinges = result;
    *n_hinges = (int)n_hinges_found;

done:
    if (status) free(result);
    free(start);
    free(records);
    return status;
}
