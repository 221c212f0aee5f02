/* The judge of distances: every pair of simplices that comes nearer than a separation while all vertices move along straight lines at
 * constant speed. With the radius of a ball or capsule added, the same question asks whether its centre or axis comes too near.
 *
 * No pair that comes nearer is missed. Where nothing moves the answer is exact. Between two frames it is as good as exact: reported as well
 * is what cannot be told from too near on an interval of 2^-40, a pair at the separation to rounding while one of its simplices is
 * degenerate or edges are parallel, and with a radius alone one whose smallest distance on the way is within 2^-80 of it. */
#ifndef PD_JUDGE_APPROACHES_H
#define PD_JUDGE_APPROACHES_H

#include "judge/intersections.h"

/* Rows of vertices against rows of vertices: points and triangles (1, 3), edges (2, 2), points and edges (1, 2). An edge with the same
 * vertex twice is a particle. */
typedef struct pd_approach_query {
    const double *points[2];    /* [n,3] m, at the start and at the end */
    const int *first, *second;  /* [n_first,k_first], [n_second,k_second] */
    const double *radii;        /* [n_first] m, of the first; at least 0 */
    double separation;          /* m; 0: touching counts, else a distance equal to it does not */
    const unsigned char *fixed; /* [n] pairs of fixed vertices alone are not looked at */
    int n_first, n_second, k_first, k_second;
    int same; /* the rows are those of one array: i < j only */
} pd_approach_query;

typedef struct pd_approaches {
    pd_pair_list pairs; /* (first, second), sorted */
    double *times;      /* per pair: when it first is too near, in [0,1], at most 2^-40 early */
    double *distances;  /* per pair: of the simplices at that time, m, the radius taken off, in double */
} pd_approaches;

/* All pairs without a common vertex whose distance in [0,1] is somewhere less than radius + separation, or no more where the separation is
 * 0. radius + separation > 0 for each row; nothing of it is rounded.
 * Errors: PD_ERROR_MEMORY, PD_INTERRUPTED. Zeroed or filled, _free is allowed. The same for any number of threads. */
pd_status pd_approaches_find(pd_approaches *out, const pd_approach_query *query, int threads, pd_interruption *interruption,
                             pd_error *error);
void pd_approaches_free(pd_approaches *approaches);

/* One pair, n points of which n_first are the first simplex: when it is too near, -1 where never. x [2 n,3]: at time 0, then at time 1. */
double pd_approach_time(const double *x, int n, int n_first, double radius, double separation);

/* Whether the pair is certainly farther apart than a distance from one time to another within [0,1]. */
int pd_certainly_farther(const double *x, int n, int n_first, double from, double to, double distance);

/* Whether it certainly is nearer at a time. */
int pd_certainly_nearer(const double *x, int n, int n_first, double time, double distance);

/* a + b, or a little more or less. */
double pd_sum_above(double a, double b);
double pd_sum_below(double a, double b);

#endif
