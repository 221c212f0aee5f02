/* Contact as a term of the incremental potential: a contact potential over all neighbour pairs of a scene, at any positions of its
 * vertices.
 *
 *     C(x) = sum over pairs of the potential at d(x)        (elements/contact/pair.h)
 *
 * The points are the vertices of the bodies, the points of embedded surfaces (surface.h), and then the prescribed points: vertices of
 * obstacle meshes, centres of spheres, axes of capsules, points and normals of planes. The positions of prescribed points are part of the
 * state. Each step moves them towards a target, as far as contact allows.
 *
 * Every function with an argument x finds the pairs there (pd_contact_find). So C and its derivatives depend only on x and on the positions
 * of the prescribed points. */
#ifndef PD_CONTACT_POTENTIAL_CONTACT_H
#define PD_CONTACT_POTENTIAL_CONTACT_H

#include "contact/detection/broad_phase.h"
#include "contact/penalty/penalty.h"
#include "contact/potential/friction.h"
#include "loops/contact_loops.h"

typedef struct pd_contact pd_contact;
typedef struct pd_ccd_limiter pd_ccd_limiter; /* ccd_limiter.h */

enum { PD_LIMITER_IMPACT, PD_LIMITER_BOUNDS, PD_LIMITER_COUNT };

/* Frozen projections (contact/projective/projective.h). */
typedef struct pd_projective_description {
    double stiffness;   /* c > 0; 0: no projections, the contact potential acts */
    double restitution; /* in [0,1] */
    double rest_speed;  /* m/s: slower pairs do not rebound */
    double tolerance;   /* of an inner loop, relative to the activation distance */
    int blocks;         /* 1: the pairs of a vertex add a 3x3 block to the matrix; 0: a number */
    int outer, inner;   /* maximum of detections in a step, and of iterations between two */
    int target;         /* PD_TARGET_... of elements/contact/projection.h */
    int hits_alone;     /* 1: only pairs that a move would bring into contact; 0: neighbour pairs too */
    int cut_back;       /* 1: a shortened iterate continues from the state, without a rule for stagnating rounds */
    int printed;        /* 1: as printed: the loop tests before a round, by absolute moves; a round ends by its energy */
} pd_projective_description;

/* The two-way interior point method (contact/two_way/two_way.h). */
/* Solvers of the backward step: projected Gauss-Seidel; projected Jacobi; Gauss-Seidel on the linear system, with multipliers of any
 * sign; gradient descent on an augmented Lagrangian; a step of gradient descent with a log-barrier, without a target. Lengths of the
 * forward step: per vertex by the distances of its pairs; one for all by the earliest time of impact; per vertex by the times of impact
 * of its pairs. */
enum { PD_TWO_WAY_GAUSS_SEIDEL, PD_TWO_WAY_JACOBI, PD_TWO_WAY_LINEAR, PD_TWO_WAY_AUGMENTED, PD_TWO_WAY_BARRIER };
enum { PD_TWO_WAY_DISTANCES, PD_TWO_WAY_IMPACT, PD_TWO_WAY_IMPACTS };

typedef struct pd_two_way_description {
    int steps;         /* maximum in an update; 0: the contact potential or projections act */
    int sweeps;        /* of a backward step */
    int patience;      /* steps after which the sweeps double, repeatedly; 0: they are constant */
    int passes;        /* maximum of solves in a step, each with the impulses of the updates before it; 1: solves without contact */
    int every;         /* iterations between two updates; 0: one update at the end of a step */
    int multipliers;   /* PD_TWO_WAY_GAUSS_SEIDEL, .. */
    int lengths_by;    /* PD_TWO_WAY_DISTANCES, .. */
    int filtered;      /* 1: friction changes the target before the first backward step and is no part of the sweeps */
    double strength;   /* of the barrier, k h^2, kg */
    double repulsion;  /* k h^2, kg; 0: no repulsion */
    double recovery;   /* fraction of the missing distance at the begin of a step that a pair may gain in the step; 1: all */
    double farthest;   /* upper bound of the listing distance, m; the least necessary distance has priority */
    double edge_limit; /* maximum length of the edges below, relative to rest */
    const int *edges;  /* [n_edges,2] vertices */
    const real *lengths;
    int n_edges;
} pd_two_way_description;

