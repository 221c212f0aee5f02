/* Bodies as colliders of proxies: the signed distance of a rest shape, carried by the deforming tets [McAdams et al. 2011; Wang et al.
 * 2021, Localized collisions, Sec. 5.1].
 *
 * A proxy in a tet has barycentric coordinates there, which give a point of the rest shape. If this point is inside, the nearest point
 * of the rest surface is the target. The tet that contains the target at rest carries it, t = W_c x, so that the spring joins two points
 * of bodies. A body's own tets count only beyond a distance at rest. Pairs and W_c follow x with a delay. So this is the gradient of an
 * energy only while they are held.
 *
 * A tree of boxes over the tets finds the tets that may contain a proxy. It is built at rest and refitted at every x. */
#ifndef PD_CONTACT_PROXIES_REST_FIELDS_H
#define PD_CONTACT_PROXIES_REST_FIELDS_H

#include "loops/proxy_loops.h"

typedef struct pd_rest_bodies pd_rest_bodies;

/* All H unless noted. `fields` as in the loops, with start, tets and surfaces H; the grids' values are in `values`. */
typedef struct pd_rest_description {
    int n_fields, n_tets;
    pd_rest_field *fields;      /* [n_fields] */
    const real *const *values;  /* [n_fields] of the grids */
    const int *tets, *field_of; /* [n_tets,4] [n_tets] */
    const real *rest;           /* [n_vertices,3] m */
    const int *body;            /* [n] of the proxies */
    const real *place;          /* [n,3] m */
} pd_rest_description;

/* For the proxies of `points`. Errors: PD_ERROR_MEMORY. */
pd_status pd_rest_bodies_create(pd_rest_bodies **out, pd_context *context, const pd_rest_description *description, int n_vertices,
                                const unsigned char *fixed, const pd_proxy_points *points);
void pd_rest_bodies_destroy(pd_rest_bodies *bodies); /* NULL is allowed */

/* Finds the active proxies at x [n_vertices,3] B, after pd_proxy_detect. Targets follow in pd_proxy_carry. Synchronises. */
pd_status pd_rest_bodies_detect(pd_rest_bodies *bodies, const real *x, const pd_proxy_points *points);
/* gradient [n_vertices,3] B: adds the forces of the springs on the vertices that carry the targets. */
pd_status pd_rest_bodies_gather(pd_rest_bodies *bodies, const pd_proxy_points *points, real *gradient);

#endif
