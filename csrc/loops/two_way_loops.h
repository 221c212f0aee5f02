/* The loops of the two-way interior point method, once in cpu/contact/two_way.c, once in cuda/contact/two_way.cu; the rules of backend.h
 * hold. Positions y, x [n_points,3] are those of the vertices, followed by prescribed points. `inverse` B [n_points,6] is W in the
 * metric of a backward step: 0 for fixed and prescribed points, and projected on the line or plane of a vertex. */
#ifndef PD_LOOPS_TWO_WAY_LOOPS_H
#define PD_LOOPS_TWO_WAY_LOOPS_H

#include "loops/contact_loops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Constraints (elements/contact/volume_constraint.h) linearised at x, by field; B. Per-corner data have two halves, of the first two
 * corners and of the others. Rows with two corners, the majority, never read the second half, which is most of the data of a sweep. */
typedef struct pd_two_way_rows {
    int n;
    int *kind;         /* [n] */
    int *points;       /* [n,4] -1 for missing corners */
    real *length;      /* [n] m: the required distance; of an edge its rest length */
    real *value;       /* [n] c(x) */
    real *jacobian[2]; /* each [n,2,3] 1/m */
    real *yield[2];    /* each [n,2,3] W J^T of movable points, 1/(kg m) */
    real *inverse;     /* [n] 1/(J W J^T), kg m^2; 0 for rows that cannot move */
    real *ahead;       /* [n] c + J (goal - x): the linearised constraint at the goal */
    int *movers;       /* [n,4] the points, -1 also for immovable ones */
    real *multiplier;  /* [n] lambda, kg m^2 */
    int *colour;       /* [n] from 1 on; < 1: uncoloured */
    real least;        /* of lambda: 0, or -infinity for bilateral rows */
    int by_distance;   /* J is the gradient of the distance, with constant weights of the closest points, not that of a volume */

    /* friction, of pairs; coefficient NULL: no friction, and the others are not read */
    real *coefficient; /* [n] mu */
    real *weights;     /* [n,4] beta */
    real *normal;      /* [n,3] */
    real *share;       /* [n] 1/(sum beta^2/m), kg */
    real *slid;        /* [n,3] slip at the goal since the begin of the step, m */
    real *tangential;  /* [n,3] kg m */
} pd_two_way_rows;

/* Friction coefficients of bodies. */
typedef struct pd_rubbing {
    const int *owners;        /* B [n_points] */
    const real *coefficients; /* B [n_owners,n_owners] mu */
    int n_owners;
} pd_rubbing;

/* The metric of a backward step, and its goal. The curvature of taut edges and of repelling pairs is added to the masses, and the goal
 * is shifted accordingly, so that the minimum is unchanged when the state has arrived at its target. Rows: linearised at x.
 *   share  factor of that curvature
 *   inverse  B [n_points,6]  out  W, 1/kg, 0 for fixed or prescribed points   curvature  B [n_points,6]  out  kg, added to the masses
 *   goal  B [n_points,3]  out  m                                              both symmetric: xx yy zz yz zx xy
 *   pushed  B [n_points,3]  out  as of pd_two_way_gather, in the same pass over each point's rows */
pd_status pd_two_way_metric(pd_context *context, const pd_model *model, int n_points, const pd_two_way_rows *edges,
                            const pd_incidence *of_edges, const pd_two_way_rows *pairs, const pd_incidence *of_pairs, double share,
                            const real *x, const real *y_0, real *inverse, real *curvature, real *goal, real *pushed);
/* out [n_vertices,3]  B: y without that curvature, to measure the distance of the state from its target. */
pd_status pd_two_way_undamped(pd_context *context, const pd_model *model, const real *curvature, const real *x, const real *y, real *out);

/* Features of one pair. */
enum { PD_TWO_WAY_FEATURES = 3 };

/* The choice of pairs for rows of a backward step, by their gap relative to the required one: at most `far`; and at most `near`, or at
 * most `clear` at y, by the present closest points and normal. */
