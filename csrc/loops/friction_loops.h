/* The loops over pairs with friction, once in cpu/contact/friction.c, once in cuda/contact/friction.cu; the rules of backend.h hold. The
 * formulas stand in elements/contact/friction.h. */
#ifndef PD_LOOPS_FRICTION_LOOPS_H
#define PD_LOOPS_FRICTION_LOOPS_H

#include "loops/contact_loops.h"
#include "loops/embedding_loops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Who rubs on whom, and who moves at once with whom. */
typedef struct pd_friction_scene {
    int n_owners, n_vertices;
    const int *owners;        /* B [n_points]  body or obstacle */
    const real *coefficients; /* B [n_owners,n_owners]  mu, symmetric */
    real
        least_gap; /* in parts of the activation distance: a smaller gap has the force of this one, so that a collapsed gap makes up none */
    const int *colours; /* B [n_vertices]  of a sweep, as pd_vertex_sweep has them; NULL: there is none */
} pd_friction_scene;

/* n pairs as they were at the lag, by field, all B. */
typedef struct pd_lagged_pairs {
    int n;
    const uint64_t *count; /* [1]    how many of the n there are, where loops over pairs stop; NULL: all */
    int *points;           /* [n,4]  rows of y, -1: none */
    real *weights;         /* [n,4]  beta; 0 where there is no point */
    real *normals;         /* [n,3]  n */
    real *strength;        /* [n]    mu lambda, N; 0: no friction */
} pd_lagged_pairs;

/* The corners of a pair as one of them sees it: its own weight is the first. */
typedef struct pd_lagged_corners {
    int others[3]; /* 0 where there is none, and its weight is 0 */
    real weights[4];
} pd_lagged_corners;

/* What a sweep asks of the roles of a point, side by side in the order of its list: of a point whose n roles begin with number `first`, the
 * corners [n] and then the columns [PD_LAGGED_COLUMNS,n], pd_lagged_roles_of. They are read from memory in every sweep, so there is nothing
 * in them twice. */
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

/* Where their points are, and where the step began. */
typedef struct pd_slipping {
    const real *y, *y_t; /* B [n_points,3] m */
    real extent;         /* e, m */
    real *moves; /* B [n_points,4] m: y - y_t and a zero, of the points that may ever touch, while a sweep over vertices keeps them */
    const real *before; /* B [n,3] m: u of the pairs at the iterate before this one; NULL: unknown */
    const real *tried;  /* B [n,3] m: u where the last whole direction led; NULL: unknown */
} pd_slipping;

/* What pd_friction_batch computes of each pair. */
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

/* out = the pairs at y [.,3] B: their points, the weights and the normal of their gaps there, and mu times the normal force that the law
 * gives them. out->n is not read. */
pd_status pd_friction_lag_pairs(pd_context *context, const pd_contact_law *law, const pd_friction_scene *scene,
                                const pd_contact_pairs *pairs, const real *y, const pd_lagged_pairs *out);

/* The moves of chosen points. */
pd_status pd_friction_moves(pd_context *context, const pd_chosen_points *chosen, const pd_slipping *slipping);

/* flags [4 pairs->n]  B  out: which of the roles of the incidence are in a pair with friction that moves with them. */
pd_status pd_friction_role_flags(pd_context *context, const pd_lagged_pairs *pairs, const pd_incidence *incidence, int n_points,
                                 unsigned char *flags);

/* Whether sweeps over vertices read the roles in pairs with friction as a list, or the pairs themselves. */
int pd_friction_lists_roles(void);

/* records [roles,PD_LAGGED_ROLE_BYTES]  B  out: what such a sweep asks of the roles of an incidence, all of which have friction. */
pd_status pd_friction_list_roles(pd_context *context, const pd_friction_scene *scene, const pd_lagged_pairs *pairs,
                                 const pd_incidence *incidence, int n_points, char *records);

/* One quantity of every pair. Errors: PD_ERROR_VALUE for an unknown quantity. */
pd_status pd_friction_batch(pd_context *context, int quantity, const pd_lagged_pairs *pairs, const pd_slipping *slipping, real *out);

