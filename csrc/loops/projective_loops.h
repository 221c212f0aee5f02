/* The loops over frozen projections of contact pairs, once in cpu/contact/projective.c, once in cuda/contact/projective.cu; the rules of
 * backend.h hold. */
#ifndef PD_LOOPS_PROJECTIVE_LOOPS_H
#define PD_LOOPS_PROJECTIVE_LOOPS_H

#include "loops/contact_loops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The persistent data of the pairs of a step between detections; B [capacity,..], sorted by key. */
typedef struct pd_kept_pairs {
    int *kind, *points; /* as in pd_active_pairs */
    uint64_t *key;
    real *stiffening;       /* >= 1, of phi */
    real *gap;              /* target so far, m; 0: none */
    real *normal;           /* [.,3]; zero: none */
    unsigned char *pressed; /* a deficit at the end of a round */
} pd_kept_pairs;

/* Frozen pairs; B. */
typedef struct pd_projected_pairs {
    int n;
    int *points;    /* [n,4] -1 for missing corners */
    real *weights;  /* [n,4] beta */
    real *normal;   /* [n,3] */
    real *target;   /* [n] distance, m */
    real *k;        /* [n] N/m, 0 for pairs that cannot move */
    real *scale;    /* [n] c phi/h^2, 1/s^2 */
    real *friction; /* [n] mu */
} pd_projected_pairs;

/* The parameters of freezing. */
typedef struct pd_freezing {
    real strength;            /* c/h^2, 1/s^2 */
    const int *owners;        /* B [n_points] */
    const real *coefficients; /* B [n_owners,n_owners] mu */
    int n_owners;
    int target;             /* PD_TARGET_... */
    const real *velocities; /* B [n_points,3] m/s; this and the next two only with PD_TARGET_REFLECTED */
    real left;              /* s, remaining in the step */
    real restitution;
} pd_freezing;

/* flags [n]  B  out: the pairs among n with these corners [n,4], or among *count of them, that come nearer than the separation on the
 * path from x_t0 to x_t1, by the test of pd_earliest_collision; none if that found nothing before 1. */
pd_status pd_collision_hits(pd_context *context, int kind, int n, const uint64_t *count, const real *x_t0, const real *x_t1,
                            const int *corners, real separation, const real *radii, const pd_earliest *earliest, unsigned char *flags);
/* The same for n vertices and a plane, as pd_earliest_plane_collision. */
pd_status pd_plane_hits(pd_context *context, int n, const real *x_t0, const real *x_t1, const int *vertices, int plane, real separation,
                        const real *radii, const pd_earliest *earliest, unsigned char *flags);

/* flags [found->capacity]  B  out: the pairs of a list that are neither among n_kept ascending keys nor in another list and, with
 * limits, are within their activation distance.
 *   distance  B [found->capacity] m or NULL; then limits is not read      others  NULL: none */
pd_status pd_projective_mark_new(pd_context *context, const pd_active_pairs *found, const real *distance, const pd_contact_pairs *limits,
                                 int n_kept, const uint64_t *kept, const pd_active_pairs *others, unsigned char *flags);

/* The rules for the move of the state in a round; see dynamics/responses/outer_loop.h. */
typedef struct pd_round_rules {
    double share;  /* fraction of its path, in the previous round */
    double before; /* length of that move, m; 0: limited, or not relevant */
    double slack;  /* a round with a path up to this goes all of it, m */
    double least;  /* of the path: a smaller fraction means no move */
    int free;      /* only contact may shorten it */
} pd_round_rules;

/* The result of these rules. */
typedef struct pd_round {
    double fraction; /* contact-free fraction of the path */
    double share;    /* fraction of that for the state in the following rounds */
    double scale;    /* fraction of the path that was used: 0 without an iterate or a contact-free part */
} pd_round;

/* round [1]  B  out.  square, along  B [1]: the largest |move|^2, m^2, and the product of the path with that of the previous round, m^2,
 * read after a first round      capacity  H [2] capacities for the pairs that may meet, *found [2] B: after an overflow the fraction is 0 */
