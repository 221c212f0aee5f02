/* Contact as a term of the incremental potential: a law over all pairs of a scene that are near, wherever its vertices are.
 *
 *     C(x) = sum over pairs of the law at d(x)        (elements/contact/pair.h)
 *
 * The points are the vertices of the bodies, points of embedded surfaces that the vertices carry along (surface.h), and, behind them,
 * driven points: vertices of obstacle meshes, centres of spheres, axes of capsules, points and normals of planes. Driven points have a
 * place of their own in the state: they go towards a target in every step, and no farther than what they push lets them.
 *
 * Every function that takes x finds for itself which pairs act there (pd_contact_find), so C and its derivatives depend on x and on where
 * the driven points are, and on nothing else. */
#ifndef PD_CONTACT_POTENTIAL_CONTACT_H
#define PD_CONTACT_POTENTIAL_CONTACT_H

#include "contact/detection/broad_phase.h"
#include "contact/penalty/penalty.h"
#include "contact/potential/friction.h"
#include "loops/contact_loops.h"

typedef struct pd_contact pd_contact;
typedef struct pd_guard pd_guard; /* guard.h */

enum { PD_GUARD_IMPACT, PD_GUARD_REACH, PD_GUARD_COUNT };

/* Of frozen projections (contact/projective/projective.h). */
typedef struct pd_projective_description {
    double stiffness;   /* c > 0; 0: the law acts, and nothing is projected */
    double restitution; /* in [0,1] */
    double rest_speed;  /* m/s: what comes slower does not rebound */
    double tolerance;   /* of an inner loop, in parts of the activation distance */
    int blocks;         /* what the pairs of a vertex add to the matrix is a 3x3 block, and not a number */
    int outer, inner;   /* most detections of a step, most iterations between two */
    int target;         /* PD_TARGET_... of elements/contact/projection.h */
    int hits_alone;     /* only what a move would have brought together is a pair, and not what is near as well */
    int cut_back;       /* a cut iterate goes on from the state, and nothing is done about rounds that get nowhere */
    int printed;        /* the loop tests before it goes round, by absolute moves, and a round ends by the energy */
} pd_projective_description;

/* Of the two-way interior point method (contact/two_way/two_way.h). */
/* How a backward step finds its target: by projected Gauss-Seidel; by projected Jacobi; by Gauss-Seidel on the linear system alone, whose
 * multipliers may pull; by gradient descent on an augmented Lagrangian; not at all, but by a step of gradient descent with a log-barrier.
 * How far a forward step goes: each vertex by the distances of its pairs; all by the earliest time of impact; each by the times of its
 * pairs. */
enum { PD_TWO_WAY_GAUSS_SEIDEL, PD_TWO_WAY_JACOBI, PD_TWO_WAY_LINEAR, PD_TWO_WAY_AUGMENTED, PD_TWO_WAY_BARRIER };
enum { PD_TWO_WAY_DISTANCES, PD_TWO_WAY_IMPACT, PD_TWO_WAY_IMPACTS };

typedef struct pd_two_way_description {
    int steps;       /* most of an update; 0: the law acts, or projections do */
    int sweeps;      /* of a backward step */
    int patience;    /* steps after which sweeps double, each time; 0: they stay */
    int passes;      /* most solves of a step, each with the impulses that the updates before it found; 1: contact has no part in a solve */
    int every;       /* iterations of the solver from one update to the next; 0: one at the end of a step */
    int multipliers; /* PD_TWO_WAY_GAUSS_SEIDEL, .. */
    int lengths_by;  /* PD_TWO_WAY_DISTANCES, .. */
    int filtered;    /* friction takes from the target before the first backward step, and has no part in the sweeps */
    double strength; /* of the barrier, k h^2, kg */
    double repulsion;  /* k h^2, kg; 0: there is none */
    double recovery;   /* the part of what a pair lacks of its distance where the step begins that it may gain in the step; 1: all */
    double farthest;   /* pairs are listed up to this, m, or to what they need at the least */
    double edge_limit; /* most length of the edges below, in parts of that at rest */
    const int *edges;  /* [n_edges,2] vertices */
    const real *lengths;
    int n_edges;
} pd_two_way_description;

