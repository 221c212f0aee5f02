/* A vector and a sparse matrix out of the small dense ones of pairs in contact: rows and columns of vertices, three each. */
#ifndef PD_SPARSE_PAIR_MATRIX_H
#define PD_SPARSE_PAIR_MATRIX_H

#include "threads/interruption.h"

#include <stddef.h>

/* out [n_vertices,3] += the corners [n_pairs,4,3] of the pairs points [n_pairs,4] (-1: no such corner), in their order, on one thread: it
 * takes no longer than reading the corners. */
void pd_pair_vector_add(double *out, const int *points, const double *corners, int n_pairs);

/* Which entries the matrix of a list of pairs has, before any value is known. */
typedef struct pd_pair_pattern {
    int n_pairs, n_vertices;
    const int *points; /* [n_pairs,4] not owned; -1: a pair has no such corner; no vertex twice in a pair */
    int *start;        /* [n_vertices+1] into corners */
    int *corners;      /* 4 pair + corner, ascending for each vertex */
    int *row_start;    /* [3 n_vertices + 1] of the matrix in CSR */
} pd_pair_pattern;

/* Rows and their lengths; the result does not depend on the threads. Errors: PD_ERROR_MEMORY, PD_INTERRUPTED, PD_ERROR_VALUE where the
 * matrix has more than 2^31 - 1 entries. _destroy is allowed after zeroing, failure or success. */
pd_status pd_pair_pattern_create(pd_pair_pattern *out, const int *points, int n_pairs, int n_vertices, int threads,
                                 pd_interruption *interruption, pd_error *error);
void pd_pair_pattern_destroy(pd_pair_pattern *pattern);

/* Columns, ascending in a row, and where the block of two corners of a pair begins.
 *   columns  [entries]      out
 *   slots    [n_pairs,4,4]  out   the entry of row 3 (vertex of the first corner), column 3 (vertex of the second); -1: no such corner */
pd_status pd_pair_pattern_fill(const pd_pair_pattern *pattern, int *columns, int *slots, int threads, pd_interruption *interruption,
                               pd_error *error);

/* Whether every block of n_pairs pairs lies in the values [entries]: 0, or 1 + the place in slots of one that does not. */
size_t pd_pair_slots_wrong(const int *slots, const int *strides, int n_pairs, int entries);

/* values [entries] += blocks [n_pairs,12,12], row 3 corner + axis, of some of the pairs, added to each entry in their order.
 *   slots    [n_pairs,4,4]  in   of pd_pair_pattern_fill, of these pairs
 *   strides  [n_pairs,4]    in   the length of each of the three rows of a corner's vertex */
void pd_pair_matrix_add(double *values, int entries, const int *slots, const int *strides, const double *blocks, int n_pairs, int threads);

#endif
