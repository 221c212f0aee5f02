/* The loops of the two-way interior point method, once in cpu/contact/two_way.c, once in cuda/contact/two_way.cu; the rules of backend.h
 * hold. Positions y, x [n_points,3] are those of the vertices and, behind them, of what is driven. `inverse` B [n_points,6] is W in the
 * metric of a backward step: 0 for what is fixed or driven, and within the line or plane that a vertex is held in. */
#ifndef PD_LOOPS_TWO_WAY_LOOPS_H
#define PD_LOOPS_TWO_WAY_LOOPS_H

#include "loops/contact_loops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Constraints (elements/contact/volume_constraint.h) linearised at x, by field; B. What there is of every corner lies in two halves, of the
 * first two corners and of the others: the many rows that have two alone do not touch the second, which is most of what a sweep reads. */
typedef struct pd_two_way_rows {
    int n;
    int *kind;         /* [n] */
    int *points;       /* [n,4] -1 where a kind has no corner */
    real *length;      /* [n] m: the distance to be apart by; of an edge its length at rest */
    real *value;       /* [n] c(x) */
    real *jacobian[2]; /* each [n,2,3] 1/m */
    real *yield[2];    /* each [n,2,3] W J^T of what moves, 1/(kg m) */
    real *inverse;     /* [n] 1/(J W J^T), kg m^2; 0 where nothing of it can move */
    real *ahead;       /* [n] c + J (goal - x): what the goal leaves of it */
    int *movers;       /* [n,4] the points, -1 also for those that cannot move */
    real *multiplier;  /* [n] lambda, kg m^2 */
    int *colour;       /* [n] from 1 on; below: none yet */
    real least;        /* of lambda: 0, or -infinity where rows are held both ways */
    int by_distance;   /* J is the gradient of the distance, with the weights of the closest points frozen, and no volume's */

    /* friction, of pairs; coefficient NULL: there is none, and the others are not read */
    real *coefficient; /* [n] mu */
    real *weights;     /* [n,4] beta */
    real *normal;      /* [n,3] */
    real *share;       /* [n] 1/(sum beta^2/m), kg */
    real *slid;        /* [n,3] how far the goal slips since the step began, m */
    real *tangential;  /* [n,3] kg m */
} pd_two_way_rows;

/* Who rubs on whom. */
typedef struct pd_rubbing {
    const int *owners;        /* B [n_points] */
    const real *coefficients; /* B [n_owners,n_owners] mu */
    int n_owners;
} pd_rubbing;

/* The metric of a backward step, and what it is nearest to in it: the curvature of the edges that pull and of the pairs that push lies on
 * the masses, and holds back the goal by as much, so that the minimum is the same where the state has come to its target. Rows: linearised
 * at x.
 *   share  how many times that curvature
 *   inverse  B [n_points,6]  out  W, 1/kg, 0 for what is fixed or driven      curvature  B [n_points,6]  out  kg: what lies on the masses
 *   goal  B [n_points,3]  out  m                                             both symmetric: xx yy zz yz zx xy
 *   pushed  B [n_points,3]  out  as of pd_two_way_gather, for which each point's rows are at hand */
pd_status pd_two_way_metric(pd_context *context, const pd_model *model, int n_points, const pd_two_way_rows *edges,
                            const pd_incidence *of_edges, const pd_two_way_rows *pairs, const pd_incidence *of_pairs, double share,
                            const real *x, const real *y_0, real *inverse, real *curvature, real *goal, real *pushed);
/* out [n_vertices,3]  B: where y would be without that: how far the state is from its target. */
pd_status pd_two_way_undamped(pd_context *context, const pd_model *model, const real *curvature, const real *x, const real *y, real *out);

/* Features of one pair. */
enum { PD_TWO_WAY_FEATURES = 3 };

/* Of which pairs a backward step has rows: of those whose gap, in parts of the one that they are to have, is at most `far`, and at most
 * `near` or at most `clear` once all is at y, by the closest points and the normal that the pair has now. */
