/* The parts of contact, for contact.c, contact_lag.c, contact_stiffness.c, contact_potential.c and contact_moves.c only. Other files
 * include contact.h. */
#ifndef PD_CONTACT_POTENTIAL_CONTACT_PARTS_H
#define PD_CONTACT_POTENTIAL_CONTACT_PARTS_H

#include "contact/detection/proximity.h"
#include "contact/potential/ccd_limiter.h"
#include "contact/potential/contact.h"
#include "contact/potential/neighbour_list.h"
#include "linear/upload.h"

struct pd_contact {
    pd_context *context;
    pd_pair_potential potential; /* with the present stiffness */
    real stiffness;              /* of the description */
    int adaptive;
    pd_contact_doublings doublings, before_step;
    pd_contact_scene scene;
    int chooses_triangles;                  /* of panels; projections have no term that depends on the choice */
    int n_vertices, n_moving, n_prescribed; /* n_moving: vertices and embedded points */
    int n_positions, *positions;            /* B the points without the normals of planes; NULL: all */
    double culling;                         /* seconds of searches for neighbour pairs so far */
    int by_bounds, widened;                 /* PD_LIMITER_BOUNDS; pd_contact_widen */
    double range;                           /* listing distance of all pairs, radii subtracted, m; at least the activation distance */
    double acts;                            /* with `widened`, the activation distance, m */
    double lasting, holds; /* pd_contact_list_up_to, m: the distance of a new list, 0: rebuilt after every move; its present
                              distance */
    pd_broad_phase *phase;
    pd_surface *surface;
    pd_colliders *planes; /* one per plane */
    pd_colliders *fields; /* distance fields, which replace some of the planes */
    pd_proximity *proximity;
    pd_ccd_limiter *limiter;
    pd_neighbour_list *near;
    pd_friction *friction[PD_LAG_COUNT]; /* NULL without friction */
    pd_penalty *penalty[PD_LAG_COUNT];   /* NULL without a penalty */
    int interval;                        /* pd_contact_interval */
    int every_visit;                     /* of friction: pd_penalty_description */
    int fresh;                           /* no detection yet in this step */
    int async;                           /* pd_contact_allow_async */
    real *found_at;                      /* B [n_vertices,3] positions of every detection; NULL: those of the call */
    int lag, lags;                       /* the present lag; pd_contact_lags */
    long long searches;
    int uncounted; /* the last search was made for a record, and its pairs have not been used since */

    real *prescribed, *targets, *kept; /* B [n_driven,3] m */
    pd_outbox sent;                    /* of targets */
    int ahead;

    int n, listed; /* pairs; listed: those of the surface's points */
    size_t capacity, corner_capacity, hessian_capacity, partial_capacity;
    pd_contact_columns columns;
    real *values, *corners; /* B [capacity], [corner_capacity,4,3] */
    double *partial;        /* B [capacity / PD_SUM_BLOCK + 2] */
    real *hessians;         /* B [hessian_capacity,12,12] */
    pd_incidence incidence;
    double *energy;                        /* B [2] */
    pd_closing *closing;                   /* B [1] */
    real *held;                            /* B [n_vertices] pd_contact_sweep */
    pd_separating_plane *planes_of_listed; /* B [plane_capacity] of all pairs; for a step limit by displacement bounds */
    size_t plane_capacity;

    pd_chosen_points chosen;     /* points that may come into contact */
    unsigned char *chosen_flags; /* H [n_points] */
    real *displacement_bounds;   /* B [n_vertices] m; infinite for vertices without chosen points */
    unsigned char *touching;     /* B [n_vertices] contact so far in this step */
};

/* Lists `positions`: coordinates of normals are no lengths. */
pd_status pd_contact_list_positions(pd_contact *self, const pd_contact_description *d);

/* Sets points B [n_points,3] from x B [n_vertices,3], with its embedded points, and prescribed B [n_prescribed,3]. */
pd_status pd_contact_set_points(const pd_contact *self, const real *x, const real *prescribed, real *points);

/* Sets the stiffness to 2^doublings times that of the description; no effect unless adaptive. */
void pd_contact_use_doublings(pd_contact *self, int doublings);

/* Tells whether any radius is positive. */
int pd_contact_is_thick(const pd_contact_description *description);

/* Increases the capacity to n pairs. Memory: grows. Errors: PD_ERROR_MEMORY. */
pd_status pd_contact_ensure_capacity(pd_contact *self, size_t n);
/* The same for self->corners, which a sweep over vertices does not need. */
pd_status pd_contact_ensure_corners(pd_contact *self, size_t n);

/* The pairs of the contact potential at the last detection, and one of their quantities at the surface's points; `filter` as in
 * contact_loops.h. */
pd_contact_pairs pd_contact_listed(const pd_contact *self);
pd_status pd_contact_evaluate(const pd_contact *self, int quantity, pd_hessian_filter filter, real *out);

/* The pairs that act, of a contact potential or of a penalty: their number, points and incidence. */
typedef struct pd_contact_acting_pairs {
    int n;
    const int *points;
    const pd_incidence *incidence;
} pd_contact_acting_pairs;
pd_contact_acting_pairs pd_contact_acting(const pd_contact *self, pd_penalty_view *view);

#endif
