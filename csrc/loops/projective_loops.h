/* The loops over frozen projections of pairs in contact, once in cpu/contact/projective.c, once in cuda/contact/projective.cu; the rules of
 * backend.h hold. */
#ifndef PD_LOOPS_PROJECTIVE_LOOPS_H
#define PD_LOOPS_PROJECTIVE_LOOPS_H

#include "loops/contact_loops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is kept of the pairs of a step from one detection to the next; B [capacity,..], sorted by key. */
typedef struct pd_kept_pairs {
    int *kind, *points; /* as in pd_active_pairs */
    uint64_t *key;
    real *stiffening;       /* >= 1, of phi */
    real *gap;              /* that was asked for so far, m; 0: none */
    real *normal;           /* [.,3]; zero: none */
    unsigned char *pressed; /* whether something was missing at the end of a round */
} pd_kept_pairs;

/* Pairs as they were frozen; B. */
typedef struct pd_projected_pairs {
    int n;
    int *points;    /* [n,4] -1 where a kind has no corner */
    real *weights;  /* [n,4] beta */
    real *normal;   /* [n,3] */
    real *target;   /* [n] distance, m */
    real *k;        /* [n] N/m, 0 where nothing of the pair can move */
    real *scale;    /* [n] c phi/h^2, 1/s^2 */
    real *friction; /* [n] mu */
} pd_projected_pairs;

/* What freezing needs to know beside the pairs. */
typedef struct pd_freezing {
    real strength;            /* c/h^2, 1/s^2 */
    const int *owners;        /* B [n_points] */
    const real *coefficients; /* B [n_owners,n_owners] mu */
    int n_owners;
    int target;             /* PD_TARGET_... */
    const real *velocities; /* B [n_points,3] m/s, with PD_TARGET_REFLECTED alone, as the next two are read */
    real left;              /* s of the step */
    real restitution;
} pd_freezing;

/* flags [n]  B  out: which of n pairs with these corners [n,4], or of *count of them, come nearer than the separation on the way from x_t0
 * to x_t1, as far as pd_earliest_collision can tell; none where that found nothing before 1. */
pd_status pd_collision_hits(pd_context *context, int kind, int n, const uint64_t *count, const real *x_t0, const real *x_t1,
                            const int *corners, real separation, const real *radii, const pd_earliest *earliest, unsigned char *flags);
/* The same of n vertices and a plane, as pd_earliest_plane_collision. */
pd_status pd_plane_hits(pd_context *context, int n, const real *x_t0, const real *x_t1, const int *vertices, int plane, real separation,
                        const real *radii, const pd_earliest *earliest, unsigned char *flags);

/* flags [found->capacity]  B  out: which pairs of a list are not among n_kept keys in ascending order nor in another list and, where there
 * are limits, are nearer than they act.
 *   distance  B [found->capacity] m or NULL; then limits is not read      others  NULL: none */
pd_status pd_projective_mark_new(pd_context *context, const pd_active_pairs *found, const real *distance, const pd_contact_pairs *limits,
                                 int n_kept, const uint64_t *kept, const pd_active_pairs *others, unsigned char *flags);

/* By what the state goes in a round; see dynamics/responses/outer_loop.h. */
typedef struct pd_round_rules {
    double share;  /* of its way, in the round before */
    double before; /* what that went, m; 0: something stopped it, or it does not count */
    double slack;  /* a round that goes no more than this goes all of it, m */
    double least;  /* of the way: with less nothing moves */
    int free;      /* nothing but what touches may shorten it */
} pd_round_rules;

/* What came of it. */
typedef struct pd_round {
    double part;  /* of the way that nothing touches on */
    double share; /* of that which the state goes in a round, from here on */
    double scale; /* of the way that it has gone: 0 where the iterate or the part is none */
} pd_round;

/* round [1]  B  out.  square, along  B [1]: the largest |move|^2, m^2, and the product of the way with that of the round before, m^2, read
 * where there was one      room  H [2] for as many of the pairs that may meet, *found [2] B: where there are more the part is none */