/* Of pairs whose two sides are prescribed (contact/potential/prescribed_pairs.h). All H. */
typedef struct pd_prescribed_description {
    pd_broad_phase_description phase; /* n_points = 0: there are none */
    const real *radii;                /* [n_points] m */
    const int *asked;                 /* [n_asked] the points that planes are asked about */
    int n_asked;
    const char *const *names; /* [friction.n_owners] of bodies and obstacles */
} pd_prescribed_description;

/* All H; what a broad phase is told stands in `phase`, whose points are all points: those that follow vertices come first. */
typedef struct pd_contact_description {
    pd_contact_law law;
    int adaptive;                  /* the stiffness may double between steps */
    double activation, separation; /* dhat, xi: m */
    int guard;                     /* PD_GUARD_... */
    pd_friction_description friction;
    pd_penalty_description penalty;
    pd_projective_description projective;
    pd_two_way_description two_way;
    pd_prescribed_description prescribed;
    pd_broad_phase_description phase;
    const real *rest;  /* [n_points,3] m */
    const real *radii; /* [n_points] m */
    const int *bodies; /* [n_points] */
    const real *areas; /* [n_points] m^2, pd_contact_scene */
    const real *edge_areas, *triangle_areas;
    int weighting;     /* PD_WEIGHTING_... */
    const int *planes; /* [n_planes] */
    int n_planes;
    const int *asked; /* [n_asked] the points that planes are asked about, ascending */
    int n_asked;
    const int *rows; /* [n_embedded,4] vertices that carry the points right behind the vertices; -1: none */
    const real *weights;
    int n_embedded;
} pd_contact_description;

/* Errors: PD_ERROR_MEMORY. Driven points begin at rest. */
pd_status pd_contact_create(pd_contact **out, pd_context *context, const pd_contact_description *description, int n_vertices);
void pd_contact_destroy(pd_contact *contact); /* NULL is allowed */

/* ---- driven points: [n_driven,3] m -------------------------------------------------------------------------------------------------- */

int pd_contact_n_driven(const pd_contact *contact);
/* All points: vertices, those that they carry, driven ones. */
int pd_contact_n_points(const pd_contact *contact);
/* Where they are, and go: H; NULL leaves one alone. */
pd_status pd_contact_set_driven(pd_contact *contact, const real *positions, const real *targets);
pd_status pd_contact_get_driven(const pd_contact *contact, real *positions);
/* The same, B, until they move; and the body or obstacle of each point, into H [n_points]. */
real *pd_contact_driven(const pd_contact *contact);
const real *pd_contact_targets(const pd_contact *contact);
pd_status pd_contact_get_bodies(const pd_contact *contact, int *bodies);
/* Where the functions below take them to be: at their targets, or where they are. At their targets an adaptive law has the stiffness of the
 * step about to be solved, else that of the last step. */
void pd_contact_look_ahead(pd_contact *contact, int ahead);
/* They go this part of the way that is left to their targets. */
pd_status pd_contact_drive(pd_contact *contact, double part);
/* Keeps where they are, and puts them back there. */
pd_status pd_contact_keep_driven(pd_contact *contact);
pd_status pd_contact_restore_driven(pd_contact *contact);
/* The largest distance of a driven point from its target, m. Waits. */
pd_status pd_contact_behind(pd_contact *contact, double *distance);

/* ---- friction ---------------------------------------------------------------------------------------------------------------------- */

/* Of two lags the one of the last step stays until the next, whatever is asked meanwhile. */
enum { PD_LAG_OF_STEP, PD_LAG_OF_QUESTION, PD_LAG_COUNT };

