/* The path of an iterate from one state to another, and its fraction without contact and without inverted tets. Vertices move straight. The centres of rigid bodies
 * move straight while the bodies rotate (rigid.h), so that their points move on arcs. */
#ifndef PD_DYNAMICS_PROBLEM_PATH_H
#define PD_DYNAMICS_PROBLEM_PATH_H

#include "dynamics/problem/problem.h"

/* The smaller of pd_path_limit_by_contact, with contact, and pd_orientation_limit. */
pd_status pd_path_limit(const pd_problem *problem, const real *x_0, const real *x_1, int prescribed, double *fraction);

/* pd_contact_limit along it: the fraction of the path from x_0 to x_1 on which no pair comes nearer than the separation. The distance of
 * an arc from its chord is added to the separation. If that leaves little of the path, a shorter one is tested, since that distance
 * falls with the square of the length. x_0, x_1 B [n,3]; x_1 may be problem->trial, but neither problem->trial_offset. */
pd_status pd_path_limit_by_contact(const pd_problem *problem, const real *x_0, const real *x_1, int prescribed, double *fraction);

/* Moves x and offset by this fraction of the path to x_1 and offset_1; offset and offset_1 may be NULL. */
pd_status pd_path_go(const pd_problem *problem, double fraction, const real *x_1, const real *offset_1, real *x, real *offset);

#endif
