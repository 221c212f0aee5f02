/* Aggregated Jacobi iterations as one sparse operator [Lan et al. 2022, Sec. 5 and Appendix A].
 *
 * With A = D - B and weighted Jacobi R = (1-w) I + w D^-1 B, an aggregated iteration applies the polynomial
 *     P = a_0 I + a_1 R + ... + a_m R^m,        m = `degree`:
 * R^l for A-Jacobi of order l, C_l(R/rho)/C_l(1/rho) for its composed form, I + R + .. + R^(l-1) as a preconditioner. B never changes.
 * When contact changes D, only rows within m-1 rings of a changed vertex change (row i contains D_i, D_s, .. along its paths).
 *
 *   degree 2        the A-products B_is B_sj are stored per path; a refresh only scales and adds them (Eq. 14)
 *   degree 1, 3, 4  a row is recomputed as e_i^T P, by repeated products with R: stored paths would need gigabytes
 *
 * The operator is stored in blocks of neighbouring rows; see pd_block_matrix in matrix_loops.h. pd_refresh_products and pd_refresh_rows
 * compute its values in backend memory. All numbers are double. */
#ifndef PD_SPARSE_AGGREGATION_H
#define PD_SPARSE_AGGREGATION_H

#include "base/status.h"
#include "sparse/system_matrix.h"

enum { PD_LARGEST_DEGREE = 4 };

typedef struct pd_aggregation {
    int n, degree, block_rows;
    int exact; /* w = 1 and only every second power has a coefficient: entries at an odd number of hops vanish and are left out */
    double weight;
    double coefficients[PD_LARGEST_DEGREE + 1];
    pd_csr B; /* the negated off-diagonal part */

    int n_blocks, largest_list;
    int *rows;             /* [n] row at each place */
    int *list_start;       /* [n_blocks+1] */
    int *list;             /* columns of a block, ascending */
    int *segment_start;    /* [n+1] */
    int *entry_start;      /* [n_segments+1] */
    unsigned short *local; /* [n_entries] */

    /* degree 1, 3, 4: the columns within `degree` hops of a block's rows, ascending; NULL: the lists */
    int *support_start; /* [n_blocks+1] */
    int *support;
    int largest_support;

    /* degree 2 */
    long long *path_start; /* [n_entries+1] */
    int *via;
    double *products;
    double *hops;       /* [n_entries] */
    unsigned char *own; /* [n_entries] */

    long long n_paths; /* walks of `degree` hops, stored or not */
} pd_aggregation;

/* Symbolic part: blocks, pattern, and for degree 2 the A-products. `bending` and `threshold` leave products out, for degree 2 only [Lan
 * et al. 2022, Eq. 16]. With bending (its off-diagonal part of A): the products of two bending entries. With threshold > 0: those below
 * threshold x the largest of their row. Both change the fixed point and exist for comparison.
 * Errors: PD_ERROR_MEMORY; PD_ERROR_VALUE if a row of the pattern has more than 65,535 entries or all have more than 2^31. */
pd_status pd_aggregation_create(pd_aggregation *out, const pd_csr *B, int degree, double weight, const double *coefficients,
                                const pd_csr *bending, double threshold, int block_rows, int segment, int threads, pd_error *error);
void pd_aggregation_destroy(pd_aggregation *self);

/* -A without its diagonal and without rows and columns of fixed vertices (fixed NULL: none). Entries of `without` (same or smaller
 * pattern, may be NULL) are subtracted. Entries with |entry| below threshold x the largest of both its rows are dropped. */
pd_status pd_off_diagonal(pd_csr *out, const pd_csr *A, const unsigned char *fixed, const pd_csr *without, double threshold,
                          pd_error *error);

#endif
