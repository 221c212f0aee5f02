/* The load of contact by the two-way interior point method (contact/two_way/two_way.h) on the solver.
 *
 * A solver without contact always has the same solution: its target is inside of the support of a body by h^2 g M/m, m the mass of the
 * vertices in contact. Moving only these compresses the adjacent elements, and their energy is kinetic in the next step. So the impulses
 * M d/h of an update, d = y - y^(0), become forces M d/h^2 of the next solve of the same step, which moves the inertial target by d. The
 * next update subtracts d from its target and finds all impulses from zero:
 *
 *     z = argmin G(x; target + d_k),     d_{k+1} = min |d|_M with z - d_k + d free of intersections, by pushing only
 *
 * The last solve of a step has the forces found before, and its update starts from z itself, so that only its remaining impulses
 * compress elements. At the fixed point z is free of intersections, and the forces push and act on pairs in contact only: the minimum of
 * G under the constraints of contact. It is projected gradient ascent on the dual problem in the metric of the masses. The Hessian of G
 * is at least M/h^2, so the step 1 is short enough. Extrapolated with momentum that restarts when the changes grow [Beck and Teboulle
 * 2009, FISTA; O'Donoghue and Candes 2015, Adaptive Restart], the number of solves grows with the root of M/m. */
#ifndef PD_DYNAMICS_RESPONSES_TWO_WAY_LOAD_H
#define PD_DYNAMICS_RESPONSES_TWO_WAY_LOAD_H

#include "contact/two_way/two_way.h"
#include "dynamics/problem/problem.h"

/* The memory of the response (two_way_response.c). */
typedef struct pd_two_way_load {
    pd_two_way *two_way;
    real *moved;          /* B [n,3] m: shift of the inertial target of the solve */
    real *found, *before; /* B [n,3] m: d of the last update, and of the one before */
    int updates;          /* in the step */
    int last;             /* the last solve of the step: the update starts from its result, including the load */
    int prescribed;       /* obstacles move in the step */
    double momentum;      /* of the extrapolation */
    double change;        /* sum |found - moved|^2 of the last update, m^2 */
    real *host;           /* H [2,n,3] scratch of two_way_energy.c */
} pd_two_way_load;

/* Creates all members except two_way, which the caller sets. Errors: PD_ERROR_MEMORY. */
pd_status pd_two_way_load_create(pd_two_way_load *load, const pd_problem *problem);
void pd_two_way_load_destroy(pd_two_way_load *load, const pd_problem *problem);

/* Begins a step, without a load. */
pd_status pd_two_way_load_begin(pd_two_way_load *load, const pd_problem *problem);
/* problem->trial_offset = target - moved: the input of the next update.     target  B [n,3] m */
pd_status pd_two_way_load_take(const pd_two_way_load *load, const pd_problem *problem, const real *target);
/* After the update, which has `ended` or was cut: takes d from it. Removes the load from offset  B [n,3]. Adds that of the next solve,
 * unless this was the last pass, the update was cut, or the load has settled. *again: whether it was added. Synchronises. */
pd_status pd_two_way_load_next(pd_two_way_load *load, const pd_problem *problem, real *offset, int ended, int *again);

#endif
