/* The loops over pairs in contact, once in cpu/contact/contact.c, once in cuda/contact/contact.cu; the rules of backend.h hold. */
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
    const int *points;      /* [n,4]  rows of x; what a kind has no corner for is not read */
    const real *activation; /* [n]    dhat, m */
    const real *separation; /* [n]    xi, m */
    const real *weight;     /* [n] */
    const real *threshold;  /* [n]    of the mollifier, m^4; 0: none */
    const uint64_t *count;  /* [1]    how many of the n there are, for pd_contact_batch; NULL: all */
} pd_contact_pairs;

/* All that a visit by one of its corners reads of a pair, side by side: a sweep comes by in the order of the vertices. */
typedef struct pd_contact_record {
    int points[4];
    real activation, separation, weight, threshold;
    real slack; /* what the distance can shrink by before the pair acts, less what is rounded, m */
    int kind;
} pd_contact_record;

/* The plane between the two primitives of a pair (updates/contact/separating_plane.h). */
typedef struct pd_separating_plane {
    real normal[3]; /* unit, from the second to the first */
    real rooms[4];  /* how far each corner may go towards the other side, m */
    real share;     /* the part of a room that lies beyond the corner's own side, m; 0 or less: rounding could close the gap */
} pd_separating_plane;

/* What pd_contact_batch computes of each pair. */
enum {
    PD_CONTACT_DISTANCE,   /* [n] m, separation not subtracted */
    PD_CONTACT_THRESHOLD,  /* [n] m^4, of the mollifier of two edges that are at rest at x; 0 for other pairs */
    PD_CONTACT_ACTIVATION, /* [n] m, of a pair of one body that is at rest at x: pd_contact_activation of pair.h */
    PD_CONTACT_ENERGY,     /* [n] J, infinite where nothing is left of the gap */
    PD_CONTACT_GRADIENT, /* [n,4,3] N; from here on: zero for corners that a kind has not, not a number where nothing is left of the gap */
    PD_CONTACT_HESSIAN,  /* [n,12,12] N/m */
    PD_CONTACT_BLOCKS,   /* [n,4,3,3] N/m, what each corner sees: the diagonal blocks of the Hessian */
    PD_CONTACT_QUANTITY_COUNT
};

/* Numbers per pair of a quantity, or 0. */
static inline int pd_contact_quantity_size(int quantity) {
    static const int sizes[PD_CONTACT_QUANTITY_COUNT] = {1, 1, 1, 1, 12, 144, 36};
    return quantity < 0 || quantity >= PD_CONTACT_QUANTITY_COUNT ? 0 : sizes[quantity];
}

/* One quantity of every pair; law H, x B [.,3] m, out B. `filter` is for Hessians and blocks alone. Errors: PD_ERROR_VALUE for an unknown
 * quantity. */
pd_status pd_contact_batch(pd_context *context, const pd_contact_law *law, int quantity, pd_hessian_filter filter,
                           const pd_contact_pairs *pairs, const real *x, real *out);

/* ---- the pairs of a scene -------------------------------------------------------------------------------------------------------- */

/* The weight of two meshes' pairs; updates/contact/pair_weight.h. */
enum { PD_WEIGHTING_SUM, PD_WEIGHTING_HARMONIC, PD_WEIGHTING_COUNT };

/* What a law needs to know of the points of a scene; all B. Distances within a body, thresholds and areas are those at rest. */
typedef struct pd_contact_scene {
    const real *rest;           /* [n_points,3] m */
    const real *radii;          /* [n_points]  m, of spheres and capsules, equal at all corners of a primitive */
    const int *bodies;          /* [n_points]  body or obstacle */
    const real *areas;          /* [n_points]  m^2, that a vertex stands for; below 0 where it is of no triangle, or nothing is weighted */
    const real *edge_areas;     /* [n_edges]  the same of edges */
    const real *triangle_areas; /* [n_triangles]  m^2; below 0 where nothing is weighted */
    const int *planes;          /* [n_planes]  the row of a plane's point; that of its normal is the next */
    real activation;            /* dhat, m */
    real separation;            /* xi, m */
    int weighting;              /* PD_WEIGHTING_... */
    int n_moving;               /* points from here on are driven */
} pd_contact_scene;

