/* The loops over contact pairs, once in cpu/contact/contact.c, once in cuda/contact/contact.cu; the rules of backend.h hold. */
#ifndef PD_LOOPS_CONTACT_LOOPS_H
#define PD_LOOPS_CONTACT_LOOPS_H

#include "elements/contact/table.h"
#include "loops/proximity_loops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* n pairs by field, all B. */
typedef struct pd_contact_pairs {
    int n;
    const int *kind;        /* [n]    of elements/contact/pair.h */
    const int *points;      /* [n,4]  rows of x; missing corners are not read */
    const real *activation; /* [n]    dhat, m */
    const real *separation; /* [n]    xi, m */
    const real *weight;     /* [n]    negative: 0, pd_contact_choose_triangles */
    const real *threshold;  /* [n]    of the mollifier, m^4; 0: none */
    const uint64_t *count;  /* [1]    number of valid pairs among the n, for pd_contact_batch; NULL: all */
} pd_contact_pairs;

/* All data of a pair that a visit by one of its corners reads, contiguous: a sweep visits pairs in the order of the vertices. */
typedef struct pd_contact_record {
    int points[4];
    real activation, separation, weight, threshold;
    real slack; /* bound of the decrease of the distance before the pair acts, minus rounding, m */
    int kind;
} pd_contact_record;

/* The separating plane of the two primitives of a pair (updates/contact/separating_plane.h). */
typedef struct pd_separating_plane {
    real normal[3]; /* unit, from the second to the first */
    real slacks[4]; /* displacement of each corner towards the other side that is allowed, m */
    real share;     /* the part of these that is beyond the corner's own side, m; <= 0: rounding could close the gap */
} pd_separating_plane;

/* The quantities of pd_contact_batch. */
enum {
    PD_CONTACT_DISTANCE,   /* [n] m, separation not subtracted */
    PD_CONTACT_THRESHOLD,  /* [n] m^4, of the mollifier of two edges with rest positions x; 0 for other pairs */
    PD_CONTACT_ACTIVATION, /* [n] m, of a pair of one body with rest positions x: pd_contact_activation of pair.h */
    PD_CONTACT_ENERGY,     /* [n] J, infinite for a closed gap */
    PD_CONTACT_GRADIENT,   /* [n,4,3] N; from here on: zero for missing corners, NaN for a closed gap */
    PD_CONTACT_HESSIAN,    /* [n,12,12] N/m */
    PD_CONTACT_BLOCKS,     /* [n,4,3,3] N/m, per corner: the diagonal blocks of the Hessian */
    PD_CONTACT_QUANTITY_COUNT
};

/* Numbers per pair of a quantity, or 0. */
static inline int pd_contact_quantity_size(int quantity) {
    static const int sizes[PD_CONTACT_QUANTITY_COUNT] = {1, 1, 1, 1, 12, 144, 36};
    return quantity < 0 || quantity >= PD_CONTACT_QUANTITY_COUNT ? 0 : sizes[quantity];
}

/* One quantity of every pair; potential: its parameters, H; x B [.,3] m, out B. `filter` applies to Hessians and blocks only. Errors:
 * PD_ERROR_VALUE for an unknown quantity. */
pd_status pd_contact_batch(pd_context *context, const pd_pair_potential *potential, int quantity, pd_hessian_filter filter,
                           const pd_contact_pairs *pairs, const real *x, real *out);

/* ---- the pairs of a scene -------------------------------------------------------------------------------------------------------- */

/* The weight of two meshes' pairs; updates/contact/pair_weight.h. */
enum { PD_WEIGHTING_SUM, PD_WEIGHTING_HARMONIC, PD_WEIGHTING_COUNT };

/* The points of a scene for a contact potential; all B. Distances within a body, thresholds and areas are those at rest. */
typedef struct pd_contact_scene {
    const real *rest;           /* [n_points,3] m */
    const real *radii;          /* [n_points]  m, of spheres and capsules, equal at all corners of a primitive */
    const int *bodies;          /* [n_points]  body or obstacle */
    const real *areas;          /* [n_points]  m^2, of a vertex; < 0 for a vertex without triangles, or without weights */
    const real *edge_areas;     /* [n_edges]  the same of edges */
    const real *triangle_areas; /* [n_triangles]  m^2; < 0 without weights */
    const int *panels;          /* [n_triangles]  of a panel (updates/contact/panel_update.h), -1: none; NULL: no panels */
    const int *planes;          /* [n_planes]  the row of a plane's point, followed by that of its normal */
    real activation;            /* dhat, m */
    real separation;            /* xi, m */
    int weighting;              /* PD_WEIGHTING_... */
    int n_moving;               /* points from here on have prescribed motions */
} pd_contact_scene;

/* Arrays of the pairs of a scene, in the layout of pd_contact_pairs; B [capacity,..]. */
typedef struct pd_contact_columns {
    int *kind, *points; /* points [capacity,4], -1 for missing corners */
    int *panel;         /* pd_contact_scene, -1: none; may be NULL */
    real *activation, *separation, *weight, *threshold;
} pd_contact_columns;

