/* The loop over rigid bodies in a sweep over blocks (dynamics/methods/rigid_descent.h). A block is a group of bodies: a single one, or all
 * that joints connect. updates/rigid/rigid_terms.h, rigid_descent.h and group_factor.h have the work on a group. The rules of backend.h
 * apply. */
#ifndef PD_LOOPS_RIGID_SWEEP_LOOPS_H
#define PD_LOOPS_RIGID_SWEEP_LOOPS_H

#include "loops/friction_loops.h"
#include "loops/rigid_loops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The displacement of a body since the start of the sweep, and its next move: a row at about + r is at about + gone + turned r, and moves
 * to about + gone + fraction shift + exp(fraction turn) turned r. */
typedef struct pd_body_way {
    double about[3], axis[3]; /* its pivot at the start of the sweep; the axis of a body held in two points */
    double extent;            /* the largest distance of its rows from the pivot, m */
    double gone[3], turned[9];
    double shift[3], turn[3];
    double went;            /* the length of its path since the start of the sweep, m */
    double arc;             /* an upper bound of that of its next move, m */
    double after[9];        /* the rotation until the end of a trial path */
    int held;               /* the number of pinned points, 0 to 2 */
    int own, n_own;         /* its pairs within reach: sweep->own[own .. own + n_own - 1] */
    int rest, rest_end;     /* the others, which have no energy before it has gone `reach`: sweep->own[rest .. rest_end - 1] */
    double reach, rest_gap; /* m; the smallest gap of the others */
} pd_body_way;

/* Sums over the terms of G with a body. */
typedef struct pd_body_sum {
    double gradient[6], block[36], outer[9]; /* by shift and turn; outer = sum of f r^T */
    double correction[6];                    /* of Newton's method */
} pd_body_sum;

/* Groups of bodies, and the blocks below the diagonal of the Cholesky factors of their Hessians. A place is that of a body in `members`. */
typedef struct pd_body_groups {
    const int *start;        /* B [n_groups+1] */
    const int *members;      /* B [n] bodies of each group, in the order of elimination */
    const int *place_of;     /* B [n] of each body */
    const int *group_of;     /* B [n] */
    const int *column_start; /* B [n+1] by place */
    const int *rows;         /* B [.] places of the blocks of a column, ascending */
    double *entries;         /* B [.,6,6] */
    pd_body_way *ways;       /* B [n] by place */
    pd_body_sum *sums;       /* B [n] by place */
} pd_body_groups;

typedef struct pd_body_sweep {
    const pd_rigid_body *bodies; /* B [n] */
    const int *body_of;          /* B [n_vertices] or -1 */
    pd_body_groups groups;
    const int *order;         /* B [n_groups] sorted by colour: groups of a colour share no element and no pair */
    const int *element_start; /* B [n+1] */
    const int *elements;      /* B [.,2] kind and index of the elements with a corner in a body, each once in a group */

    const real *start, *offset; /* B [n_vertices,3] m: the positions at the start of the sweep, and x - y there */
    real *points;               /* B [n_points,3] m: the present positions; the sweep moves the bodies */
    double *moved;              /* B [n] m: the largest displacement of a point of the body since then */
    real *moves;                /* B [n,6] out: the entries of a body in `correction` (dynamics/rigid/rigid.h) */
    unsigned char *beyond;      /* B [n] out: 1: a point of the body may exceed its displacement bound */

    int touches; /* 0: no contact, and the following members are not read */
    pd_pair_potential potential;
    pd_contact_pairs pairs; /* all pairs that can become active while bodies stay within `bound` */
    pd_incidence incidence;
    const real *distance;           /* B [pairs] m, at the start of the sweep */
    int *own;                       /* B [roles] scratch: the pairs of a body, each once in a group, from the first role of its first row */
    int *others;                    /* B [roles] the place of their second body in the group, or -1 */
    double *gaps;                   /* B [roles] m: and lower bounds of their gaps at the turn of the group */
    double bound;                   /* m: the displacement bound of points of a body with pairs */
    double rounding;                /* of a gap, m */
    const real *displacement_bound; /* B [n_vertices] m: the displacement bound in any direction, from the start of the iteration */
    pd_contact_sweep bounds;        /* at the same positions: the planes of the vertices' pairs */
    int by_bounds; /* 1: bodies stay within the displacement bounds of their points; 0: within the step limit with all others at rest */
    pd_lagged_pairs lagged;
    pd_incidence lagged_incidence;
    pd_slipping slipping; /* y is `points` */
} pd_body_sweep;

/* Groups order[first .. first + n - 1], in parallel: each minimises G by Newton steps with the Hessian of its bodies, exact, or projected if
 * not positive definite. A step is shortened to the step limit and until G decreases [Chen et al. 2024, VBD, Sec. 6.2]. */
pd_status pd_sweep_bodies(pd_context *context, const pd_model *model, const pd_step_data *step, const pd_body_sweep *sweep, int first,
                          int n);

#ifdef __cplusplus
}
#endif

#endif