typedef struct pd_two_way_choice {
    const real *x, *y;    /* B [n_points,3] m */
    const real *distance; /* B [n] m, at x */
    double far, near, clear;
    const real *begun; /* B [n_points,3] m: where the step began; NULL where pairs gain all that they lack */
    double recovery;   /* the part of what a pair lacked there that it is to gain */
} pd_two_way_choice;

/* The pairs of features that listed pairs are near by: kind [n,3] (-1: none, or nothing of it moves, or it is not chosen), points [n,3,4]
 * and length [n,3]; normal [n,3] of the closest points at x, where they were looked for, else 0. All B out. */
pd_status pd_two_way_features(pd_context *context, const pd_model *model, const pd_contact_scene *scene, const pd_contact_pairs *pairs,
                              const pd_two_way_choice *choice, int *kind, int *points, real *length, real *normal);

/* flags [n]  B  out: of n features the first of those that are the same.     incidence: of the pairs */
pd_status pd_two_way_mark_first(pd_context *context, int n, const int *kind, const int *points, const pd_incidence *incidence,
                                unsigned char *flags);

/* out = the rows [n] of these lists, with the multipliers that the same features had in `before`, else 0, and no colours.
 *   incidence  of `before` */
pd_status pd_two_way_take(pd_context *context, int n, const int *rows, const int *kind, const int *points, const real *length,
                          const pd_two_way_rows *before, const pd_incidence *incidence, const pd_two_way_rows *out);

/* c, J and what friction wants, at x.     limit: of the length of edges, in parts of that at rest */
pd_status pd_two_way_linearise(pd_context *context, const pd_model *model, double limit, const pd_rubbing *rubbing, const real *x,
                               const pd_two_way_rows *rows);
/* Inverse, yield, ahead, movers and slid of rows that are linearised at x, in this metric and about this goal, all [n_points,3] but
 * `inverse`.
 *   begun  where the step began */
pd_status pd_two_way_weigh(pd_context *context, const real *inverse, const real *x, const real *begun, const real *goal,
                           const pd_two_way_rows *rows);

/* One round of a colouring by local maxima of a random priority [Jones and Plassmann 1993]: fresh [n]  B  out: the least colour, from 1
 * on, that no row with a common free point has, for rows without a colour whose priority is above that of all such neighbours; then
 * the colours of the rows are those, and left [1]  B  out: rows that still have none. */
pd_status pd_two_way_colour_round(pd_context *context, const pd_model *model, const pd_two_way_rows *rows, const pd_incidence *incidence,
                                  int *fresh, uint64_t *left);
/* keys [n]  B  out: colour above row. */
pd_status pd_two_way_colour_keys(pd_context *context, const pd_two_way_rows *rows, int row_bits, uint64_t *keys);
/* order [n]  B  out: rows by colour; starts [colours + 1]  B  out; n_colours [1]  B  out. keys: sorted */
pd_status pd_two_way_colour_starts(pd_context *context, int n, int row_bits, const uint64_t *keys, int *order, int *starts,
                                   uint64_t *n_colours);

/* out = the rows in this order [n] B, of what is known before they are linearised, and their incidence, in which each point has its rows in
 * the order that they had.     place [n]  B  out: where a row has come to */
pd_status pd_two_way_arrange(pd_context *context, int n_points, const int *order, const pd_two_way_rows *rows,
                             const pd_incidence *incidence, int *place, const pd_two_way_rows *out, const pd_incidence *out_incidence);

/* pushed = W J^T lambda, with friction, of edges and of pairs [Wang et al. 2023, Eq. 11]: the target is y = goal + pushed, and what nothing
 * pushes goes to its goal exactly. */
pd_status pd_two_way_gather(pd_context *context, int n_points, const real *inverse, const pd_two_way_rows *edges,
                            const pd_incidence *of_edges, const pd_two_way_rows *pairs, const pd_incidence *of_pairs, real *pushed);
/* y = goal + pushed; y may be goal. */
pd_status pd_two_way_arrive(pd_context *context, int n_points, const real *goal, const real *pushed, real *y);

