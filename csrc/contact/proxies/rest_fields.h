/* Bodies that proxies are kept out of: the signed distance of a rest shape, carried by the tets that deform [McAdams et al. 2011; Wang et
 * al. 2021, Localized collisions, Sec. 5.1]. Where a proxy lies in a tet, its coordinates there give a place at rest; where that is inside,
 * the point of the rest surface nearest to it is the target, which the tet that holds it at rest carries along: t = W_c x, so that the
 * spring is between two points of bodies. A body's own tets count beyond a distance at rest. Which pairs there are, and W_c, follow x with
 * a delay: there is no energy whose gradient this is, but with them held.
 *
 * A tree of boxes over the tets finds those that a proxy may be in. It is made at rest, and fitted at every x. */
#ifndef PD_CONTACT_PROXIES_REST_FIELDS_H
#define PD_CONTACT_PROXIES_REST_FIELDS_H

#include "loops/proxy_loops.h"

typedef struct pd_rest_bodies pd_rest_bodies;

/* All H, but for what is said there; `fields` as the loops have them, with start, tets and surfaces H, and `values` of each grid apart. */
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

/* What is active at x [n_vertices,3] B, after pd_proxy_detect; targets are not yet there (pd_proxy_carry). Waits. */
pd_status pd_rest_bodies_detect(pd_rest_bodies *bodies, const real *x, const pd_proxy_points *points);
/* gradient [n_vertices,3] B: what the springs do to those who carry their targets. */
pd_status pd_rest_bodies_gather(pd_rest_bodies *bodies, const pd_proxy_points *points, real *gradient);

#endif