/* A step begins at x [n_vertices,3] B and where the driven points are: slip counts from there, and the pairs with friction are those there.
 * From now on the functions below mean this lag. Nothing happens without friction. Errors: PD_ERROR_MEMORY. */
pd_status pd_contact_begin(pd_contact *contact, const real *x, int lag);
/* The same pairs with their forces at x; slip counts from where it did. */
pd_status pd_contact_lag_again(pd_contact *contact, const real *x);
/* Another state was set: nothing is known of the last step. */
void pd_contact_forget_step(pd_contact *contact);
/* How often a step lags, 1 without friction: a pass of iterations goes with each. */
int pd_contact_lags(const pd_contact *contact);
/* Where friction has the normal forces of the moment, those last found. Whatever reads its pairs asks for it first. */
pd_status pd_contact_follow_friction(pd_contact *contact);
/* NULL: there is no friction. */
pd_friction *pd_contact_friction(const pd_contact *contact, int lag);

/* ---- the stiffness of an adaptive law ----------------------------------------------------------------------------------------------
 *
 * It is 2^doublings times that of the description. It doubles between steps, never inside one: as long as a step ends with a gap below
 * PD_COLLAPSED_GAP of its activation distance, the next step has twice the stiffness [after Li et al. 2020, Incremental Potential Contact,
 * supplement, adaptive barrier stiffness]. It never falls. The doublings are a part of the state. */

enum { PD_MOST_DOUBLINGS = 10 };

/* Of the last step, and of the step about to be solved; both 0 where the law is not adaptive. */
typedef struct pd_contact_doublings {
    int now, next;
} pd_contact_doublings;

pd_contact_doublings pd_contact_doublings_of(const pd_contact *contact);
/* Returns 0, and changes nothing, unless 0 <= now <= next <= PD_MOST_DOUBLINGS (0 where the law is not adaptive) and the stiffness is
 * finite. */
int pd_contact_set_doublings(pd_contact *contact, pd_contact_doublings doublings);
/* A step begins; it failed, and the state before it is restored; it has ended at x [n_vertices,3] B. The last one waits, and may fail with
 * PD_ERROR_MEMORY. */
void pd_contact_begin_stiffness(pd_contact *contact);
void pd_contact_restore_stiffness(pd_contact *contact);
pd_status pd_contact_adapt_stiffness(pd_contact *contact, const real *x);

/* ---- penalty ------------------------------------------------------------------------------------------------------------------------
 *
 * In place of a law: the pairs of the functions below are then those of the last detection, nothing is limited and every gap may close. */

/* The pairs of the lag that acts are from now on those of a detection from where the step began to x [n_vertices,3] B, with the friction
 * that goes with them. Nothing happens without a penalty. Waits. Errors: PD_ERROR_MEMORY. */
pd_status pd_contact_detect(pd_contact *contact, const real *x);
/* asks != 0: from now on the detections of a step wait for nothing: until the host is told of them, only pd_contact_reach knows their
 * pairs. It asks before a wait, and is told after it, *whole = 0 where there was no room for all: there is more now, there are no pairs,
 * and what the step has come to is nothing. */
void pd_contact_let_ask(pd_contact *contact, int asks);
pd_status pd_contact_fetch_detections(pd_contact *contact);
pd_status pd_contact_detections_told(pd_contact *contact, int *whole);
/* There are detections that the host has not been told of; and there are no pairs where it will not be. */
int pd_contact_is_asking(const pd_contact *contact);
void pd_contact_forget_detections(pd_contact *contact);
/* From now on every detection, whoever asks, is one to x [n_vertices,3] H with what is driven at its target, and friction has the forces
 * where the step began: so steps and questions from one state have one potential. Errors: PD_ERROR_MEMORY. */
pd_status pd_contact_find_at(pd_contact *contact, const real *x);
/* Iterations from one detection to the next; 0: there is one a step; -1: there is no penalty. */
int pd_contact_interval(const pd_contact *contact);
/* NULL: there is none. */
pd_penalty *pd_contact_penalty(const pd_contact *contact, int lag);

