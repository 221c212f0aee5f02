/* The way of an iterate from one state to another, and how much of it touches nothing: vertices go straight, rigid bodies with their centre
 * straight while they turn (rigid.h), so that their points are on arcs. */
#ifndef PD_DYNAMICS_PROBLEM_PATH_H
#define PD_DYNAMICS_PROBLEM_PATH_H

#include "dynamics/problem/problem.h"

/* pd_contact_limit along it: the part of the way from x_0 to x_1 after which no pair has come nearer than the separation. What a curve is
 * off its chord is added to the separation, and where that leaves little of the way the same is asked of a shorter one, since it falls with
 * the square of the length. x_0, x_1 B [n,3]; x_1 may be problem->trial, but neither problem->trial_offset. */
pd_status pd_path_limit(const pd_problem *problem, const real *x_0, const real *x_1, int driven, double *part);

/* x and offset go this part of the way to x_1 and offset_1; offset and offset_1 may be NULL. */
pd_status pd_path_go(const pd_problem *problem, double part, const real *x_1, const real *offset_1, real *x, real *offset);

#endif
