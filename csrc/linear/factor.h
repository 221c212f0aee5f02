/* A sparse Cholesky factor over the free vertices of a symmetric matrix: their numbering, the factor, and the way of vectors there and
 * back. What the unknowns of a vertex are, one, three or its directions, and which entries they have is for the caller: the system of
 * Projective Dynamics (direct.c), the Hessian of the incremental potential (dynamics/problem/hessian_factor.c).
 *
 * Where the backend has a library for it (loops/sparse_loops.h) the factor lies in its memory, and a solve neither copies a vector nor
 * waits. What that library cannot say for certain to be positive definite the host's factor is asked about. */
#ifndef PD_LINEAR_FACTOR_H
#define PD_LINEAR_FACTOR_H

#include "loops/sparse_loops.h"
#include "sparse/cholesky.h"

#include <stddef.h>

/* The upper triangle over the unknowns by columns, rows ascending, the diagonal last: column_start [n_unknowns+1], and where they are not
 * NULL the rows and the values. */
typedef void (*pd_upper_triangle)(const void *owner, int *column_start, int *rows, double *values);

/* What the unknowns are. */
typedef struct pd_unknowns {
    int n;
    /* 1: a vertex each, whose `width` numbers are right-hand sides, or as below; 3: the three numbers of a vertex, one after the other */
    int block;
    const int *start;         /* NULL, or [n_free+1] which are those of each free vertex */
    const double *directions; /* with start: [n,3] of each the direction that it is the coordinate along. Both are the caller's, and stay */
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

    pd_sparse_factor *resident; /* in backend memory; NULL before the analysis, and where the backend has no library */
    pd_cholesky *cholesky;      /* the host's; NULL before it is asked for */
    int by_host;                /* which of the two has the values of the moment */
    double *vector;             /* room for a solve of the host's, and for vectors on their way */
    real *staging;
} pd_factor;

/* Numbers the vertices of n that are not fixed (NULL: all are free), of `width` numbers each in a solve. Afterwards destroy it in any case.
 * What fails later is said in `error`, too. Errors: PD_ERROR_MEMORY. */
pd_status pd_factor_create(pd_factor *self, pd_context *context, const pd_cholesky_functions *library, int n, int width,
                           const unsigned char *fixed, pd_error *error);
void pd_factor_destroy(pd_factor *self);

/* Takes the pattern of these unknowns; what was there is forgotten. Errors: those of pd_cholesky_functions and of
 * pd_sparse_factor_create. */
pd_status pd_factor_analyse(pd_factor *self, const pd_unknowns *unknowns, pd_upper_triangle triangle, const void *owner);
/* Factorises with the values of the moment. `sure`: the matrix should be positive definite. Errors: PD_ERROR_SINGULAR, and where it was
 * sure error->vertex, the unknown, or the block of them. */
pd_status pd_factor_refresh(pd_factor *self, int sure, pd_upper_triangle triangle, const void *owner);
/* How many iterations of conjugate gradients with this factor as their preconditioner take as long as a factorisation, by the work of both,
 * so that it is the same in every run; at least 1. */
int pd_factor_worth(const pd_factor *self);
/* Where no other values will come: forgets them, and keeps the factor. */
void pd_factor_forget_values(pd_factor *self);

/* direction = A^-1 residual, B [n,width], 0 where a vertex is fixed. The host's waits. */
pd_status pd_factor_solve(pd_factor *self, const real *residual, real *direction);

#endif