pd_status pd_projective_choose_round(pd_context *context, const pd_round_rules *rules, const pd_earliest *earliest, const double *square,
                                     const double *along, const uint64_t *const found[2], const size_t capacity[2], pd_round *round);

/* out = the n_kept pairs and those of `found` in rows [n_new], sorted by key. */
pd_status pd_projective_merge(pd_context *context, int n_kept, const pd_kept_pairs *kept, int n_new, const int *rows,
                              const pd_active_pairs *found, const pd_kept_pairs *out);

/* Doubles the stiffness of those of n kept pairs whose key is among n_hit ascending keys. */
pd_status pd_projective_stiffen(pd_context *context, int n, const pd_kept_pairs *kept, int n_hit, const uint64_t *hit);

/* Marks the pairs with a deficit at y [n_points,3]. */
pd_status pd_projective_mark_pressed(pd_context *context, const pd_projected_pairs *pairs, const real *y, unsigned char *pressed);

/* Freezes all pairs at y: all members of out except its points, and gap and normal of kept. */
pd_status pd_projective_freeze_pairs(pd_context *context, const pd_model *model, const pd_contact_pairs *pairs, const pd_freezing *freezing,
                                     const real *y, const pd_kept_pairs *kept, const pd_projected_pairs *out);

/* At y, with slip from y_0: values [n] J and corners [n,4,3] N, the gradient; either NULL. */
pd_status pd_projective_batch(pd_context *context, const pd_projected_pairs *pairs, const real *y, const real *y_0, real *values,
                              real *corners);

/* diagonal [n_vertices]  B  out: the sum of omega_j over the pairs of a vertex, N/m; touching [n_vertices]  B  out: whether it has any.
 * coupling [n_vertices,3,3]  B  out, may be NULL: the sum of omega_j n n^T over those without friction, which the diagonal then omits. */
pd_status pd_projective_gather_diagonal(pd_context *context, const pd_model *model, const pd_incidence *incidence,
                                        const pd_projected_pairs *pairs, double *diagonal, real *coupling, unsigned char *touching);

/* Moves each free vertex towards its target, within its displacement bound (updates/contact/vertex_bound.h); fixed ones stay. */
pd_status pd_projective_move_within(pd_context *context, const pd_model *model, const pd_contact_sweep *contact, const real *target,
                                    real *x);

/* ---- restitution ---------------------------------------------------------------------------------------------------------------- */

/* velocities [n_points,3]  B  out, m/s: of free vertices v [n_vertices,3]. v NULL: those of the step without forces of elasticity and
 * contact, from offset [n_vertices,3], the distance from its end. Of other points: the move from y_0 to y. */
pd_status pd_projective_velocities(pd_context *context, const pd_model *model, int n_points, double inverse_h, const real *y,
                                   const real *y_0, const real *offset, const real *v, real *velocities);

/* wanted [n]  B  out, m/s: the separation speed of a pair, `restitution` times its approach speed; < 0 if it is unmarked or slower than
 * rest_speed. */
pd_status pd_projective_rebounds(pd_context *context, const pd_projected_pairs *pairs, const unsigned char *pressed, const real *velocities,
                                 double restitution, double rest_speed, real *wanted);

/* count [n_points]  B  out: the rebounds of a free vertex; 0 for other points. */
pd_status pd_projective_count_rebounds(pd_context *context, const pd_model *model, int n_points, const pd_incidence *incidence,
                                       const real *wanted, int *count);

/* corners [n,4,3]  B  out, m/s: the velocity changes of the points by each rebound; each point is shared among its rebounds. */
pd_status pd_projective_impulses(pd_context *context, const pd_model *model, const pd_projected_pairs *pairs, const real *wanted,
                                 const int *count, const real *velocities, real *corners);

#ifdef __cplusplus
}
#endif

#endif