/* The first n rows as pairs; count as in pd_contact_pairs. */
static inline pd_contact_pairs pd_contact_columns_pairs(const pd_contact_columns *c, int n, const uint64_t *count) {
    pd_contact_pairs pairs = {n, c->kind, c->points, c->activation, c->separation, c->weight, c->threshold, count};
    return pairs;
}

static inline void pd_contact_columns_destroy(pd_context *context, const pd_contact_columns *c) {
    void *const memory[] = {c->kind, c->points, c->panel, c->activation, c->separation, c->weight, c->threshold};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) pd_memory_destroy(context, memory[i]);
}

/* The columns of n active pairs, or of active->count if that is less: kinds, corners and limits. A pair of two edges, one of them a
 * particle, becomes one with a vertex. A pair with a collider becomes one with plane `first`. Weights: updates/contact/pair_weight.h. */
pd_status pd_contact_describe(pd_context *context, const pd_contact_scene *scene, const pd_active_pairs *active, int n,
                              const pd_contact_columns *out);

/* Chooses the triangle with the term of a vertex and a panel at x B [n_points,3] m: weight [n] B becomes negative for the others, and
 * 0 in the records [n] B unless NULL.
 *   panels  B [n] of the pairs, -1: none      order  B [n] scratch */
pd_status pd_contact_choose_triangles(pd_context *context, const pd_contact_pairs *pairs, const int *panels, const real *x, real *order,
                                      real *weight, pd_contact_record *records);

/* values  B [n]  in/out: replaces the distance of each pair, m, by 1 for a gap below PD_COLLAPSED_GAP, otherwise 0. Does not read
 * pairs->count. */
pd_status pd_contact_mark_collapsed(pd_context *context, const pd_contact_pairs *pairs, real *values);

/* out = the sum of n values, in double and in a fixed order; `also`: adds to out.
 *   partial  B [n / PD_SUM_BLOCK + 1] scratch      out  B [1] */
pd_status pd_contact_sum(pd_context *context, int n, const real *values, double *partial, int also, double *out);

/* out_i += the sum over the corners of pairs at point i, for the free vertices of the model, projected on their lines and planes.
 *   corners  B [n,4,3]      out  B [n_vertices,3] */
pd_status pd_contact_gather(pd_context *context, const pd_model *model, const pd_incidence *incidence, const real *corners, real *out);

/* blocks [diagonal_slots[i]] += the sum of the diagonal blocks at vertex i.
 *   hessians  B [n,12,12]      diagonal_slots  B [n_vertices]      blocks  B [.,3,3] */
pd_status pd_contact_gather_blocks(pd_context *context, const pd_model *model, const pd_incidence *incidence, const real *hessians,
                                   const int *diagonal_slots, real *blocks);

/* out_i = an upper bound of all pairs' Hessians as a diagonal matrix (pd_contact_update_bound), N/m.
 *   points  B [n,4]      hessians  B [n,12,12]      out  B [n_vertices] double */
pd_status pd_contact_gather_bounds(pd_context *context, const pd_model *model, const pd_incidence *incidence, const int *points,
                                   const real *hessians, double *out);

/* For each of n pairs the product of its Hessian with p, without the diagonal blocks unless `all`, and p . that product. p counts as
 * zero at points that are no vertices, and must be zero at fixed vertices.
 *   points  B [n,4]      p  B [n_vertices,3]      corners  B [n,4,3]  out      values  B [n]  out */
pd_status pd_contact_product(pd_context *context, const pd_model *model, int n, const int *points, const real *hessians, int all,
                             const real *p, real *corners, real *values);

/* The largest common fraction of the paths from x_0 to x_1 on which all n_points points stay on their sides of the planes of their
 * pairs, and move at most `outer`, m. So a pair with two moving sides keeps a part of its gap [Wang et al. 2023, two-way interior point
 * method, Sec. 3.2, with planes].
 *   curved  paths may be arcs with chords of these lengths      kind, planes  B [pairs]      part  B [1]  out  in [0,1] */
pd_status pd_contact_bound_fraction(pd_context *context, int n_points, const pd_incidence *incidence, const int *kind,
                                    const pd_separating_plane *planes, double outer, int curved, const real *x_0, const real *x_1,
                                    double *fraction);

/* Some of a scene's points, ascending, vertices before prescribed points. */
typedef struct pd_chosen_points {
    int n, n_vertices;
    const int *rows; /* B [n] */
} pd_chosen_points;

/* The same as a displacement bound of each chosen vertex, m, also limited by a ball, and its contact flag: it stays set once a pair of
 * it acts.
 *   pair_bounds  B [pairs] m, of pd_contact_pair_bounds
 *   balls, start  B [n_vertices] m, [n_vertices,3] m: radius and centre of each ball; infinite for points with another limiter
 *   points  B [n_vertices,3] m      bound  B [n_vertices] m  out      touching  B [n_vertices]  in/out */
