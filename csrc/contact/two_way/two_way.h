/* The two-way interior point method. After a solver, the state moves from an intersection-free start towards the solver's target, as far
 * as it stays free of intersections. Meanwhile the target is moved to reachable positions [Wang et al. 2023, A Two-Way Interior Point
 * Method for Collision Handling in Deformable Body Simulation, ACM TOG 42(5); as printed and, where marked, corrected].
 *
 *     x^(0) = the state, y^(0) = the target                                                           [Algorithm 1]
 *     for l = 0 .. L-1                                                                   [printed: 0 .. L]
 *         if D^(l) has fallen to D^min: a search for all pairs nearer than D^max (proximity.h)            [Sec. 3.1, Eq. 4]
 *         backward step: y^(l+1), inexactly, of
 *             min |y - y^(0)|_M^2 / 2   subject to   c(x^(l)) + J(x^(l)) (y - x^(l)) >= 0             [Eq. 9]
 *         by sweeps of projected Gauss-Seidel over colours of rows, from the multipliers that the same rows had before    [Eqs. 11, 13]
 *         forward step: x_i^(l+1) = x_i^(l) + a_i (y_i^(l+1) - x_i^(l)), with a length per vertex,
 *             a_i = min(1, gamma max(0, D_i - dmin) / (2 |y_i^(l+1) - x_i^(l)|)),   D_i = min(D, distances of the pairs of i)
 *             [Eqs. 18, 20]
 *     until |y^(l+1) - x^(l)| < delta/10 for all
 *
 * A point of a primitive moves no farther than one of its corners. So a listed pair keeps at least 1 - gamma of its distance above dmin.
 * The same holds for an unlisted pair, since all pairs below D are listed. Every x^(l), and the straight path between two of them, is
 * free of intersections for any y. So the method may end at any l. Differences from the paper:
 *
 *   - The length. The printed one limits moves in all directions and of all corners alike: pairs at the distance dmin can neither slide
 *     nor separate. Here the limited move is that towards the other side, along the normal of the closest points. A slab as wide as the
 *     distance separates both primitives. A corner farther from the slab may also use its distance to it
 *     (updates/contact/two_way_forward.h). Moves in other directions are limited by D alone.
 *   - The metric of a backward step has the masses and the curvature of taut edges, lambda/(l |x|) across each. Without it, the target of
 *     a vertex that hangs on an edge oscillates, with an amplitude that grows with the tension. The metric also has the curvature of pairs
 *     whose closest point slides when they tilt (updates/contact/two_way_metric.h). Without it, resting bodies rock on thick ones. This
 *     added metric is no force: its effect vanishes on arrival, and the last move of an update is without it.
 *   - A pair with a required distance that is large compared with its size is constrained by its distance, not by a volume
 *     (elements/contact/volume_constraint.h).
 *   - dmin, a lower bound of distances. As printed, a gap may shrink tenfold in every step, until it underflows.
 *   - The end. The printed clocks r_i = prod (1 - a_i) stay zero once a vertex has arrived, although its target still moves. Here a step
 *     must find every vertex at its target.
 *   - The metric is that of the masses (printed: I), so that the target of a converged update conserves momentum. A forward step does not,
 *     if it limits a vertex and not the others of its pairs. At the end of a converged update the error is that of moves up to delta/10.
 *   - A sweep has rows of edges first and those of pairs last. A step has four sweeps: one sweep needs more steps. The sweeps double after
 *     every 16 steps of an update, since slow convergence comes from the sweeps.
 *   - D^min depends on the remaining path, between 2 delta and an eighth of a mesh's edges: free flight then needs few steps. A list holds
 *     the pairs nearer than 1.4 times that, with their incidence, while it is complete. A larger D^min of half of the edges was slower,
 *     since a list of the length of edges holds all adjacent primitives.
 *   - A pair has no row if it exceeds its distance now and also at y^(l), by its present normal.
 *   - Edges are measured relative to their rest length. Friction is part of the sweeps (Sec. 6.3 filters velocities before them).
 *
 * With a filtered target (Secs. 6.2, 6.3), before the first backward step with pairs: repulsion, then the friction of one backward step.
 * The sweeps then have no friction.
 *
 * For comparison, a backward step may use projected Jacobi; Gauss-Seidel on the linear system, with multipliers of any sign [Harmon et
 * al. 2008, in the form of Sec. 4.3.1]; gradient descent on an augmented Lagrangian [Tang et al. 2018, in the form of Sec. 4.3.2]; or a
 * step of gradient descent with a log-barrier, without multipliers [Eqs. 7, 8]. A forward step may use one length for all by continuous
 * collision detection [Sec. 5].
 *
 * All prescribed points move by the same fraction of their path, so that obstacles keep their shape, and may lag behind their targets.
 * Each pinned vertex has its own fraction. */
