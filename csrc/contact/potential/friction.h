/* Friction as a term of the incremental potential: the pairs of a scene at the lag, and their potential at any positions.
 *
 *     D(y) = sum over pairs of mu lambda f0(|u|)        (elements/contact/friction.h)
 *
 * The slip u is measured from the begin of the step. Normal forces, weights and normals are those of the lag. */
#ifndef PD_CONTACT_POTENTIAL_FRICTION_H
#define PD_CONTACT_POTENTIAL_FRICTION_H

#include "loops/friction_loops.h"

typedef struct pd_friction pd_friction;

/* All arrays H. */
typedef struct pd_friction_description {
    double extent;            /* e = eps_v h, the slip below which friction creeps, m; 0: no friction */
    double least_gap;         /* pd_friction_scene */
    const int *owners;        /* [n_points] */
    const real *coefficients; /* [n_owners,n_owners] mu, symmetric */
    int n_owners;
    int lags; /* >= 1: lags per step */
} pd_friction_description;

/* There are no pairs yet. Errors: PD_ERROR_MEMORY. */
pd_status pd_friction_create(pd_friction **out, pd_context *context, const pd_friction_description *description, int n_points);
void pd_friction_destroy(pd_friction *friction); /* NULL is allowed */

/* A sweep moves vertices of the same colour at once from now on, B [n_vertices]; NULL: no sweep. */
void pd_friction_share(pd_friction *friction, const int *colours, int n_vertices);

/* Begins a step at y [n_points,3] B. */
pd_status pd_friction_begin(pd_friction *friction, const real *y);
/* Tells whether the last step began at y, with its lag there. Synchronises. */
pd_status pd_friction_has_begun(pd_friction *friction, const real *y, int *begun);
/* Replaces the pairs by those at y, with the normal forces of the contact potential there.
 *   incidence   of their points      keys  B [n] their names
 * Errors: PD_ERROR_MEMORY. */
pd_status pd_friction_lag(pd_friction *friction, const pd_pair_potential *potential, const pd_contact_pairs *pairs,
                          const pd_incidence *incidence, const uint64_t *keys, const real *y);
/* The same for pairs with a penalty, which have their weights and normals. */
pd_status pd_friction_lag_frozen(pd_friction *friction, const pd_frozen_pairs *pairs, const pd_incidence *incidence, const uint64_t *keys,
                                 const real *y);
/* Sets the number of pairs to n, after pd_lagged_pairs.count has been read from the device. */
void pd_friction_counted(pd_friction *friction, int n);
/* Recomputes the forces of the same pairs at y. */
pd_status pd_friction_follow(pd_friction *friction, const pd_frozen_pairs *pairs, const real *y);
/* Drops the pairs and the begin of the step. */
void pd_friction_forget(pd_friction *friction);

/* At y [n_points,3] B; as the functions of contact.h with these names. */
pd_status pd_friction_potential(pd_friction *friction, const real *y, double *energy);
pd_status pd_friction_add_gradient(pd_friction *friction, const pd_model *model, const real *y, real *gradient);
pd_status pd_friction_hessians(pd_friction *friction, const real *y);
pd_status pd_friction_remember_slips(pd_friction *friction, const real *y);
pd_status pd_friction_try_slips(pd_friction *friction, const real *y);
void pd_friction_forget_slips(pd_friction *friction);
pd_status pd_friction_add_blocks(pd_friction *friction, const pd_model *model, const int *diagonal_slots, real *blocks);
/* Adds to bounds. */
pd_status pd_friction_add_bounds(pd_friction *friction, const pd_model *model, double *bounds);
/* all: with all blocks, otherwise with the off-diagonal ones. q may be NULL. */
pd_status pd_friction_add_product(pd_friction *friction, const pd_model *model, const real *p, int all, real *q, double *sums);

/* The pairs, the incidence of their points, the matrices of the last pd_friction_hessians (B [n,3,3]) and the points, for loops over
 * single pairs. */
typedef struct pd_friction_view {
    pd_lagged_pairs pairs;
    pd_incidence incidence;
    char *records; /* of its roles; may be NULL */
    const uint64_t *keys;
    const real *matrices;
    pd_slipping slipping; /* without y */
    pd_friction_scene scene;
} pd_friction_view;
pd_friction_view pd_friction_pairs_of(const pd_friction *friction);

/* Reads one quantity (friction_loops.h) of all pairs at y into host memory. */
pd_status pd_friction_read(pd_friction *friction, int quantity, const real *y, real *out);

#endif
