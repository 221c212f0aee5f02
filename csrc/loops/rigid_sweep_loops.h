/* The loop over rigid bodies in a sweep over blocks (dynamics/methods/rigid_descent.h); updates/rigid/rigid_terms.h and rigid_descent.h
 * have the work on one body. The rules of backend.h apply. */
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
    const int *order;            /* B [n] sorted by colour: bodies of a colour share no element and no pair */
    const int *element_start;    /* B [n+1] */
    const int *elements;         /* B [.,2] kind and index of the elements with a corner in a body, each once */

    const real *start, *offset; /* B [n_vertices,3] m: the positions at the start of the sweep, and x - y there */
    real *points;               /* B [n_points,3] m: the present positions; the sweep moves the bodies */
    double *moved;              /* B [n] m: the largest displacement of a point of the body since then */
    real *moves;                /* B [n,6] out: the entries of a body in `direction` (dynamics/rigid/rigid.h) */
    unsigned char *beyond;      /* B [n_vertices] out: 1: a point may exceed its displacement bound */

    int touches; /* 0: no contact, and the following members are not read */
    pd_pair_potential potential;
    pd_contact_pairs pairs; /* all pairs that can become active while bodies stay within `room` */
    pd_incidence incidence;
    const real *distance;           /* B [pairs] m, at the start of the sweep */
    int *own;                       /* B [roles] scratch: the pairs of a body, from the first role of its first row */
    double *gaps;                   /* B [roles] m: and lower bounds of their gaps at the turn of the body */
    double room;                    /* m: the displacement bound of points of a body with pairs */
    double rounding;                /* of a gap, m */
    const real *displacement_bound; /* B [n_vertices] m: the displacement bound in any direction, from the start of the iteration */
    pd_contact_sweep bounds;        /* at the same positions: the planes of the vertices' pairs */
    int by_bounds; /* 1: bodies stay within the displacement bounds of their points; 0: within the step limit with all others at rest */
    pd_lagged_pairs lagged;
    pd_incidence lagged_incidence;
    pd_slipping slipping; /* y is `points` */
} pd_body_sweep;

/* Bodies order[first .. first + n - 1], in parallel: each minimises G by one Newton step with the 6x6 block of its Hessian, exact, or
 * projected if not positive definite. The step is shortened to the step limit and until G decreases [Chen et al. 2024, VBD, Sec. 6.2]. */
pd_status pd_sweep_bodies(pd_context *context, const pd_model *model, const pd_step_data *step, const pd_body_sweep *sweep, int first,
                          int n);

#ifdef __cplusplus
}
#endif

#endif
