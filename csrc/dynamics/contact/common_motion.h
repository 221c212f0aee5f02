/* The common motion of bodies that may meet in a step. Contact between them keeps their momentum. So the first guess of a vertex-wise
 * method begins with a translation of each group of bodies, and displacement bounds limit only their motion relative to each other.
 *
 *     part     vertices connected by elements, or a rigid body
 *     group    parts whose boxes of x_0 and x_1, as wide as contact acts, overlap
 *
 * t = sum m (x_1 - x_0) / sum m over the group. A group is translated if t is longer than `least`, if each of its vertices is then within
 * |t|/2 of x_1, and if none is held or on a line or a plane. */
#ifndef PD_DYNAMICS_CONTACT_COMMON_MOTION_H
#define PD_DYNAMICS_CONTACT_COMMON_MOTION_H

#include "dynamics/problem/problem.h"

typedef struct pd_common_motion pd_common_motion;

/* Errors: PD_ERROR_MEMORY. */
pd_status pd_common_motion_create(pd_common_motion **out, const pd_problem *problem);
void pd_common_motion_destroy(pd_common_motion *self); /* NULL is allowed */

/* The translations t.
 *   x_0, x_1  B [n,3]      width  the distance at which contact acts, m
 *   shift  B [n,3]  out  zero in groups that are not translated
 *   moves  H  out  whether one is. Synchronises. Uses staging. */
pd_status pd_common_motion_find(pd_common_motion *self, const pd_problem *problem, const real *x_0, const real *x_1, double width,
                                double least, real *shift, int *moves);

#endif
