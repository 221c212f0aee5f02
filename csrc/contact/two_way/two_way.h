/* The two-way interior point method: after a solver, the state goes from where nothing intersects towards the solver's target as far as
 * nothing does, while the target is moved to where it can be reached [Wang et al. 2023, A Two-Way Interior Point Method for Collision
 * Handling in Deformable Body Simulation, ACM TOG 42(5); as printed and, where marked, corrected].
 *
 *     x^(0) = the state, y^(0) = the target                                                           [Algorithm 1]
 *     for l = 0 .. L-1                                                                   [printed: 0 .. L]
 *         where D^(l) has fallen to D^min: a search for all pairs nearer than D^max      [Sec. 3.1, Eq. 4; contact/detection/proximity.h]
 *         backward step: y^(l+1), inexactly, of
 *             min |y - y^(0)|_M^2 / 2   subject to   c(x^(l)) + J(x^(l)) (y - x^(l)) >= 0             [Eq. 9]
 *         by sweeps of projected Gauss-Seidel over colours of rows, from the multipliers that the same rows had before    [Eqs. 11, 13]
 *         forward step: x_i^(l+1) = x_i^(l) + a_i (y_i^(l+1) - x_i^(l)), each vertex by a length of its own,
 *             a_i = min(1, gamma max(0, D_i - dmin) / (2 |y_i^(l+1) - x_i^(l)|)),   D_i = min(D, distances of the pairs of i)
 *             [Eqs. 18, 20]
 *     until |y^(l+1) - x^(l)| < delta/10 for all
 *
 * A point of a primitive moves no farther than one of its corners, so a pair keeps at the least 1 - gamma of what its distance is above
 * dmin, and one that is not in the list, which holds all below D, as much: every x^(l), and the straight way between two of them, is free
 * of intersections, whatever y is. So the method may end at any l. What differs from the paper:
 *
 *   - The length. As printed it counts a move in any direction, and what has come to dmin of each other can neither slide nor part; and it
 *     holds back all corners alike. Here it is the move towards the other side, along the normal of the closest points, between which a
 *     slab as wide as the distance separates both primitives, and a corner that is farther from it has all of its way to it beside
 *     (updates/contact/two_way_forward.h); what goes elsewhere is held to D alone.
 *   - The metric of a backward step has beside the masses the curvature of the edges that pull, lambda/(l |x|) across each: without it the
 *     target of what hangs on an edge swings from side to side, the farther the harder the edge pulls; and that of pairs whose closest
 *     point slides along an edge or a face when it tilts (updates/contact/two_way_metric.h), without which what lies on something thick
 *     rocks. What it holds back is no force: it is gone where the state has come to its target, and the last move of an update is without
 *     it.
 *   - A pair that is to be far apart beside its size is constrained by its distance, not by a volume
 *     (elements/contact/volume_constraint.h).
 *   - dmin, below which nothing comes: as printed a gap may shrink tenfold in every step, and in numbers of a machine it comes to nothing.
 *   - The end. The printed clocks r_i = prod (1 - a_i) stay zero once a vertex has arrived, though its target moves on; here a step must
 *     find all of the state where its target is.
 *   - The metric is the masses' (printed: I), so that the target of an update that has converged keeps the momentum. A forward step does
 *     not, where it holds back a vertex and not the others of its pairs; at the end of one that converged what is missing is that of moves
 *     of delta/10 at most.
 *   - Rows of edges come first in a sweep and those of pairs last, four sweeps a step: one takes two to five times as many steps. After
 *     every 16 steps of an update they double: what does not end is held up by its sweeps.
 *   - D^min is as large as what is left to go wants, between 2 delta and an eighth of a mesh's edges: what is in free flight needs few
 *     steps. The pairs nearer than 1.4 times that are listed at once, with their incidence, and the list stays while it holds all that are
 *     nearer than the one. Half of the edges took 7 % fewer steps, and three times the seconds: a list as far as edges are long holds all
 *     that is beside each other.
 *   - A pair has no row where it is clear of its distance and stays clear of it at y^(l), by the normal that it has.
 *   - Edges are measured against their length at rest; friction is part of the sweeps (Sec. 6.3 filters velocities before them).
 *
 * Where the target is filtered (Secs. 6.2, 6.3), before the first backward step that has pairs: repulsion, then the friction of one
 * backward step, after which the sweeps have none.
 *
 * To compare with, a backward step may take projected Jacobi instead, Gauss-Seidel on the linear system, with multipliers of any sign
 * [Harmon et al. 2008, as Sec. 4.3.1 has it], gradient descent on an augmented Lagrangian [Tang et al. 2018, as Sec. 4.3.2 has it], or no
 * multipliers at all: a step of gradient descent with a log-barrier [Eqs. 7, 8]; and a forward step one length for all by continuous
 * collision detection [Sec. 5].
 *
 * What is driven goes all by the same part of its way, so that obstacles keep their shape, and may come late; pinned vertices each by their
 * own. */
