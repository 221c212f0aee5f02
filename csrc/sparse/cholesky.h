/* Sparse Cholesky factorisation A = L L^T of a symmetric positive definite matrix, in double.
 *
 * CHOLMOD orders (nested dissection) and finds the supernodes [Chen, Davis, Hager, Rajamanickam 2008]. The factorisation
 * (supernodal_factor.h) and the triangular solves (supernodal_solve.h) are our own. Newton's method repeats the first, and a step of
 * Projective Dynamics the second, with three right-hand sides at once and the same bits for every thread count.
 *
 * Only the module _host links CHOLMOD. The other modules get this table of functions through a capsule. So a build without SuiteSparse,
 * or a CUDA module built on a machine without it, still loads. */
#ifndef PD_SPARSE_CHOLESKY_H
#define PD_SPARSE_CHOLESKY_H

#include "base/status.h"

typedef struct pd_cholesky pd_cholesky;

typedef struct pd_cholesky_functions {
    /* Analyses the pattern of the upper triangle, compressed columns: entries row_index[column_start[c] .. column_start[c+1]),
     * ascending, the diagonal last. The ordering treats groups of `block` rows (1, or 3 for a Hessian over vertices) as one node.
     * Memory: all that factorisations and solves need. Errors: PD_ERROR_UNSUPPORTED in a build without CHOLMOD, PD_ERROR_MEMORY. */
    pd_status (*create)(pd_cholesky **out, int n, const int *column_start, const int *row_index, int block, pd_error *error);

    /* Factorises with new values [nnz] in the order of the pattern. Allocates nothing.
     * Errors: PD_ERROR_SINGULAR if the matrix is not positive definite; error->vertex is the row / block. */
    pd_status (*factor)(pd_cholesky *self, const double *values, pd_error *error);

    /* x = A^-1 b for n_columns (1 to 4) right-hand sides, b and x [n,n_columns] row-major; b may be x. Allocates nothing. */
    void (*solve)(pd_cholesky *self, const double *b, double *x, int n_columns, int threads);

    /* Nonzeros of the factor, as stored. */
    long long (*factor_entries)(const pd_cholesky *self);
    /* Multiplications and additions of a factorisation. */
    double (*factor_work)(const pd_cholesky *self);

    /* The same for A = [[A11, A12], [A21, A22]], A22 its last n_last rows, 0 < n_last < n. A11 is eliminated first, and its factor can be
     * used separately [Wang et al. 2021, Sec. 4.3: a partial Cholesky factorisation]. Memory: 8 n_last^2 bytes more than the factor. */
    pd_status (*create_partitioned)(pd_cholesky **out, int n, int n_last, const int *column_start, const int *row_index, pd_error *error);

    /* sigma [n_last,n_last] = A22 - A21 A11^-1 A12 = L22 L22^T of the last factorisation: by columns, the lower triangle, zeros above. */
    void (*schur_complement)(const pd_cholesky *self, double *sigma);

    /* A solve in two halves, for n_columns (1 to 4) right-hand sides [Wang et al. 2021, Eqs. 16 and 18]. Allocate nothing.
     *   forward   y [n_last,n_columns] = b_2 - A21 A11^-1 b_1, b [n,n_columns] row-major; keeps L11^-1 b_1
     *   backward  x [n,n_columns]: x_2 from [n_last,n_columns], x_1 = A11^-1 (b_1 - A12 x_2) */
    void (*forward)(pd_cholesky *self, const double *b, double *y, int n_columns, int threads);
    void (*backward)(pd_cholesky *self, const double *x2, double *x, int n_columns, int threads);

    /* For dense matrices [n,n]: dense_cholesky.h. */
    pd_status (*dense_factor)(double *H, int n, pd_error *error);
    void (*dense_solve)(const double *L, int n, double *b, int n_columns);

    void (*destroy)(pd_cholesky *self); /* NULL is allowed */
} pd_cholesky_functions;

/* The table; its functions fail with PD_ERROR_UNSUPPORTED in a build without CHOLMOD. */
extern const pd_cholesky_functions pd_cholesky_library;

#define PD_CHOLESKY_CAPSULE "pdgpu._host.cholesky"

#endif