/* blocks [diagonal_slots[i]] += the sum of the diagonal blocks at vertex i.
 *   matrices  B [n,3,3]      diagonal_slots  B [n_vertices]      blocks  B [.,3,3] */
pd_status pd_friction_gather_blocks(pd_context *context, const pd_model *model, const pd_incidence *incidence, const pd_lagged_pairs *pairs,
                                    const real *matrices, const int *diagonal_slots, real *blocks);

/* out_i += what bounds all pairs' Hessians from above as a diagonal matrix, as in pd_contact_gather_bounds. */
pd_status pd_friction_gather_bounds(pd_context *context, const pd_model *model, const pd_incidence *incidence, const pd_lagged_pairs *pairs,
                                    const real *matrices, double *out);

/* As pd_contact_product, of the Hessians of friction. */
pd_status pd_friction_product(pd_context *context, const pd_model *model, const pd_lagged_pairs *pairs, const real *matrices, int all,
                              const real *p, real *corners, real *values);

/* Pairs with a penalty as they were at a detection (elements/contact/penalty.h), all B; the strength of `at` is that of nothing. */
typedef struct pd_frozen_pairs {
    pd_lagged_pairs at;
    real *reach;    /* [n] m; minus infinity: never pushes */
    real *offset;   /* [n] m: so much is in the reach, and in n . sum beta y, that is not in the gap (penalty_field.h) */
    real stiffness; /* k, N/m; 0: there is no penalty */
} pd_frozen_pairs;

/* The pairs of a list that a sweep does not evaluate, all B: vertices keep to the planes that they had when the list was made. */
typedef struct pd_far_pairs {
    pd_incidence incidence;    /* of all listed pairs */
    pd_contact_pairs pairs;    /* all listed, without weights and thresholds */
    const unsigned char *near; /* [pairs.n] not 0: the pair is evaluated, and has a plane of the iteration */
    const real *start;         /* [n_points,3] m: the points when the list was made */
} pd_far_pairs;

/* The displacement bounds of vertices in an iteration (updates/contact/vertex_bound.h). Planes are found where a vertex asks for them: few
 * do. */
typedef struct pd_vertex_bounds {
    pd_contact_pairs pairs;    /* of the records of a sweep */
    const real *begun;         /* B [n_points,3] m: the points where the iteration began */
    double rounding, fraction; /* of a gap, m; the part of a gap that may be used up */
    pd_far_pairs far;
    double outer; /* m: so far a vertex may go from far.start, whatever its planes are */
} pd_vertex_bounds;

/* What a sweep over vertices knows of what they touch. */
struct pd_contact_sweep {
    pd_contact_law law;
    const pd_contact_record *records; /* B [pairs] with the slacks where the sweep begins */
    pd_vertex_bounds bounds;
    real *held; /* B [n_vertices] out, m: by so much its displacement bound has shortened the step of a vertex; NULL: not asked for */
    pd_incidence incidence;
    pd_frozen_pairs frozen; /* with a penalty there are no records: the incidence is theirs */
    real *moved;            /* B [n_points] m: bound of each displacement in the sweep; NULL: not needed */
    const real *reach;      /* B [n_vertices] m: so far each may go in any direction, in the sweep; NULL: as far as it likes */
    real *points;           /* B [n_points,3] m: where all are; the sweep moves the vertices that touch, and what they carry */
    pd_embedding embedding; /* start NULL: points are vertices */

    pd_lagged_pairs lagged; /* none without friction */
    pd_incidence lagged_incidence;
    char *lagged_records;      /* B, of the roles of that incidence; NULL: there are none */
    pd_slipping slipping;      /* y is `points` */
    pd_friction_scene rubbing; /* of them */
    int every_visit;           /* the forces are those of `frozen` at every visit, not the lagged */
};

/* d [n_vertices,3] B in/out, m: the nearest move of each free vertex in its displacement bound (updates/contact/vertex_bound.h) to that by
 * -d; contact->held says by how much they differ. */
pd_status pd_contact_bound_moves(pd_context *context, const pd_model *model, const pd_contact_sweep *contact, real *d);

#ifdef __cplusplus
}
#endif

#endif
