/* One simulation: a model, a state, and the step that moves it.
 *
 * Every solver runs in the same frame (pd_simulation_step, in frame.c): first guess, iterations, stopping rules, records and the velocity
 * update are written once; a solver contributes only the direction of one iteration (method.h). So every solver reports the
 * same quantities, computed by the same functions. The functions below stand in simulation.c, state.c, diagnostics.c and frame.c. */
#ifndef PD_DYNAMICS_STEP_SIMULATION_H
#define PD_DYNAMICS_STEP_SIMULATION_H

#include "contact/two_way/two_way.h"
#include "dynamics/problem/model.h"
#include "linear/linear_solver.h"

typedef struct pd_method pd_method;           /* method.h */
typedef struct pd_callback pd_callback;       /* callback.h */
typedef struct pd_accelerator pd_accelerator; /* accelerator.h */

/* What accelerates the outer iteration. */
typedef struct pd_acceleration {
    const pd_accelerator *accelerator; /* one of pd_accelerators (accelerators.h); NULL: none */
    const void *settings;              /* accelerator->settings_size bytes that its options describe; read in the call that gets them */
} pd_acceleration;

typedef struct pd_settings {
    double h;                    /* s; 0: quasistatic */
    const pd_method *method;     /* one of pd_methods (methods.h) */
    const void *method_settings; /* the method's own settings, method->settings_size bytes that its options describe; read at creation */

    /* those of the frame, which every method has: pd_frame_options (methods.h) */
    int iterations;        /* outer iterations of a step */
    double tolerance;      /* stop at gradient norm <= tolerance x the first; 0: never */
    double step_tolerance; /* m/s (quasistatic: m): stop where no vertex moves faster in an iteration; 0: never */
    int check_every;       /* iterations between two reads of a result */
    int initialization;    /* PD_GUESS_... */
    int lower_guess;       /* under a barrier a step begins at x_t where G is no higher there than at the limited first guess */

    pd_acceleration acceleration; /* the first; pd_simulation_set_acceleration sets another */
} pd_settings;

/* How a step ended; STALLED: nothing moves or no decrease is found, and the gradient is more than the tolerance or rounding allows. */
typedef enum pd_stop { PD_STOP_ITERATION_CAP, PD_STOP_CONVERGED, PD_STOP_STALLED, PD_STOP_DIVERGED } pd_stop;

/* The parts of a step whose seconds are kept apart, in the order they run in. */
typedef enum pd_phase {
    PD_PHASE_BEGIN,       /* copies of the state, damping Hessians */
    PD_PHASE_FIRST_GUESS, /* with the targets of scripted pins */
    PD_PHASE_DIRECTION,   /* of all iterations: the method's own work */
    PD_PHASE_ADVANCE,     /* of all iterations: extrapolation, move, and reading back how far */
    PD_PHASE_VELOCITY,
    PD_PHASE_COUNT
} pd_phase;

typedef struct pd_simulation pd_simulation;

/* What the frame knows of an iteration; all 0 at the first guess. */
typedef struct pd_iteration {
    int number;               /* from 1 */
    double seconds;           /* of this iteration and all before it */
    double direction_seconds; /* of this iteration */
    double advance_seconds;   /* of this iteration */
    double step_norm;         /* m */
    double potential;         /* G, J */
    double gradient_norm;     /* N */
    double step_limit;        /* the part of the move that contact allowed; 1: all */
    int outer;                /* moves of what is driven so far */
    double behind;            /* m, pd_step_result */
    double held_back;         /* m, the same */
    int stagnations;          /* rounds of contact by projections so far that got next to nowhere */
    /* of all iterations so far, and part of their seconds: finding pairs, times of impact, freezing projections */
    double culling_seconds, ccd_seconds, projection_seconds;
    pd_tally work; /* of the step so far: in row 0 that of the first guess, and of the set-up where the simulation is new */
} pd_iteration;

/* Who watches a step; any of the functions may be NULL. */
typedef struct pd_observer {
    void *user;
    /* Called at the first guess and after every iteration, outside the clock. x is in backend memory. */
    pd_status (*record)(void *user, pd_simulation *simulation, const pd_iteration *iteration);
    /* Called between iterations; nonzero stops the step and leaves the state where it was. */
    int (*interrupted)(void *user);
    /* Called in every step of an update (contact/two_way/two_way.h), inside its clock. */
    pd_status (*update)(void *user, pd_simulation *simulation, const pd_two_way_progress *progress);
    /* [iterations+1] H: nonzero for an iteration that `record` is called for. The last iteration of a step is recorded too. NULL: all. */
    const unsigned char *chosen;
} pd_observer;