pd_status pd_contact_displacement_bounds(pd_context *context, const pd_chosen_points *chosen, const pd_incidence *incidence,
                                         const real *pair_bounds, const real *balls, const real *start, const real *points, real *bound,
                                         unsigned char *touching);

/* balls [n_points]  B  out: the displacement bound of each chosen point, m, at most `far`: within it no far pair becomes active or loses
 * more of its gap than allowed.
 *   pair_bounds  B [pairs] m, of pd_contact_neighbour_flags */
pd_status pd_contact_balls(pd_context *context, const pd_chosen_points *chosen, const pd_incidence *incidence, const real *pair_bounds,
                           double far, real *balls);

/* The use of displacement bounds since a list was made. */
typedef struct pd_bound_use {
    double used;   /* the largest displacement of a chosen point as a fraction of a bound; infinite if a prescribed point has moved */
    uint64_t left; /* the number of points that have left their balls */
} pd_bound_use;

/* use [1]  B  out, for the bound `certain`, m. left [n_points]  B  out: the chosen points that have used more than the fraction `most` of a
 * ball smaller than `far`, m. */
pd_status pd_contact_used(pd_context *context, const pd_chosen_points *chosen, const real *balls, double far, double certain, double most,
                          const real *start, const real *points, unsigned char *left, pd_bound_use *use);

/* flags [pairs->n], role_flags [4 pairs->n]  B  out: the pairs with a slack up to `cut`, and the roles of the incidence in these. The
 * other pairs are far: they may not lose more than `fraction` of their gap.
 *   distance  B [pairs->n] m  in/out: becomes the displacement that a far pair allows its corners, infinite for the others */
pd_status pd_contact_neighbour_flags(pd_context *context, const pd_contact_pairs *pairs, const pd_incidence *incidence, real *distance,
                                     double rounding, double fraction, double cut, int n_points, unsigned char *flags,
                                     unsigned char *role_flags);

/* Adds to these flags those of all pairs of the points with left [n_points] B. The balls of these points become `far`, m. */
pd_status pd_contact_flag_pairs(pd_context *context, const pd_chosen_points *chosen, const unsigned char *left, double far,
                                const pd_contact_pairs *pairs, const pd_incidence *incidence, int n_points, real *balls,
                                unsigned char *flags, unsigned char *role_flags);

/* out and records = the n pairs with the given rows, without their slacks, and ranks [pairs]: the place of each of them among these.
 * panel [pairs]: that of each pair; may be NULL. */
pd_status pd_contact_take(pd_context *context, int n, const int *rows, const pd_contact_pairs *pairs, const int *panel,
                          const pd_contact_columns *out, pd_contact_record *records, int *ranks);

/* out = the incidence of these pairs, from the n_roles roles of the complete one in role_rows, ascending; ranks NULL: all pairs are
 * selected. */
pd_status pd_contact_take_roles(pd_context *context, int n_points, int n_roles, const int *role_rows, const int *ranks,
                                const pd_incidence *incidence, const pd_incidence *out);

/* The planes of all pairs. Each corner may move half of `fraction` of the gap beyond its side.
 *   x  B [n_points,3] m      planes  B [pairs->n] */
pd_status pd_contact_planes(pd_context *context, const pd_contact_pairs *pairs, const real *x, double rounding, double fraction,
                            pd_separating_plane *planes);

/* The slacks of the records of all pairs, B [pairs->n]; a gap may be less by `rounding`, m.
 *   distance  B [pairs->n] m  in/out: becomes the displacement bound that a pair gives its corners (pd_contact_update_pair_bound) */
pd_status pd_contact_pair_bounds(pd_context *context, const pd_contact_pairs *pairs, real *distance, double rounding, double fraction,
                                 pd_contact_record *records);

/* The closing of pairs by a move, for pairs whose distance it reduces by more than `least`. Gaps are distances minus separations. */
typedef struct pd_closing {
    double before, after; /* the smallest gap of such a pair before and after the move, m; infinite without pairs */
    double fraction; /* fraction of the move up to which no gap is below `floor` or loses more than its share, for distances that change
                             linearly; in [0,1] */
} pd_closing;

/*   before, after  B [pairs->n] distances, m      closing  B [1]  out */
pd_status pd_contact_closing(pd_context *context, const pd_contact_pairs *pairs, const real *before, const real *after, double least,
                             double floor, pd_closing *closing);

/* most [1]  B  out: the largest of n nonnegative values; infinite if one is NaN. */
pd_status pd_contact_most(pd_context *context, int n, const real *values, double *most);

/* x_i += t (target_i - x_i) for n points, those with a nonzero mask (NULL: all); exactly the target for t = 1. */
pd_status pd_move_towards(pd_context *context, int n, const unsigned char *mask, double t, const real *target, real *x);
/* The same for all points with t = *part, B [1]. */
pd_status pd_move_fraction_of_way(pd_context *context, int n, const double *fraction, const real *target, real *x);

#ifdef __cplusplus
}
#endif

#endif