/* ---- the potential: x [n_vertices,3] B m -------------------------------------------------------------------------------------------- */

/* The pairs that may act at x. Free where x and the driven points are as they were. Errors: PD_ERROR_MEMORY, with the number of pairs. */
pd_status pd_contact_find(pd_contact *contact, const real *x);
/* The same without the pairs that pd_contact_widen adds: enough for forces at x. Its candidates are often those of an earlier search. */
pd_status pd_contact_find_acting(pd_contact *contact, const real *x);
/* The list may be incomplete: the next detection rebuilds it. */
void pd_contact_forget_near(pd_contact *contact);
/* The same where the points are thought to have moved no farther than `expected`, m, and the host waits for nothing: the active pairs with
 * their count on the device, their distances, radii not subtracted, and limits, all as long as there is room for pairs. Once the host has
 * waited, the second says what the points went, m, and whether these are all pairs; if not, pd_contact_find is to follow. */
pd_status pd_contact_ask(pd_contact *contact, const real *x, double expected, pd_active_pairs *near, const real **distances,
                         pd_contact_pairs *limits);
pd_status pd_contact_told(pd_contact *contact, double *went, int *whole);
/* J; infinite where nothing is left of a gap. Waits. */
pd_status pd_contact_potential(pd_contact *contact, const real *x, double *energy);
/* Of friction, J, at the same x as pd_contact_find was called with last. Waits. */
pd_status pd_contact_friction_potential(pd_contact *contact, double *energy);
/* From here on friction is part of it. gradient += d(C + D)/dx at the free vertices, N; not numbers where nothing is left of a gap. */
pd_status pd_contact_add_gradient(pd_contact *contact, const pd_model *model, const real *x, real *gradient);
/* The Hessians of all pairs, for the functions below, filtered; those of a penalty are positive semidefinite as they are. */
pd_status pd_contact_hessians(pd_contact *contact, const real *x, pd_hessian_filter filter);
/* From now on, until the next lag or the third function, friction has the secant matrix (elements/contact/friction.h) of those pairs whose
 * slip has reversed since x, and, once the second was called, of those whose slip is opposite to that there. */
pd_status pd_contact_remember_slips(pd_contact *contact, const real *x);
pd_status pd_contact_try_slips(pd_contact *contact, const real *x);
void pd_contact_forget_slips(pd_contact *contact);
/* Their diagonal blocks are added to those of a matrix in blocks; */
pd_status pd_contact_add_blocks(pd_contact *contact, const pd_model *model, const int *diagonal_slots, real *blocks);
/* a diagonal matrix over the vertices that is nowhere below their sum, bounds [n_vertices] B double, N/m; */
pd_status pd_contact_bounds(pd_contact *contact, const pd_model *model, double *bounds);
/* and what else they are to a product: q += H p, sums [1] B += p . H p. */
pd_status pd_contact_add_product(pd_contact *contact, const pd_model *model, const real *p, real *q, double *sums);
/* sum [1] B += p . H p with all blocks of theirs, p [n_vertices,3] B, 0 where a vertex is fixed. */
pd_status pd_contact_add_curvature(pd_contact *contact, const pd_model *model, const real *p, double *sum);

/* Which vertices a point follows, and how much, H [n,4]; rows NULL: the first n points are the vertices. */
typedef struct pd_contact_rows {
    int n;
    const int *rows; /* -1: none */
    const real *weights;
} pd_contact_rows;
pd_contact_rows pd_contact_rows_of(const pd_contact *contact);
/* Whether there are embedded points: then pd_contact_add_blocks adds nothing and pd_contact_add_product is not called, since a pair has
 * more on the diagonal of a vertex than blocks of corners; whole_hessian.h has all of it. NULL: no contact. */
int pd_contact_is_embedded(const pd_contact *contact);