/* Pairs of two prescribed sides (contact/potential/prescribed_pairs.h). All H. */
typedef struct pd_prescribed_description {
    pd_broad_phase_description phase; /* n_points = 0: no such pairs */
    const real *radii;                /* [n_points] m */
    const int *tested;                /* [n_tested] the points tested against planes */
    int n_tested;
    const char *const *names; /* [friction.n_owners] of bodies and obstacles */
} pd_prescribed_description;

/* All H. `phase` describes the broad phase over all points; those that follow vertices come first. */
typedef struct pd_contact_description {
    pd_pair_potential potential;
    int adaptive;                  /* 1: the stiffness may double between steps */
    double activation, separation; /* dhat, xi: m */
    int limiter;                   /* PD_GUARD_... */
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
    const int *panels; /* [triangles] pd_contact_scene; NULL: no panels */
    const int *planes; /* [n_planes] */
    int n_planes;
    const int *tested; /* [n_tested] the points tested against planes, ascending */
    int n_tested;
    const int *rows; /* [n_embedded,4] vertices of the embedded points, which follow the vertices; -1: none */
    const real *weights;
    int n_embedded;
} pd_contact_description;

/* Prescribed points begin at rest. Errors: PD_ERROR_MEMORY. */
pd_status pd_contact_create(pd_contact **out, pd_context *context, const pd_contact_description *description, int n_vertices);
void pd_contact_destroy(pd_contact *contact); /* NULL is allowed */

/* ---- prescribed points: [n_driven,3] m ---------------------------------------------------------------------------------------------- */

int pd_contact_n_prescribed(const pd_contact *contact);
/* The number of all points: vertices, embedded points, prescribed points. */
int pd_contact_n_points(const pd_contact *contact);
/* Sets their positions and targets: H; NULL: unchanged. */
pd_status pd_contact_set_prescribed(pd_contact *contact, const real *positions, const real *targets);
pd_status pd_contact_get_prescribed(const pd_contact *contact, real *positions);
/* The same arrays, B, valid until they move. And the body or obstacle of each point, into H [n_points]. */
real *pd_contact_prescribed(const pd_contact *contact);
const real *pd_contact_targets(const pd_contact *contact);
pd_status pd_contact_get_bodies(const pd_contact *contact, int *bodies);
/* Sets where the functions below assume them: at their targets, or at their positions. At their targets an adaptive contact potential
 * has the stiffness of the next step, otherwise that of the last step. */
void pd_contact_set_ahead(pd_contact *contact, int ahead);
/* Moves them by this fraction of the remaining path to their targets. */
pd_status pd_contact_move_prescribed(pd_contact *contact, double fraction);
/* Stores their positions, and restores them. */
pd_status pd_contact_keep_prescribed(pd_contact *contact);
pd_status pd_contact_restore_prescribed(pd_contact *contact);
/* The largest distance of a prescribed point from its target, m. Synchronises. */
pd_status pd_contact_target_lag(pd_contact *contact, double *distance);

/* ---- friction ---------------------------------------------------------------------------------------------------------------------- */

/* Two lags. That of the last step stays until the next step, for any other evaluations between them. */
enum { PD_LAG_OF_STEP, PD_LAG_OF_QUESTION, PD_LAG_COUNT };

/* Begins a step at x [n_vertices,3] B and the positions of the prescribed points. Slip is measured from there, and friction acts on the
 * pairs there. The functions below use this lag from now on. Has no effect without friction. Errors: PD_ERROR_MEMORY. */
