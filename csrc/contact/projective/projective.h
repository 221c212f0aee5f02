/* Contact by projections that are constant between two detections [Lan et al. 2022, Penetration-free Projective Dynamics on the GPU]. An
 * alternative to a barrier for Projective Dynamics, since it changes only the diagonal of the matrix.
 *
 *     pairs     those within the activation distance at a detection, and those that a move would have brought into contact; they stay to
 *               the end of the step
 *     freeze    at a state without contact: closest points, normals, targets and weights (elements/contact/projection.h)
 *     between   two detections the pairs are a term of the objective at any x, also after a penetration. It is quadratic, except for pairs
 *               without a deficit and for slipping pairs.
 *
 * Outside of a step there are no pairs. */
#ifndef PD_CONTACT_PROJECTIVE_PROJECTIVE_H
#define PD_CONTACT_PROJECTIVE_PROJECTIVE_H

#include "contact/potential/contact.h"
#include "loops/projective_loops.h"

typedef struct pd_projective pd_projective;

/* Borrows the contact and the model; both must outlive it. h in s. Errors: PD_ERROR_MEMORY. */
pd_status pd_projective_create(pd_projective **out, pd_context *context, pd_contact *contact, const pd_model *model,
                               const pd_contact_description *description, double h);
void pd_projective_destroy(pd_projective *projective); /* NULL is allowed */
const pd_projective_description *pd_projective_settings(const pd_projective *projective);
double pd_projective_activation(const pd_projective *projective);

/* Begins a step at x with velocities v, both [n_vertices,3] B, or ends it. There are no pairs yet. */
pd_status pd_projective_begin(pd_projective *projective, const real *x, const real *v);
void pd_projective_end(pd_projective *projective);

/* The fraction of the path from x_0 to x_1 without an impact, and of the path of the prescribed points to their targets. The pairs that
 * a longer path brings into contact join the pairs of the step. With `stiffen` they are twice as stiff from the next freeze on. */
pd_status pd_projective_limit(pd_projective *projective, const real *x_0, const real *x_1, double slow, double *fraction);
/* pd_projective_limit without synchronisation, in two parts. The second follows a synchronisation. complete = 0: a list overflowed; repeat
 * both. */
pd_status pd_projective_limit_async(pd_projective *projective, const real *x_0, const real *x_1);
pd_status pd_projective_limit_result(pd_projective *projective, double slow, double *fraction, int *complete);
/* Moves x towards x_1, up to the last limit and the rules, and the prescribed points with it. Then searches for neighbour pairs there. Does
 * not synchronise. square, along  B  pd_projective_choose_round. After a synchronisation, *round  H  has the choice, if no list of the
 * limit overflowed. The second call then adds the neighbour pairs to the step. */
pd_status pd_projective_move_async(pd_projective *projective, const pd_round_rules *rules, const double *square, const double *along,
                                   const real *x_1, real *x, pd_round *round);
pd_status pd_projective_move_result(pd_projective *projective);
/* Moves x towards x_1, each vertex at most by its displacement bound. The bounds hold for simultaneous moves of all vertices and for
 * fixed prescribed points. */
pd_status pd_projective_truncate(pd_projective *projective, const real *x_1, real *x);
/* The same without an earlier pd_projective_limit_async. */
pd_status pd_projective_move_free(pd_projective *projective, const real *x_1, real *x);
/* Adds the neighbour pairs at x to those of the step, and freezes all there. left: the remaining fraction of the step. */
pd_status pd_projective_freeze(pd_projective *projective, const real *x, double left);
/* Marks the pairs with a deficit at x, at the end of a round of iterations. */
pd_status pd_projective_press(pd_projective *projective, const real *x);

/* At x, with the prescribed points at their targets. gradient [n_vertices,3] B +=, N; energy H, J: synchronises. */
pd_status pd_projective_add_gradient(pd_projective *projective, const real *x, real *gradient);
pd_status pd_projective_potential(pd_projective *projective, const real *x, double *energy);
/* A bound of the curvature at the last freeze: B [n_vertices] N/m on the diagonal, and off-diagonal blocks B [n_vertices,3,3] N/m (NULL:
 * the diagonal has all of it). And the vertices that have a pair, B [n_vertices]. */
const double *pd_projective_diagonal(const pd_projective *projective);
const real *pd_projective_coupling(const pd_projective *projective);
const unsigned char *pd_projective_touching(const pd_projective *projective);
/* Restitution: pairs with a deficit in this step whose approach speed exceeded the speed of rest separate with that fraction of it. x:
 * the end of the step; offset: x minus the end of a step without elasticity and contact; v  in/out: velocities. All B [n_vertices,3]. */
pd_status pd_projective_rebound(pd_projective *projective, const real *x, const real *offset, real *v);

/* The pairs of the last freeze and their forces at x [n_vertices,3] B, with the prescribed points at their present positions. All arrays
 * H; NULL arrays are skipped. Synchronises. */
typedef struct pd_projective_forces {
    uint64_t *key;                     /* [n] */
    int *kind, *points;                /* [n], [n,4] */
    real *weights, *normal, *target;   /* [n,4], [n,3], [n] m */
    real *k;                           /* [n] N/m */
    real *friction, *gradient, *begun; /* [n], [n,4,3] N, and [n_points,3] m, the points at the begin of the last step */
} pd_projective_forces;
int pd_projective_frozen(const pd_projective *projective);
int pd_projective_n_points(const pd_projective *projective);
pd_status pd_projective_read(pd_projective *projective, const real *x, const pd_projective_forces *out);
/* Removes all pairs, after a change of the state. */
void pd_projective_forget(pd_projective *projective);

/* Seconds spent in freezing so far, without the search for pairs. */
double pd_projective_seconds(const pd_projective *projective);
/* Pairs of the step, and their keys B, ascending. */
int pd_projective_pairs(const pd_projective *projective, const uint64_t **keys);

#endif
