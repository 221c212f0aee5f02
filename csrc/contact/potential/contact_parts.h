/* What contact is made of, for contact.c, contact_lag.c, contact_stiffness.c, contact_potential.c and contact_moves.c alone: everybody else
 * knows contact.h. */
#ifndef PD_CONTACT_POTENTIAL_CONTACT_PARTS_H
#define PD_CONTACT_POTENTIAL_CONTACT_PARTS_H

#include "contact/detection/proximity.h"
#include "contact/potential/contact.h"
#include "contact/potential/guard.h"
#include "contact/potential/near.h"
#include "linear/upload.h"

struct pd_contact {
    pd_context *context;
    pd_contact_law law; /* its stiffness is the present one */
    real stiffness;     /* of the description */
    int adaptive;
    pd_contact_doublings doublings, before_step;
    pd_contact_scene scene;
    int n_vertices, n_moving, n_driven; /* n_moving: vertices and the points that they carry */
    double culling;                     /* s spent in finding pairs that are near, so far */
    int by_reach, widened;              /* the guard; pd_contact_widen */
    double reach;          /* the distance up to which all pairs are listed, radii subtracted, m: at least that at which they act */
    double acts;           /* with `widened`, the distance at which they act, m */
    double lasting, holds; /* pd_contact_list_up_to: how far a list goes when it is made, m, 0: it is rebuilt after every move; how far
                              it goes now */
    pd_broad_phase *phase;
    pd_surface *surface;
    pd_colliders *planes; /* as many as there are planes */
    pd_colliders *fields; /* of distances, which some of the planes are */
    pd_proximity *proximity;
    pd_guard *guard;
    pd_near *near;
    pd_friction *friction[PD_LAG_COUNT]; /* NULL without friction */
    pd_penalty *penalty[PD_LAG_COUNT];   /* NULL without a penalty */
    int interval;                        /* pd_contact_interval */
    int every_visit;                     /* of friction: pd_penalty_description */
    int fresh;                           /* no detection yet since the step began */
    int asks;                            /* pd_contact_let_ask */
    real *found_at;                      /* B [n_vertices,3] where every detection looks; NULL: where it is asked */
    int lag, lags;                       /* the one that acts; pd_contact_lags */
    long long searches;
    int uncounted; /* the last search was made for a record, and its pairs have not been used since */

    real *driven, *targets, *kept; /* B [n_driven,3] m */
    pd_outbox sent;                /* of targets */
    int ahead;

    int n, listed; /* pairs; listed: they are those of the surface's points */
    size_t capacity, hessian_capacity, partial_capacity;
    pd_contact_columns columns;
    real *values, *corners; /* B [capacity], [capacity,4,3] */
    double *partial;        /* B [capacity / PD_SUM_BLOCK + 2] */
    real *hessians;         /* B [hessian_capacity,12,12] */
    pd_incidence incidence;
    double *energy;                        /* B [2] */
    pd_closing *closing;                   /* B [1] */
    real *held;                            /* B [n_vertices] pd_contact_sweep */
    pd_separating_plane *planes_of_listed; /* B [plane_capacity] of all pairs; for a limit by displacement bounds */
    size_t plane_capacity;

    pd_chosen_points chosen;     /* that may ever touch */
    unsigned char *chosen_flags; /* H [n_points] */
    real *reaches;               /* B [n_vertices] m; infinite where none is chosen */
    unsigned char *touching;     /* B [n_vertices] in this step so far */
};

/* points B [n_points,3] = x B [n_vertices,3], what it carries, and driven B [n_driven,3]. */
pd_status pd_contact_set_points(const pd_contact *self, const real *x, const real *driven, real *points);

/* From now on the law has 2^doublings times the stiffness of the description; nothing happens unless it is adaptive. */
void pd_contact_use_doublings(pd_contact *self, int doublings);

/* Whether anything has a radius. */
int pd_contact_is_thick(const pd_contact_description *description);

/* Room for n pairs. Memory: grows. Errors: PD_ERROR_MEMORY. */
pd_status pd_contact_make_room(pd_contact *self, size_t n);

/* The pairs of a law that were last found, and one of their quantities where the surface's points are; `filter` as in contact_loops.h. */
pd_contact_pairs pd_contact_listed(const pd_contact *self);
pd_status pd_contact_evaluate(const pd_contact *self, int quantity, pd_hessian_filter filter, real *out);

/* The pairs that act, whether they are a law's or a penalty's: how many, their points and the incidence of these. */
typedef struct pd_contact_acting_pairs {
    int n;
    const int *points;
    const pd_incidence *incidence;
} pd_contact_acting_pairs;
pd_contact_acting_pairs pd_contact_acting(const pd_contact *self, pd_penalty_view *view);

#endif