/* The updates of contact in a step (contact/two_way/two_way.h): of steps, searches and seconds the sums, of rows and colours the most, else
 * of the last. */
typedef struct pd_vertex_update_result {
    int updates; /* 0: none, and the rest says nothing */
    double seconds;
    double gain, room; /* J: energy that contact added, and what is explained of it (dynamics/responses/two_way_energy.h) */
    pd_two_way_report report;
} pd_vertex_update_result;

/* What a step with rigid bodies reports of them; 0 where it does not apply. */
typedef struct pd_rigid_outcome {
    double guess, end;    /* J: G at the first guess, and at the end of a step that ran all of its iterations */
    double before, after; /* J: the energy at the start with the work of the load, and at the end (rigid_step.h) */
    double turn[2];       /* rad: the largest h |w| at the end, of bodies that no element holds and of those that one does */
    int turning[2];       /* of which body */
} pd_rigid_outcome;

typedef struct pd_step_result {
    pd_stop stop;
    int at_rounding;               /* converged, with no decrease left: the gradient is what rounding leaves of it */
    int iterations;                /* that ran */
    double seconds;                /* spent in them */
    double setup_seconds;          /* not among these: of what was made once while they ran */
    double phases[PD_PHASE_COUNT]; /* s; direction and advance add up to `seconds` */
    double behind;                 /* m: how far from its target what is driven, pins and obstacles, was held back by what it pushes */
    double held_back; /* m: by so much the displacement bound of a vertex has shortened its step in the last iteration, at most */
    pd_vertex_update_result update;
    pd_rigid_outcome rigid;
    double device_seconds; /* from the first loop of the iterations to the last one that was looked at, by the device's clock */
} pd_step_result;

/* `cholesky` serves the direct solvers; nothing is factorised before pd_simulation_prepare. The arrays of the description are
 * borrowed: they must outlive the simulation, unchanged. */
pd_status pd_simulation_create(pd_simulation **out, const pd_description *description, const pd_settings *settings,
                               const pd_cholesky_functions *cholesky, pd_place place, pd_error *error);
void pd_simulation_destroy(pd_simulation *self); /* NULL is allowed */

/* Factorises, estimates weights: all that a step needs and that does not change from step to step. */
pd_status pd_simulation_prepare(pd_simulation *self, double *seconds);

/* The next step counts the work of the set-up (pd_iteration.work) even if an earlier one has. */
void pd_simulation_count_set_up(pd_simulation *self);

/* Solves one step. targets [n,3] H: where pinned vertices go (other rows unread); NULL: they stay. guess [n,3] H: where the iterations
 * begin, pinned vertices at their targets; NULL: at the first guess of the settings. With a barrier it is an iterate of this step that was
 * come to without touching anything, and with everything driven at its target: nothing is looked at on the way there.
 * On any failure (PD_DIVERGED, PD_INTERRUPTED, ...) the state is that of before the call; PD_DIVERGED fills
 * pd_simulation_error with iteration and vertex. `keep_diverged` != 0 returns PD_OK with stop = PD_STOP_DIVERGED instead. */
pd_status pd_simulation_step(pd_simulation *self, const real *targets, const real *guess, const pd_observer *observer, int keep_diverged,
                             pd_step_result *result);

/* The step about to be solved from the present state: every pd_simulation_energies / gradient / hessian call below refers
 * to it. During a step it is the step being solved. */
pd_status pd_simulation_begin(pd_simulation *self);

/* energies [PD_ENERGY_COUNT] H of G at x [n,3] H (NULL: the present positions). What is driven is where it goes in that step, as in the
 * functions below, or with ahead = 0 where it is. */
pd_status pd_simulation_energies(pd_simulation *self, const real *x, int ahead, double *energies);
pd_status pd_simulation_gradient(pd_simulation *self, const real *x, real *gradient /* H [n,3] */);
/* What contact had to balance in the last step: inertia, elastic and damping forces less the load, at its end; zero rows at fixed vertices.
 * forces [n,3] H out, N. *known = 0, and nothing is written, before the first step, without contact, and after the state was set. The next
 * diagnostic needs pd_simulation_begin. */
