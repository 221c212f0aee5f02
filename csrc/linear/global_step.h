/* The linear solvers of the global step: d with A d = r over the free vertices, from d = 0.
 *
 * Every solver works on the correction d, never on positions: r is summed from element forces, so float32 loses no digits to
 * the size of the coordinates. A is the matrix of host/system_matrix.h; r and d are [n,3], zero at fixed vertices. */
#ifndef PD_LINEAR_GLOBAL_STEP_H
#define PD_LINEAR_GLOBAL_STEP_H

#include "backend.h"
#include "host/cholesky.h"
#include "host/system_matrix.h"
#include "linear/chebyshev.h"

enum { PD_LINEAR_DIRECT, PD_LINEAR_JACOBI };

typedef struct pd_linear_settings {
    int kind;
    int iterations;         /* per global step (Jacobi) */
    double weight;          /* Jacobi; 0: 1.8 / (estimate of the largest eigenvalue of D^-1 A) */
    pd_chebyshev chebyshev; /* restarted in each global step */
} pd_linear_settings;

/* ---- direct: one Cholesky factor for x, y and z ---------------------------------------------------------------------- */

typedef struct pd_direct pd_direct;

/* Factorises the block of A over the free vertices. */
pd_status pd_direct_create(pd_direct **out, pd_context *context, const pd_cholesky_functions *cholesky, const pd_csr *A,
                           const unsigned char *fixed /* H */);
/* Factorises again with new values on the same pattern. */
pd_status pd_direct_factor(pd_direct *self, const pd_csr *A);
pd_status pd_direct_solve(pd_direct *self, const real *residual /* B */, real *direction /* B */);
void pd_direct_destroy(pd_direct *self);

/* ---- weighted Jacobi --------------------------------------------------------------------------------------------------- */

typedef struct pd_jacobi pd_jacobi;

/* Copies A into backend memory and, where settings->weight is 0, estimates the largest eigenvalue of D^-1 A. */
pd_status pd_jacobi_create(pd_jacobi **out, pd_context *context, const pd_model *model, const pd_linear_settings *settings, const pd_csr *A,
                           const unsigned char *fixed /* H */);
pd_status pd_jacobi_solve(pd_jacobi *self, const real *residual /* B */, real *direction /* B */);
double pd_jacobi_weight(const pd_jacobi *self);
const pd_matrix *pd_jacobi_matrix(const pd_jacobi *self); /* over the free vertices, owned by the solver */
void pd_jacobi_destroy(pd_jacobi *self);

#endif
