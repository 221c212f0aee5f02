/* The numeric supernodal Cholesky factorisation on the pattern of supernodal_solve.h.
 *
 * Left-looking by supernodes, as CHOLMOD's [Chen, Davis, Hager, Rajamanickam 2008, Sec. 3]. The Hessian of a cloth or of a small solid
 * has supernodes of 5 to 50 columns. BLAS spends most of the time of such products on copies of their factors. Products of that size use
 * our own kernel, which reads the factor in place; larger ones use BLAS. */
#ifndef PD_SPARSE_SUPERNODAL_FACTOR_H
#define PD_SPARSE_SUPERNODAL_FACTOR_H

#include "sparse/supernodal_solve.h"

typedef struct pd_supernodal_factor pd_supernodal_factor;

/* For the upper triangle of A by columns, in the order before the permutation of `factor`:
 *   column_start  [n+1]      rows  [column_start[n]]
 * Memory: the values of the factor, the place of each entry of A, and the largest product. Later calls allocate nothing.
 * Errors: PD_ERROR_MEMORY. */
pd_status pd_supernodal_factor_create(pd_supernodal_factor **out, const pd_supernodes *factor, const int *column_start, const int *rows,
                                      pd_error *error);
void pd_supernodal_factor_destroy(pd_supernodal_factor *self); /* NULL is allowed */

/* The values of the factor, in the layout of pd_supernodes. Their address is constant. */
const double *pd_supernodal_factor_values(const pd_supernodal_factor *self);

/* Factorises A with these values [column_start[n]]. Returns the row of the factor whose pivot is not positive or not finite; n after
 * success. */
int64_t pd_supernodal_factorise(pd_supernodal_factor *self, const pd_supernodes *factor, const double *values);

#endif
