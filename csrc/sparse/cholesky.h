/* Sparse Cholesky factorisation A = L L^T of a symmetric positive definite matrix, in double.
 *
 * CHOLMOD orders (nested dissection) and factorises [Chen, Davis, Hager, Rajamanickam 2008]; the triangular solves, which a
 * Projective Dynamics step repeats thousands of times, are our own (supernodal_solve.h): three right-hand sides at once,
 * parallel, and the same bits for every thread count.
 *
 * Only the module _host links CHOLMOD. The other modules get this table of functions from it through a capsule, so a build
 * without SuiteSparse, or a CUDA module built on a machine without it, still loads. */
#ifndef PD_SPARSE_CHOLESKY_H
#define PD_SPARSE_CHOLESKY_H

#include "base/status.h"

typedef struct pd_cholesky pd_cholesky;

typedef struct pd_cholesky_functions {
    /* Analyses the pattern of the upper triangle, compressed columns: entry rows row_index[column_start[c] .. column_start[c+1]),
     * ascending, the diagonal last. Rows come in groups of `block` (1, or 3 for a Hessian over vertices): the ordering
     * treats a group as one node. Memory: everything the solves need; a factorisation allocates inside the library.
     * Errors: PD_ERROR_UNSUPPORTED in a build without CHOLMOD, PD_ERROR_MEMORY. */
    pd_status (*create)(pd_cholesky **out, int n, const int *column_start, const int *row_index, int block, pd_error *error);

    /* Factorises with new values [nnz] in the order of the pattern.
     * Errors: PD_ERROR_SINGULAR where the matrix is not positive definite; error->vertex is the row / block. */
    pd_status (*factor)(pd_cholesky *self, const double *values, pd_error *error);

    /* x = A^-1 b for n_columns (1 to 4) right-hand sides, b and x [n,n_columns] row-major; b may be x. Allocates nothing. */
    void (*solve)(pd_cholesky *self, const double *b, double *x, int n_columns, int threads);

    /* Nonzeros of the factor, as stored. */
    long long (*factor_entries)(const pd_cholesky *self);

    void (*destroy)(pd_cholesky *self); /* NULL is allowed */
} pd_cholesky_functions;

/* The one table; its functions fail with PD_ERROR_UNSUPPORTED where the build left CHOLMOD out. */
extern const pd_cholesky_functions pd_cholesky_library;

#define PD_CHOLESKY_CAPSULE "pdgpu._host.cholesky"

#endif
