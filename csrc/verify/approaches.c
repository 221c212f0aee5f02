/* Pairs nearer than a separation: boxes, a floating-point filter, integers for the undecided pairs; see approaches.h.
 *
 * The filter uses the direction of the gap at the middle of an interval of times. Along a fixed direction w the gap of two simplices is
 * a minimum of linear functions of time. So it is smallest at an end of the interval. If it exceeds R |w| at both ends, the simplices
 * are farther apart than R throughout. Sliding pairs are thus decided at once, and each halving reduces the error of the direction by
 * four.
 *
 * The error bound: D is the largest difference of coordinates and u = 2^-53. A difference has an error of u D, one at an intermediate
 * time below 9 u D, its component along w below 13 u |w|_1 D. The bound 2^-48 |w|_1 D exceeds it, with fused multiply-adds or without. */
#include "verify/approaches.h"

#include "verify/simplex_distance.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double ERROR_ALONG = 0x1p-48, ABOVE = 1.0 + 0x1p-48;
static const double SMALLEST = 0x1p-300, LARGEST = 0x1p300; /* no overflow or underflow affects the bound in this range */
enum { HALVINGS = 4 };

double pd_sum_above(double a, double b) { return nextafter(a + b, INFINITY); }

double pd_sum_below(double a, double b) { return nextafter(a + b, 0.0); }

/* The gap of points x [n,3] as in simplex_distance.h. */
static double squared_distance(double gap[3], double (*x)[3], int n, int n_first) {
    if (n_first == 2) return pd_segment_segment_squared(gap, x[0], x[1], x[2], x[3]);
    return n == 4 ? pd_point_triangle_squared(gap, x[0], x[1], x[2], x[3]) : pd_point_segment_squared(gap, x[0], x[1], x[2]);
}

int pd_certainly_farther(const double *x, int n, int n_first, double from, double to, double distance) {
    double start[4][3], end[4][3], middle[4][3], size = 0.0, w[3];
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) {
            double at_0 = x[3 * i + k] - x[k], at_1 = x[3 * (n + i) + k] - x[3 * n + k];
            size = fmax(size, fmax(fabs(at_0), fabs(at_1)));
            start[i][k] = at_0 + from * (at_1 - at_0);
            end[i][k] = at_0 + to * (at_1 - at_0);
            middle[i][k] = 0.5 * (start[i][k] + end[i][k]);
        }
    if (!(size > SMALLEST && size < LARGEST)) return 0;
    (void)squared_distance(w, middle, n, n_first);
    double sum = fabs(w[0]) + fabs(w[1]) + fabs(w[2]);
    if (!(sum > SMALLEST && sum < LARGEST)) return 0;
    double needed = distance * sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]) * ABOVE + 2.0 * ERROR_ALONG * sum * size;
    for (int time = 0; time < 2; time++) {
        double low = INFINITY, high = -INFINITY;
        for (int i = 0; i < n; i++) {
            const double *p = time ? end[i] : start[i];
            double along = w[0] * p[0] + w[1] * p[1] + w[2] * p[2];
            if (i < n_first)
                low = fmin(low, along);
            else
                high = fmax(high, along);
        }
        if (!(low - high > needed)) return 0;
    }
    return 1;
}

/* The distance of two points, one of each simplex, is an upper bound of that of the simplices. With D and u as above, the coordinates of
 * such a gap have an error below 30 u D, and so has a point with rounded weights. 2^-44 D exceeds the total. */
int pd_certainly_nearer(const double *x, int n, int n_first, double time, double distance) {
    double at[4][3], size = 0.0, gap[3];
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) {
            double at_0 = x[3 * i + k] - x[k], at_1 = x[3 * (n + i) + k] - x[3 * n + k];
            size = fmax(size, fmax(fabs(at_0), fabs(at_1)));
            at[i][k] = at_0 + time * (at_1 - at_0);
        }
    if (!(size > SMALLEST && size < LARGEST)) return 0;
    return sqrt(squared_distance(gap, at, n, n_first)) * ABOVE + 0x1p-44 * size < distance;
}

static int farther(const double *x, int n, int n_first, double from, double to, double distance, int halvings) {
    if (pd_certainly_farther(x, n, n_first, from, to, distance)) return 1;
    if (halvings == 0 || memcmp(x, x + 3 * (size_t)n, 3 * (size_t)n * sizeof *x) == 0) return 0;
    double middle = 0.5 * (from + to);
    return farther(x, n, n_first, from, middle, distance, halvings - 1) && farther(x, n, n_first, middle, to, distance, halvings - 1);
}

/* ---- the pairs ------------------------------------------------------------------------------------------------------------------ */

