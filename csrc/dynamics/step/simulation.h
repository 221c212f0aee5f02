/* One simulation: a model, a state, and the step.
 *
 * Every solver runs in the same frame (pd_simulation_step, in frame.c): first guess, iterations, stopping rules, records and the velocity
 * update are written once. A solver contributes only the correction of an iteration (method.h). So all solvers report the same quantities,
 * computed by the same functions. The functions below are in simulation.c, state.c, diagnostics.c and frame.c. */
#ifndef PD_DYNAMICS_STEP_SIMULATION_H
#define PD_DYNAMICS_STEP_SIMULATION_H

#include "contact/two_way/two_way.h"
#include "dynamics/problem/model.h"
#include "linear/linear_solver.h"

typedef struct pd_method pd_method;           /* method.h */
typedef struct pd_callback pd_callback;       /* callback.h */
typedef struct pd_accelerator pd_accelerator; /* accelerator.h */

/* The acceleration of the outer iteration. */
typedef struct pd_acceleration {
    const pd_accelerator *accelerator; /* one of pd_accelerators (accelerators.h); NULL: none */
    const void *settings;              /* accelerator->settings_size bytes, described by its options; read only during the call */
} pd_acceleration;

typedef struct pd_settings {
    double h;                    /* s, between positions; 0: quasistatic */
    const pd_method *method;     /* one of pd_methods (methods.h) */
    const void *method_settings; /* the method's own settings, method->settings_size bytes, described by its options; read at creation */

    /* settings of the frame, common to all methods: pd_frame_options (methods.h) */
    int iterations;        /* outer iterations of a step */
    double tolerance;      /* stop at gradient norm <= tolerance x the first norm; 0: never */
    double step_tolerance; /* m/s (quasistatic: m): stop if no vertex moves faster in an iteration; 0: never */
    int check_every;       /* iterations between two device reads */
    int initialization;    /* PD_GUESS_... */
    int integrator;        /* PD_IMPLICIT_EULER, .. (dynamics/integrator/integrator.h) */
    int lower_guess;       /* with a barrier a step starts at x_t if G there is at most that at the limited first guess */

    pd_acceleration acceleration; /* the initial one; see pd_simulation_set_acceleration */
} pd_settings;

/* The end of a step. STALLED: no vertex moves or no move lowers G, and the gradient exceeds both tolerance and rounding. */
typedef enum pd_stop { PD_STOP_ITERATION_CAP, PD_STOP_CONVERGED, PD_STOP_STALLED, PD_STOP_DIVERGED } pd_stop;

/* The timed parts of a step, in order. */
typedef enum pd_phase {
    PD_PHASE_BEGIN,       /* copies of the state, damping Hessians */
    PD_PHASE_FIRST_GUESS, /* with the targets of scripted pins */
    PD_PHASE_DIRECTION,   /* of all iterations: the method */
    PD_PHASE_ADVANCE,     /* of all iterations: extrapolation, move, and device read */
    PD_PHASE_VELOCITY,
    PD_PHASE_COUNT
} pd_phase;

typedef struct pd_simulation pd_simulation;

/* The measures of an iteration; all 0 at the first guess. */
typedef struct pd_iteration {
    int number;               /* from 1 */
    double seconds;           /* of this iteration and all previous ones */
    double direction_seconds; /* of this iteration */
    double advance_seconds;   /* of this iteration */
    double step_norm;         /* m */
    double potential;         /* G, J */
    double gradient_norm;     /* N */
    double step_limit;        /* the fraction of the move within the step limit; 1: all */
    int outer;                /* moves of prescribed points so far */
    double target_lag;        /* m, pd_step_result */
    double held_back;         /* m, the same */
    int stagnations;          /* rounds of contact by projections so far with little progress */
    /* of all iterations so far, contained in their seconds: detection, times of impact, projections */
    double culling_seconds, ccd_seconds, projection_seconds;
    pd_tally work; /* of the step so far: row 0 contains the first guess, and the set-up of a new simulation */
} pd_iteration;

/* Callbacks of a step; each may be NULL. */
typedef struct pd_observer {
    void *user;
    /* Called at the first guess and after every iteration, outside the timing. x is in backend memory. */
    pd_status (*record)(void *user, pd_simulation *simulation, const pd_iteration *iteration);
    /* Called between iterations; nonzero stops the step and restores the state. */
    int (*interrupted)(void *user);
    /* Called in every step of an update (contact/two_way/two_way.h), within its timing. */
    pd_status (*update)(void *user, pd_simulation *simulation, const pd_two_way_progress *progress);
    /* [iterations+1] H: nonzero for an iteration with a call of `record`. The last iteration of a step is recorded too. NULL: all. */
    const unsigned char *chosen;
} pd_observer;