pd_status pd_contact_begin(pd_contact *contact, const real *x, int lag);
/* Computes the forces of the same pairs at x. Slip is measured from the same start as before. */
pd_status pd_contact_lag_again(pd_contact *contact, const real *x);
/* Drops the data of the last step, after a change of the state. */
void pd_contact_forget_step(pd_contact *contact);
/* The number of lags of a step, 1 without friction. Each has its own iterations. */
int pd_contact_lags(const pd_contact *contact);
/* For friction with the present normal forces: computes those of the last detection. Call it before any read of the pairs with friction. */
pd_status pd_contact_follow_friction(pd_contact *contact);
/* NULL: no friction. */
pd_friction *pd_contact_friction(const pd_contact *contact, int lag);

/* ---- the stiffness of an adaptive contact potential --------------------------------------------------------------------------------
 *
 * It is 2^doublings times that of the description. It doubles between steps, never within one. While a step ends with a gap below
 * PD_COLLAPSED_GAP of its activation distance, the next step has twice the stiffness [after Li et al. 2020, Incremental Potential Contact,
 * supplement, adaptive barrier stiffness]. It never decreases. The doublings are part of the state. */

enum { PD_MOST_DOUBLINGS = 10 };

/* Of the last step, and of the next; both 0 without an adaptive contact potential. */
typedef struct pd_contact_doublings {
    int now, next;
} pd_contact_doublings;

pd_contact_doublings pd_contact_doublings_of(const pd_contact *contact);
/* Requires 0 <= now <= next <= PD_MOST_DOUBLINGS (0 if not adaptive) and a finite stiffness. Otherwise returns 0 and changes nothing. */
int pd_contact_set_doublings(pd_contact *contact, pd_contact_doublings doublings);
/* For the begin of a step; for a failed step, to restore the state before it; for the end of a step at x [n_vertices,3] B. The last one
 * synchronises. Errors: PD_ERROR_MEMORY. */
void pd_contact_begin_stiffness(pd_contact *contact);
void pd_contact_restore_stiffness(pd_contact *contact);
pd_status pd_contact_adapt_stiffness(pd_contact *contact, const real *x);

/* ---- penalty ------------------------------------------------------------------------------------------------------------------------
 *
 * Replaces the contact potential. The functions below use the pairs of the last detection, no step is limited, and any gap may close. */

/* Replaces the pairs of the present lag by those of a detection from the begin of the step to x [n_vertices,3] B, with their friction.
 * Has no effect without a penalty. Synchronises. Errors: PD_ERROR_MEMORY. */
pd_status pd_contact_detect(pd_contact *contact, const real *x);
/* async != 0: detections of a step do not synchronise from now on. Until the host has read them, only pd_contact_bound_displacements
 * knows their pairs. Enqueue the transfer before a synchronisation, and call pd_contact_detections_result after it. If *complete is 0, a
 * list overflowed and its capacity has been increased: there are no pairs. Repeat the step. */
void pd_contact_allow_async(pd_contact *contact, int async);
pd_status pd_contact_fetch_detections(pd_contact *contact);
pd_status pd_contact_detections_result(pd_contact *contact, int *complete);
/* Tells whether detections are unread. The second function drops these detections and all pairs. */
int pd_contact_is_async(const pd_contact *contact);
void pd_contact_forget_detections(pd_contact *contact);
/* Every detection from now on is one to x [n_vertices,3] H, with prescribed points at their targets. Friction has the forces at the
 * begin of the step. So all evaluations from one state have the same potential. Errors: PD_ERROR_MEMORY. */
pd_status pd_contact_find_at(pd_contact *contact, const real *x);
/* Iterations between two detections; 0: one detection per step; -1: no penalty. */
int pd_contact_interval(const pd_contact *contact);
/* NULL: no penalty. */
pd_penalty *pd_contact_penalty(const pd_contact *contact, int lag);

/* ---- the potential: x [n_vertices,3] B m -------------------------------------------------------------------------------------------- */

/* Finds the pairs that may act at x. Costs nothing if x and the prescribed points are unchanged. Errors: PD_ERROR_MEMORY, with the
 * number of pairs. */
pd_status pd_contact_find(pd_contact *contact, const real *x);
/* The same without the pairs that pd_contact_widen adds: sufficient for forces at x. Its candidates are often those of an earlier
 * search. */