/* The pairs last found, and their values. n and what lies in backend memory stay until the next pd_contact_find. */
typedef struct pd_contact_view {
    int n;
    pd_contact_columns columns;
    const uint64_t *keys;
    pd_incidence incidence;    /* of a law's pairs */
    const real *hessians;      /* B [n,12,12] of the last pd_contact_hessians */
    pd_friction_view friction; /* of the lag that acts; no pairs without friction */
} pd_contact_view;
pd_contact_view pd_contact_pairs_of(const pd_contact *contact);

/* Where the points of the pairs are, B [n_points,3] m, where they were last found. */
const real *pd_contact_points(const pd_contact *contact);

/* One quantity (contact_loops.h) of the pairs last found, into memory of the host. */
pd_status pd_contact_read(pd_contact *contact, int quantity, real *out);
pd_status pd_contact_read_columns(pd_contact *contact, const pd_contact_columns *out, uint64_t *keys);

/* ---- the guard -------------------------------------------------------------------------------------------------------------------- */

/* The part of the way from x_0 to x_1 that all vertices can go, while the driven points go all the way to their targets where `driven`, so
 * that no pair comes nearer than the separation; 1: all of it. Of the gap at x_0 a tenth is kept. By the time of impact (guard.h), or with
 * PD_GUARD_REACH the least part of the way that a point's own reach allows: of a direction whose points depend on each other some
 * alone would not lower G. Waits. */
pd_status pd_contact_limit(pd_contact *contact, const real *x_0, const real *x_1, int driven, double *part);
/* The same where the driven points go to driven_1 [n_driven,3] B. */
pd_status pd_contact_limit_to(pd_contact *contact, const real *x_0, const real *x_1, const real *driven_1, double *part);
/* As the first with PD_GUARD_REACH, where ways may be arcs of the lengths of these chords. */
pd_status pd_contact_limit_arcs(pd_contact *contact, const real *x_0, const real *x_1, int driven, double *part);
/* How much that move closes the pairs at x_0; `floor` m as in contact_loops.h. Waits. */
pd_status pd_contact_closing_of(pd_contact *contact, const real *x_0, const real *x_1, const real *driven_1, double floor,
                                pd_closing *closing);
/* The same by the time of impact where vertices are up to slack [n_vertices] H m off their straight ways. */
pd_status pd_contact_limit_curved(pd_contact *contact, const real *x_0, const real *x_1, int driven, const real *slack, double *part);

/* By the times of impact of all pairs, each vertex by its own, x_1 in/out B [n_vertices,3], and the driven points all by one part
 * (guard.h); for the two-way method with PD_TWO_WAY_IMPACTS, and bodies without embedded points. */
pd_status pd_contact_limit_each(pd_contact *contact, const real *x_0, int driven, real *x_1, double *part);

/* By the time of impact, with all that is driven, without a wait; guard.h says what the three are. */
pd_status pd_contact_ask_limit(pd_contact *contact, const real *x_0, const real *x_1, const pd_active_pairs **hits);
pd_status pd_contact_limit_told(pd_contact *contact, double *part, int *whole);
pd_status pd_contact_hits(pd_contact *contact, const pd_active_pairs **hits, size_t *n, int *whole);
pd_guard *pd_contact_guard(const pd_contact *contact);
/* x goes that part of its way to x_1, and the driven points the other of theirs to their targets, both B [1]. */
pd_status pd_contact_go(pd_contact *contact, const double *part, const double *driven, const real *x_1, real *x);

/* ---- for what answers contact in another way than by a law --------------------------------------------------------------------------- */

/* All points [n_points,3] B: x, and driven points at their targets, where they are, or where the step began. */
pd_status pd_contact_points_ahead(const pd_contact *contact, const real *x, real *points);
pd_status pd_contact_points_now(const pd_contact *contact, const real *x, real *points);
pd_status pd_contact_points_begun(const pd_contact *contact, const real *x, real *points);
/* The active pairs last found. */
const pd_active_pairs *pd_contact_near(const pd_contact *contact, size_t *n);
/* Their distances, m, radii not subtracted, B [n]; until the next pd_contact_find. */
pd_status pd_contact_distances(pd_contact *contact, const real **distances);
/* Columns of other pairs of the scene, as of those that are found. */
pd_status pd_contact_describe_pairs(const pd_contact *contact, const pd_active_pairs *pairs, int n, const pd_contact_columns *out);

