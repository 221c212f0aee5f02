/* Contact by projections that are frozen from one detection to the next [Lan et al. 2022, Penetration-free Projective Dynamics on the GPU]:
 * an alternative to a barrier for Projective Dynamics, since it changes the diagonal of the matrix only.
 *
 *     pairs     of a step: those that came nearer than they act at a detection, and those that a move would have brought together; they
 *               stay to its end
 *     freeze    at a state without touch: closest points, normals, targets and weights (elements/contact/projection.h)
 *     between   two detections they are a term of the objective, quadratic but for what is not missing and for what slips, at any x,
 *               also where something has passed through something
 *
 * Outside of a step nothing acts. */
#ifndef PD_CONTACT_PROJECTIVE_PROJECTIVE_H
#define PD_CONTACT_PROJECTIVE_PROJECTIVE_H

#include "contact/potential/contact.h"
#include "loops/projective_loops.h"

typedef struct pd_projective pd_projective;

/* Borrows the contact and the model, which live as long; h in s. Errors: PD_ERROR_MEMORY. */
pd_status pd_projective_create(pd_projective **out, pd_context *context, pd_contact *contact, const pd_model *model,
                               const pd_contact_description *description, double h);
void pd_projective_destroy(pd_projective *projective); /* NULL is allowed */
const pd_projective_description *pd_projective_settings(const pd_projective *projective);
double pd_projective_activation(const pd_projective *projective);

/* A step begins at x with velocities v, both [n_vertices,3] B, and ends. There are no pairs yet. */
pd_status pd_projective_begin(pd_projective *projective, const real *x, const real *v);
void pd_projective_end(pd_projective *projective);

/* The part of the way from x_0 to x_1, and of the driven points to their targets, that nothing touches on. The pairs that a longer one
 * brings together become pairs of the step; with `stiffen` they are twice as stiff from the next freeze on. */
pd_status pd_projective_limit(pd_projective *projective, const real *x_0, const real *x_1, double slow, double *part);
/* The same in two, without a wait: the second once the host has waited; whole = 0: not all pairs had room; repeat it. */
pd_status pd_projective_ask_limit(pd_projective *projective, const real *x_0, const real *x_1);
pd_status pd_projective_limit_told(pd_projective *projective, double slow, double *part, int *whole);
/* x goes as far towards x_1 as the limit that was asked for last and the rules say, and the driven points with it, and the pairs that are
 * near there are looked for, without a wait. square, along  B  pd_projective_choose_round. Once the host has waited, *round  H  has the
 * choice, if all pairs of the limit had room. The second call then keeps the pairs that are near. */
pd_status pd_projective_ask_move(pd_projective *projective, const pd_round_rules *rules, const double *square, const double *along,
                                 const real *x_1, real *x, pd_round *round);
pd_status pd_projective_move_told(pd_projective *projective);
/* How far each vertex may go from x while all go as far as they like and the driven points stay: x goes towards x_1 no farther than
 * that. */
pd_status pd_projective_truncate(pd_projective *projective, const real *x_1, real *x);
/* The same where nothing has been asked for. */
pd_status pd_projective_move_free(pd_projective *projective, const real *x_1, real *x);
/* The pairs that are near at x join those of the step, and all are frozen there. left: the part of the step that is to come. */
pd_status pd_projective_freeze(pd_projective *projective, const real *x, double left);
/* Remembers which pairs lack something at x, where a round of iterations has ended. */
pd_status pd_projective_press(pd_projective *projective, const real *x);

/* At x, with the driven points at their targets. gradient [n_vertices,3] B +=, N; energy H, J: waits. */
pd_status pd_projective_add_gradient(pd_projective *projective, const real *x, real *gradient);
pd_status pd_projective_potential(pd_projective *projective, const real *x, double *energy);
/* What bounds its curvature: B [n_vertices] N/m on the diagonal and beside it blocks B [n_vertices,3,3] N/m, NULL where all of it is there;
 * and who has a pair, B [n_vertices]. Of the last freeze. */
const double *pd_projective_diagonal(const pd_projective *projective);
const real *pd_projective_coupling(const pd_projective *projective);
const unsigned char *pd_projective_touching(const pd_projective *projective);
/* With restitution: of the pairs that lacked something in the step, those that came together faster than the speed of rest part with that
 * share of it. x, where the step has ended, offset from where it would have without elasticity and contact, and the velocities v, which it
 * changes: B [n_vertices,3]. */
pd_status pd_projective_rebound(pd_projective *projective, const real *x, const real *offset, real *v);

/* The pairs of the last freeze and what they do with the vertices at x [n_vertices,3] B and the driven points where they are; all H. Arrays
 * that are NULL are left out. Waits. */
typedef struct pd_projective_forces {
    uint64_t *key;                     /* [n] */
    int *kind, *points;                /* [n], [n,4] */
    real *weights, *normal, *target;   /* [n,4], [n,3], [n] m */
    real *k;                           /* [n] N/m */
    real *friction, *gradient, *begun; /* [n], [n,4,3] N, and [n_points,3] m, where the last step began */
} pd_projective_forces;
int pd_projective_frozen(const pd_projective *projective);
int pd_projective_n_points(const pd_projective *projective);
pd_status pd_projective_read(pd_projective *projective, const real *x, const pd_projective_forces *out);
/* Another state was set: there are none. */
void pd_projective_forget(pd_projective *projective);

/* Seconds spent so far in freezing, without what found the pairs. */
double pd_projective_seconds(const pd_projective *projective);
/* Pairs of the step, and their keys B, ascending. */
int pd_projective_pairs(const pd_projective *projective, const uint64_t **keys);

#endif
