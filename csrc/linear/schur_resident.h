/* The interior region of a Schur complement (schur.h) in backend memory, for a backend with a library for sparse factors. A11 is
 * factorised there, and no vector of all vertices is transferred between forward and backward part. The library solves with A11 and not
 * with one of its triangles. So there are two solves where the host has two halves of one:
 *
 *     forward     A11 z1 = r1,                y2 = r2 - A21 z1
 *     backward    A11 d1 = r1 - A12 d2
 *
 * One matrix couples the two parts, C = [[I, -A12], [-A21, I]]: y2 is the lower part of C (z1, r2), and r1 - A12 d2 the upper one of C
 * (r1, d2). */
#ifndef PD_LINEAR_SCHUR_RESIDENT_H
#define PD_LINEAR_SCHUR_RESIDENT_H

#include "base/status.h"
#include "loops/sparse_loops.h"
#include "sparse/system_matrix.h"

typedef struct pd_schur_resident pd_schur_resident;

/* rows  H [interior+in_contact] the rows of A, the interior ones first, both ascending. Synchronises.
 * Errors: PD_ERROR_MEMORY, PD_ERROR_DEVICE, PD_ERROR_SINGULAR. */
pd_status pd_schur_resident_create(pd_schur_resident **out, pd_context *context, const pd_csr *A, const int *rows, int interior,
                                   int in_contact);
void pd_schur_resident_destroy(pd_schur_resident *self, pd_context *context); /* NULL is allowed */

/* As in schur.h; the backward part also reads `residual`. correction may be y2 and u2, but not residual. */
pd_status pd_schur_resident_forward(pd_schur_resident *self, pd_context *context, const real *residual, real *y2);
pd_status pd_schur_resident_backward(pd_schur_resident *self, pd_context *context, const real *u2, real *correction);

#endif