pd_contact_law pd_contact_law_of(const pd_contact *contact);
/* What a law knows of the points. */
const pd_contact_scene *pd_contact_scene_of(const pd_contact *contact);
/* From now on the pairs that are found are all pairs nearer than `reach`, m, radii subtracted, and some that are farther: a list of all
 * nearer than `lasting` stays until points have gone so far that it no longer holds all of them. The next list follows from the positions alone,
 * not from an earlier list. lasting 0: none stays where points have moved. */
void pd_contact_list_up_to(pd_contact *contact, double reach, double lasting);
/* `reach`; and up to what all pairs were found, m, at least that. */
double pd_contact_lists_up_to(const pd_contact *contact);
double pd_contact_listed_up_to(const pd_contact *contact);
/* Every pair nearer than this, m, is among those that are found without another search: D of proximity.h. */
double pd_contact_searched_up_to(const pd_contact *contact);
/* What distances where they were last found, and positions that a move is added to, may be off by, m. */
double pd_contact_rounding(const pd_contact *contact);

/* ---- each vertex by its own reach ---------------------------------------------------------------------------------------------------- */

/* From now on pairs are listed from farther away, so that a vertex which is near something can go some way. */
void pd_contact_widen(pd_contact *contact);
/* From now on a sweep over vertices of these colours moves those of each at once, B [n_vertices]; NULL: there is no sweep any more. */
void pd_contact_share(pd_contact *contact, const int *colours);
/* H [n_vertices + n_driven]: 1 where a point may ever touch; what is 0 is held back by nothing. */
const unsigned char *pd_contact_chosen(const pd_contact *contact);
/* move  B [2]  out: pd_largest_move of those of the vertices. */
pd_status pd_contact_largest_move(pd_contact *contact, const real *x, const real *previous, double *move);
/* No vertex touches so far in this step. */
pd_status pd_contact_begin_touching(pd_contact *contact);
/* Of all vertices at x: which touch, beside those that did before in the step; how far each may go while all go as far as they like within
 * their reach [Wang et al. 2023, two-way interior point method, Sec. 3.2]; and what a sweep over them needs. With PD_GUARD_IMPACT a vertex
 * without pairs has an infinite reach, and the caller sees to it that nothing happens to one that goes farther than
 * pd_contact_certain_reach. Driven points must stay where they are. *sweep is good until the next pd_contact_find. */
pd_status pd_contact_reach(pd_contact *contact, const real *x, pd_contact_sweep *sweep);
/* By how much the displacement bounds have shortened the steps of the last sweep over vertices, at most, m. Waits. */
pd_status pd_contact_held(pd_contact *contact, double *most);
/* Where they were last found, B [n_vertices]; reach NULL before any. */
const unsigned char *pd_contact_touching(const pd_contact *contact);
const real *pd_contact_reaches_of(const pd_contact *contact);
/* How far a vertex without pairs can go and meet nothing, m. */
double pd_contact_certain_reach(const pd_contact *contact);
int pd_contact_is_by_reach(const pd_contact *contact);

/* The separation, m, without the radii that come to it. */
real pd_contact_thickness(const pd_contact *contact);
/* Seconds spent so far in finding pairs that are near or may meet, in their times of impact, and in projections
 * (contact/projective/projective.h). */
typedef struct pd_contact_seconds {
    double culling, impact, projection;
} pd_contact_seconds;
pd_contact_seconds pd_contact_seconds_of(const pd_contact *contact);
/* Searches of the broad phase for pairs that are near. */
long long pd_contact_searches(const pd_contact *contact);

#endif