/* The updates of contact in a step (contact/two_way/two_way.h): sums of steps, searches and seconds, maxima of rows and colours, other
 * values of the last update. */
typedef struct pd_vertex_update_result {
    int updates; /* 0: none, and the other values are undefined */
    double seconds;
    double gain, explained; /* J: the energy added by contact, and its explained part (dynamics/responses/two_way_energy.h) */
    pd_two_way_report report;
} pd_vertex_update_result;

/* The report of a step with rigid bodies; 0 where it does not apply. */
typedef struct pd_rigid_outcome {
    double guess, end;    /* J: G at the first guess, and at the end of a step that ran all of its iterations */
    double before, after; /* J: the energy at the start plus the work of the load, and at the end (rigid_step.h) */
    double turn[2];       /* rad: the largest h |w| at the end, of bodies without elements and of bodies with elements */
    int turning[2];       /* of which body */
} pd_rigid_outcome;

typedef struct pd_step_result {
    pd_stop stop;
    int at_rounding;               /* converged, without a further decrease: the gradient is at rounding */
    int iterations;                /* that ran */
    double seconds;                /* spent in them */
    double setup_seconds;          /* not contained in these: the time to create data once during the iterations */
    double phases[PD_PHASE_COUNT]; /* s; correction and advance add up to `seconds` */
    double target_lag;             /* m: the target lag of prescribed points, pins and obstacles, held back by contact */
    double held_back;              /* m: the largest shortening of a vertex's step by its displacement bound in the last iteration */
    pd_vertex_update_result update;
    pd_rigid_outcome rigid;
    double device_seconds; /* from the first loop of the iterations to the last read, by the device's clock */
} pd_step_result;

/* `cholesky` serves the direct solvers; pd_simulation_prepare makes the factors. The arrays of the description are borrowed: they must
 * outlive the simulation, unchanged. */
pd_status pd_simulation_create(pd_simulation **out, const pd_description *description, const pd_settings *settings,
                               const pd_cholesky_functions *cholesky, pd_place place, pd_error *error);
void pd_simulation_destroy(pd_simulation *self); /* NULL is allowed */

/* Makes factors and estimates weights: all data of a step that are constant. */
pd_status pd_simulation_prepare(pd_simulation *self, double *seconds);

/* The next step counts the work of the set-up (pd_iteration.work) again. */
void pd_simulation_count_set_up(pd_simulation *self);

/* Solves one step. targets [n,3] H: targets of pinned vertices (other rows unread); NULL: they stay. guess [n,3] H: the start of the
 * iterations, with pinned vertices at their targets; NULL: the first guess of the settings. With a barrier, guess is an iterate of this
 * step on a contact-free path, with all prescribed points at their targets: the path to it is not tested. On any failure (PD_DIVERGED,
 * PD_INTERRUPTED, ...) the state before the call is restored; PD_DIVERGED fills pd_simulation_error with iteration and vertex.
 * `keep_diverged` != 0 returns PD_OK with stop = PD_STOP_DIVERGED instead. */
pd_status pd_simulation_step(pd_simulation *self, const real *targets, const real *guess, const pd_observer *observer, int keep_diverged,
                             pd_step_result *result);

/* Begins the next step from the present state, for the following calls of pd_simulation_energies, gradient and hessian. During a step they
 * refer to that step. */
pd_status pd_simulation_begin(pd_simulation *self);

/* energies [PD_ENERGY_COUNT] H of G at x [n,3] H (NULL: the present positions). Prescribed points are at their targets in that step, as in
 * the functions below, or with ahead = 0 at their positions. */
pd_status pd_simulation_energies(pd_simulation *self, const real *x, int ahead, double *energies);
pd_status pd_simulation_gradient(pd_simulation *self, const real *x, real *gradient /* H [n,3] */);
/* The forces that contact balanced in the last step: inertia, elastic and damping forces minus the load, at its end; zero rows at fixed
 * vertices. forces [n,3] H out, N. Before the first step, without contact, and after a change of the state *known = 0, and nothing is
 * written. The next diagnostic needs pd_simulation_begin. */
pd_status pd_simulation_unbalanced(pd_simulation *self, real *forces, int *known);
/* The gradient norm at the present positions due to rounding, N: a lower bound for all solvers; see rounding.h. */
double pd_simulation_gradient_rounding(pd_simulation *self);
/* The change of an incremental potential by rounding, for parts with the sum `magnitude`, J. */
double pd_simulation_potential_rounding(pd_simulation *self, double magnitude);
/* blocks [nnz,3,3] H on *pattern, both owned by the simulation and valid until its next call; `filter` as in backend.h. `of_bodies` != 0:
 * in the six numbers of each rigid body (dynamics/rigid/rigid.h), else over the rows, as if all rows of a body were independent. */