/* One projected Gauss-Seidel sweep over the rows, which are in the order of their colours, colour after colour: for each
 *     lambda' = max(least, lambda - (ahead + J pushed) / (J W J^T)),     pushed += W J^T (lambda' - lambda)
 * and, with friction, the same of the slip since the step began, no more than mu times the normal impulse.
 *   starts  H [n_colours + 1] */
pd_status pd_two_way_sweep(pd_context *context, const real *inverse, const pd_two_way_rows *rows, int n_colours, const int *starts,
                           real *pushed);

/* One sweep of repulsion, with the normals and weights of friction: of a pair that is nearer than its length and `range` by o, the impulse
 * min(strength o, (o/10 - s)/(sum beta^2/m)), s how far y parts it from where it is at x, if that is less than o/10: so it is parted by a
 * tenth of o at the most [Bridson et al. 2002, Robust Treatment of Collisions, Contact and Friction for Cloth Animation, Sec. 7.2].
 *   strength  k h^2, kg      range  m */
pd_status pd_two_way_repel(pd_context *context, const real *inverse, const pd_two_way_rows *rows, int n_colours, const int *starts,
                           double strength, double range, const real *x, real *y);

/* One projected Jacobi step of the multipliers of edges and of pairs, all from what is pushed, which is not changed:
 *     lambda' = max(0, lambda - penalty (ahead + J pushed) / (m J W J^T)),     m: the most rows that one of the row's free points has,
 * so that with a penalty of 1 the dual objective never grows: J W J^T as a whole is at most m times its diagonal. */
pd_status pd_two_way_relax(pd_context *context, const pd_two_way_rows *edges, const pd_incidence *of_edges, const pd_two_way_rows *pairs,
                           const pd_incidence *of_pairs, double penalty, const real *pushed);

/* One step of gradient descent, with the diagonal of a majorant of its Hessian, on |y - y_0|_M^2 / 2 + sum strength range^2 B(u) over the
 * rows of pairs, linearised by_distance, u how much of `range` below its length a pair is apart by [Wang et al. 2023, Eqs. 7, 8]; curvature
 * and goal as of the metric.
 *   strength  k h^2, kg      range  m */
pd_status pd_two_way_descend(pd_context *context, const pd_model *model, int n_points, const pd_two_way_rows *pairs,
                             const pd_incidence *of_pairs, double strength, double range, const real *x, const real *y_0, real *curvature,
                             real *goal);

/* What a forward step knows of the pairs that are listed, B, and by how much a gap may shrink. */
typedef struct pd_two_way_gaps {
    const real *distance; /* [n] m */
    real *normal, *reach; /* [n,3], [n,4] m: of pd_two_way_slabs; how far a corner may go along the normal towards the other side */
    double farthest;      /* the gap that points without a pair have at the least, m */
    double rounding;      /* what gaps are less by, m */
    double fraction;      /* gamma */
} pd_two_way_gaps;

/* gaps->reach at points, of what is to go towards y, all [n_points,3], and gaps->normal where it is 0, of pd_two_way_features, and asked
 * for. */
pd_status pd_two_way_slabs(pd_context *context, const pd_contact_pairs *pairs, const real *points, const real *y,
                           const pd_two_way_gaps *gaps);

/* x_i = points_i + a_i (y_i - points_i) of n_vertices vertices, exactly y_i for a_i = 1: no corner of a pair goes farther towards the other
 * side of it than its reach, nor anywhere than half of gamma times `farthest`.     x: not the memory of points */
pd_status pd_two_way_forward(pd_context *context, int n_vertices, const pd_contact_pairs *pairs, const pd_incidence *incidence,
                             const pd_two_way_gaps *gaps, const real *points, const real *y, real *x);

/* part [1]  B  out: the least a_i of the points from n_vertices on. */
pd_status pd_two_way_driven_part(pd_context *context, int n_vertices, int n_points, const pd_contact_pairs *pairs,
                                 const pd_incidence *incidence, const pd_two_way_gaps *gaps, const real *points, const real *y,
                                 double *part);

#ifdef __cplusplus
}
#endif

#endif