/* Arrays of the pairs of a scene, as pd_contact_pairs reads them; B [capacity,..]. */
typedef struct pd_contact_columns {
    int *kind, *points; /* points [capacity,4], -1 where a kind has no corner */
    real *activation, *separation, *weight, *threshold;
} pd_contact_columns;

/* The columns of n active pairs, or of active->count where they are fewer: kinds, corners and limits. A pair of two edges of which one is a
 * particle becomes one with a vertex, a pair with a collider one with plane `first`. Weights: updates/contact/pair_weight.h. */
pd_status pd_contact_describe(pd_context *context, const pd_contact_scene *scene, const pd_active_pairs *active, int n,
                              const pd_contact_columns *out);

/* values  B [n]  in/out: the distance of each pair, m, becomes 1 where its gap is below PD_COLLAPSED_GAP, else 0. Nothing reads
 * pairs->count. */
pd_status pd_contact_mark_collapsed(pd_context *context, const pd_contact_pairs *pairs, real *values);

/* out = the sum of n values, in double and in a fixed order; `also`: added to what is there.
 *   partial  B [n / PD_SUM_BLOCK + 1] scratch      out  B [1] */
pd_status pd_contact_sum(pd_context *context, int n, const real *values, double *partial, int also, double *out);

/* out_i += the sum over the corners of pairs at point i, for the free vertices of the model, in the subspace they are held in.
 *   corners  B [n,4,3]      out  B [n_vertices,3] */
pd_status pd_contact_gather(pd_context *context, const pd_model *model, const pd_incidence *incidence, const real *corners, real *out);

/* blocks [diagonal_slots[i]] += the sum of the diagonal blocks at vertex i.
 *   hessians  B [n,12,12]      diagonal_slots  B [n_vertices]      blocks  B [.,3,3] */
pd_status pd_contact_gather_blocks(pd_context *context, const pd_model *model, const pd_incidence *incidence, const real *hessians,
                                   const int *diagonal_slots, real *blocks);

/* out_i = what bounds all pairs' Hessians from above as a diagonal matrix (pd_contact_update_bound), N/m.
 *   points  B [n,4]      hessians  B [n,12,12]      out  B [n_vertices] double */
pd_status pd_contact_gather_bounds(pd_context *context, const pd_model *model, const pd_incidence *incidence, const int *points,
                                   const real *hessians, double *out);

/* Of each of n pairs the product of its Hessian, without the diagonal blocks but where `all`, with p, and p . that product. Points that are
 * no vertices count as zero in p, whose rows are zero at fixed vertices.
 *   points  B [n,4]      p  B [n_vertices,3]      corners  B [n,4,3]  out      values  B [n]  out */
pd_status pd_contact_product(pd_context *context, const pd_model *model, int n, const int *points, const real *hessians, int all,
                             const real *p, real *corners, real *values);

/* The part of the way from x_0 to x_1 that all n_points points can go, each on its sides of the planes of its pairs, and no farther than
 * `outer`, m, so that a pair that both sides move keeps a part of its gap [Wang et al. 2023, two-way interior point method, Sec. 3.2, with
 * planes].
 *   curved  ways may be arcs of the lengths of these chords      kind, planes  B [pairs]      part  B [1]  out  in [0,1] */
pd_status pd_contact_reach_part(pd_context *context, int n_points, const pd_incidence *incidence, const int *kind,
                                const pd_separating_plane *planes, double outer, int curved, const real *x_0, const real *x_1,
                                double *part);

/* Some of a scene's points, ascending, the vertices before what is driven. */
typedef struct pd_chosen_points {
    int n, n_vertices;
    const int *rows; /* B [n] */
} pd_chosen_points;

/* The same reach for each chosen vertex, m, held in a ball as well, and whether it touches: it stays so once a pair of its acts.
 *   balls, start  B [n_vertices] m, [n_vertices,3] m: points keep within so much of there; infinite where something else looks after them
 *   points  B [n_vertices,3] m      reach  B [n_vertices] m  out      touching  B [n_vertices]  in/out */
