/* The load that contact by the two-way interior point method (contact/two_way/two_way.h) puts on the solver.
 *
 * A solver that knows of no contact ends where it would without, each time it is asked: its target lies inside of what a body rests on by
 * h^2 g M/m, m the mass of the vertices that touch, and moving these alone compresses the elements between them and the others. Their
 * energy is kinetic in the next step. So the impulses M d/h that an update finds, d = y - y^(0), become forces M d/h^2 of the next solve of
 * the same step, which moves the inertial target by d. The next update subtracts d from its target and finds all impulses from zero:
 *
 *     z = argmin G(x; target + d_k),     d_{k+1} = min |d|_M with z - d_k + d free of intersections, by pushing alone
 *
 * The last solve of a step has the forces found before, and its update starts from z itself: what it still has to push is all that it
 * compresses. At the fixed point z intersects nothing, the forces push, and only what touches has one: the minimum of G under the
 * constraints of contact. It is projected gradient ascent on the dual problem in the metric of the masses. Since the Hessian of G is at
 * least M/h^2, the step 1 is short enough, and extrapolated with momentum that restarts when the changes grow [Beck and Teboulle 2009,
 * FISTA; O'Donoghue and Candes 2015, Adaptive Restart] the number of solves grows with the root of M/m. */
#ifndef PD_DYNAMICS_RESPONSES_TWO_WAY_LOAD_H
#define PD_DYNAMICS_RESPONSES_TWO_WAY_LOAD_H

#include "contact/two_way/two_way.h"
#include "dynamics/problem/problem.h"

/* The memory of the response (two_way_response.c). */
typedef struct pd_two_way_load {
    pd_two_way *two_way;
    real *moved;          /* B [n,3] m: by how much the inertial target of the solve is moved */
    real *found, *before; /* B [n,3] m: d of the last update, and of the one before */
    int updates;          /* in the step */
    int last;             /* the solve is the last one of the step: the update starts from where it came to, load and all */
    int driven;           /* obstacles move in the step */
    double momentum;      /* of the extrapolation */
    double change;        /* sum |found - moved|^2 of the last update, m^2 */
    real *host;           /* H [2,n,3] scratch of two_way_energy.c */
} pd_two_way_load;

/* All but two_way, which the caller sets. Errors: PD_ERROR_MEMORY. */
pd_status pd_two_way_load_create(pd_two_way_load *load, const pd_problem *problem);
void pd_two_way_load_destroy(pd_two_way_load *load, const pd_problem *problem);

/* A step begins, without a load. */
pd_status pd_two_way_load_begin(pd_two_way_load *load, const pd_problem *problem);
/* problem->trial_offset = target - moved: what the next update is given.     target  B [n,3] m */
pd_status pd_two_way_load_take(const pd_two_way_load *load, const pd_problem *problem, const real *target);
/* After the update, which has `ended` or was cut: d of it. The load is taken off offset  B [n,3], and, unless
 * this was the last pass, the update was cut, or the load has settled, that of the next solve is put on. *again: whether it was. Waits.
 */
pd_status pd_two_way_load_next(pd_two_way_load *load, const pd_problem *problem, real *offset, int ended, int *again);

#endif
