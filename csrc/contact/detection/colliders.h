/* Colliders in backend memory, at constant addresses for loops and graphs. Only changed colliders are uploaded. */
#ifndef PD_CONTACT_DETECTION_COLLIDERS_H
#define PD_CONTACT_DETECTION_COLLIDERS_H

#include "geometry/collider.h"
#include "loops/backend.h"

typedef struct pd_colliders {
    pd_context *context;
    int n;
    pd_collider *memory; /* B [n] */
    pd_collider *known;  /* H [n] the last upload */
    real **values;       /* H [n] of B: grid values; NULL: no grid */
} pd_colliders;

/* Creates n colliders without a shape. Errors: PD_ERROR_MEMORY. */
pd_status pd_colliders_create(pd_colliders **out, pd_context *context, int n);
void pd_colliders_destroy(pd_colliders *colliders); /* NULL is allowed */

/* Sets shape, size and pose of collider `which`. values: of its grid, H. They move with the frame of the collider, so they are uploaded
 * only at the first call, or when the size of the grid changes. */
pd_status pd_colliders_set(pd_colliders *colliders, int which, const pd_collider *collider, const real *values);

#endif
