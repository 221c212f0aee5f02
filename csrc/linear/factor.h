/* A sparse Cholesky factor over the free vertices of a symmetric matrix: their numbering, the factor, and the way of vectors there and back. What
 * the unknowns of a vertex are, one, three or its directions, and which entries they have is for the caller: the system of Projective Dynamics
 * (direct.c), the Hessian of the incremental potential (dynamics/hessian_factor.c). */
#ifndef PD_LINEAR_FACTOR_H
#define PD_LINEAR_FACTOR_H

#include "base/real.h"
#include "sparse/cholesky.h"

#include <stddef.h>

typedef struct pd_factor {
    const pd_cholesky_functions *library;
    pd_cholesky *cholesky; /* NULL before the analysis */
    int n_free;
    int *free_rows;  /* [n_free] the vertex of each block of rows */
    int *compressed; /* [n] the block of each vertex, or -1 */
    int n_unknowns;
    int *column_start; /* [n_unknowns+1] */
    double *values;    /* of the upper triangle, by columns */
    double *vector;    /* room for a solve */
} pd_factor;

/* The upper triangle over the unknowns by columns, rows ascending, the diagonal last: column_start [n_unknowns+1], and where they are not NULL
 * the rows and the values. */
typedef void (*pd_upper_triangle)(const void *owner, int *column_start, int *rows, double *values);

/* Numbers the vertices that are not fixed (NULL: all are free); `numbers`: of a vertex in a solve, at the most. Afterwards destroy it in any case.
 * Errors: PD_ERROR_MEMORY. */
pd_status pd_factor_create(pd_factor *self, const pd_cholesky_functions *library, int n, const unsigned char *fixed, size_t numbers,
                           pd_error *error);
void pd_factor_destroy(pd_factor *self);

/* column_start of n_unknowns rows, and *rows [column_start[n_unknowns]], which is the caller's to free; and the values of the moment. For who has a
 * factor of his own. Errors: PD_ERROR_MEMORY. */
pd_status pd_factor_pattern(pd_factor *self, int n_unknowns, pd_upper_triangle triangle, const void *owner, int **rows, pd_error *error);
pd_status pd_factor_values(pd_factor *self, pd_upper_triangle triangle, const void *owner, pd_error *error);

/* Takes the pattern of n_unknowns rows in groups of `block`; what was there is forgotten. Errors: those of pd_cholesky_functions. */
pd_status pd_factor_analyse(pd_factor *self, int n_unknowns, int block, pd_upper_triangle triangle, const void *owner, pd_error *error);
/* Factorises with the values of the moment. Errors: PD_ERROR_SINGULAR, error->vertex the row, or the block of rows. */
pd_status pd_factor_refresh(pd_factor *self, pd_upper_triangle triangle, const void *owner, pd_error *error);
/* Where no other values will come: forgets them, and keeps the factor. */
void pd_factor_forget_values(pd_factor *self);

/* Numbers first .. first + numbers - 1 of the `width` that each vertex has in `rows` <- A^-1 of them; they are `columns` right-hand sides. */
void pd_factor_solve(pd_factor *self, real *rows, size_t width, size_t first, size_t numbers, int columns, int threads);

#endif
