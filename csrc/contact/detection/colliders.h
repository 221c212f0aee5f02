/* Colliders in backend memory, where loops and graphs find them: uploaded where they have changed, and only then. */
#ifndef PD_CONTACT_DETECTION_COLLIDERS_H
#define PD_CONTACT_DETECTION_COLLIDERS_H

#include "geometry/collider.h"
#include "loops/backend.h"

typedef struct pd_colliders {
    pd_context *context;
    int n;
    pd_collider *memory; /* B [n] */
    pd_collider *known;  /* H [n] what lies there */
    real **values;       /* H [n] of B: of the grids; NULL where there is none */
} pd_colliders;

/* n colliders without a shape yet. Errors: PD_ERROR_MEMORY. */
pd_status pd_colliders_create(pd_colliders **out, pd_context *context, int n);
void pd_colliders_destroy(pd_colliders *colliders); /* NULL is allowed */

/* Collider `which`: shape, size and where it is. values: of its grid, H; taken the first time only, since they move with the frame,
 * or where the grid is of another size. */
pd_status pd_colliders_set(pd_colliders *colliders, int which, const pd_collider *collider, const real *values);

#endif
