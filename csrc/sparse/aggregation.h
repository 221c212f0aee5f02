/* Aggregated Jacobi iterations as one sparse operator [Lan et al. 2022, Sec. 5 and Appendix A].
 *
 * With A = D - B and weighted Jacobi R = (1-w) I + w D^-1 B, an aggregated iteration applies the polynomial
 *     P = a_0 I + a_1 R + ... + a_m R^m,        m = `degree`:
 * R^l for A-Jacobi of order l, C_l(R/rho)/C_l(1/rho) for its composed form, I + R + .. + R^(l-1) as a preconditioner. B never changes; when
 * contact changes D, only rows within m-1 rings of a changed vertex do (row i holds D_i, D_s, .. along its paths).
 *
 *   degree 2        the A-products B_is B_sj are stored path by path, and a refresh only scales and adds them (Eq. 14)
 *   degree 1, 3, 4  a row is recomputed as e_i^T P, by repeated products with R: the paths themselves would take gigabytes
 *
 * The operator is laid out in blocks of neighbouring rows; see pd_block_matrix in matrix_loops.h. Its values are computed in backend
 * memory, by pd_refresh_products and pd_refresh_rows. Everything here is double. */
#ifndef PD_SPARSE_AGGREGATION_H
#define PD_SPARSE_AGGREGATION_H

#include "base/status.h"
#include "sparse/system_matrix.h"

enum { PD_LARGEST_DEGREE = 4 };

typedef struct pd_aggregation {
    int n, degree, block_rows;
    int exact; /* w = 1 and a_0, a_1, .. only at every second power: entries an odd number of hops off vanish and are left out */
    double weight;
    double coefficients[PD_LARGEST_DEGREE + 1];
    pd_csr B; /* the negated off-diagonal part */

    int n_blocks, largest_list;
    int *rows;             /* [n] row at each place */
    int *list_start;       /* [n_blocks+1] */
    int *list;             /* columns a block reads, ascending */
    int *segment_start;    /* [n+1] */
    int *entry_start;      /* [n_segments+1] */
    unsigned short *local; /* [n_entries] */

    /* degree 1, 3, 4: the columns within `degree` hops of a block's rows, ascending; NULL where the lists are that */
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

/* Symbolic part: blocks, pattern, and for degree 2 the A-products. `bending` and `threshold` leave products out, degree 2 only
 * [Lan et al. 2022, Eq. 16]: with bending (off-diagonal part of that part of A) the products of two bending entries; with
 * threshold > 0 those below threshold x the largest of their row. Both bias the fixed point and exist to show it.
 * Errors: PD_ERROR_MEMORY; PD_ERROR_VALUE where one row of the pattern has more than 65,535 entries or all of them more than 2^31. */
pd_status pd_aggregation_create(pd_aggregation *out, const pd_csr *B, int degree, double weight, const double *coefficients,
                                const pd_csr *bending, double threshold, int block_rows, int segment, int threads, pd_error *error);
void pd_aggregation_destroy(pd_aggregation *self);

/* -A without its diagonal, rows and columns of fixed vertices left out (fixed NULL: none). Entries of `without` (same or smaller
 * pattern, may be NULL) are subtracted, and |entry| below threshold x the largest of both its rows left out. */
pd_status pd_off_diagonal(pd_csr *out, const pd_csr *A, const unsigned char *fixed, const pd_csr *without, double threshold,
                          pd_error *error);

#endif
