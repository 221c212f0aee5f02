/* The loop over rigid bodies in a sweep over blocks (dynamics/methods/rigid_descent.h); what it does with one body stands in
 * updates/rigid/rigid_terms.h and rigid_descent.h. The rules of backend.h hold. */
#ifndef PD_LOOPS_RIGID_SWEEP_LOOPS_H
#define PD_LOOPS_RIGID_SWEEP_LOOPS_H

#include "loops/friction_loops.h"
#include "loops/rigid_loops.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pd_body_sweep {
    const pd_rigid_body *bodies; /* B [n] */
    const int *body_of;          /* B [n_vertices] or -1 */
    const int *order;            /* B [n] colour after colour: bodies of a colour share no element and no pair */
    const int *element_start;    /* B [n+1] */
    const int *elements;         /* B [.,2] kind and number of the elements that a body has a corner in, each once */

    const real *start, *offset; /* B [n_vertices,3] m: where the sweep begins, and x - y there */
    real *points;               /* B [n_points,3] m: where all are; the sweep moves the bodies */
    double *moved;              /* B [n] m: how far a point of the body has gone since, at most */
    real *moves;                /* B [n,6] out: what `direction` holds of a body (dynamics/rigid/rigid.h) */
    unsigned char *beyond;      /* B [n] out: 1: a point may have gone farther than its reach */

    int touches; /* 0: nothing does, and nothing below is read */
    pd_contact_law law;
    pd_contact_pairs pairs; /* all within so much of acting that bodies have `room` */
    pd_incidence incidence;
    const real *distance;    /* B [pairs] m, where the sweep begins */
    int *own;                /* B [roles] scratch: the pairs of a body, from the first role of its first row on, */
    double *gaps;            /* B [roles] m: and what is left of their gaps at the least when its turn comes */
    double room;             /* m: how far the points of a body that has a pair may go */
    double rounding;         /* of a gap, m */
    const real *reach;       /* B [n_vertices] m: so far each may go in any direction, from where the iteration began */
    pd_contact_sweep bounds; /* of that place: the planes of the vertices' pairs */
    int by_reach;            /* no body goes farther than its points' reach; 0: nor than nothing touches, while all others stay */
    pd_lagged_pairs lagged;
    pd_incidence lagged_incidence;
    pd_slipping slipping; /* y is `points` */
} pd_body_sweep;

/* Bodies order[first .. first + n - 1], in parallel: of each G is minimised by one Newton step with the 6x6 block of its Hessian, exact, or
 * projected where that is not positive definite, shortened as far as nothing touches and until G falls [Chen et al. 2024, VBD, Sec.
 * 6.2]. */
pd_status pd_sweep_bodies(pd_context *context, const pd_model *model, const pd_step_data *step, const pd_body_sweep *sweep, int first,
                          int n);

#ifdef __cplusplus
}
#endif

#endif