typedef struct pd_two_way_choice {
    const real *x, *y;    /* B [n_points,3] m */
    const real *distance; /* B [n] m, at x */
    double far, near, clear;
    const real *begun; /* B [n_points,3] m: the begin of the step; NULL: pairs gain their whole deficit */
    double recovery;   /* the fraction of the initial deficit that a pair is to gain */
} pd_two_way_choice;

/* The pairs of features of the listed pairs: kind [n,3] (-1: none, or immovable, or not chosen), points [n,3,4] and length [n,3]; normal
 * [n,3] of the closest points at x if these were computed, otherwise 0. All B out. */
pd_status pd_two_way_features(pd_context *context, const pd_model *model, const pd_contact_scene *scene, const pd_contact_pairs *pairs,
                              const pd_two_way_choice *choice, int *kind, int *points, real *length, real *normal);

/* flags [n]  B  out: the first of equal ones among n features.     incidence: of the pairs */
pd_status pd_two_way_mark_first(pd_context *context, int n, const int *kind, const int *points, const pd_incidence *incidence,
                                unsigned char *flags);

/* out = the rows [n] of these lists, with the multipliers of the same features in `before`, otherwise 0, and uncoloured.
 *   incidence  of `before` */
pd_status pd_two_way_take(pd_context *context, int n, const int *rows, const int *kind, const int *points, const real *length,
                          const pd_two_way_rows *before, const pd_incidence *incidence, const pd_two_way_rows *out);

/* c, J and the data of friction, at x.     limit: of the length of edges, relative to rest */
pd_status pd_two_way_linearise(pd_context *context, const pd_model *model, double limit, const pd_rubbing *rubbing, const real *x,
                               const pd_two_way_rows *rows);
/* Inverse, yield, ahead, movers and slid of rows that are linearised at x, in this metric and about this goal, all [n_points,3] except
 * `inverse`.
 *   begun  begin of the step */
pd_status pd_two_way_weigh(pd_context *context, const real *inverse, const real *x, const real *begun, const real *goal,
                           const pd_two_way_rows *rows);

/* One round of a colouring by local maxima of a random priority [Jones and Plassmann 1993]. fresh [n]  B  out: for uncoloured rows with
 * a larger priority than all uncoloured neighbours, the smallest colour, from 1 on, that no row with a common free point has. These
 * become the colours of the rows. left [1]  B  out: remaining uncoloured rows. */
pd_status pd_two_way_colour_round(pd_context *context, const pd_model *model, const pd_two_way_rows *rows, const pd_incidence *incidence,
                                  int *fresh, uint64_t *left);
/* keys [n]  B  out: colour above row. */
pd_status pd_two_way_colour_keys(pd_context *context, const pd_two_way_rows *rows, int row_bits, uint64_t *keys);
/* order [n]  B  out: rows by colour; starts [colours + 1]  B  out; n_colours [1]  B  out. keys: sorted */
pd_status pd_two_way_colour_starts(pd_context *context, int n, int row_bits, const uint64_t *keys, int *order, int *starts,
                                   uint64_t *n_colours);

/* out = the rows in this order [n] B, without linearised data, and their incidence, which keeps the order of the rows of each point.
 * place [n]  B out: the new place of a row */
pd_status pd_two_way_arrange(pd_context *context, int n_points, const int *order, const pd_two_way_rows *rows,
                             const pd_incidence *incidence, int *place, const pd_two_way_rows *out, const pd_incidence *out_incidence);

/* pushed = W J^T lambda, with friction, of edges and of pairs [Wang et al. 2023, Eq. 11]: the target is y = goal + pushed. A point
 * without impulses goes exactly to its goal. */
pd_status pd_two_way_gather(pd_context *context, int n_points, const real *inverse, const pd_two_way_rows *edges,
                            const pd_incidence *of_edges, const pd_two_way_rows *pairs, const pd_incidence *of_pairs, real *pushed);
/* y = goal + pushed; y may be goal. */
pd_status pd_two_way_arrive(pd_context *context, int n_points, const real *goal, const real *pushed, real *y);

