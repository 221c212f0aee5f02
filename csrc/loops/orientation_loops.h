/* Tets that must not invert. The rules of backend.h hold. */
#ifndef PD_LOOPS_ORIENTATION_LOOPS_H
#define PD_LOOPS_ORIENTATION_LOOPS_H

#include "loops/element_loops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The largest shortfall of all elements of PD_ORIENTED_TABLE, by updates/elements/orientation_update.h; 0 without such elements.
 *   x_0  B [n,3]  in  m, where the path begins; NULL: x_1 alone is tested      x_1  B [n,3]  in  m
 *   shortfall  B [1]  out  1 - the part of the path from x_0 to x_1 on which each keeps its volume as said there; x_0 NULL: 0 where det F > 0
 *                          for all, else 1 */
pd_status pd_orientation_shortfall(pd_context *context, const pd_model *model, const real *x_0, const real *x_1, double *shortfall);

#ifdef __cplusplus
}
#endif

#endif
