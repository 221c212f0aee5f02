/* Checked results of the functions of a material of the caller: energy, stress and Hessian of a batch of elements. */
#ifndef PD_MESH_MATERIAL_VALUES_H
#define PD_MESH_MATERIAL_VALUES_H

#include "base/material_functions.h"

/* Numbers of an element: Psi, dPsi/dF [3,d], and the upper triangle of d2Psi/dF2 by rows; elements/custom.h has them in this order. */
int pd_material_width(int d);

/* The range of a quantity in the numbers of an element: *first to *end - 1. */
void pd_material_columns(pd_material_quantity quantity, int d, int *first, int *end);

/* values [n, pd_material_width(d)] out: the requested quantities (PD_REQUEST_...) of the first n elements of `functions`, with F and elements
 * filled in; other numbers are unchanged. A Hessian is symmetrised. Without a function for it column j is
 *     (P(F + s e_j) - P(F - s e_j)) / (2 s),    s = PD_MATERIAL_STEP max(1, largest |entry| of F).
 * F is restored. An energy may be infinite: then a line search shortens the move. Errors: PD_ERROR_NOT_FINITE, naming material, function,
 * element and entry; those of the functions. */
#define PD_MATERIAL_STEP 6.0554544523933429e-6 /* cube root of the spacing of double at 1: rounding and truncation are of equal size */
pd_status pd_material_values(const pd_material_functions *functions, int requested, int n, int d, double *values, pd_error *error);

#endif
