/* The matrix of the global step with a small part of its vertices apart: A = [[A11, A12], [A21, A22]], x2 the collision-prone vertices,
 * which contact acts on, x1 the safe ones [Wang et al. 2021, Secs. 4.2-4.4].
 *
 * A11 is factorised once, and the Schur complement Sigma = A22 - A21 A11^-1 A12 is a part of the same factorisation, as L22 L22^T. What
 * contact adds to A22 it adds to Sigma, so only a dense matrix of the size of x2 is factorised again. A solve of A d = r is
 *
 *     forward    y2 = r2 - A21 A11^-1 r1
 *     dense      (Sigma + what contact adds) d2 = y2
 *     backward   d1 = A11^-1 (r1 - A12 d2)
 *
 * and between forward and backward a nested iteration may change d2 as it likes (dynamics/methods/schur_step.h). All of it is double. Sigma
 * and its factor stay in backend memory. So do the first and last part where the backend has a library for sparse factors
 * (schur_resident.h); elsewhere they are the host's, and the residual comes down and the direction goes up in every solve.
 *
 * With `active` of pd_linear_settings there are two dense factors and never another: of Sigma, and of Sigma + active I, in use as soon as
 * contact adds anything [Komaritzan and Botsch 2018, Projective Skinning]. It bounds what contact adds, so a solve goes less far and never
 * too far.
 *
 * The diagonal that contact changes (pd_linear_set_diagonal), and entries beside it (pd_linear_set_entries), may change at prone vertices
 * alone: PD_ERROR_VALUE names one that is safe. */
#ifndef PD_LINEAR_SCHUR_H
#define PD_LINEAR_SCHUR_H

#include "linear/linear_solver.h"

typedef struct pd_schur pd_schur;

/* What a linear solver of kind PD_LINEAR_SCHUR works with once it is prepared; NULL for every other. */
pd_schur *pd_linear_schur(const pd_linear *linear);

/* What it takes. */
typedef struct pd_schur_cost {
    int safe, prone;                                     /* rows */
    long long factor_entries;                            /* of the sparse factor, Sigma's place in it included */
    long long bytes;                                     /* of Sigma, its factor and its place */
    long long factorizations;                            /* dense ones so far */
    double sparse_seconds, sigma_seconds, dense_seconds; /* of the sparse factorisation, of L22 L22^T, of the last dense factorisation */
} pd_schur_cost;

int pd_schur_prone(const pd_schur *self);
const int *pd_schur_prone_rows(const pd_schur *self); /* H [prone], ascending */
pd_schur_cost pd_schur_cost_of(const pd_schur *self);

/* residual, direction B [n,3]; y2, u2 B [prone,3]. A forward must come before its backward. Zero rows where vertices are fixed. */
pd_status pd_schur_forward(pd_schur *self, const real *residual, real *y2);
pd_status pd_schur_dense(pd_schur *self, const real *g2, real *u2);
pd_status pd_schur_backward(pd_schur *self, const real *u2, real *direction);

#endif
