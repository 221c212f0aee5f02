/* Groups of rigid bodies that are solved together: the bodies that joints connect, and each of the other bodies alone. */
#ifndef PD_DYNAMICS_RIGID_MECHANISMS_H
#define PD_DYNAMICS_RIGID_MECHANISMS_H

#include "dynamics/rigid/rigid.h"

/* All H. A group is a range of `members`. Its bodies are in an order of elimination, and a place is a position in that order. */
typedef struct pd_mechanisms {
    int n, n_groups, n_blocks; /* bodies, groups, blocks of the factors below the diagonal */
    int *start;                /* [n_groups+1] */
    int *members;              /* [n] bodies, groups in the order of their lowest body */
    int *place_of, *group_of;  /* [n] of a body */
    int *column_start;         /* [n+1] by place */
    int *rows;                 /* [n_blocks] places of the blocks of a column of the Cholesky factor, ascending */
    int n_joined, *joined;     /* [n_joined,2] bodies that share an element, the lower one first */
} pd_mechanisms;

/* Groups the rigid bodies of a scene. The order is breadth first from the lowest body of a group, reversed [George and Liu 1981, Sec. 4.3]:
 * the factor of a tree has no fill. A group whose factor has more than PD_MOST_FACTOR_BLOCKS blocks per body is dissolved into single
 * bodies. Errors: PD_ERROR_MEMORY. */
enum { PD_MOST_FACTOR_BLOCKS = 64 };
pd_status pd_mechanisms_create(pd_mechanisms *out, const pd_problem *problem);
void pd_mechanisms_destroy(pd_mechanisms *self); /* of zeros is allowed */

#endif