/* The coordinates of a pair. Returns 0 for a pair with a common vertex, or with fixed vertices only. */
static int gather(double *x, const pd_approach_query *q, int i, int j) {
    const int *first = q->first + (size_t)q->k_first * (size_t)i, *second = q->second + (size_t)q->k_second * (size_t)j;
    int n = q->k_first + q->k_second, free = 0;
    if (q->same && i >= j) return 0;
    for (int a = 0; a < q->k_first; a++)
        for (int b = 0; b < q->k_second; b++)
            if (first[a] == second[b]) return 0;
    for (int a = 0; a < n; a++) {
        int vertex = a < q->k_first ? first[a] : second[a - q->k_first];
        free = free || !q->fixed[vertex];
        for (int time = 0; time < 2; time++) memcpy(x + 3 * (n * time + a), q->points[time] + 3 * (size_t)vertex, 3 * sizeof *x);
    }
    return free;
}

static int accept(const void *data, int i, int j) {
    const pd_approach_query *q = data;
    double x[24];
    if (!gather(x, q, i, j)) return 0;
    return !farther(x, q->k_first + q->k_second, q->k_first, 0.0, 1.0, pd_sum_above(q->radii[i], q->separation), HALVINGS);
}

static double time_of(const void *data, const int pair[2]) {
    const pd_approach_query *q = data;
    double x[24];
    (void)gather(x, q, pair[0], pair[1]);
    return pd_approach_time(x, q->k_first + q->k_second, q->k_first, q->radii[pair[0]], q->separation);
}

static double distance_at(const pd_approach_query *q, const int pair[2], double time) {
    double x[24], at[4][3], gap[3];
    int n = q->k_first + q->k_second;
    (void)gather(x, q, pair[0], pair[1]);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) at[i][k] = x[3 * i + k] + time * (x[3 * (n + i) + k] - x[3 * i + k]);
    return sqrt(squared_distance(gap, at, n, q->k_first)) - q->radii[pair[0]];
}

/* The box of k moving vertices, enlarged by at least a margin. */
static pd_host_box swept_box(const pd_approach_query *q, const int *vertices, int k, double margin) {
    pd_host_box box = pd_box_of_nothing();
    for (int time = 0; time < 2; time++)
        for (int i = 0; i < k; i++) pd_box_add(&box, q->points[time] + 3 * (size_t)vertices[i]);
    for (int axis = 0; axis < 3 && margin > 0.0; axis++) {
        box.low[axis] = nextafter(box.low[axis] - margin, -INFINITY);
        box.high[axis] = nextafter(box.high[axis] + margin, INFINITY);
    }
    return box;
}

pd_status pd_approaches_find(pd_approaches *out, const pd_approach_query *query, int threads, pd_interruption *interruption,
                             pd_error *error) {
    memset(out, 0, sizeof *out);
    pd_status status = PD_OK;
    pd_host_box *first = malloc(((size_t)query->n_first + 1) * sizeof *first);
    pd_host_box *second = malloc(((size_t)query->n_second + 1) * sizeof *second);
    if (!first || !second) {
        status = pd_fail(error, PD_ERROR_MEMORY, "out of memory for %d and %d boxes", query->n_first, query->n_second);
        goto done;
    }
    for (int i = 0; i < query->n_first; i++)
        first[i] = swept_box(query, query->first + (size_t)query->k_first * (size_t)i, query->k_first,
                             pd_sum_above(query->radii[i], query->separation));
    for (int j = 0; j < query->n_second; j++)
        second[j] = swept_box(query, query->second + (size_t)query->k_second * (size_t)j, query->k_second, 0.0);
    PD_TRY(pd_host_pairs_find(&out->pairs, first, query->n_first, second, query->n_second, accept, query, threads, interruption, error));
    PD_TRY(pd_host_pairs_time(&out->pairs, &out->times, time_of, query, threads, interruption, error));
    out->distances = malloc((out->pairs.n + 1) * sizeof *out->distances);
    if (!out->distances) {
        status = pd_fail(error, PD_ERROR_MEMORY, "out of memory for %zu distances", out->pairs.n);
        goto done;
    }
    for (size_t i = 0; i < out->pairs.n; i++) out->distances[i] = distance_at(query, out->pairs.pairs[i], out->times[i]);
done:
    free(first);
    free(second);
    if (status) pd_approaches_free(out);
    return status;
}

void pd_approaches_free(pd_approaches *approaches) {
    free(approaches->pairs.pairs);
    free(approaches->times);
    free(approaches->distances);
    memset(approaches, 0, sizeof *approaches);
}
