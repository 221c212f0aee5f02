/* The interface of a kind of contact to the common frame (frame.c): a table of functions over its own private memory,
 * problem->response_memory. A simulation has one response (responses.h). It may be a term of G, a part of the matrix of a global step,
 * rules of the step, or several of these. A NULL function has no effect. Flags describe the rest, so that no other file distinguishes
 * kinds.
 *
 *     create -> { begin, first_guess, { before_iteration, correction of the method, advance, read, after_iteration, update }, next_pass,
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

/* The parts of a scene that a response supports: a simulation with others is rejected. */
enum {
    PD_TREATS_RIGID = 1,      /* rigid bodies */
    PD_TREATS_CARRIERS = 2,   /* embedded points */
    PD_TREATS_INTEGRATORS = 4 /* other time integrators than implicit Euler: it is a term of G, and has no update with masses over h^2 */
};

struct pd_contact_response {
    const char *name; /* of the argument that describes it, for messages */
    int needs;        /* PD_TAKES_... (method.h) that the method must have */
    int treats;       /* PD_TREATS_... */

    int (*wanted)(const pd_description *description);
    /* Creates problem->response_memory, and sets problem->scene and problem->contact if it has pairs. destroy frees the rest after a
     * failure. */
    pd_status (*create)(pd_problem *problem, const pd_description *description);
    void (*destroy)(pd_problem *problem);

    /* ---- a term of G at x B [n_vertices,3]; both NULL: no term -------- */

    /* Sets its entries of energies [PD_ENERGY_COUNT] H, J. Synchronises. */
    pd_status (*potential)(const pd_problem *problem, const real *x, double *energies);
    /* gradient B [n_vertices,3] +=, N */
    pd_status (*gradient)(const pd_problem *problem, const real *x, real *gradient);
    /* Adds its 3x3 blocks to those of problem->hessian, filtered as in element_loops.h. Pairs of problem->contact keep their other
     * blocks. */
    pd_status (*hessian)(const pd_problem *problem, const real *x, pd_hessian_filter filter);
    /* Tells whether G is the same function from the first guess to the last iterate, so that the step must lower it. NULL: it is. */
    int (*keeps_potential)(const struct pd_simulation *simulation);

    /* ---- a part of the matrix of a global step ---- */

    /* H: all entries that may occur. NULL: none. */
    const pd_entries *(*pattern)(const pd_problem *problem);
    /* The entries of the springs of the last gradient, at the start of an iteration; and a diagonal upper bound, H [n_vertices] N/m.
     * Synchronises. */
    pd_status (*entries)(const pd_problem *problem, const pd_entries **out);
    const double *(*bounds)(const pd_problem *problem);
    /* With entries: the gradient of the springs of the last gradient, at another x; and whether the next gradient finds others. */
    pd_status (*held_gradient)(const pd_problem *problem, const real *x, real *gradient);
    int (*changes)(const pd_problem *problem);
    /* B [n_vertices,3,3] N/m on the diagonal; the result may be NULL. */
    const real *(*coupling)(const pd_problem *problem);

    /* ---- a step ---- */

    /* Begins a step at x_t. */
    pd_status (*begin)(struct pd_simulation *simulation);
    /* Called with the first guess in the iterate; `given` as in pd_simulation_step. */
    pd_status (*first_guess)(struct pd_simulation *simulation, int given);
    /* Sets *moved, initially 0, if pins or obstacles have moved. */
    pd_status (*before_iteration)(struct pd_simulation *simulation, int *moved);
    /* Replaces pd_advance for the move of an iteration: its weights [2], and whether a report is needed. NULL: pd_advance with step
     * data. */
    pd_status (*advance)(struct pd_simulation *simulation, const double *weights, int report);
    /* report H: the first `reported` scalars of the problem; replaces a download. Synchronises. */
    pd_status (*read)(struct pd_simulation *simulation, size_t reported, double *report);
    pd_status (*after_iteration)(struct pd_simulation *simulation);
    /* After `passes` passes of iterations: sets *again, initially 0, if G has changed and another pass follows. */
    pd_status (*next_pass)(struct pd_simulation *simulation, int passes, int *again);
    /* Its change of the iterate, if it is no term of G: after every `every` iterations (0: never), and at the end of the step. Sets
     * *again, initially 0, if the iterations continue; read at the end only. */
    int (*every)(const pd_problem *problem);
    pd_status (*update)(struct pd_simulation *simulation, const struct pd_observer *observer, struct pd_step_result *result, int *again);
    /* The step is solved, but may still fail. */
    pd_status (*close)(struct pd_simulation *simulation, struct pd_step_result *result);
    /* Called after the velocity update. */
    pd_status (*finish)(struct pd_simulation *simulation);
    /* The step has failed, or is repeated: restores the state. */
    pd_status (*restore)(struct pd_simulation *simulation);

    /* ---- between steps, and for records ---- */

    /* Called after a change of the state. */
    void (*forget)(const pd_problem *problem);
    /* Prepares a diagnostic of a step from x_t, with prescribed points at their positions, or with `ahead` at their targets. */
    pd_status (*question)(const pd_problem *problem, int ahead);
    /* The largest shortening by displacement bounds in the last iteration, m. Synchronises. */
    pd_status (*held_back)(const struct pd_simulation *simulation, double *held);
    /* The row of the record and the keys of the recorder, at x H [n_vertices,3] or the iterate; see contact_record.h. NULL: zeros. */
    pd_status (*row)(struct pd_simulation *simulation, struct pd_contact_recorder *recorder, const real *x, struct pd_contact_row *row);
    /* Seconds so far. NULL: no timing. */
    void (*seconds)(const pd_problem *problem, struct pd_contact_seconds *spent);

    int waits;       /* an iteration reads numbers back: no graph can contain it */
    int keeps_start; /* it needs the start of an iteration, pd_step_limiter.x and pd_step_limiter.offset */
    int limits;      /* no penetrations: pins and obstacles move up to the first contact (prescribed_motion.h) */
    int rounds;      /* it moves pd_step_limiter.x itself, and pd_step_limiter.rounds ends the step, not the rules of the frame */
    int unbounded;   /* its forces may grow without bound between iterations */
    int lengthens;   /* its Newton steps are too short (line_search.h) */
};

#endif