pd_status pd_contact_find_acting(pd_contact *contact, const real *x);
/* Drops the list, which may be incomplete. The next detection rebuilds it. */
void pd_contact_forget_neighbours(pd_contact *contact);
/* pd_contact_find without synchronisation, for a displacement of the points of at most `expected`, m. Gives the active pairs with their
 * count on the device, their distances (radii not subtracted) and limits, up to the capacity.
 *
 * After a synchronisation, pd_contact_find_result gives the displacement of the points, m, and whether the pairs are complete. If they are not,
 * call pd_contact_find. */
pd_status pd_contact_find_async(pd_contact *contact, const real *x, double expected, pd_active_pairs *near, const real **distances,
                                pd_contact_pairs *limits);
pd_status pd_contact_find_result(pd_contact *contact, double *went, int *complete);
/* J; infinite for a closed gap. Synchronises. */
pd_status pd_contact_potential(pd_contact *contact, const real *x, double *energy);
/* The potential of friction, J, at the x of the last pd_contact_find. Synchronises. */
pd_status pd_contact_friction_potential(pd_contact *contact, double *energy);
/* The functions from here on include friction. gradient += d(C + D)/dx at the free vertices, N; NaN for a closed gap. */
pd_status pd_contact_add_gradient(pd_contact *contact, const pd_model *model, const real *x, real *gradient);
/* The filtered Hessians of all pairs, for the functions below. Those of a penalty are positive semidefinite without a filter. */
pd_status pd_contact_hessians(pd_contact *contact, const real *x, pd_hessian_filter filter);
/* Friction has the secant matrix (elements/contact/friction.h) for pairs whose slip has reversed since x. After the second function,
 * also for pairs whose slip is opposite to that at its x. This ends with the next lag or the third function. */
pd_status pd_contact_remember_slips(pd_contact *contact, const real *x);
pd_status pd_contact_try_slips(pd_contact *contact, const real *x);
void pd_contact_forget_slips(pd_contact *contact);
/* Adds the diagonal blocks of the pairs to those of a block matrix. */
pd_status pd_contact_add_blocks(pd_contact *contact, const pd_model *model, const int *diagonal_slots, real *blocks);
/* A diagonal matrix over the vertices that bounds the sum of the Hessians from above: bounds [n_vertices] B double, N/m. */
pd_status pd_contact_bounds(pd_contact *contact, const pd_model *model, double *bounds);
/* The off-diagonal blocks in a product: q += H p, sums [1] B += p . H p. */
pd_status pd_contact_add_product(pd_contact *contact, const pd_model *model, const real *p, real *q, double *sums);
/* sum [1] B += p . H p with all blocks of the pairs; p [n_vertices,3] B, 0 at fixed vertices. */
pd_status pd_contact_add_curvature(pd_contact *contact, const pd_model *model, const real *p, double *sum);

/* The vertices of each point and their weights, H [n,4]. rows NULL: the first n points are the vertices. */
typedef struct pd_contact_rows {
    int n;
    const int *rows; /* -1: none */
    const real *weights;
} pd_contact_rows;
pd_contact_rows pd_contact_rows_of(const pd_contact *contact);
/* Tells whether there are embedded points. Then pd_contact_add_blocks adds nothing and pd_contact_add_product must not be called: a pair
 * adds more to the diagonal of a vertex than blocks of its corners. assembled_hessian.h has the whole matrix. NULL: no contact. */
int pd_contact_is_embedded(const pd_contact *contact);

/* The pairs of the last detection and their values. n and the arrays in backend memory are valid until the next pd_contact_find. */
typedef struct pd_contact_view {
    int n;
    pd_contact_columns columns;
    const uint64_t *keys;
    pd_incidence incidence;    /* of the pairs of the contact potential */
    const real *hessians;      /* B [n,12,12] of the last pd_contact_hessians */
    pd_friction_view friction; /* of the present lag; no pairs without friction */
} pd_contact_view;
pd_contact_view pd_contact_pairs_of(const pd_contact *contact);

