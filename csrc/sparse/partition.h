/* A symmetric matrix in two parts, A = [[A11, A12], [A21, A22]], for a factorisation that eliminates the first part first. */
#ifndef PD_SPARSE_PARTITION_H
#define PD_SPARSE_PARTITION_H

#include "base/status.h"

#include <stdint.h>

/* The pattern of an upper triangle, compressed columns, with more entries than A. The second part is full, as its Schur complement is.
 * The last row of every connected component of A11 is joined to the first row of the second part. So every row of the first part is
 * below that row in the elimination tree, and the second part is one path at its root. A postorder, which supernodes need, keeps it at
 * the end and in its order. */
typedef struct pd_partition {
    int64_t *column_start; /* [n+1] */
    int64_t *rows;         /* [column_start[n]] ascending, the diagonal last */
} pd_partition;

/* column_start, row_index: the upper triangle of A, [n], n_last rows in the second part; order [n-n_last]: elimination order of the
 * first part.
 * Errors: PD_ERROR_MEMORY. */
pd_status pd_partition_create(pd_partition *out, int n, int n_last, const int *column_start, const int *row_index, const int64_t *order,
                              pd_error *error);
void pd_partition_destroy(pd_partition *self);

#endif