pd_status pd_simulation_unbalanced(pd_simulation *self, real *forces, int *known);
/* The norm of the gradient that rounding alone leaves at the present positions, N: where no solver gets below; see rounding.h. */
double pd_simulation_gradient_rounding(pd_simulation *self);
/* What rounding alone may change in an incremental potential whose parts add up to `magnitude`, J. */
double pd_simulation_potential_rounding(pd_simulation *self, double magnitude);
/* blocks [nnz,3,3] H on *pattern, both owned by the simulation and there until its next call; `filter` as in backend.h. `of_bodies` != 0: in
 * the six numbers of each rigid body (dynamics/rigid/rigid.h), else over the rows, as if each of a body could move alone. */
pd_status pd_simulation_hessian(pd_simulation *self, const real *x, pd_hessian_filter filter, int of_bodies, const pd_csr **pattern,
                                const real **blocks);

/* State, all H [n,3]; NULL leaves a part alone or unread. */
pd_status pd_simulation_set_state(pd_simulation *self, const real *positions, const real *velocities, const real *previous_velocities);
pd_status pd_simulation_get_state(pd_simulation *self, real *positions, real *velocities, real *previous_velocities);
int pd_simulation_has_previous(const pd_simulation *self);

/* Positions and velocities where they lie, B [n,3], for others to read and write between steps; valid as long as the simulation. Written
 * positions count like those of pd_simulation_set_state, but for the previous velocities, which are kept: the step starts from what it
 * finds. From the first call on a step ends with a wait for the device, so that its result can be read from any stream. */
void pd_simulation_share(pd_simulation *self, real **positions, real **velocities);
/* Where it works, and the positions as they are, B [n,3], for what reads them between steps on the same context. */
pd_context *pd_simulation_context(const pd_simulation *self);
const real *pd_simulation_positions(const pd_simulation *self);
/* Returns when all that was asked of the device is done. */
pd_status pd_simulation_wait(pd_simulation *self);
pd_location pd_simulation_location(const pd_simulation *self);
pd_counts pd_simulation_counts(const pd_simulation *self);
/* Why the last capture of a chunk was refused; "": none was. */
const char *pd_simulation_refusal(const pd_simulation *self);

/* Acceleration by gravity and external forces, H [n,3] m/s^2. The previous velocities become those with which the last step, under this
 * load, would have had the acceleration by elasticity that it had. */
pd_status pd_simulation_set_load(pd_simulation *self, const real *load);

/* What elements of kind PD_SHAPE_TARGET seek from the next step on: stretches H [n,6], the upper triangles of S of rows first .. first + n
 * - 1. Nothing is factorised again. Errors: PD_ERROR_VALUE where there are no such rows. */
pd_status pd_simulation_set_targets(pd_simulation *self, int first, int n, const real *stretches);

/* Targets of elements of kind PD_ATTACHMENT from the next step on: H [n,3] m, of rows first .. first + n - 1. Errors: as above. */
pd_status pd_simulation_set_attachments(pd_simulation *self, int first, int n, const real *targets);

/* Contact; NULL: nothing touches. What it knows of is that of the simulation, and its functions may be called between two of these. */
typedef struct pd_contact pd_contact; /* contact/potential/contact.h */
pd_contact *pd_simulation_contact(pd_simulation *self);
/* What such a function, or a loop, has written into the context goes where pd_simulation_error looks. Returns the status. */
pd_status pd_simulation_keep_error(pd_simulation *self, pd_status status);

pd_error *pd_simulation_error(pd_simulation *self);
int pd_simulation_n_vertices(const pd_simulation *self);
/* Vertices, and behind them the points that contact drives. */
int pd_simulation_n_points(pd_simulation *self);
/* The matrix of the Projective Dynamics global step over all vertices; made on first use, owned by the simulation. */
pd_status pd_simulation_system_matrix(pd_simulation *self, const pd_csr **out);
/* The linear solver of the method's global step, made on first use and not prepared yet; *out = NULL where the method has none. What it
 * owns stays valid as long as the simulation. */
pd_status pd_simulation_linear(pd_simulation *self, pd_linear **out);
/* Colours of the elements in a sweep over constraints, once prepared; 0 for methods without one. */
int pd_simulation_constraint_colours(const pd_simulation *self);
/* The functions of the method that calls some (callback.h), from the next step on; borrowed. NULL: none. Errors: PD_ERROR_TYPE for another
 * method. */
pd_status pd_simulation_set_callback(pd_simulation *self, const pd_callback *callback);
/* The acceleration of the outer iteration from the next step on. A failure keeps the present one. Errors: PD_ERROR_MEMORY, those of the
 * accelerator. */
pd_status pd_simulation_set_acceleration(pd_simulation *self, const pd_acceleration *acceleration);

#endif