#ifndef PD_CONTACT_TWO_WAY_TWO_WAY_H
#define PD_CONTACT_TWO_WAY_TWO_WAY_H

#include "contact/potential/contact.h"

typedef struct pd_two_way pd_two_way;

typedef enum pd_two_way_exit {
    PD_TWO_WAY_CONVERGED,    /* the state is where its target is */
    PD_TWO_WAY_CAP,          /* all steps ran */
    PD_TWO_WAY_STALLED,      /* nothing moves any more, though it should */
    PD_TWO_WAY_CONTRADICTORY /* rows contradict each other and have thrown the target away; the state is that of the step before */
} pd_two_way_exit;

/* What an update spends its time with; each part ends in something that waits for the device, but that rows are made with their colours. */
typedef enum pd_two_way_part {
    PD_TWO_WAY_PAIRS,    /* what is near: searches, distances */
    PD_TWO_WAY_ROWS,     /* which constraints there are, with the multipliers of those that were there before */
    PD_TWO_WAY_COLOURS,  /* of rows that meet, and where each vertex finds its rows */
    PD_TWO_WAY_BACKWARD, /* linearised, measured and swept */
    PD_TWO_WAY_FORWARD,  /* lengths, and the move */
    PD_TWO_WAY_PARTS
} pd_two_way_part;

/* What became of an update. */
typedef struct pd_two_way_report {
    pd_two_way_exit exit;
    int steps;         /* l that ran */
    int searches;      /* of the broad phase */
    int rows, colours; /* most of pairs in a step, and of their colours */
    double residual;   /* the last, as in pd_two_way_progress */
    double seconds[PD_TWO_WAY_PARTS];
} pd_two_way_report;

/* One l, for who watches. */
typedef struct pd_two_way_progress {
    int step;            /* l; in the last call, of the state at the end, only points, searched, listed and pairs are set */
    const real *points;  /* B [n_points,3] x^(l), and what is driven */
    double searched;     /* D^(l), m */
    double listed;       /* all pairs nearer than this are in the list, m */
    int pairs, rows;     /* nearer than that; constraints */
    int colours, search; /* whether there was one */
    double residual;     /* max |y^(l+1) - x^(l)|, m, of y where the masses alone let it go: far beyond y where edges or pairs pull hard */
} pd_two_way_progress;

typedef struct pd_two_way_watch {
    void *user;
    pd_status (*progress)(void *user, const pd_two_way_progress *progress); /* or NULL */
    int (*interrupted)(void *user);                                         /* nonzero: PD_INTERRUPTED; or NULL */
} pd_two_way_watch;

/* Takes over the contact, of whose law only the distances matter; also where it fails. Errors: PD_ERROR_MEMORY. */
pd_status pd_two_way_create(pd_two_way **out, pd_context *context, pd_contact *contact, const pd_model *model,
                            const pd_contact_description *description);
void pd_two_way_destroy(pd_two_way *two_way); /* NULL is allowed */

pd_contact *pd_two_way_contact(const pd_two_way *two_way);
/* pd_two_way_description.passes */
int pd_two_way_passes(const pd_two_way *two_way);
/* Whether it adds no energy by design: no repulsion, and one update at the end of each solve. */
int pd_two_way_is_passive(const pd_two_way *two_way);
/* delta, m */
double pd_two_way_distance(const pd_two_way *two_way);
/* pd_two_way_description.every */
int pd_two_way_every(const pd_two_way *two_way);

/* A step begins at x_t [n_vertices,3] B, which is free of intersections, and where the driven points are: slip counts from there. */
pd_status pd_two_way_begin(pd_two_way *two_way, const real *x_t);
/* It has failed: the driven points are where it began. */
pd_status pd_two_way_restore(pd_two_way *two_way);

/* The state goes towards target [n_vertices,3] B, m, fixed vertices included, and the driven points towards theirs. Waits.
 *   given  B [n_vertices,3] m: y^(0) where the solver knew of the impulses of the update before in the step: the target without them. The
 *          rows begin with the multipliers of that update. NULL: the solver knew of none, and y^(0) is the target.
 * Errors: PD_ERROR_MEMORY, with the number of pairs; PD_INTERRUPTED. */
pd_status pd_two_way_update(pd_two_way *two_way, const real *target, const real *given, const pd_two_way_watch *watch,
                            pd_two_way_report *report);
/* y, where that update moved its target to, and y^(0), where from: B [n_points,3] m. */
const real *pd_two_way_target(const pd_two_way *two_way);
const real *pd_two_way_origin(const pd_two_way *two_way);
/* Where it is, B [n_vertices,3]. */
const real *pd_two_way_state(const pd_two_way *two_way);

#endif
