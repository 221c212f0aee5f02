/* Triangular solves with a supernodal Cholesky factor: L L^T x = b for up to four right-hand sides, in parallel.
 *
 * A Projective Dynamics step repeats this solve with one factor and three right-hand sides (x, y, z). Vectors have four lanes, so one
 * row is one AVX register and the factor is read once for all of them. A single right-hand side, as in Newton's method, has scalar
 * functions. The elimination tree is cut into subtrees of a fixed size, which are tasks of threads. Above the cut, threads share the rows
 * of a supernode. Cut and row blocks depend on the factor only, so the bits of the result do not depend on the number of threads. */
#ifndef PD_SPARSE_SUPERNODAL_SOLVE_H
#define PD_SPARSE_SUPERNODAL_SOLVE_H

#include "base/status.h"

#include <stdint.h>

/* The factor in CHOLMOD's layout (borrowed). Supernode s owns the columns super[s] .. super[s+1]. Its rows are rows[row_start[s] ..
 * row_start[s+1]), the first of them its own columns. Its values are stored by columns at values + value_start[s], leading dimension =
 * number of rows. */
typedef struct pd_supernodes {
    int64_t n, n_supernodes;
    const int64_t *super, *row_start, *value_start, *rows;
    const int64_t *permutation; /* [n] row permutation[i] of A is row i of L */
    const double *values;
} pd_supernodes;

typedef struct pd_supernodal_plan pd_supernodal_plan;

/* Memory: [n,4] doubles and the tails of the subtrees; later calls allocate nothing. */
pd_status pd_supernodal_plan_create(pd_supernodal_plan **out, const pd_supernodes *factor, pd_error *error);

/* x = (L L^T)^-1 b, b and x [n,n_columns] row-major in the order of A, n_columns 1 to 4; b may be x. */
void pd_supernodal_solve(pd_supernodal_plan *plan, const pd_supernodes *factor, const double *b, double *x, int n_columns, int threads);

/* The two halves of a solve that eliminates only the columns before `end`, which is in the last supernode:
 *     y  [n-end,n_columns]  out  b_2 - L_21 L_11^-1 b_1, in the order of L; L_11^-1 b_1 stays in the plan
 *     x  [n,n_columns]      out  x_2 as given, x_1 = L_11^-T (L_11^-1 b_1 - L_21^T x_2);
 *                           x_2 [n-end,n_columns] in the order of L */
void pd_supernodal_forward(pd_supernodal_plan *plan, const pd_supernodes *factor, int64_t end, const double *b, double *y, int n_columns,
                           int threads);
void pd_supernodal_backward(pd_supernodal_plan *plan, const pd_supernodes *factor, int64_t end, const double *x2, double *x, int n_columns,
                            int threads);

void pd_supernodal_plan_destroy(pd_supernodal_plan *plan);

#endif