#ifndef PD_CONTACT_TWO_WAY_TWO_WAY_H
#define PD_CONTACT_TWO_WAY_TWO_WAY_H

#include "contact/potential/contact.h"

typedef struct pd_two_way pd_two_way;

typedef enum pd_two_way_exit {
    PD_TWO_WAY_CONVERGED,    /* the state is at its target */
    PD_TWO_WAY_CAP,          /* all steps ran */
    PD_TWO_WAY_STALLED,      /* nothing moves, but the state is not at its target */
    PD_TWO_WAY_CONTRADICTORY /* rows contradict each other and the target has diverged; the state is that of the step before */
} pd_two_way_exit;

/* The parts of an update that are timed. Each part ends with a synchronisation, except that rows are made with their colours. */
typedef enum pd_two_way_part {
    PD_TWO_WAY_PAIRS,    /* neighbour pairs: searches, distances */
    PD_TWO_WAY_ROWS,     /* the constraints, with the multipliers of those before */
    PD_TWO_WAY_COLOURS,  /* of rows with common vertices, and the rows of each vertex */
    PD_TWO_WAY_BACKWARD, /* linearisation, residuals and sweeps */
    PD_TWO_WAY_FORWARD,  /* lengths, and the move */
    PD_TWO_WAY_PARTS
} pd_two_way_part;

/* The result of an update. */
typedef struct pd_two_way_report {
    pd_two_way_exit exit;
    int steps;         /* steps l of the loop */
    int searches;      /* of the broad phase */
    int rows, colours; /* maximum of pairs in a step, and of their colours */
    double residual;   /* the last, as in pd_two_way_progress */
    double seconds[PD_TWO_WAY_PARTS];
} pd_two_way_report;

/* One step l, for a callback. */
typedef struct pd_two_way_progress {
    int step;            /* l; the last call, at the final state, sets only points, searched, listed and pairs */
    const real *points;  /* B [n_points,3] x^(l), and the prescribed points */
    double searched;     /* D^(l), m */
    double listed;       /* the list holds all pairs nearer than this, m */
    int pairs, rows;     /* pairs nearer than that; constraints */
    int colours, search; /* search: 1 after a search */
    double
        residual; /* max |y^(l+1) - x^(l)|, m, with y of the metric of masses only, which may be far beyond y if edges or pairs pull hard */
} pd_two_way_progress;

typedef struct pd_two_way_watch {
    void *user;
    pd_status (*progress)(void *user, const pd_two_way_progress *progress); /* or NULL */
    int (*interrupted)(void *user);                                         /* nonzero: PD_INTERRUPTED; or NULL */
} pd_two_way_watch;

/* Takes ownership of the contact, also on failure. Only the distances of its contact potential matter. Errors: PD_ERROR_MEMORY. */
pd_status pd_two_way_create(pd_two_way **out, pd_context *context, pd_contact *contact, const pd_model *model,
                            const pd_contact_description *description);
void pd_two_way_destroy(pd_two_way *two_way); /* NULL is allowed */

pd_contact *pd_two_way_contact(const pd_two_way *two_way);
/* pd_two_way_description.passes */
int pd_two_way_passes(const pd_two_way *two_way);
/* Tells whether the method adds no energy by design: no repulsion, and one update at the end of each solve. */
int pd_two_way_is_passive(const pd_two_way *two_way);
/* delta, m */
double pd_two_way_distance(const pd_two_way *two_way);
/* pd_two_way_description.every */
int pd_two_way_every(const pd_two_way *two_way);

/* Begins a step at x_t [n_vertices,3] B, which is free of intersections, and at the positions of the prescribed points. Slip is measured
 * from there. */
pd_status pd_two_way_begin(pd_two_way *two_way, const real *x_t);
/* Restores the prescribed points after a failed step. */
pd_status pd_two_way_restore(pd_two_way *two_way);

/* Moves the state towards target [n_vertices,3] B, m, fixed vertices included, and the prescribed points towards their targets.
 * Synchronises.
 *   given  B [n_vertices,3] m: y^(0) if the solver had the impulses of the previous update of the step, which is the target without them.
 *          The rows begin with the multipliers of that update. NULL: a solver without impulses, and y^(0) is the target.
 * Errors: PD_ERROR_MEMORY, with the number of pairs; PD_INTERRUPTED. */
pd_status pd_two_way_update(pd_two_way *two_way, const real *target, const real *given, const pd_two_way_watch *watch,
                            pd_two_way_report *report);
/* y and y^(0) of that update: B [n_points,3] m. */
const real *pd_two_way_target(const pd_two_way *two_way);
const real *pd_two_way_origin(const pd_two_way *two_way);
/* The state, B [n_vertices,3]. */
const real *pd_two_way_state(const pd_two_way *two_way);

#endif