/* The points at the last detection, B [n_points,3] m. */
const real *pd_contact_points(const pd_contact *contact);

/* Reads one quantity (contact_loops.h) of the pairs of the last detection into host memory. */
pd_status pd_contact_read(pd_contact *contact, int quantity, real *out);
pd_status pd_contact_read_columns(pd_contact *contact, const pd_contact_columns *out, uint64_t *keys);

/* ---- the step limiter ------------------------------------------------------------------------------------------------------------- */

/* The step limit: the fraction of the path from x_0 to x_1, common to all vertices, on which no pair comes nearer than the separation;
 * 1: the whole path. With `prescribed`, prescribed points go to their targets. A tenth of each gap at x_0 remains. Synchronises.
 *
 * The limit is the time of impact (ccd_limiter.h). With PD_LIMITER_BOUNDS it is the smallest fraction that the displacement bounds allow.
 * Limiting single vertices is no alternative: a direction whose points depend on each other would then not lower G. */
pd_status pd_contact_limit(pd_contact *contact, const real *x_0, const real *x_1, int prescribed, double *fraction);
/* The same with prescribed points that go to driven_1 [n_driven,3] B. */
pd_status pd_contact_limit_to(pd_contact *contact, const real *x_0, const real *x_1, const real *prescribed_1, double *fraction);
/* pd_contact_limit for prescribed points that stay. First tests whether the planes between the pairs listed at x_0 certify the whole move,
 * which is less work than times of impact. Synchronises up to three times. */
pd_status pd_contact_limit_short(pd_contact *contact, const real *x_0, const real *x_1, double *fraction);
/* The first function with PD_LIMITER_BOUNDS, for arcs whose chords have these lengths. */
pd_status pd_contact_limit_arcs(pd_contact *contact, const real *x_0, const real *x_1, int prescribed, double *fraction);
/* The closing of the pairs at x_0 by that move; `floor` m as in contact_loops.h. Synchronises. */
pd_status pd_contact_closing_of(pd_contact *contact, const real *x_0, const real *x_1, const real *prescribed_1, double floor,
                                pd_closing *closing);
/* The step limit by times of impact, for vertices up to slack [n_vertices] H m off their straight paths. */
pd_status pd_contact_limit_curved(pd_contact *contact, const real *x_0, const real *x_1, int prescribed, const real *slack,
                                  double *fraction);

/* Limits each vertex by the times of impact of its own pairs: x_1 in/out B [n_vertices,3]. The prescribed points have one common
 * fraction (ccd_limiter.h). For the two-way method with PD_TWO_WAY_IMPACTS, and bodies without embedded points. */
pd_status pd_contact_limit_each(pd_contact *contact, const real *x_0, int prescribed, real *x_1, double *fraction);

/* The step limit by times of impact, with all prescribed points, without synchronisation. ccd_limiter.h documents the three functions. */
pd_status pd_contact_limit_async(pd_contact *contact, const real *x_0, const real *x_1, const pd_active_pairs **hits);
pd_status pd_contact_limit_result(pd_contact *contact, double *fraction, int *complete);
pd_status pd_contact_hits(pd_contact *contact, const pd_active_pairs **hits, size_t *n, int *complete);
pd_ccd_limiter *pd_contact_ccd_limiter(const pd_contact *contact);
/* Moves x by the given fraction towards x_1, and the prescribed points by the fraction `prescribed` towards their targets; both B [1]. */
pd_status pd_contact_go(pd_contact *contact, const double *fraction, const double *prescribed, const real *x_1, real *x);

/* ---- for contact without a contact potential ----------------------------------------------------------------------------------------- */

