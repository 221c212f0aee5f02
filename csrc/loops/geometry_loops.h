/* The loops over pairs of primitives, their times of impact, and points with a collider. The rules of backend.h apply. */
#ifndef PD_LOOPS_GEOMETRY_LOOPS_H
#define PD_LOOPS_GEOMETRY_LOOPS_H

#include "loops/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- pairs of primitives and their collisions ------------------------------------------------------------------------ */

/* The closest points of n pairs of a kind of geometry/pair.h with k corners, each with its own x [n,k,3], m.
 *   weights  B [n,k]  out        gap  B [n,3]  out  m        normal  B [n,3]  out
 *   distance B [n]    out  m     feature B [n] out */
pd_status pd_pair_closest_batch(pd_context *context, int kind, int n, const real *x, real *weights, real *gap, real *normal, real *distance,
                                int *feature);

/* The quantities of pd_pair_batch. */
enum {
    PD_PAIR_GRADIENT,         /* of the distance, [n,k,3] */
    PD_PAIR_GRADIENT_SQUARED, /* of its square, m */
    PD_PAIR_HESSIAN,          /* of the distance, [n,3k,3k] 1/m */
    PD_PAIR_HESSIAN_SQUARED,  /* of its square */
    PD_PAIR_BOUND             /* a lower bound of the distance, [n] m */
};

/* One quantity of n pairs; x B [n,k,3] m, out B. */
pd_status pd_pair_batch(pd_context *context, int kind, int quantity, int n, const real *x, real *out);

/* The mollifier of n pairs of edges (geometry/mollifier.h), and unless NULL its derivatives.
 *   x, rest  B [n,4,3]  in  m      value  B [n]  out      gradient  B [n,4,3]  out  1/m      hessian  B [n,12,12]  out  1/m^2 */
pd_status pd_mollifier_batch(pd_context *context, int n, const real *x, const real *rest, real *value, real *gradient, real *hessian);

/* The time of impact of n pairs that move along straight lines; kind PD_VERTEX_TRIANGLE or PD_EDGE_EDGE, method of geometry/collision.h.
 *   x_t0, x_t1  B [n_vertices,3]  in  m            corners  B [n,4]  in   rows of x; NULL: pair i has rows 4i .. 4i+3
 *   separation  m, >= 0                            time     B [n]    out  in [0,1], 1 also where there is no contact
 *   iterations  B [n]  out                         reason   B [n]    out  PD_NO_CONTACT, .. of geometry/motion.h */
pd_status pd_collision_times(pd_context *context, int kind, int method, int n, const real *x_t0, const real *x_t1, const int *corners,
                             real separation, real *time, int *iterations, unsigned char *reason);

/* The earliest time of impact of one or several lists, and its pair. */
typedef struct pd_earliest {
    double time, before; /* before: of the lists before the present one */
    int index;           /* of the pair; INT_MAX: none found */
} pd_earliest;

/* Begins a search. Results later than `time` in [0,1] are not needed.   earliest [1]  B  out */
pd_status pd_earliest_begin(pd_context *context, real time, pd_earliest *earliest);

/* The earliest of these times that is not later than the earlier results, and its pair; pair i has number first + i. At equal times the
 * smallest number, if lists come in the order of their numbers. Pairs that cannot be first are skipped early; the result does not depend
 * on the order. Does not synchronise.
 *   count  B [1]  number of valid pairs; NULL: all n
 *   radii  B [rows of x]  in  m, added to the separation for both primitives of a pair, equal at all their corners; NULL: zero
 *   earliest [1]  B  in/out */
pd_status pd_earliest_collision(pd_context *context, int kind, int method, int n, const uint64_t *count, const real *x_t0, const real *x_t1,
                                const int *corners, real separation, const real *radii, int first, pd_earliest *earliest);

/* The same of n vertices and a plane through row `plane` of x, with row plane + 1 for its unit normal: only the plane's point moves.
 *   vertices  B [n] rows of x */
pd_status pd_earliest_plane_collision(pd_context *context, int n, const real *x_t0, const real *x_t1, const int *vertices, int plane,
                                      real separation, const real *radii, int first, pd_earliest *earliest);

/* Limits the path of each point by all its pairs, each evaluated fully: reduces the fraction of every corner of a meeting pair to the
 * time of impact.
 *   parts  B [rows of x]  in/out  of the path; initially 1     hits  B [1]  in/out  += meeting pairs, except pairs at rest */
pd_status pd_collision_parts(pd_context *context, int kind, int n, const uint64_t *count, const real *x_t0, const real *x_t1,
                             const int *corners, real separation, const real *radii, double *parts, uint64_t *hits);
/* The same for n vertices and a plane. */
pd_status pd_plane_parts(pd_context *context, int n, const real *x_t0, const real *x_t1, const int *vertices, int plane, real separation,
                         const real *radii, double *parts, uint64_t *hits);
/* Moves x_t1 to the fractions of the paths from x_t0. The points from `first` on share the smallest of theirs, by which `together` B [1]
 * is multiplied. Resets parts to 1 and hits to 0. */
pd_status pd_shorten_ways(pd_context *context, int n_points, int first, const real *x_t0, real *x_t1, double *parts, uint64_t *hits,
                          double *together);

/* Reads the result: the initial time and index -1 if nothing was found.   time, index  H  out */
pd_status pd_earliest_read(pd_context *context, const pd_earliest *earliest, real *time, int *index);

/* ---- colliders -------------------------------------------------------------------------------------------------------- */

typedef struct pd_collider pd_collider; /* geometry/collider.h */

/* The surface points of a collider [1] (B, as are the values of its grid) for n points.
 *   x       B [n,3]  in   m        distance  B [n]    out  m, negative inside      gradient  B [n,3]  out  of the distance
 *   normal  B [n,3]  out  unit     closest   B [n,3]  out  m */
pd_status pd_collider_batch(pd_context *context, const pd_collider *collider, int n, const real *x, real *distance, real *gradient,
                            real *normal, real *closest);

#ifdef __cplusplus
}
#endif

#endif