pd_status pd_projective_choose_round(pd_context *context, const pd_round_rules *rules, const pd_earliest *earliest, const double *square,
                                     const double *along, const uint64_t *const found[2], const size_t room[2], pd_round *round);

/* out = the n_kept pairs and those that rows [n_new] name of `found`, sorted by key. */
pd_status pd_projective_merge(pd_context *context, int n_kept, const pd_kept_pairs *kept, int n_new, const int *rows,
                              const pd_active_pairs *found, const pd_kept_pairs *out);

/* Those of n kept pairs whose key is among n_hit keys in ascending order become twice as stiff. */
pd_status pd_projective_stiffen(pd_context *context, int n, const pd_kept_pairs *kept, int n_hit, const uint64_t *hit);

/* Marks the pairs to which something is missing at y [n_points,3]. */
pd_status pd_projective_mark_pressed(pd_context *context, const pd_projected_pairs *pairs, const real *y, unsigned char *pressed);

/* Freezes all pairs at y: everything of out but its points, and of kept its gap and normal. */
pd_status pd_projective_freeze_pairs(pd_context *context, const pd_model *model, const pd_contact_pairs *pairs, const pd_freezing *freezing,
                                     const real *y, const pd_kept_pairs *kept, const pd_projected_pairs *out);

/* At y, with slip from y_0: values [n] J and corners [n,4,3] N, the gradient; either NULL. */
pd_status pd_projective_batch(pd_context *context, const pd_projected_pairs *pairs, const real *y, const real *y_0, real *values,
                              real *corners);

/* diagonal [n_vertices]  B  out: the sum of omega_j over a vertex' pairs, N/m; touching [n_vertices]  B  out: whether it has any. With
 * coupling [n_vertices,3,3]  B  out, NULL or: the sum of omega_j n n^T over those without friction, which the diagonal leaves out then. */
pd_status pd_projective_gather_diagonal(pd_context *context, const pd_model *model, const pd_incidence *incidence,
                                        const pd_projected_pairs *pairs, double *diagonal, real *coupling, unsigned char *touching);

/* Each free vertex goes towards its target, as far as its displacement bound allows (updates/contact/vertex_bound.h); fixed ones stay. */
pd_status pd_projective_move_within(pd_context *context, const pd_model *model, const pd_contact_sweep *contact, const real *target,
                                    real *x);

/* ---- restitution ---------------------------------------------------------------------------------------------------------------- */

/* velocities [n_points,3]  B  out, m/s: of free vertices v [n_vertices,3], or where that is NULL what the step would have given them
 * without forces of elasticity and contact, offset [n_vertices,3] being how far they are from there; of all else where it went from y_0 to
 * y. */
pd_status pd_projective_velocities(pd_context *context, const pd_model *model, int n_points, double inverse_h, const real *y,
                                   const real *y_0, const real *offset, const real *v, real *velocities);

/* wanted [n]  B  out, m/s: how fast a pair is to part, `restitution` times as fast as it came; below 0 where it is not marked or came
 * slower than rest_speed. */
pd_status pd_projective_rebounds(pd_context *context, const pd_projected_pairs *pairs, const unsigned char *pressed, const real *velocities,
                                 double restitution, double rest_speed, real *wanted);

/* count [n_points]  B  out: of the rebounds that a free vertex takes part in; 0 for all else. */
pd_status pd_projective_count_rebounds(pd_context *context, const pd_model *model, int n_points, const pd_incidence *incidence,
                                       const real *wanted, int *count);

/* corners [n,4,3]  B  out, m/s: what each rebound adds to the velocities of its points, each of which is split among as many as it is
 * in. */
pd_status pd_projective_impulses(pd_context *context, const pd_model *model, const pd_projected_pairs *pairs, const real *wanted,
                                 const int *count, const real *velocities, real *corners);

#ifdef __cplusplus
}
#endif

#endif
