/* The matrix of the global step in two parts, A = [[A11, A12], [A21, A22]]: x2 the vertices of the contact region, on which contact
 * acts, x1 those of the interior region [Wang et al. 2021, Secs. 4.2-4.4].
 *
 * A11 is factorised once. The Schur complement Sigma = A22 - A21 A11^-1 A12 is a part of the same factorisation, as L22 L22^T. Contact
 * adds the same to Sigma as to A22, so only a dense matrix of the size of x2 is factorised again. A solve of A d = r is
 *
 *     forward    y2 = r2 - A21 A11^-1 r1
 *     dense      (Sigma + contact) d2 = y2
 *     backward   d1 = A11^-1 (r1 - A12 d2)
 *
 * Between forward and backward a nested iteration may change d2 (dynamics/methods/schur_step.h). All numbers are double. Sigma and its
 * factor stay in backend memory. So do the first and last part if the backend has a library for sparse factors (schur_resident.h).
 * Otherwise these run on the host, and every solve transfers the residual and the correction.
 *
 * With `active` of pd_linear_settings there are exactly two dense factors: of Sigma, and of Sigma + active I, in use as soon as contact
 * adds anything [Komaritzan and Botsch 2018, Projective Skinning]. It bounds the stiffness of contact, so a solve may undershoot and
 * never overshoots.
 *
 * The diagonal of contact (pd_linear_set_diagonal) and its off-diagonal entries (pd_linear_set_entries) may change in the contact region
 * only. PD_ERROR_VALUE names another vertex. */
#ifndef PD_LINEAR_SCHUR_H
#define PD_LINEAR_SCHUR_H

#include "linear/linear_solver.h"

typedef struct pd_schur pd_schur;

/* The Schur complement of a prepared linear solver of kind PD_LINEAR_SCHUR; NULL for others. */
pd_schur *pd_linear_schur(const pd_linear *linear);

/* The cost of a Schur complement. */
typedef struct pd_schur_cost {
    int interior, in_contact;                            /* rows */
    long long factor_entries;                            /* of the sparse factor, including the part of Sigma */
    long long bytes;                                     /* of Sigma, its factor and its part of the sparse factor */
    long long factorizations;                            /* dense ones so far */
    double sparse_seconds, sigma_seconds, dense_seconds; /* of the sparse factorisation, of L22 L22^T, of the last dense factorisation */
} pd_schur_cost;

int pd_schur_contact_size(const pd_schur *self);
const int *pd_schur_contact_rows(const pd_schur *self); /* H [in_contact], ascending */
pd_schur_cost pd_schur_cost_of(const pd_schur *self);

/* residual, correction B [n,3]; y2, u2 B [in_contact,3]. Call forward before backward. Rows of fixed vertices are zero. */
pd_status pd_schur_forward(pd_schur *self, const real *residual, real *y2);
pd_status pd_schur_dense(pd_schur *self, const real *g2, real *u2);
pd_status pd_schur_backward(pd_schur *self, const real *u2, real *correction);

#endif
