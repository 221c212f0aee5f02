/* Aggregates of the nodes of a symmetric sparse matrix, and the patterns of the matrices that follow from them: the symbolic part of
 * smoothed aggregation [Vanek, Mandel, Brezina 1996, Algebraic multigrid by smoothed aggregation for second and fourth order elliptic
 * problems].
 *
 * A node is a row of the matrix, or several of them. With S the strong entries, an aggregate is [Sec. 4, Algorithm 2]
 *
 *     1. a node and all its neighbours in S, if none of them is in an aggregate yet
 *     2. a remaining node joins the aggregate of its strongest neighbour among those of 1
 *     3. a remaining node and its remaining neighbours in S form one more; without neighbours it is one by itself
 *
 * in the order of the nodes. Not to be confused with the aggregated iterations of A-Jacobi (aggregation.h). */
#ifndef PD_SPARSE_AGGREGATES_H
#define PD_SPARSE_AGGREGATES_H

#include "sparse/system_matrix.h"

/* Owns all arrays. T is the matrix [n,n_aggregates] with one entry per node in an aggregate. */
typedef struct pd_aggregates {
    int n, n_aggregates;
    int *aggregate;              /* [n] of each node; -1: a held node, in none */
    int *start, *nodes;          /* [n_aggregates+1] and the nodes of each aggregate, ascending */
    pd_csr extension;            /* [n,..] the pattern of P = (I - S A) T, S block-diagonal */
    int *source_start, *sources; /* [n_aggregates+1] and the entries of P in each of its columns, ascending by row */
    int *source_rows;            /* their rows */
    pd_csr product;              /* [n,..] the pattern of A P */
    pd_csr coarser;              /* the pattern of P^T A P */
} pd_aggregates;

/* The aggregates of the nodes of A: row_start [n+1] and ascending columns, with the diagonal.
 *   strengths [entries] >= 0, symmetric; an entry off the diagonal is strong above `threshold`
 *   held [n]: 1 for nodes that belong to no aggregate; NULL: none
 * *out is destroyed by the caller, also after a failure. Errors: PD_ERROR_MEMORY. */
pd_status pd_aggregates_create(pd_aggregates *out, int n, const int *row_start, const int *columns, const float *strengths,
                               double threshold, const unsigned char *held, pd_error *error);
/* The patterns: extension to coarser. Errors: PD_ERROR_MEMORY. */
pd_status pd_aggregates_multiply(pd_aggregates *self, const int *row_start, const int *columns, pd_error *error);
void pd_aggregates_destroy(pd_aggregates *self);

#endif
