/* What the functions of a material of the caller find, checked: energy, stress and Hessian of a batch of elements. */
#ifndef PD_MESH_MATERIAL_VALUES_H
#define PD_MESH_MATERIAL_VALUES_H

#include "base/material_functions.h"

/* Numbers of an element: Psi, dPsi/dF [3,d], and the upper triangle of d2Psi/dF2 by rows; elements/custom.h has them in this order. */
int pd_material_width(int d);

/* The numbers of a quantity: places *first to *end - 1 of an element's. */
void pd_material_columns(pd_material_quantity quantity, int d, int *first, int *end);

/* values [n, pd_material_width(d)] out: what is asked for (PD_ASK_...) of the first n elements of `functions`, whose F and elements are
 * filled; other numbers are left alone. A Hessian is symmetrised. Without a function for it column j is
 *     (P(F + s e_j) - P(F - s e_j)) / (2 s),    s = PD_MATERIAL_STEP max(1, largest |entry| of F).
 * F is what it was afterwards. An energy may be infinite: a line search then shortens the move.
 * Errors: PD_ERROR_NOT_FINITE, naming material, function, element and entry; those of the functions. */
#define PD_MATERIAL_STEP 6.0554544523933429e-6 /* cube root of the spacing of double at 1: rounding and truncation are of one size */
pd_status pd_material_values(const pd_material_functions *functions, int asked, int n, int d, double *values, pd_error *error);

#endif
