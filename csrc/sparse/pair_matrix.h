/* Assembly of the dense vectors and matrices of contact pairs into a vector and a sparse matrix, with three rows per vertex. */
#ifndef PD_SPARSE_PAIR_MATRIX_H
#define PD_SPARSE_PAIR_MATRIX_H

#include "threads/interruption.h"

#include <stddef.h>

/* out [n_vertices,3] += the corners [n_pairs,4,3] of the pairs points [n_pairs,4] (-1: no such corner), in their order, on one thread.
 * The time is that of reading the corners. */
void pd_pair_vector_add(double *out, const int *points, const double *corners, int n_pairs);

/* The sparsity pattern of the matrix of a list of pairs. */
typedef struct pd_pair_pattern {
    int n_pairs, n_vertices;
    const int *points; /* [n_pairs,4] borrowed; -1: no such corner; no vertex twice in a pair */
    int *start;        /* [n_vertices+1] into corners */
    int *corners;      /* 4 pair + corner, ascending for each vertex */
    int *row_start;    /* [3 n_vertices + 1] of the matrix in CSR */
} pd_pair_pattern;

/* Counts rows and their lengths; the result does not depend on the threads. _destroy is allowed after zeroing, failure or success.
 * Errors: PD_ERROR_MEMORY; PD_INTERRUPTED; PD_ERROR_VALUE if the matrix has more than 2^31 - 1 entries. */
pd_status pd_pair_pattern_create(pd_pair_pattern *out, const int *points, int n_pairs, int n_vertices, int threads,
                                 pd_interruption *interruption, pd_error *error);
void pd_pair_pattern_destroy(pd_pair_pattern *pattern);

/* Columns, ascending in a row, and the first entry of the block of two corners of a pair.
 *   columns  [entries]      out
 *   slots    [n_pairs,4,4]  out   the entry of row 3 (vertex of the first corner), column 3 (vertex of the second); -1: no such corner */
pd_status pd_pair_pattern_fill(const pd_pair_pattern *pattern, int *columns, int *slots, int threads, pd_interruption *interruption,
                               pd_error *error);

/* Checks that every block of n_pairs pairs is inside the values [entries]. Returns 0, or 1 + the place in slots of a bad one. */
size_t pd_pair_slots_wrong(const int *slots, const int *strides, int n_pairs, int entries);

/* values [entries] += blocks [n_pairs,12,12], row 3 corner + axis, of some pairs, added to each entry in their order.
 *   slots    [n_pairs,4,4]  in   from pd_pair_pattern_fill, of these pairs
 *   strides  [n_pairs,4]    in   the length of each of the three rows of a corner's vertex */
void pd_pair_matrix_add(double *values, int entries, const int *slots, const int *strides, const double *blocks, int n_pairs, int threads);

#endif
