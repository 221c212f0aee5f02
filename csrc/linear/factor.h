/* A sparse Cholesky factor over the free vertices of a symmetric matrix: their numbering, the factor, and the transfer of vectors. The
 * caller defines the unknowns of a vertex (one, three or its free directions) and their entries. Users are the system of Projective
 * Dynamics (direct.c) and the Hessian of the incremental potential (dynamics/problem/hessian_factor.c).
 *
 * If the backend has a library for it (loops/sparse_loops.h), the factor is in backend memory. A solve then copies no vector and does
 * not synchronise. If that library cannot certify that a matrix is positive definite, the host's factor decides. */
#ifndef PD_LINEAR_FACTOR_H
#define PD_LINEAR_FACTOR_H

#include "loops/sparse_loops.h"
#include "sparse/cholesky.h"

#include <stddef.h>

/* The upper triangle over the unknowns by columns, rows ascending, the diagonal last: column_start [n_unknowns+1], and unless NULL the
 * rows and the values. */
typedef void (*pd_upper_triangle)(const void *owner, int *column_start, int *rows, double *values);

/* The unknowns of a factor. */
typedef struct pd_unknowns {
    int n;
    /* 1: one per vertex, whose `width` numbers are right-hand sides, or as below; 3: the three numbers of a vertex in sequence */
    int block;
    const int *start;         /* NULL, or [n_free+1] the first unknown of each free vertex */
    const double *directions; /* with start: [n,3] the direction of each coordinate. Both are borrowed */
} pd_unknowns;

typedef struct pd_factor {
    pd_context *context;
    const pd_cholesky_functions *library;
    pd_error *error;
    int n, width, n_free;
    int *free_rows;  /* [n_free] the vertex of each block of rows */
    int *compressed; /* [n] the block of each vertex, or -1 */
    pd_unknowns unknowns;
    int *column_start; /* [unknowns+1] */
    double *values;    /* of the upper triangle, by columns */

    pd_sparse_factor *resident; /* in backend memory; NULL before the analysis, or without a library */
    pd_cholesky *cholesky;      /* the host's; NULL before its first use */
    int by_host;                /* 1: the host's factor has the present values */
    double *vector;             /* for a solve on the host, and for transfers */
    real *staging;
} pd_factor;

/* Numbers the free vertices among n (`fixed` NULL: all are free), with `width` numbers each in a solve. Destroy it in any case. Later
 * failures also write to `error`. Errors: PD_ERROR_MEMORY. */
pd_status pd_factor_create(pd_factor *self, pd_context *context, const pd_cholesky_functions *library, int n, int width,
                           const unsigned char *fixed, pd_error *error);
void pd_factor_destroy(pd_factor *self);

/* Takes the pattern of these unknowns and drops the previous one. Errors: those of pd_cholesky_functions and of pd_sparse_factor_create. */
pd_status pd_factor_analyse(pd_factor *self, const pd_unknowns *unknowns, pd_upper_triangle triangle, const void *owner);
/* Factorises with the present values. `sure`: the matrix should be positive definite.
 * Errors: PD_ERROR_SINGULAR; with `sure` error->vertex is the unknown, or its block. */
pd_status pd_factor_refresh(pd_factor *self, int sure, pd_upper_triangle triangle, const void *owner);
/* The number of iterations of conjugate gradients, preconditioned by this factor, that cost as much as a factorisation; >= 1. From the
 * work of both, so that it is the same in every run. */
int pd_factor_worth(const pd_factor *self);
/* The same of iterations preconditioned by blocks, with a matrix of this many entries. */
int pd_factor_products(const pd_factor *self, double entries);
/* Frees the values and keeps the factor, if no other values follow. */
void pd_factor_forget_values(pd_factor *self);

/* correction = A^-1 residual, B [n,width], 0 at fixed vertices. The host's factor synchronises. */
pd_status pd_factor_solve(pd_factor *self, const real *residual, real *correction);

#endif
