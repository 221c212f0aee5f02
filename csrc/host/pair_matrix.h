/* A sparse matrix out of the small dense ones of pairs in contact: rows and columns of vertices, three each. */
#ifndef PD_HOST_PAIR_MATRIX_H
#define PD_HOST_PAIR_MATRIX_H

#include "host/interruption.h"

/* What is known before any value: of each vertex the (pair, corner) it takes part in, and of the matrix the lengths of its rows. */
typedef struct pd_pair_matrix {
    int n_pairs, n_vertices;
    const int *points; /* [n_pairs,4] not owned; -1: a pair has no such corner; no vertex twice in a pair */
    int *start;        /* [n_vertices+1] into corners */
    int *corners;      /* 4 pair + corner, ascending for each vertex */
    int *row_start;    /* [3 n_vertices + 1] of the matrix in CSR */
} pd_pair_matrix;

/* Vertices and row lengths; the result does not depend on the threads. Errors: PD_ERROR_MEMORY, PD_INTERRUPTED, PD_ERROR_VALUE where the matrix
 * has more than 2^31 - 1 entries. _destroy is allowed after zeroing, failure or success. */
pd_status pd_pair_matrix_create(pd_pair_matrix *out, const int *points, int n_pairs, int n_vertices, int threads,
                                pd_interruption *interruption, pd_error *error);
void pd_pair_matrix_destroy(pd_pair_matrix *matrix);

/* The entries: sum over the pairs of blocks [12,12], added for each row in the order of the pairs. Columns ascend in a row.
 *   blocks   [n_pairs,12,12]  in, row 3 corner + axis
 *   columns  [entries]        out        values  [entries]  out */
pd_status pd_pair_matrix_fill(const pd_pair_matrix *matrix, const double *blocks, int *columns, double *values, int threads,
                              pd_interruption *interruption, pd_error *error);

#endif
