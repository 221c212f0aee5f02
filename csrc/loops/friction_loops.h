/* The loops over pairs with friction, once in cpu/contact/friction.c, once in cuda/contact/friction.cu; the rules of backend.h hold.
 * elements/contact/friction.h has the formulas. */
#ifndef PD_LOOPS_FRICTION_LOOPS_H
#define PD_LOOPS_FRICTION_LOOPS_H

#include "loops/contact_loops.h"
#include "loops/embedding_loops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Friction coefficients of bodies, and vertices that move at once. */
typedef struct pd_friction_scene {
    int n_owners, n_vertices;
    const int *owners;        /* B [n_points]  body or obstacle */
    const real *coefficients; /* B [n_owners,n_owners]  mu, symmetric */
    real least_gap;     /* in activation distances: a smaller gap has the force of this one, which bounds the force of a collapsed gap */
    const int *colours; /* B [n_vertices]  of a sweep, as in pd_vertex_sweep; NULL: no sweep */
} pd_friction_scene;

/* n pairs at the lag, by field, all B. */
typedef struct pd_lagged_pairs {
    int n;
    const uint64_t *count; /* [1]    number of valid pairs, where loops over pairs stop; NULL: all n */
    int *points;           /* [n,4]  rows of y, -1: none */
    real *weights;         /* [n,4]  beta; 0 for missing points */
    real *normals;         /* [n,3]  n */
    real *strength;        /* [n]    mu lambda, N; 0: no friction */
} pd_lagged_pairs;

/* The corners of a pair, in the order of one of them: its own weight is the first. */
typedef struct pd_lagged_corners {
    int others[3]; /* 0 for a missing one, with weight 0 */
    real weights[4];
} pd_lagged_corners;

/* The data of a point's roles for a sweep, contiguous in the order of its list. For a point with n roles from number `first` on: the
 * corners [n], then the columns [PD_LAGGED_COLUMNS,n], pd_lagged_roles_of. Every sweep reads them from memory, so they contain nothing
 * twice. */
enum { PD_LAGGED_NORMAL, PD_LAGGED_STRENGTH = 3 /* negative: two corners move at once, pd_contact_update_partners */, PD_LAGGED_COLUMNS };
enum { PD_LAGGED_ROLE_BYTES = sizeof(pd_lagged_corners) + PD_LAGGED_COLUMNS * sizeof(real) };

typedef struct pd_lagged_roles {
    pd_lagged_corners *corners;
    real *columns;
} pd_lagged_roles;

static inline pd_lagged_roles pd_lagged_roles_of(char *records, int first, int n) {
    char *begin = records + (size_t)first * PD_LAGGED_ROLE_BYTES;
    pd_lagged_roles out;
    out.corners = (pd_lagged_corners *)(void *)begin;
    out.columns = (real *)(void *)(begin + (size_t)n * sizeof(pd_lagged_corners));
    return out;
}

/* The points of the pairs, and those at the begin of the step. */
typedef struct pd_slipping {
    const real *y, *y_t; /* B [n_points,3] m */
    real extent;         /* e, m */
    real *moves; /* B [n_points,4] m: y - y_t and a zero, for points that may come into contact, while a sweep over vertices updates them */
    const real *before; /* B [n,3] m: u of the pairs at the previous iterate; NULL: unknown */
    const real *tried;  /* B [n,3] m: u at the end of the last whole correction; NULL: unknown */
} pd_slipping;

/* The quantities of pd_friction_batch. */
enum {
    PD_FRICTION_ENERGY,   /* [n] J */
    PD_FRICTION_SLIP,     /* [n,3] u, m */
    PD_FRICTION_FORCE,    /* [n,3] on the first of the pair, N */
    PD_FRICTION_GRADIENT, /* [n,4,3] N */
    PD_FRICTION_MATRIX,   /* [n,3,3] M, N/m, or the secant matrix: the Hessian's block (i,j) is beta_i beta_j M */
    PD_FRICTION_QUANTITY_COUNT
};

/* Numbers per pair of a quantity, or 0. */
static inline int pd_friction_quantity_size(int quantity) {
    static const int sizes[PD_FRICTION_QUANTITY_COUNT] = {1, 3, 3, 12, 9};
    return quantity < 0 || quantity >= PD_FRICTION_QUANTITY_COUNT ? 0 : sizes[quantity];
}

/* out = the pairs at y [.,3] B: their points, the weights and the normal of their gaps there, and mu times the normal force of the
 * contact potential. Does not read out->n. */
pd_status pd_friction_lag_pairs(pd_context *context, const pd_pair_potential *potential, const pd_friction_scene *scene,
                                const pd_contact_pairs *pairs, const real *y, const pd_lagged_pairs *out);

/* The displacements of chosen points. */
pd_status pd_friction_moves(pd_context *context, const pd_chosen_points *chosen, const pd_slipping *slipping);