/* All points [n_points,3] B: x, and the prescribed points at their targets, at their positions, or at the begin of the step. */
pd_status pd_contact_points_ahead(const pd_contact *contact, const real *x, real *points);
pd_status pd_contact_points_now(const pd_contact *contact, const real *x, real *points);
pd_status pd_contact_points_begun(const pd_contact *contact, const real *x, real *points);
/* The active pairs of the last detection. */
const pd_active_pairs *pd_contact_active_pairs(const pd_contact *contact, size_t *n);
/* Their distances, m, radii not subtracted, B [n]; valid until the next pd_contact_find. */
pd_status pd_contact_distances(pd_contact *contact, const real **distances);
/* The columns of other pairs of the scene, as for detected pairs. */
pd_status pd_contact_describe_pairs(const pd_contact *contact, const pd_active_pairs *pairs, int n, const pd_contact_columns *out);

pd_pair_potential pd_contact_pair_potential(const pd_contact *contact);
/* The scene that a contact potential reads. */
const pd_contact_scene *pd_contact_scene_of(const pd_contact *contact);
/* Lists all pairs nearer than `range`, m, radii subtracted, and some farther ones, from now on. A list of all pairs nearer than
 * `lasting` is kept until the points have moved too far for it. The next list depends on the positions only, not on an earlier list.
 * lasting 0: a list is never kept after a motion. */
void pd_contact_list_up_to(pd_contact *contact, double range, double lasting);
/* `range`; and the distance up to which the list is complete, m, at least `range`. */
double pd_contact_lists_up_to(const pd_contact *contact);
double pd_contact_listed_up_to(const pd_contact *contact);
/* The distance below which every pair is found without another search, m: D of proximity.h. */
double pd_contact_searched_up_to(const pd_contact *contact);
/* A bound of the rounding errors of distances at the last detection, and of positions after a move, m. */
double pd_contact_rounding(const pd_contact *contact);

/* ---- displacement bounds ------------------------------------------------------------------------------------------------------------- */

/* Lists pairs from a larger distance from now on, for larger moves of vertices close to a surface. */
void pd_contact_widen(pd_contact *contact);
/* A sweep moves the vertices of each of these colours at once from now on, B [n_vertices]; NULL: no sweep. */
void pd_contact_share(pd_contact *contact, const int *colours);
/* H [n_vertices + n_driven]: 1 for points that may come into contact; 0: no limit. */
const unsigned char *pd_contact_chosen(const pd_contact *contact);
/* move  B [2]  out: pd_largest_move of the chosen vertices. */
pd_status pd_contact_largest_move(pd_contact *contact, const real *x, const real *previous, double *move);
/* Clears the set of vertices that have been in contact in this step. */
pd_status pd_contact_begin_touching(pd_contact *contact);
/* For all vertices at x: those in contact, in addition to those before in the step; the displacement bounds for simultaneous moves [Wang
 * et al. 2023, two-way interior point method, Sec. 3.2]; and the data of a sweep. Prescribed points must stay in place. *sweep is valid
 * until the next pd_contact_find. With PD_LIMITER_IMPACT a vertex without pairs has no bound. Then the caller must check each vertex that
 * moves farther than pd_contact_certain_bound. */
pd_status pd_contact_bound_displacements(pd_contact *contact, const real *x, pd_contact_sweep *sweep);
/* The largest shortening of a step by displacement bounds in the last sweep over vertices, m. Synchronises. */
pd_status pd_contact_held(pd_contact *contact, double *most);
/* The last results of pd_contact_bound_displacements, B [n_vertices]; the bounds are NULL before the first. */
const unsigned char *pd_contact_touching(const pd_contact *contact);
const real *pd_contact_displacement_bounds_of(const pd_contact *contact);
/* The displacement bound of a vertex without pairs, m. */
double pd_contact_certain_bound(const pd_contact *contact);
int pd_contact_uses_bounds(const pd_contact *contact);

/* The separation, m, without radii. */
real pd_contact_thickness(const pd_contact *contact);
/* Seconds spent so far in the search for pairs, in their times of impact, and in projections (contact/projective/projective.h). */
typedef struct pd_contact_seconds {
    double culling, impact, projection;
} pd_contact_seconds;
pd_contact_seconds pd_contact_seconds_of(const pd_contact *contact);
/* The number of broad-phase searches for neighbour pairs. */
long long pd_contact_searches(const pd_contact *contact);

#endif