pd_status pd_simulation_hessian(pd_simulation *self, const real *x, pd_hessian_filter filter, int of_bodies, const pd_csr **pattern,
                                const real **blocks);

/* State, all H [n,3]; NULL: not set or not read. Setting it discards the history of another integrator than implicit Euler, so that the
 * next step is a first one. */
pd_status pd_simulation_set_state(pd_simulation *self, const real *positions, const real *velocities, const real *previous_velocities);
pd_status pd_simulation_get_state(pd_simulation *self, real *positions, real *velocities, real *previous_velocities);
int pd_simulation_has_previous(const pd_simulation *self);
/* That history, after the state: slopes (of BDF2 only) and rates, H [n,3], see dynamics/integrator/integrator.h. pd_simulation_history tells
 * what there is: 0, 1 (rates) or 2 arrays. Errors of set: PD_ERROR_VALUE for arrays that the integrator does not have. */
int pd_simulation_history(const pd_simulation *self);
pd_status pd_simulation_set_history(pd_simulation *self, const real *slopes, const real *rates);
pd_status pd_simulation_get_history(pd_simulation *self, real *slopes, real *rates);

/* Positions and velocities in backend memory, B [n,3], for access by the caller between steps; valid for the life of the simulation.
 * Written positions act as those of pd_simulation_set_state, except that the previous velocities are kept. After the first call every step
 * ends with a synchronisation, so that its result can be read from any stream. */
void pd_simulation_share(pd_simulation *self, real **positions, real **velocities);
/* Its context, and the present positions, B [n,3], for reads between steps on the same context. */
pd_context *pd_simulation_context(const pd_simulation *self);
const real *pd_simulation_positions(const pd_simulation *self);
/* Waits until the device has finished all work. */
pd_status pd_simulation_synchronise(pd_simulation *self);
pd_location pd_simulation_location(const pd_simulation *self);
pd_counts pd_simulation_counts(const pd_simulation *self);
/* The reason of the last refused capture of a chunk; "": none. */
const char *pd_simulation_refusal(const pd_simulation *self);

/* Acceleration by gravity and external forces, H [n,3] m/s^2. The previous velocities are changed so that the last step, under this load,
 * would have had the same acceleration by elasticity. */
pd_status pd_simulation_set_load(pd_simulation *self, const real *external_acceleration);

/* Targets of elements of kind PD_SHAPE_TARGET from the next step on: stretches H [n,6], the upper triangles of S of rows first .. first + n
 * - 1. No new factorisation. Errors: PD_ERROR_VALUE for rows that do not exist. */
pd_status pd_simulation_set_targets(pd_simulation *self, int first, int n, const real *stretches);

/* Targets of elements of kind PD_ATTACHMENT from the next step on: H [n,3] m, of rows first .. first + n - 1. Errors: as above. */
pd_status pd_simulation_set_attachments(pd_simulation *self, int first, int n, const real *targets);

/* Contact; NULL: none. It uses the context of the simulation, and its functions may be called between two of these. */
typedef struct pd_contact pd_contact; /* contact/potential/contact.h */
pd_contact *pd_simulation_contact(pd_simulation *self);
/* Copies an error that such a function, or a loop, has written into the context to pd_simulation_error. Returns the status. */
pd_status pd_simulation_keep_error(pd_simulation *self, pd_status status);

pd_error *pd_simulation_error(pd_simulation *self);
int pd_simulation_n_vertices(const pd_simulation *self);
/* The number of vertices, then points moved by contact. */
int pd_simulation_n_points(pd_simulation *self);
/* The matrix of the Projective Dynamics global step over all vertices; created at first use, owned by the simulation. */
pd_status pd_simulation_system_matrix(pd_simulation *self, const pd_csr **out);
/* The linear solver of the method's global step, created at first use and not yet prepared; *out = NULL if the method has none. Its data
 * are valid for the life of the simulation. */
pd_status pd_simulation_linear(pd_simulation *self, pd_linear **out);
/* The number of element colours in a sweep over constraints, once prepared; 0 for methods without one. */
int pd_simulation_constraint_colours(const pd_simulation *self);
/* The functions of the method with callbacks (callback.h), from the next step on; borrowed. NULL: none. Errors: PD_ERROR_TYPE for another
 * method. */
pd_status pd_simulation_set_callback(pd_simulation *self, const pd_callback *callback);
/* The acceleration of the outer iteration from the next step on. A failure keeps the present one. Errors: PD_ERROR_MEMORY, those of the
 * accelerator. */
pd_status pd_simulation_set_acceleration(pd_simulation *self, const pd_acceleration *acceleration);

#endif