/* One projected Gauss-Seidel sweep over the rows, which are sorted by colour: for each
 *     lambda' = max(least, lambda - (ahead + J pushed) / (J W J^T)),     pushed += W J^T (lambda' - lambda)
 * and, with friction, the same for the slip since the begin of the step, bounded by mu times the normal impulse.
 *   starts  H [n_colours + 1] */
pd_status pd_two_way_sweep(pd_context *context, const real *inverse, const pd_two_way_rows *rows, int n_colours, const int *starts,
                           real *pushed);

/* One sweep of repulsion, with the normals and weights of friction. A pair with a distance of o below its length plus `range` gets the
 * impulse min(strength o, (o/10 - s)/(sum beta^2/m)), if s < o/10, where s is the separation at y relative to x. So it is separated by
 * at most a tenth of o [Bridson et al. 2002, Robust Treatment of Collisions, Contact and Friction for Cloth Animation, Sec. 7.2].
 *   strength  k h^2, kg      range  m */
pd_status pd_two_way_repel(pd_context *context, const real *inverse, const pd_two_way_rows *rows, int n_colours, const int *starts,
                           double strength, double range, const real *x, real *y);

/* One projected Jacobi step of the multipliers of edges and of pairs, all from the same `pushed`, which is not changed:
 *     lambda' = max(0, lambda - penalty (ahead + J pushed) / (m J W J^T)),     m: the maximum number of rows of the row's free points.
 * With a penalty of 1 the dual objective never grows: J W J^T is at most m times its diagonal. */
pd_status pd_two_way_relax(pd_context *context, const pd_two_way_rows *edges, const pd_incidence *of_edges, const pd_two_way_rows *pairs,
                           const pd_incidence *of_pairs, double penalty, const real *pushed);

/* One step of gradient descent, with a diagonal majorant of the Hessian, on |y - y_0|_M^2 / 2 + sum strength range^2 B(u) over the rows
 * of pairs, linearised by_distance, with u = 1 - (length - distance)/range [Wang et al. 2023, Eqs. 7, 8]; curvature and goal as in the
 * metric.
 *   strength  k h^2, kg      range  m */
pd_status pd_two_way_descend(pd_context *context, const pd_model *model, int n_points, const pd_two_way_rows *pairs,
                             const pd_incidence *of_pairs, double strength, double range, const real *x, const real *y_0, real *curvature,
                             real *goal);

/* The listed pairs for a forward step, B, and the limit of the decrease of a gap. */
typedef struct pd_two_way_gaps {
    const real *distance; /* [n] m */
    real *normal,
        *displacement_bound; /* [n,3], [n,4] m: of pd_two_way_slabs; displacement bound of a corner along the normal towards the other side */
    double farthest;         /* lower bound of the gap of points without a pair, m */
    double rounding;         /* subtracted from gaps, m */
    double fraction;         /* gamma */
} pd_two_way_gaps;

/* gaps->displacement_bound at points, for moves towards y, all [n_points,3]; and gaps->normal, computed where pd_two_way_features left 0. */
pd_status pd_two_way_slabs(pd_context *context, const pd_contact_pairs *pairs, const real *points, const real *y,
                           const pd_two_way_gaps *gaps);

/* x_i = points_i + a_i (y_i - points_i) for n_vertices vertices, exactly y_i for a_i = 1. No corner of a pair moves farther towards the
 * other side than its bound, nor in any direction than half of gamma times `farthest`.     x: not the memory of points */
pd_status pd_two_way_forward(pd_context *context, int n_vertices, const pd_contact_pairs *pairs, const pd_incidence *incidence,
                             const pd_two_way_gaps *gaps, const real *points, const real *y, real *x);

/* part [1]  B  out: the smallest a_i of the points from n_vertices on. */
pd_status pd_two_way_prescribed_fraction(pd_context *context, int n_vertices, int n_points, const pd_contact_pairs *pairs,
                                         const pd_incidence *incidence, const pd_two_way_gaps *gaps, const real *points, const real *y,
                                         double *fraction);

#ifdef __cplusplus
}
#endif

#endif
