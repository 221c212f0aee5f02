/* The contribution of a kind of contact to the common frame (frame.c): a table of functions over memory of its own,
 * problem->response_memory, which no other file looks into. A simulation has one response (responses.h). It may be a term of G, a part of
 * the matrix of a global step, rules of the step, or several of these. A function that is NULL does nothing. Flags say the rest, so that no
 * other file asks for a kind.
 *
 *     create -> { begin, first_guess, { before_iteration, direction of the method, advance, read, after_iteration, update }, next_pass,
 *                 update, close, finish or restore } -> destroy */
#ifndef PD_DYNAMICS_RESPONSE_H
#define PD_DYNAMICS_RESPONSE_H

#include "dynamics/problem/problem.h"

struct pd_contact_recorder;
struct pd_contact_row;
struct pd_contact_seconds;
struct pd_observer;
struct pd_simulation;
struct pd_step_result;

/* Which parts of a scene a response treats: a simulation with others is refused. */
enum {
    PD_TREATS_RIGID = 1,   /* rigid bodies */
    PD_TREATS_CARRIERS = 2 /* points that vertices carry */
};

struct pd_contact_response {
    const char *name; /* of the argument that describes it, for messages */
    int needs;        /* PD_TAKES_... (method.h) that the method must have */
    int treats;       /* PD_TREATS_... */

    int (*wanted)(const pd_description *description);
    /* Makes problem->response_memory, and sets problem->scene and problem->contact if it has pairs. A failure leaves what destroy frees. */
    pd_status (*create)(pd_problem *problem, const pd_description *description);
    void (*destroy)(pd_problem *problem);

    /* ---- a term of G at x B [n_vertices,3]; NULL, both: it is none ---- */

    /* Sets its entries of energies [PD_ENERGY_COUNT] H, J. Waits. */
    pd_status (*potential)(const pd_problem *problem, const real *x, double *energies);
    /* gradient B [n_vertices,3] +=, N */
    pd_status (*gradient)(const pd_problem *problem, const real *x, real *gradient);
    /* Adds its 3x3 blocks to those of problem->hessian, filtered as in element_loops.h. Pairs of problem->contact keep their other blocks. */
    pd_status (*hessian)(const pd_problem *problem, const real *x, pd_hessian_filter filter);
    /* Whether G is the same function from the first guess to the last iterate, so that the step must lower it. NULL: it is. */
    int (*keeps_potential)(const struct pd_simulation *simulation);

    /* ---- a part of the matrix of a global step ---- */

    /* H: the entries that there may be, before any are found. NULL: it has none. */
    const pd_entries *(*pattern)(const pd_problem *problem);
    /* The entries of the springs that the last gradient found, at the start of an iteration; and a diagonal above them, H [n_vertices] N/m.
     * Waits. */
    pd_status (*entries)(const pd_problem *problem, const pd_entries **out);
    const double *(*bounds)(const pd_problem *problem);
    /* With entries: the gradient of the springs that the last gradient found, at another x; and whether the next gradient finds others. */
    pd_status (*held_gradient)(const pd_problem *problem, const real *x, real *gradient);
    int (*changes)(const pd_problem *problem);
    /* B [n_vertices,3,3] N/m on the diagonal; NULL may be returned. */
    const real *(*coupling)(const pd_problem *problem);

    /* ---- a step ---- */

    /* The step begins at x_t. */
    pd_status (*begin)(struct pd_simulation *simulation);
    /* The first guess is in the iterate; `given` as in pd_simulation_step. */
    pd_status (*first_guess)(struct pd_simulation *simulation, int given);
    /* *moved, which is 0: whether pins or obstacles have moved. */
    pd_status (*before_iteration)(struct pd_simulation *simulation, int *moved);
    /* The move of an iteration, instead of pd_advance: weights [2] of it, and whether a report is asked for. NULL: pd_advance with step
     * data. */
    pd_status (*advance)(struct pd_simulation *simulation, const double *weights, int report);
    /* report H: the first `reported` numbers of the scalars of the problem, instead of a download. Waits. */
    pd_status (*read)(struct pd_simulation *simulation, size_t reported, double *report);
    pd_status (*after_iteration)(struct pd_simulation *simulation);
    /* After so many passes of iterations: *again, which is 0: whether G is another now, and there is one more. */
    pd_status (*next_pass)(struct pd_simulation *simulation, int passes, int *again);
    /* Its change of the iterate, if it is no term of G: after every so many iterations (0: never), and at the end of the step.
     * *again, which is 0: whether the iterations go on from there; read at the end alone. */
    int (*every)(const pd_problem *problem);
    pd_status (*update)(struct pd_simulation *simulation, const struct pd_observer *observer, struct pd_step_result *result, int *again);
    /* The step is solved, and may still fail. */
    pd_status (*close)(struct pd_simulation *simulation, struct pd_step_result *result);
    /* Its velocity is known. */
    pd_status (*finish)(struct pd_simulation *simulation);
    /* It has failed, or is run again: the state is that of before. */
    pd_status (*restore)(struct pd_simulation *simulation);

    /* ---- between steps, and for records ---- */

    /* Another state is set. */
    void (*forget)(const pd_problem *problem);
    /* A diagnostic is about to be computed for a step from x_t, with driven points where they are, or with `ahead` at their targets. */
    pd_status (*question)(const pd_problem *problem, int ahead);
    /* By how much a method that keeps to displacement bounds was shortened in the last iteration, at most, m. Waits. */
    pd_status (*held_back)(const struct pd_simulation *simulation, double *held);
    /* The row of the record and the keys of the recorder, at x H [n_vertices,3] or the iterate; see contact_record.h. NULL: zeros. */
    pd_status (*row)(struct pd_simulation *simulation, struct pd_contact_recorder *recorder, const real *x, struct pd_contact_row *row);
    /* Spent so far, s. NULL: none of its own. */
    void (*seconds)(const pd_problem *problem, struct pd_contact_seconds *spent);

    int waits;       /* an iteration reads numbers back: no graph can hold it */
    int keeps_start; /* it needs the start of an iteration, pd_safe.x and pd_safe.offset */
    int limits;      /* nothing may pass through anything: pins and obstacles go as far as nothing touches (prescribed_motion.h) */
    int rounds;      /* it moves pd_safe.x itself, and ends the step by pd_safe.rounds, not by the rules of the frame */
    int unbounded;   /* its forces may grow without bound from one iteration to the next */
    int lengthens;   /* a Newton step of it is too short (line_search.h) */
};

#endif