pd_status pd_contact_reaches(pd_context *context, const pd_chosen_points *chosen, const pd_incidence *incidence, const real *distance,
                             const pd_contact_pairs *pairs, const real *balls, const real *start, const real *points, double rounding,
                             double fraction, real *reach, unsigned char *touching);

/* balls [n_points]  B  out: what each chosen point may go, m, so that no pair whose slack is above `cut` comes to act, or loses more than
 * `fraction` of its gap; at most `far`. */
pd_status pd_contact_balls(pd_context *context, const pd_chosen_points *chosen, const pd_incidence *incidence, const real *distance,
                           const pd_contact_pairs *pairs, double cut, double far, double rounding, double fraction, real *balls);

/* used [1]  B  out: the largest part of its ball that a chosen point has gone, of `certain` where that is smaller; infinite where a driven
 * one has moved. */
pd_status pd_contact_used(pd_context *context, const pd_chosen_points *chosen, const real *balls, double certain, const real *start,
                          const real *points, double *used);

/* flags [pairs->n], role_flags [4 pairs->n]  B  out: the pairs whose slack is not above `cut`, and which of the roles of the incidence are
 * in one. */
pd_status pd_contact_near_flags(pd_context *context, const pd_contact_pairs *pairs, const pd_incidence *incidence, const real *distance,
                                double rounding, double cut, int n_points, unsigned char *flags, unsigned char *role_flags);

/* out and records = the n pairs with the given rows, without their slacks, and ranks [pairs]: of each of them its place among those. */
pd_status pd_contact_take(pd_context *context, int n, const int *rows, const pd_contact_pairs *pairs, const pd_contact_columns *out,
                          pd_contact_record *records, int *ranks);

/* out = the incidence of these pairs, of the n_roles roles of the whole one that stand in role_rows, ascending; ranks NULL: all pairs are
 * there. */
pd_status pd_contact_take_roles(pd_context *context, int n_points, int n_roles, const int *role_rows, const int *ranks,
                                const pd_incidence *incidence, const pd_incidence *out);

/* The planes of all pairs. Each corner may go half of `fraction` of the gap beyond its side.
 *   x  B [n_points,3] m      planes  B [pairs->n] */
pd_status pd_contact_planes(pd_context *context, const pd_contact_pairs *pairs, const real *x, double rounding, double fraction,
                            pd_separating_plane *planes);

/* The slacks of the records of all pairs, B [pairs->n], where their distances are these; a gap may be less by `rounding`, m. */
pd_status pd_contact_slacks(pd_context *context, const pd_contact_pairs *pairs, const real *distance, double rounding,
                            pd_contact_record *records);

/* How much a move closes pairs that it brings nearer to each other by more than `least`; gaps are less the separations of the pairs. */
typedef struct pd_closing {
    double before, after; /* the smallest gap of such a pair before and after the move, m; infinite: there is none */
    double part; /* of the move, up to which none of their gaps is below `floor` or loses more than its share, where distances change
                             evenly; in [0,1] */
} pd_closing;

/*   before, after  B [pairs->n] distances, m      closing  B [1]  out */
pd_status pd_contact_closing(pd_context *context, const pd_contact_pairs *pairs, const real *before, const real *after, double least,
                             double floor, pd_closing *closing);

/* most [1]  B  out: the largest of n values that are not negative; infinite where one is no number. */
pd_status pd_contact_most(pd_context *context, int n, const real *values, double *most);

/* x_i += t (target_i - x_i) of n points, those whose mask is not 0 (NULL: all); exactly the target for t = 1. */
pd_status pd_move_towards(pd_context *context, int n, const unsigned char *mask, double t, const real *target, real *x);
/* The same of all with t = *part, B [1]. */
pd_status pd_move_part_of_way(pd_context *context, int n, const double *part, const real *target, real *x);

#ifdef __cplusplus
}
#endif

#endif