/* flags [4 pairs->n]  B  out: the roles of the incidence that move a pair with friction. */
pd_status pd_friction_role_flags(pd_context *context, const pd_lagged_pairs *pairs, const pd_incidence *incidence, int n_points,
                                 unsigned char *flags);

/* Tells whether sweeps over vertices read the roles in pairs with friction as a list; otherwise they read the pairs. */
int pd_friction_lists_roles(void);

/* records [roles,PD_LAGGED_ROLE_BYTES]  B  out: the data for such a sweep of the roles of an incidence, which all have friction. */
pd_status pd_friction_list_roles(pd_context *context, const pd_friction_scene *scene, const pd_lagged_pairs *pairs,
                                 const pd_incidence *incidence, int n_points, char *records);

/* One quantity of every pair. Errors: PD_ERROR_VALUE for an unknown quantity. */
pd_status pd_friction_batch(pd_context *context, int quantity, const pd_lagged_pairs *pairs, const pd_slipping *slipping, real *out);

/* blocks [diagonal_slots[i]] += the sum of the diagonal blocks at vertex i.
 *   matrices  B [n,3,3]      diagonal_slots  B [n_vertices]      blocks  B [.,3,3] */
pd_status pd_friction_gather_blocks(pd_context *context, const pd_model *model, const pd_incidence *incidence, const pd_lagged_pairs *pairs,
                                    const real *matrices, const int *diagonal_slots, real *blocks);

/* out_i += an upper bound of all pairs' Hessians as a diagonal matrix, as in pd_contact_gather_bounds. */
pd_status pd_friction_gather_bounds(pd_context *context, const pd_model *model, const pd_incidence *incidence, const pd_lagged_pairs *pairs,
                                    const real *matrices, double *out);

/* As pd_contact_product, for the Hessians of friction. */
pd_status pd_friction_product(pd_context *context, const pd_model *model, const pd_lagged_pairs *pairs, const real *matrices, int all,
                              const real *p, real *corners, real *values);

/* Pairs with a penalty from a detection (elements/contact/penalty.h), all B; the strength in `at` is unused. */
typedef struct pd_frozen_pairs {
    pd_lagged_pairs at;
    real *range;    /* [n] m; minus infinity: never repels */
    real *offset;   /* [n] m: a part of the range and of n . sum beta y that is not in the gap (penalty_field.h) */
    real stiffness; /* k, N/m; 0: no penalty */
} pd_frozen_pairs;

/* The listed pairs that a sweep does not evaluate, all B: vertices respect their planes at the making of the list. */
typedef struct pd_far_pairs {
    pd_incidence incidence;    /* of all listed pairs */
    pd_contact_pairs pairs;    /* all listed, without weights and thresholds */
    const unsigned char *near; /* [pairs.n] nonzero: the pair is evaluated, and has a plane of the iteration */
    const real *start;         /* [n_points,3] m: the points at the making of the list */
} pd_far_pairs;

/* The displacement bounds of vertices in an iteration (updates/contact/vertex_bound.h). Planes are computed on demand, since few
 * vertices need them. */
typedef struct pd_vertex_bounds {
    pd_contact_pairs pairs;    /* of the records of a sweep */
    const real *begun;         /* B [n_points,3] m: the points at the begin of the iteration */
    double rounding, fraction; /* of a gap, m; the fraction of a gap that may be used */
    pd_far_pairs far;
    double outer; /* m: the distance from far.start that a vertex may move, for any planes */
} pd_vertex_bounds;

/* The contact data of a sweep over vertices. */
struct pd_contact_sweep {
    pd_pair_potential potential;
    const pd_contact_record *records; /* B [pairs] with the slacks at the begin of the sweep */
    pd_vertex_bounds bounds;
    real *held; /* B [n_vertices] out, m: by which displacement bounds have shortened the step of a vertex; NULL: not needed */
    pd_incidence incidence;
    pd_frozen_pairs frozen;         /* with a penalty there are no records, and the incidence is that of these pairs */
    real *moved;                    /* B [n_points] m: bound of each displacement in the sweep; NULL: not needed */
    const real *displacement_bound; /* B [n_vertices] m: displacement bound of each in the sweep; NULL: no bound */
    real *points;                   /* B [n_points,3] m: all points; the sweep moves the vertices in contact, and their embedded points */
    pd_embedding embedding;         /* start NULL: points are vertices */

    pd_lagged_pairs lagged; /* none without friction */
    pd_incidence lagged_incidence;
    char *lagged_records;      /* B, of the roles of that incidence; NULL: none */
    pd_slipping slipping;      /* y is `points` */
    pd_friction_scene rubbing; /* of them */
    int every_visit;           /* the forces are those of `frozen` at every visit, not lagged */
};

/* d [n_vertices,3] B in/out, m: replaces each move by -d of a free vertex by the nearest one within its displacement bound
 * (updates/contact/vertex_bound.h). contact->held receives the differences. */
pd_status pd_contact_bound_moves(pd_context *context, const pd_model *model, const pd_contact_sweep *contact, real *d);

#ifdef __cplusplus
}
#endif

#endif
