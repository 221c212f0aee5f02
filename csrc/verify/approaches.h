/* Verification of distances: every pair of simplices that comes closer than a separation while all vertices move along straight lines at
 * constant speed. With an added radius, the same test covers the centre of a ball and the axis of a capsule.
 *
 * No such pair is missed. Without motion the result is exact. Between two frames it may also report a pair
 *   - that cannot be distinguished from a touching one on an interval of 2^-40;
 *   - at the separation, to rounding, while a simplex is degenerate or edges are parallel;
 *   - with a radius only, whose smallest distance on the path is within 2^-80 of it. */
#ifndef PD_VERIFY_APPROACHES_H
#define PD_VERIFY_APPROACHES_H

#include "verify/intersections.h"

/* Rows of vertices against rows of vertices: points and triangles (1, 3), edges (2, 2), points and edges (1, 2). An edge with two equal
 * vertices is a particle. */
typedef struct pd_approach_query {
    const double *points[2];    /* [n,3] m, at the start and at the end */
    const int *first, *second;  /* [n_first,k_first], [n_second,k_second] */
    const double *radii;        /* [n_first] m, of the first; >= 0 */
    double separation;          /* m; 0: touching counts; > 0: a distance equal to it does not count */
    const unsigned char *fixed; /* [n] pairs of fixed vertices are skipped */
    int n_first, n_second, k_first, k_second;
    int same; /* the rows are those of one array: only i < j */
} pd_approach_query;

typedef struct pd_approaches {
    pd_pair_list pairs; /* (first, second), sorted */
    double *times;      /* per pair: the first time nearer than the limit, in [0,1], at most 2^-40 early */
    double *distances;  /* per pair: distance of the simplices at that time minus the radius, m, in double */
} pd_approaches;

/* All pairs without a common vertex whose distance somewhere in [0,1] is below radius + separation, or not above it for a separation of
 * 0. Requires radius + separation > 0 for each row; the sum is not rounded. The result does not depend on the number of threads.
 * Errors: PD_ERROR_MEMORY, PD_INTERRUPTED. _free is allowed after zeroing, success or failure. */
pd_status pd_approaches_find(pd_approaches *out, const pd_approach_query *query, int threads, pd_interruption *interruption,
                             pd_error *error);
void pd_approaches_free(pd_approaches *approaches);

/* The first time at which one pair is nearer than the limit; -1: never. n points, the first n_first of them the first simplex. x [2
 * n,3]: at time 0, then at time 1. */
double pd_approach_time(const double *x, int n, int n_first, double radius, double separation);

/* Tells whether the pair is certainly farther apart than a distance in [from, to], a part of [0,1]. */
int pd_certainly_farther(const double *x, int n, int n_first, double from, double to, double distance);

/* Tells whether it is certainly nearer at a time. */
int pd_certainly_nearer(const double *x, int n, int n_first, double time, double distance);

/* a + b, rounded up or down. */
double pd_sum_above(double a, double b);
double pd_sum_below(double a, double b);

#endif
